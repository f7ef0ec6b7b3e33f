# SPDX-License-Identifier: GPL-2.0-or-later
"""Two recordings of the same, and of a service that became slower by a known share: what does
compare say? The service time is exponential with a known mean, arrivals are Poisson; both sides of the
connection run with real-time priority (repeats.py says why)."""
import json
import os
import subprocess

import lab
from scenes import Scene

WORK_US, RATE, SECONDS = 200, 2000, 6
# rates become more or less, times slower or faster
ALARMS = ("slower", "faster", "more", "less")
JUDGED = ALARMS + ("equivalent", "inconclusive")


def available():
    return subprocess.run([lab.OBSANALYZE, "compare", "--help"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def recording(path, scale, seed, directory):
    with Scene("service", directory, "-w", "%g" % (WORK_US * scale), "-s", str(seed), first=True) as s:
        with lab.Recording(path, [s.pid]):
            return s.load([RATE], SECONDS, seed, 128)[0]


def pair(scale, seed, directory):
    """One pair; every verdict that compare gave."""
    row = {"scale": scale, "seed": seed}
    if not available():
        return dict(row, missing="compare not in this build")
    paths = [os.path.join(directory, "%s.obs" % n) for n in "ab"]
    clients = [recording(p, s, 2 * seed + i, directory) for i, (p, s) in enumerate(zip(paths, (1, scale)))]
    done = subprocess.run([lab.OBSANALYZE, "compare", "--json"] + paths,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    for p in paths:
        os.unlink(p)
    if done.returncode:
        return dict(row, failed="compare: status %d: %s" % (done.returncode, done.stderr.strip()[-200:]))
    report = json.loads(done.stdout)
    row["verdicts"] = [{k: r[k] for k in ("subject", "name", "before", "after", "ratio", "low", "high",
                                                    "verdict")}
                       for r in report["changes"]]
    judged = [r for r in row["verdicts"] if r["verdict"] in JUDGED]
    if not judged:
        return dict(row, failed="compare judged nothing: " + "; ".join(f["sentence"] for f in report["findings"])[:200])
    row["alarms"] = [r for r in judged if r["verdict"] in ALARMS]
    row["slower"] = [r for r in judged if r["verdict"] == "slower"]
    row["client"] = [c["from_sent"]["p50"] for c in clients]
    return row
