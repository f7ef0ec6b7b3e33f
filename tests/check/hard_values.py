#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Values at the ends of their types, in a database for export --parquet.

hard_values.py DATABASE NEW                         a copy with such values in tables mark, qos and file_path
hard_values.py --text TOOLS OBSANALYZE DATABASE     text that is no UTF-8 becomes \\xNN in DuckDB
"""
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys

INT_MAX = 2**63 - 1
ROWS = 140000  # more than a row group


def numbers(pick):
    """Runs of each kind of sequence: extremes, NULLs, constants, steps, small and large differences."""
    kinds = [lambda i: pick.choice([INT_MAX, -INT_MAX, 0, None]), lambda i: None, lambda i: 7, lambda i: 3 * i,
             lambda i: pick.getrandbits(63) - 2**62, lambda i: pick.getrandbits(12), lambda i: INT_MAX - i % 2]
    while True:
        kind = pick.choice(kinds)
        for i in range(pick.choice([1, 31, 33, 127, 128, 129, 1000])):
            yield kind(i)


def make(source, path):
    shutil.copy(source, path)
    db = sqlite3.connect(path)
    pick = random.Random(4)
    columns = [numbers(pick) for _ in range(7)]
    db.executemany("INSERT INTO mark(ts, tid, site, arg0, arg1, arg2, arg3) VALUES (?, ?, ?, ?, ?, ?, ?)",
                   (tuple(next(c) for c in columns) for _ in range(ROWS)))
    reals = [0.0, -0.0, 1e-300, -1e300, 0.1, None, 5e-324]
    db.executemany("INSERT INTO qos VALUES (?, ?, ?)", ((i, pick.choice(reals), 1) for i in range(5000)))
    texts = ["", "a", "x" * 64, "x" * 65, "y" * 5000, None, "\u20ac\U0001f600", "'\"\\%", "line\nline"]
    db.executemany("INSERT INTO file_path VALUES (?, ?)", ((i, pick.choice(texts)) for i in range(5000)))
    db.commit()


def check_text(tools, analyze, source):
    shutil.copy(source, "text.db")
    db = sqlite3.connect("text.db")
    db.execute("DELETE FROM file_path")
    db.execute("INSERT INTO file_path VALUES (1, CAST(x'41ff42c328' AS TEXT))")
    db.commit()
    subprocess.run([analyze, "export", "--parquet", "text", "text.db"], stderr=subprocess.DEVNULL, check=True)
    sql = "SELECT path FROM read_parquet('text/file_path/host=*/recording=*/part.parquet')"
    run = subprocess.run(["node", str(pathlib.Path(__file__).with_name("duck.mjs")), tools], input=json.dumps([sql]),
                         stdout=subprocess.PIPE, text=True, check=True)
    got = json.loads(run.stdout).get("rows")
    good = got == [["A\\xffB\\xc3("]]
    print(f"{'ok' if good else 'not ok'} bytes that are no UTF-8 are readable: {got}")
    return 0 if good else 1


if sys.argv[1] == "--text":
    sys.exit(check_text(*sys.argv[2:]))
make(*sys.argv[1:])
