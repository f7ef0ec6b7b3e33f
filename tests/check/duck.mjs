// SPDX-License-Identifier: GPL-2.0-or-later
// duck.mjs TOOLS: DuckDB from TOOLS/node_modules. Standard input: a JSON array of statements. Prints a JSON line for
// each: {"ms": TIME, "cpu": TIME, "rows": [[TEXT|null, ...], ...]} or {"error": TEXT}. Numbers are text, reals with 17 digits.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[2] + '/');
const { DuckDBInstance } = require('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
const text = (v) => (v === null ? null : typeof v === 'number' ? String(v) : v.toString());

for (const sql of JSON.parse(readFileSync(0, 'utf8'))) {
	const start = performance.now(), before = process.cpuUsage();
	try {
		const result = await connection.runAndReadAll(sql);
		const ms = performance.now() - start, used = process.cpuUsage(before);
		const rows = result.getRows().map((row) => row.map(text));
		console.log(JSON.stringify({ ms, cpu: (used.user + used.system) / 1000, rows }));
	} catch (error) {
		console.log(JSON.stringify({ error: String(error.message) + ' in: ' + sql.slice(0, 2000) }));
	}
}
