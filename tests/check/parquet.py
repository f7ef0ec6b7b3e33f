#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What DuckDB reads in a directory of export --parquet is what SQLite has.

parquet.py [--tables] TOOLS OBSANALYZE DIR DATABASE...  of each database of load: every table's count, and of each column sum,
NULLs, minimum, maximum and a checksum that depends on the order; then the views, then the questions of tests/fleet.
--tables: only these.  +DATABASE: the recording itself was exported; the rows of its small tables can have another order.
"""
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import time

QUESTIONS = pathlib.Path(__file__).resolve().parent.parent / "fleet"
failed = False


def result(good, what, why=""):
    global failed
    print(("ok " if good else "not ok ") + what)
    if not good:
        failed = True
        print("# " + str(why)[:1500].replace("\n", "\n# "))


def duck(tools, statements):
    run = subprocess.run(["node", str(pathlib.Path(__file__).with_name("duck.mjs")), tools], text=True,
                         input=json.dumps(statements), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def same_value(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(b, float):  # the order of a sum is not given
        return abs(float(a) - b) <= 1e-9 * abs(b) or float(a) == b
    return a == str(b)


def same(a, b):
    return len(a) == len(b) and all(len(x) == len(y) and all(map(same_value, x, y)) for x, y in zip(a, b))


def columns_of(db, table, schema=""):
    return [(name, kind) for _, name, kind, *_ in db.execute(f'PRAGMA {schema}table_info("{table}")')]


LARGE = ("syscall", "request", "thread_state")


def summary(table, columns, ordered):
    """A query whose result depends on every value, and on its row if ordered; the same in both engines."""
    place = "rowid" if ordered or table in LARGE else "0"
    parts = ["count(*)", f"sum({place})"]
    for name, kind in columns:
        c = f'"{name}"'
        parts += [f"count({c})", f"min({c})", f"max({c})"]
        if kind == "TEXT":
            parts += [f"sum(length({c}) * ({place} % 97 + 1))",
                      f"sum(CASE {c} WHEN '' THEN 0 ELSE unicode({c}) END * ({place} % 89 + 1))"]
        elif kind == "INT":
            parts += [f"sum(({c} % 1000003) * ({place} % 97 + 1))", f"sum({c} % 2147483647)"]
        else:
            parts += [f"sum({c})", f"sum({c} * ({place} % 97 + 1))"]
    # load adds the name of the file
    fact = " AND key <> 'file'" if table == "recording" and not ordered else ""
    return f'SELECT {", ".join(parts)} FROM "{table}" WHERE 1 = 1{fact}'


def attach(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.text_factory = lambda b: b.decode("utf-8", "backslashreplace")
    return db


def check_pushdown(tools, views, sources):
    """Conditions that statistics of row groups answer: wrong ones would hide rows."""
    db, uuid, _ = sources[0]
    asked = []
    for table in LARGE:
        for name, _ in columns_of(db, table):
            for end in "min", "max":
                (value,) = db.execute(f'SELECT {end}("{name}") FROM "{table}"').fetchone()
                if value is not None:
                    asked.append(f'SELECT count(*) FROM "{table}" WHERE "{name}" = {value}')
    for (value,) in db.execute("SELECT DISTINCT comm FROM thread"):
        quoted = value.replace("'", "''")
        asked.append(f"SELECT count(*) FROM thread WHERE comm = '{quoted}'")
    mine = [f"{sql} AND recording = '{uuid}'" for sql in asked]
    wrong = []
    for sql, answer in zip(asked, duck(tools, views + mine)[len(views):]):
        want = [list(row) for row in db.execute(sql)]
        if "error" in answer or not same(answer["rows"], want):
            wrong.append(f"{sql}: {answer} != {want}")
    result(not wrong and len(mine) > 20, f"{len(mine)} conditions at the ends of columns find their rows", "\n".join(wrong))


def check_tables(tools, views, sources):
    asked = []
    for db, uuid, ordered in sources:
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'"):
            asked.append((db, uuid, table, summary(table, columns_of(db, table), ordered)))
    answers = duck(tools, views + [f"{sql} AND recording = '{uuid}'" for _, uuid, _, sql in asked])
    for answer in answers[:len(views)]:
        if "error" in answer:
            result(False, "DuckDB accepts the statements of schema --duckdb", answer["error"])
            return
    wrong, rows = [], 0
    for (db, uuid, table, sql), answer in zip(asked, answers[len(views):]):
        want = [list(row) for row in db.execute(sql)]
        rows += int(want[0][0])
        if "error" in answer or not same(answer["rows"], want):
            wrong.append(f"{uuid} {table}: {answer} != {want}")
    result(not wrong and rows > 1000, f"{len(asked)} tables of {len(sources)} recordings, {rows} rows: every column equal",
           "\n".join(wrong))


def one_database(views, paths):
    """All recordings in one SQLite, with host and recording as columns, and the views of schema --duckdb."""
    one = sqlite3.connect("", isolation_level=None)
    for path in paths:
        one.execute("ATTACH ? AS source", (path,))
        facts = dict(one.execute("SELECT key, value FROM source.recording"))
        names = one.execute("SELECT name FROM source.sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")
        one.execute("BEGIN")
        for (table,) in names.fetchall():
            columns = "".join(f', "{name}" {kind}' for name, kind in columns_of(one, table, "source."))
            one.execute(f'CREATE TABLE IF NOT EXISTS main."{table}"(host TEXT, recording TEXT, "rowid" INT{columns})')
            one.execute(f'INSERT INTO main."{table}" SELECT ?, ?, rowid, * FROM source."{table}"',
                        (escaped(facts.get("host", "unknown")), facts["uuid"]))
        one.execute("COMMIT")
        one.execute("DETACH source")
    for view in views:
        if "read_parquet" not in view:
            one.execute(view.replace("CREATE OR REPLACE VIEW", "CREATE VIEW"))
    return one


def escaped(name):
    return "".join(chr(c) if chr(c).isascii() and (chr(c).isalnum() or c == 0x2d) else f"_{c:02x}" for c in name.encode())


def check_views(tools, views, one):
    names = [re.match(r"CREATE OR REPLACE VIEW (\w+) AS", v).group(1) for v in views if "read_parquet" not in v]
    queries = []
    for name in names:
        columns = [c for c, *_ in one.execute(f"SELECT * FROM {name} LIMIT 0").description]
        queries.append(f'SELECT count(*), ' + ", ".join(f'count("{c}"), min("{c}"), max("{c}")' for c in columns) +
                       f" FROM {name}")
    wrong = []
    for name, sql, answer in zip(names, queries, duck(tools, views + queries)[len(views):]):
        want = [list(row) for row in one.execute(sql)]
        if "error" in answer or not same(answer["rows"], want):
            wrong.append(f"{name}: {answer} != {want}")
    result(not wrong and len(names) > 6, f"{len(names)} views over all recordings: equal", "\n".join(wrong))


def check_questions(tools, views, one):
    """Returns ms in DuckDB, of CPU time there, and in SQLite of each question."""
    files = sorted(QUESTIONS.glob("*.sql"))
    asked = [re.sub(r"(?m)^--.*\n", "", f.read_text()) for f in files]
    times = {}
    for f, sql, answer in zip(files, asked, duck(tools, views + asked)[len(views):]):
        start = time.monotonic()
        want = [list(row) for row in one.execute(sql)]
        times[f.stem] = (answer.get("ms", 0), answer.get("cpu", 0), 1000 * (time.monotonic() - start))
        good = "error" not in answer and want and same(answer["rows"], want)
        result(good, f"{f.stem}: {len(want)} rows, equal", f"{answer}\n!= {want}")
    return times


def statements(analyze, directory):
    run = subprocess.run([analyze, "schema", "--duckdb", directory], stdout=subprocess.PIPE, text=True, check=True)
    return [v for v in run.stdout.split(";\n") if v]


def main():
    all_of_it = sys.argv[1] != "--tables"
    tools, analyze, directory, *paths = sys.argv[1 if all_of_it else 2:]
    views = statements(analyze, directory)
    sources = []
    for path in paths:
        db = attach(path.removeprefix("+"))
        sources.append((db, db.execute("SELECT value FROM recording WHERE key='uuid'").fetchone()[0], path[0] != "+"))
    check_tables(tools, views, sources)
    check_pushdown(tools, views, sources)
    if all_of_it:
        one = one_database(views, [path.removeprefix("+") for path in paths])
        check_views(tools, views, one)
        check_questions(tools, views, one)
    sys.exit(failed)


if __name__ == "__main__":
    main()
