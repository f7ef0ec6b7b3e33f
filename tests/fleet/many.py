#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""many.py TOOLS CLICKHOUSE OBSANALYZE [N]: 200 recordings of 20 hosts, the questions of obs-fleet(7) in DuckDB, in two
clickhouse-servers (CLICKHOUSE is what clickhouse.sh made, or none) and in SQLite, with times.

Parts of the recordings in testdata/, cut and loaded, are relabelled: host, kernel, time, id and build-id of the program.
"""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests" / "check"))
import clickhouse  # noqa: E402
import parquet  # noqa: E402

HOSTS, RECORDINGS = 20, 200
KERNELS = ["6.1.0-37", "6.12.41", "6.18.2"]
DAY = 86400 * 10**9


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cut_parts(analyze, work):
    """Databases of different parts, with requests, pauses and disks in them."""
    parts = []
    for name in "demo-fault", "demo-healthy":
        for start in range(0, 4):
            part = work / f"{name}-{start}"
            run(analyze, "cut", "--from", f"{start}s", "--to", f"{start + 1}s", "-o", f"{part}.obs",
                TOP / "testdata" / f"{name}.obs")
            run(analyze, "load", "-o", f"{part}.db", f"{part}.obs")
            parts.append(f"{part}.db")
    return parts


def relabel(source, path, number, recordings):
    host = number % HOSTS
    shutil.copy(source, path)
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("PRAGMA journal_mode=off; PRAGMA synchronous=off; BEGIN")
    facts = {"host": f"web{host:02}.example.org", "kernel": KERNELS[host % len(KERNELS)], "uuid": f"{number + 1:032x}",
             "start_realtime_ns": str(1795244405853909135 + number // HOSTS * DAY)}
    for key, value in facts.items():
        db.execute("UPDATE recording SET value = ? WHERE key = ?", (value, key))
    db.execute("UPDATE module SET build_id = ? WHERE path LIKE '%/redis-server'",
               ("aa" * 20 if number < recordings / 2 else "bb" * 20,))
    db.execute("COMMIT")
    db.close()


def check_counts(cluster, one, tables):
    """Every table: rows, and that those of a recording are on one server."""
    wrong = []
    for table in tables:
        (want,) = one.execute(f'SELECT count(*), count(DISTINCT recording), sum(rowid) FROM "{table}"')
        if cluster.rows(f"SELECT count(), uniqExact(recording), sum(rowid) FROM `{table}`") != [list(map(str, want))]:
            wrong.append(table)
    shares = [int(cluster.ask(i, "SELECT uniqExact(recording) FROM recording_local")) for i in range(2)]
    (recordings,) = one.execute("SELECT count(DISTINCT recording) FROM recording").fetchone()
    parquet.result(not wrong and len(tables) > 20, f"{len(tables)} tables on two servers: all rows", wrong)
    parquet.result(sum(shares) == recordings and all(shares), f"recordings of the servers: {shares[0]} and {shares[1]}")


def ask_cluster(cluster, one):
    for f in sorted(parquet.QUESTIONS.glob("*.sql")):
        want = [list(row) for row in one.execute(f.read_text())]
        start = time.monotonic()
        rows = cluster.rows((clickhouse.QUESTIONS / f.name).read_text())
        took = time.monotonic() - start
        parquet.result(want and parquet.same(rows, want), f"{f.stem}: {len(want)} rows from two servers in {took:.2f} s, equal",
                       f"{rows}\n!= {want}")


def check_cluster(tools, analyze, one, paths, work):
    sources = []
    for path in paths:
        facts = dict(parquet.attach(path).execute("SELECT key, value FROM recording"))
        sources.append((path, parquet.escaped(facts["host"]), facts["uuid"]))
    with clickhouse.Cluster(tools, work) as cluster:
        start = time.monotonic()
        tables = clickhouse.fill(cluster, analyze, sources, work)
        megabytes = sum(table.stat().st_size for table in tables) / 1e6
        print(f"two clickhouse-servers: {megabytes:.1f} MB of CSV in {time.monotonic() - start:.1f} s")
        check_counts(cluster, one, [table.name for table in tables])
        ask_cluster(cluster, one)


def main():
    tools, server, analyze = sys.argv[1], sys.argv[2], os.path.abspath(sys.argv[3])
    recordings = int(sys.argv[4]) if sys.argv[4:] else RECORDINGS
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        parts = cut_parts(analyze, work)
        paths = [str(work / f"{number}.db") for number in range(recordings)]
        for number, path in enumerate(paths):
            relabel(parts[number % len(parts)], path, number, recordings)
        start = time.monotonic()
        run(analyze, "export", "--parquet", work / "fleet", *paths)
        took = time.monotonic() - start
        files = [f.stat().st_size for f in (work / "fleet").rglob("*.parquet")]
        views = parquet.statements(analyze, str(work / "fleet"))
        start = time.monotonic()
        one = parquet.one_database(views, paths)
        filled = time.monotonic() - start
        tables = [v.split('"')[1] for v in views if "read_parquet" in v]
        rows = sum(one.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables)
        print(f"{recordings} recordings of {min(HOSTS, recordings)} hosts, {rows} rows: Parquet in {took:.1f} s, {len(files)} files of"
              f" {sum(files) / 1e6:.1f} MB; SQLite in {filled:.1f} s")
        for question, (duck, cpu, lite) in parquet.check_questions(tools, views, one).items():
            print(f"{question}: DuckDB {duck / 1000:.2f} s (CPU {cpu / 1000:.2f} s), SQLite {lite / 1000:.2f} s")
        if server == "none":
            print("ok two clickhouse-servers # SKIP clickhouse-server of Debian is not at hand")
        else:
            check_cluster(server, analyze, one, paths, work)
    sys.exit(parquet.failed)


main()
