#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# replay_times.py ROUNDS ANALYZER BIG OTHER WORK: rows of a table of what obsanalyze takes for BIG, on two CPUs and on
# one, in interleaved rounds. OTHER is a recording as large, for compare; files are written below WORK.
import glob
import os
import shutil
import sys
import time

rounds, analyzer, big, other, work = int(sys.argv[1]), *sys.argv[2:]
trace, database, fleet = (f"{work}/{name}" for name in ("trace", "database", "fleet"))
RUNS = [
    ("report", ["report", "--no-cache", big], [2, 1]),
    ("compare, of two", ["compare", "--no-cache", other, big], [2, 1]),
    ("dump", ["dump", big], [2, 1]),
    ("verify", ["verify", big], [2, 1]),
    ("info", ["info", big], [2]),
    ("load", ["load", "-o", database, big], [2]),
    ("export, Perfetto", ["export", "-o", trace, big], [2]),
    ("export --parquet", ["export", "--no-cache", "--parquet", fleet, big], [2]),
]


def clear():
    for path in glob.glob(f"{work}/trace*") + glob.glob(f"{work}/database*"):
        os.unlink(path)
    shutil.rmtree(fleet, ignore_errors=True)


def run(arguments, cpus):
    clear()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cpus])
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.execv(analyzer, [analyzer] + arguments)
    _, status, used = os.wait4(child, 0)
    # bench_gen counts no emitted records: verify says DAMAGED
    if os.waitstatus_to_exitcode(status) not in ((0, 3) if arguments[0] == "verify" else (0,)):
        sys.exit(f"{' '.join(arguments)} failed")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def spread(values):
    values = sorted(values)
    return f"{values[len(values) // 2]:.2f} ({values[0]:.2f}-{values[-1]:.2f})"


def main():
    got, size = {}, os.path.getsize(big)
    for _ in range(rounds):
        for name, arguments, cpus in RUNS:
            for n in cpus:
                got.setdefault((name, n), []).append(run(arguments, n))
                if name == "export, Perfetto":
                    grown = os.path.getsize(trace) / size
    clear()
    print("| command | 2 CPUs, s | 1 CPU, s | CPU time on 2, s | peak memory, MiB |")
    print("|---|---|---|---|---|")
    for name, _, cpus in RUNS:
        two = got[name, 2]
        one = spread(r[0] for r in got[name, 1]) if 1 in cpus else ""
        peak = max(r[2] for n in cpus for r in got[name, n])
        what = f"{name}, {grown:.1f} x the recording" if name == "export, Perfetto" else name
        print(f"| {what} | {spread(r[0] for r in two)} | {one} | {spread(r[1] for r in two)} | {peak:.0f} |")


main()
