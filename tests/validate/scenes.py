# SPDX-License-Identifier: GPL-2.0-or-later
"""The scenario programs: each becomes slow for one known reason; what does the report say?"""
import json
import os
import subprocess
import time

import figures
import judge
import lab

CALM, FAULT = 5, 3  # seconds before the fault begins, and with it

# name; program and its options; requests a second before and with the fault; connections; whole host
# recorded or only the server; kinds of which one must come first; words that its sentence
# must hold ({culprit}: pid that the program printed, {peer}: port of the other server); kinds never to be
# reported (judge.py)
SCENES = [
    ("one thread at 100 %", "service", ["-w", "1000"], (400, 1500), 16, False, ("saturation", "self"), (),
     ("disk", "lock", "peer")),
    ("burner on the same CPU", "cpu_burner", ["-w", "1000"], (300, 300), 4, False, ("cpu_contender",),
     ("burner|{culprit}",), ("saturation", "throttle", "lock", "disk")),
    ("cgroup quota", "quota", ["-w", "600"], (300, 300), 4, False, ("throttle",), (),
     ("cpu_contender", "lock", "disk")),
    ("mutex held while asleep", "held_mutex", ["-w", "400"], (100, 100), 4, False, ("lock",),
     ("housekeeping",), ("handoff", "disk", "cpu_contender")),
    ("mutex taken again at once", "barging_mutex", ["-w", "400"], (100, 100), 4, False, ("lock",),
     ("greedy",), ("handoff", "disk", "cpu_contender")),
    ("mutex held during fsync", "held_fsync", ["-w", "400"], (100, 100), 4, False, ("lock", "disk"),
     ("journal", "disk|fsync|fdatasync"), ("handoff", "cpu_contender")),
    ("memory maps held in mprotect", "held_mmap", ["-w", "200"], (100, 100), 4, False, ("blocked", "pause"),
     ("housekeeping", "mprotect"), ("handoff", "disk", "cpu_contender")),
    ("worker queue, long jobs", "worker_queue", ["-w", "400"], (150, 150), 4, False,
     ("self", "handoff", "saturation"), ("worker",), ("lock", "disk")),
    ("fsync hog beside direct reads", "disk_hog", [], (150, 150), 4, True, ("disk",), ("hog",),
     ("lock", "peer")),
    ("slow server downstream", "slow_peer", ["-w", "200"], (100, 100), 4, False, ("peer",), ("{peer}",),
     ("self", "lock", "disk")),
    ("pipe whose reader is slow", "full_pipe", ["-w", "200"], (150, 150), 4, False, ("pipe",), (),
     ("lock", "disk")),
    ("broadcast storm", "wake_storm", ["-w", "200"], (100, 100), 4, False, ("lock", "handoff"), ("number",),
     ("disk", "peer")),
]


class Scene:
    """A running scenario program."""
    port = 26000 + os.getpid() % 400 * 10

    def __init__(self, name, directory, *options, first=False):
        """first: server and client run with real-time priority."""
        Scene.port += 3
        self.port, self.on_client = Scene.port, lab.FIRST_ON_CLIENT if first else lab.ON_CLIENT
        command = (lab.FIRST_ON_SERVER if first else []) + [lab.program("scenarios/" + name)]
        self.process = subprocess.Popen(
            command + ["-p", str(self.port), "-d", "600", "-t", directory] + list(options), stdout=subprocess.PIPE,
            text=True)
        self.pid, self.told = self.process.pid, {}

    def __enter__(self):
        hexport = "%04X" % self.port
        for _ in range(200):
            with open("/proc/net/tcp", encoding="ascii") as f:
                if any(line.split()[1].endswith(":" + hexport) and line.split()[3] == "0A"
                       for line in f.readlines()[1:]):
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.__exit__()
        raise lab.Failed("the scenario did not start")

    def __exit__(self, *_):
        lab.end(self.process)
        for line in self.process.stdout.read().split():
            key, _, value = line.partition("=")
            self.told.setdefault(key, []).append(value)
        return False

    def load(self, rates, seconds, seed, conns, *options):
        command = self.on_client + [lab.program("loadgen"), "-P", "line", "-c", str(conns), "-r",
                                   ",".join("%g" % r for r in rates), "-d", str(seconds), "-s", str(seed)]
        out = lab.run(command + list(options) + [lab.Loopback.address, str(self.port), "\\n"])
        return [json.loads(line) for line in out.splitlines()]


def cgroup_for(name):
    """A directory below the CPU controller, version 1 or 2."""
    for base in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
        if os.path.exists(os.path.join(base, "cgroup.procs")):
            return os.path.join(base, "validate-%d-%s" % (os.getpid(), name))
    raise lab.Failed("this host has no cgroup with a CPU controller")


def remove_cgroup(path):
    for _ in range(50):
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.1)


def play(scene, seed, directory, keep):
    """One run of a scenario; returns its row."""
    name, program, options, rates, conns, everything, expected, culprit, never = scene
    group = cgroup_for(program) if program == "quota" else None
    path = os.path.join(keep or directory, "scene-%s-%d.obs" % (program, seed))
    try:
        with Scene(program, directory, "-f", str(CALM), "-s", str(seed), *options,
                   *(["-g", group] if group else [])) as s:
            with lab.Recording(path, None if everything else [s.pid]):
                # rates in steps of a second, so that only the load of the saturated one changes
                client = s.load([rates[0]] * CALM + [rates[1]] * FAULT, 1, seed, conns)
    finally:
        if group:
            remove_cgroup(group)
    answers = lab.Answers(path, keep=bool(keep))
    words = [c.format(culprit="|".join(s.told.get("culprit", ["none"])), peer=s.port + 1) for c in culprit]
    row = judge.judge(answers, expected, words, never)
    answers.close()
    calm, late = client[1:CALM], client[CALM:]
    row.update(case=name, program=program, seed=seed, p50_calm=median_of(calm), p50_fault=median_of(late))
    return row


def median_of(steps):
    values = sorted(s["from_due"]["p50"] for s in steps)
    return values[len(values) // 2]


def arrivals(poisson, seed, directory):
    """Variation of the gaps between receives: 1 for random arrivals, 0 for regular ones. The client's own
    gaps are counted too: when others keep its CPU busy, it sends in bursts, and the server must see that."""
    rate, seconds = 500, 8
    path = os.path.join(directory, "arrivals.obs")
    with Scene("service", directory, "-w", "50", "-s", str(seed)) as s:
        with lab.Recording(path, [s.pid]):
            steps = s.load([rate] * seconds, 1, seed, 64, *([] if poisson else ["-C"]))
    answers = lab.Answers(path)
    values = [m["value"] for m in answers.metrics("saturation", "recv CV2")]
    missing = None if answers.has("saturation") else "analysis saturation not in this build"
    answers.close()
    # CV^2 of n exponential gaps has the standard error 2 / sqrt(n) (delta method), that of constant ones
    # none; the median of k windows has 1.2533 / sqrt(k) of it
    error = 2 / rate ** .5 * 1.2533 / seconds ** .5 if poisson else 0
    return {"case": "Poisson arrivals" if poisson else "regular arrivals", "seed": seed, "cv2": values,
            "sent": figures.median([s["sent_cv2"] for s in steps]), "error": error, "missing": missing}


def sends(k, seed, directory):
    """k sends a request, a known rate: the slope is k."""
    path = os.path.join(directory, "sends.obs")
    with Scene("service", directory, "-w", "50", "-k", str(k), "-s", str(seed)) as s:
        rows = []
        for rate in (200, 600, 1200):
            with lab.Recording(path, [s.pid]):
                client = s.load([rate], 3, seed, 32)[0]
            answers = lab.Answers(path)
            rows.append({"client": client["rate"], **{
                n: sum(m["value"] for w in wanted for m in answers.metrics("rps", w))
                for n, wanted in (("sends", ["sends"]), ("requests", ["requests", "exchanges"]), ("sends/request", ["sends/request"]))}})
            answers.close()
    return {"case": "%d sends a request" % k, "k": k, "rows": rows}
