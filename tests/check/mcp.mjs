// SPDX-License-Identifier: GPL-2.0-or-later
// mcp.mjs DIR OBSANALYZE BEFORE AFTER: the server as the protocol's own client sees it, which npm installed below
// DIR. The client checks each answer by the protocol's schemas. Prints "ok ..." or "not ok ..." lines.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [dir, program, before, after] = process.argv.slice(2);
const sdk = path.resolve(dir, 'node_modules/@modelcontextprotocol/sdk/dist/esm/client');
const { Client } = await import(pathToFileURL(path.join(sdk, 'index.js')));
const { StdioClientTransport } = await import(pathToFileURL(path.join(sdk, 'stdio.js')));

let bad = 0;
function check(what, good, seen) {
	console.log(`${good ? 'ok' : 'not ok'} mcp: ${what}`);
	if (!good) {
		console.log('# ' + JSON.stringify(seen).slice(0, 600));
		bad = 1;
	}
}

const client = new Client({ name: 'test', version: '1' });
await client.connect(new StdioClientTransport({ command: program, args: ['mcp', before, after], env: process.env }));
const call = (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout: 110000 });
const text = async (name, args) => {
	const r = await call(name, args);
	return (r.isError ? 'ERROR ' : '') + r.content.map((c) => c.text).join('');
};

check('has a name', client.getServerVersion().name === 'obsanalyze', client.getServerVersion());
check('lists its files', client.getInstructions().includes(before), client.getInstructions());
const { tools } = await client.listTools();
check('has tools that only read', tools.map((t) => t.name).join() === 'report,causes,sql,schema,compare,plot' &&
	tools.every((t) => t.annotations.readOnlyHint), tools);
check('reports', /redis-server/.test(await text('report', {})), await text('report', {}));
check('reports on another file', /redis-server/.test(await text('report', { file: path.basename(after), analysis: 'rps' })));
check('explains', /(request|cause)/i.test(await text('causes', { file: before })));
check('queries', (await text('sql', { query: 'SELECT 6 * 7 AS n' })) === '{"n": 42}\n',
	await text('sql', { query: 'SELECT 6 * 7 AS n' }));
check('hints', /did you mean thread/.test(await text('sql', { query: 'SELECT * FROM thred' })));
check('refuses to write', /^ERROR .*only SELECT/.test(await text('sql', { query: 'DELETE FROM thread' })));
check('takes no option from a query', /^ERROR/.test(await text('sql', { query: '--help' })), await text('sql', { query: '--help' }));
const long = await text('sql', { query: 'SELECT * FROM syscall' });
check('bounds answers', long.length < 101000 && long.endsWith('[cut here: ask for less]'), long.slice(-100));
check('lists tables', /^thread +threads/m.test(await text('schema', {})));
check('describes one', /major << 20/.test(await text('schema', { table: 'mount' })));
check('guesses none', /^ERROR .*no table/.test(await text('schema', { table: '--man' })));
check('compares', /redis-server/.test(await text('compare', { before, after })), await text('compare', { before, after }));
const image = (await call('plot', { name: 'waits' })).content[0];
check('draws', image.type === 'image' && image.mimeType === 'image/png' &&
	Buffer.from(image.data, 'base64').subarray(1, 4).toString() === 'PNG', image);
check('draws nothing unknown', (await call('plot', { name: '--note' })).isError === true);
for (const [name, args] of [['report', { file: '/etc/passwd' }], ['sql', {}], ['nothing', {}]]) {
	const refused = await client.callTool({ name, arguments: args }).then((r) => r.isError, () => true);
	check(`refuses ${name} ${JSON.stringify(args)}`, refused, refused);
}
await client.ping();
await client.close();
process.exit(bad);
