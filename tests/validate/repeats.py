# SPDX-License-Identifier: GPL-2.0-or-later
"""The same server under the same load, recorded again and again: every change that compare finds is a
false alarm. Neighbours are compared as pairs, and five recordings with five others, drawn by lot.

The server and its client run with real-time priority on a CPU each, so that others on this machine take
no time from them. What cannot be held back (caches, the other thread of a core, a host below this
machine) changes what a request costs between recordings; that is in the numbers."""
import contextlib
import json
import os
import random
import subprocess
import threading
import time

import lab

RATE, SIDE, LEAST = 8000, 5, 0.05


class Calm(lab.Loopback):
    on_server, on_client = lab.FIRST_ON_SERVER, lab.FIRST_ON_CLIENT


def too_many(alarms, n, share=LEAST):
    """More than chance explains if a share of n raises one: P(alarms or more) below 5 %."""
    p, term = 0.0, (1 - share) ** n
    for k in range(alarms):
        p += term
        term *= (n - k) / (k + 1) * share / (1 - share)
    return 1 - p < 0.05


def record(n, seconds, directory):
    paths = [os.path.join(directory, "%02d.obs" % i) for i in range(n)]
    with lab.Server("redis-get", Calm(), directory) as server:
        # longer than others who measure on this machine can hold it; it ends with its server
        threading.Thread(target=lambda: load_until_its_end(server), daemon=True).start()
        time.sleep(2)
        for path in paths:
            with lab.Recording(path, server.pids):
                time.sleep(seconds)
    return paths


def load_until_its_end(server):
    """A load that the end of its server cuts short."""
    with contextlib.suppress(lab.Failed, subprocess.TimeoutExpired, ValueError):
        server.load(RATE, 900, 1, timeout=960)


def compare(before, after):
    """What it said, or why it did not."""
    done = subprocess.run([lab.OBSANALYZE, "compare", "--json", "--fail-on", "slower", "--before"] + before +
                          ["--after"] + after, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    if done.returncode not in (0, 7):
        return {"refused": done.stderr.strip()[-200:]}
    moved = [{k: r[k] for k in ("subject", "name", "ratio", "low", "high", "verdict", "gates")}
             for r in json.loads(done.stdout)["changes"] if r["verdict"] in ("slower", "faster")]
    return {"alarms": moved, "status": done.returncode}


def row(what, answers):
    done = [a for a in answers if "alarms" in a]
    counted = {"what": what, "asked": len(answers), "compared": len(done),
               "said": sum(bool(a["alarms"]) for a in done),
               "gate": sum(any(r["gates"] for r in a["alarms"]) for a in done),
               "failed_on": sum(a["status"] == 7 for a in done),
               "which": [r for a in done for r in a["alarms"]],
               "refused": [a["refused"] for a in answers if "refused" in a]}
    counted["right"] = bool(done) and not too_many(counted["gate"], len(done))
    return counted


def repeats(n, seconds, draws, directory):
    paths = record(n, seconds, directory)
    lot = random.Random(n)
    rows = [row("neighbours, one a side", [compare([a], [b]) for a, b in zip(paths, paths[1:])])]
    if n >= 2 * SIDE:
        drawn = [lot.sample(paths, 2 * SIDE) for _ in range(draws)]
        rows.append(row("%d a side, drawn by lot" % SIDE, [compare(d[:SIDE], d[SIDE:]) for d in drawn]))
    return rows
