# SPDX-License-Identifier: GPL-2.0-or-later
"""Call stacks of servers: complete, ending where threads start, and with the callers that perf finds."""
import contextlib
import csv
import functools
import glob
import io
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

import figures
import lab

# name, settings of the server, share of complete stacks that is the target
SERVERS = [
    ("redis-get", {}, .99), ("nginx", {}, .99), ("postgres-select", {}, .99), ("memcached", {}, .99), ("mariadb", {}, .99),
    ("http", {"NODE_OPTIONS": "--perf-basic-prof"}, .97),
]
CALLED = re.compile(r"\b(?:inner|middle|outer)\b")
NAMED = re.compile(r"\binner\b.*\bmiddle\b.*\bouter\b")
HZ, SECONDS = 499, 5
LEAST = 50       # stacks that hold a call site, in both, for its callers to be compared
DEVIATION = 4.5  # standard deviations allowed between two shares: one comparison of 10^5 is worse by chance
PATHS = 40
# of shares that are known: Holm at 5 % over all of them, which refuses one where the largest has p < 5 % / 40
KNOWN_DEVIATION = statistics.NormalDist().inv_cdf(1 - .05 / PATHS / 2)
USER_CUT, NO_USER, HANDLER = 1, 4, 16
ENTRY = re.compile(r"^([0-9a-f]+) .* (?:CIE$|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))", re.M)
UNDEFINED = re.compile(r"DW_CFA_undefined: r(?:16|30)\b")
PERF_FRAME = re.compile(r"^\s+([0-9a-f]+) \((.*)\)$", re.M)


@functools.cache
def roots(path):
    """Functions without a caller, by readelf: address ranges in which the return address is undefined."""
    text = subprocess.run(["readelf", "--debug-dump=frames", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False).stdout
    entries = [(m[1], m[2], m[3], m[4], m.end()) for m in ENTRY.finditer(text)]
    ends = [e[4] for e in entries[1:]] + [len(text)]
    undefined = [bool(UNDEFINED.search(text, e[4], end)) for e, end in zip(entries, ends)]
    common = {int(e[0], 16) for e, u in zip(entries, undefined) if u and not e[1]}
    return [(int(e[2], 16), int(e[3], 16)) for e, u in zip(entries, undefined)
            if e[1] and (u or int(e[1], 16) in common)]


class Ours:
    """Samples of a recording, as lists of (module's path, address) from the innermost."""

    def __init__(self, path):
        db = path + ".db"
        lab.run([lab.OBSANALYZE, "load", "-o", db, path], timeout=300)
        self.db = db
        self.modules = {row[0]: (row[1], row[2]) for row in self.rows("SELECT id, kind, path FROM module")}
        names = dict(self.rows("SELECT frame, name FROM symbol"))
        self.frames = {row[0]: self.modules.get(row[1], ("", "")) + (int(row[2]), names.get(row[0], ""))
                       for row in self.rows("SELECT id, module, address FROM frame")}
        self.nodes = {int(row[0]): (int(row[1]), row[2]) for row in self.rows("SELECT id, caller, frame FROM stack")}
        # a kernel thread, or one that ends, has no user stack
        self.samples = [(self.stack(int(s)), int(f)) for s, f in self.rows(
            "SELECT user_stack, flags FROM sample WHERE (user_stack > 0 OR flags & %d) AND NOT flags & %d ORDER BY ts" %
            (NO_USER, HANDLER))]
        self.waits = [(self.stack(int(s)), int(f)) for s, f in self.rows(
            "SELECT user_stack, flags FROM offcpu WHERE (user_stack > 0 OR flags & 4) AND NOT flags & 8")]
        os.unlink(db)

    def rows(self, query):
        text = lab.run([lab.OBSANALYZE, "sql", "--csv", self.db, query], timeout=120)
        return list(csv.reader(io.StringIO(text)))[1:]

    def stack(self, number):
        out = []
        while number:
            number, frame = self.nodes[number]
            out.append(self.frames[frame])
        return out


def is_root(frame):
    kind, path, address, _ = frame
    return kind == "file" and any(low <= address < high for low, high in roots(path))


def complete(stacks):
    """How many lead to a function that has no caller."""
    return sum(not flags & (USER_CUT | NO_USER) and bool(frames) and is_root(frames[-1]) for frames, flags in stacks)


class Perf:
    """perf record --call-graph dwarf of the same processes at the same time."""

    def __init__(self, path, pids):
        self.path = path
        self.process = subprocess.Popen(
            lab.ON_CLIENT + ["perf", "record", "-q", "-m", "16M", "--call-graph", "dwarf,32768", "-F", str(HZ), "-e", "cpu-clock", "-o", path,
                             "-p", ",".join(str(p) for p in pids)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stacks(self):
        """User stacks of its samples, as lists of (file, address as in its symbol table)."""
        text = lab.run(["perf", "script", "-i", self.path, "--no-inline", "-F", "comm,ip,dso"], timeout=300)
        os.unlink(self.path)
        stacks = [[site(m[2], int(m[1], 16)) for m in PERF_FRAME.finditer(sample) if int(m[1], 16) < 1 << 63]
                  for sample in text.split("\n\n")]
        return [s for s in stacks if s]


def site(path, address):
    """None: not in a file. A program may be known by a link."""
    return (os.path.realpath(path), address) if path.startswith("/") and not path.startswith("/tmp/perf-") else None


def callers(stacks):
    """How often a call site has a caller: {site: {caller: count}}. Where a stack is cut off, nothing is known."""
    out = {}
    for sites in stacks:
        for callee, caller in set(zip(sites[1:], sites[2:])):
            if callee and caller:
                of = out.setdefault(callee, {})
                of[caller] = of.get(caller, 0) + 1
    return out


def compare(ours, theirs):
    """Callers compared, and the one whose shares of its callee's calls differ most, in standard deviations."""
    a, b = callers(ours), callers(theirs)
    compared, worst = 0, (0, "-", 0, 0)
    for callee in set(a) & set(b):
        n, m = sum(a[callee].values()), sum(b[callee].values())
        if min(n, m) < LEAST:
            continue
        for caller in set(a[callee]) | set(b[callee]):
            x, y = a[callee].get(caller, 0), b[callee].get(caller, 0)
            p = (x + y) / (n + m)
            off = abs(x / n - y / m) / max((p * (1 - p) * (1 / n + 1 / m)) ** .5, 1e-9)
            compared += 1
            worst = max(worst, (off, "%s+%#x" % (os.path.basename(caller[0]), caller[1]), x / n, y / m))
    return compared, worst


@contextlib.contextmanager
def no_maps_left():
    """Removes the perf maps of programs that ran within and have ended."""
    def maps():
        return set(glob.glob("/tmp/perf-[0-9]*.map"))
    before = maps()
    try:
        yield
    finally:
        for path in maps() - before:
            if not os.path.exists("/proc/" + path[len("/tmp/perf-"):-len(".map")]):
                os.unlink(path)


def judged(row, ours, least):
    n, good = len(ours.samples), complete(ours.samples)
    row.update(n=n, complete=good, interval=figures.wilson(good, n), least=least, waits=len(ours.waits),
               complete_waits=complete(ours.waits), right=n > 0 and good >= least * n)
    cut = {}
    for frames, flags in ours.samples:
        if frames and (flags & USER_CUT or not is_root(frames[-1])):
            last = "%s+%#x %s" % (os.path.basename(frames[-1][1] or frames[-1][0]), frames[-1][2], frames[-1][3])
            cut[last] = cut.get(last, 0) + 1
    row["ends"] = sorted(((k, v) for k, v in cut.items()), key=lambda kv: -kv[1])[:5]
    row["none"] = sum(bool(flags & NO_USER) for _, flags in ours.samples)
    return row


def server(name, settings, least, directory):
    path = os.path.join(directory, "callers.obs")
    with no_maps_left(), lab.Loopback() as net, lab.Server(name, net, directory, **settings) as s:
        s.load(0, 1, 1)  # generated code is warm
        pids = [p for p in s.pids if os.path.exists("/proc/%d" % p)]
        with lab.Recording(path, pids, ["--sample-rate", str(HZ)]):
            perf = Perf(path + ".perf", pids) if shutil.which("perf") else None
            time.sleep(.5)
            s.load(0, SECONDS, 2)
            if perf:
                lab.end(perf.process, signal.SIGINT)
        row = {"what": s.word("title")}
    theirs = perf.stacks() if perf else []
    ours = Ours(path)
    os.unlink(path)
    row = judged(row, ours, least)
    if settings or len(theirs) < 100:
        return row  # perf does not find callers of generated code
    mine = [[site(p, at) for _, p, at, _ in frames] for frames, _ in ours.samples if frames]
    row["perf"] = len(theirs)
    row["sites"], row["worst"] = compare(mine, theirs)
    row["right"] = row["right"] and row["worst"][0] <= DEVIATION
    return row


def interpreters():
    """(title, command, share of complete stacks, whether functions of the program have names)"""
    perf = subprocess.run(["sh", os.path.join(lab.HERE, "trampolines.sh")], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip()
    code = os.path.join(lab.HERE, "deep.py")
    plain = next(c for c in ("/usr/bin/python3", "python3") if shutil.which(c))  # the distribution's
    yield "node", "node --perf-basic-prof", \
        ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", os.path.join(lab.HERE, "node", "deep.js")], .97, True
    yield "python", lab.run([plain, "--version"]).strip() + ", frames of the interpreter", [plain, code], .95, False
    if perf:
        yield "python-perf", lab.run([perf, "--version"]).strip() + " -X perf", [perf, "-X", "perf", code], .95, True


def interpreter(title, command, least, named, directory):
    """A program of three functions that call each other."""
    path = os.path.join(directory, "callers.obs")
    with no_maps_left(), lab.machine():
        lab.run(lab.ON_CLIENT + [os.path.join(lab.TOP, "obsrec"), "-q", "-o", path, "--sample-rate", str(HZ), "--"] +
                command + [str(SECONDS)], cwd=directory)
    ours = Ours(path)
    os.unlink(path)
    row = judged({"what": title + ": three functions"}, ours, least)
    if named:
        chains = [" ".join(f[3] for f in frames if CALLED.search(f[3])) for frames, _ in ours.samples]
        has = [bool(NAMED.search(c)) for c in chains]
        # before the first and after the last, the interpreter starts and ends
        has = has[has.index(True):len(has) - has[::-1].index(True)] if any(has) else [False]
        row.update(named=sum(has), named_of=len(has))
        row["right"] = row["right"] and row["named"] >= least * row["named_of"]
    return row


def paths(directory):
    """stackwork: 40 call paths; path N has 1 + N % 4 of 100 parts of the CPU time."""
    path = os.path.join(directory, "callers.obs")
    with lab.machine():
        lab.run([os.path.join(lab.TOP, "obsrec"), "-q", "-o", path, "--sample-rate", "997", "--",
                 lab.program("stackwork")])
    ours = Ours(path)
    os.unlink(path)
    got, mixed = [0] * PATHS, 0
    for frames, _ in ours.samples:
        found = re.search(r"\bleaf_(\d+) mid_(\d+) top_(\d+) main\b", " ".join(f[3] for f in frames))
        if found and len(set(found.groups())) == 1:
            got[int(found[1])] += 1
        elif found:
            mixed += 1
    n = sum(got)
    off = [abs(got[i] / n - p) / (p * (1 - p) / n) ** .5 for i in range(PATHS) for p in [(1 + i % 4) / 100]] if n else [99]
    row = judged({"what": "40 call paths of known shares"}, ours, .99)
    row.update(sites=PATHS, worst=(max(off), "path %d" % off.index(max(off)), 0, 0), mixed=mixed)
    row["right"] = row["right"] and max(off) <= KNOWN_DEVIATION and not mixed
    return row
