# SPDX-License-Identifier: GPL-2.0-or-later
"""Analysis shift against known effects.

A fault is switched on and off in windows of STEP. Which windows have it is a plan: so many of the first half, the baseline,
so many of the second half. Cliff's delta of the metric that the fault moves is then the difference of these shares: a window
with the fault is above one without, and those of one kind are equal but for chance. What the fault adds is counted elsewhere,
window by window, by monotonic time, which is the recording's: by rqclock.c, or by the program that makes the fault. (schedstat
counts by the clock of the run queue, which misses 80 us of each wakeup from another CPU: see "Run time and run-queue time
against schedstat".)
"""
import contextlib
import ctypes
import json
import mmap
import os
import random
import select
import signal
import socket
import statistics
import struct
import subprocess
import time

import lab
import totals

STEP = .1  # seconds
REST = .03  # of them at the end, without the fault: it ends in the window in which it started
SIDE = 100  # windows of each half
SHARES = {"planted": (.1, .7), "the same in both halves": (.4, .4), "nothing": (0, 0)}
NEAR, ALLOWED = 1.5, .1  # added: percentage points, or share of the truth
DELTA_ALLOWED = .1  # delta, of what was counted elsewhere
FIRST_PRIORITY, BURNER_PRIORITY, CROWD_PRIORITY, CLIENT_PRIORITY = 97, 90, 95, 40
RUN, QUEUE, BLOCKED = 1, 3, 6  # columns of rqclock.c, by monotonic time
STAMPS = 35  # SO_TIMESTAMPNS
CROWD = 2000
PR_SET_PDEATHSIG = 1


def plan(shares, seed):
    """Whether each window has the fault."""
    out = []
    for i, share in enumerate(shares):
        half = [k < round(share * SIDE) for k in range(SIDE)]
        random.Random(1000 * seed + i).shuffle(half)
        out += half
    return out


class Switch:
    """Shared with children: whether the fault is on, and what one of them counted."""
    def __init__(self):
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)
        self.children = []

    @property
    def on(self):
        return self.memory[0]

    @on.setter
    def on(self, value):
        self.memory[0] = int(value)

    @property
    def counted(self):
        return struct.unpack_from("q", self.memory, 8)[0]

    @counted.setter
    def counted(self, value):
        struct.pack_into("q", self.memory, 8, value)

    def fork(self, name, work, *arguments):
        pid = os.fork()
        if pid:
            self.children.append(pid)
            return pid
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with its parent
            with open("/proc/self/comm", "w", encoding="ascii") as f:
                f.write(name)
            work(self, *arguments)
        os._exit(0)

    def end(self):
        for pid in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def on_client():
    os.sched_setaffinity(0, {int(lab.CLIENT_CPU)})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(CLIENT_PRIORITY))


def burn(switch):
    """Before others on the server's CPU: 6 of 20 ms."""
    os.sched_setaffinity(0, {int(lab.SERVER_CPU)})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(BURNER_PRIORITY))
    while True:
        if switch.on:
            spin(.006)
        time.sleep(.014)


def write(switch, path):
    """Synchronous writes of 4 MiB."""
    on_client()
    fd, block = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT | os.O_DSYNC, 0o600), mmap.mmap(-1, 1 << 22)
    while True:
        if switch.on:
            os.pwrite(fd, block, random.randrange(16) << 22)
        else:
            time.sleep(.001)


def arrival(stamps):
    """ns since 1970 at which the kernel had the bytes. The first ones may have come before it was to note that."""
    for _, _, data in stamps:
        seconds, ns = struct.unpack("qq", data)
        return seconds * 10**9 + ns
    return time.time_ns()


def answer(switch, listening, late, busy):
    """An HTTP server of one thread that is so many seconds late, asleep or busy. Counts the time from arrivals to answers."""
    on_client()
    poll, page = select.epoll(), b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
    poll.register(listening, select.EPOLLIN)
    connections = {}
    while True:
        for fd, _ in poll.poll():
            if fd == listening.fileno():
                s = listening.accept()[0]
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                s.setsockopt(socket.SOL_SOCKET, STAMPS, 1)
                connections[s.fileno()] = s
                poll.register(s, select.EPOLLIN)
                continue
            s = connections[fd]
            data, stamps, *_ = s.recvmsg(4096, 64)
            if not data:
                poll.unregister(s)
                connections.pop(fd).close()
                continue
            if switch.on:
                (spin if busy else time.sleep)(late)
            s.sendall(page)
            switch.counted += time.time_ns() - arrival(stamps)


def ask(switch, address, port, question, seconds):
    """One request after the other, at times so many seconds apart; of question(on)."""
    on_client()
    s = socket.create_connection((address, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    due = time.monotonic()
    while True:
        due = max(due + seconds, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))
        s.sendall(question(switch.on))
        s.recv(4096)


def lua(loops):
    """A request of redis that computes."""
    return ("EVAL 'local x = 0; for i = 1, %d do x = x + i %% 7 end; return x' 0\r\n" % loops).encode()


class First(lab.Loopback):
    """Before others on this machine, whose load would add to the metrics."""
    on_server, on_client = lab.FIRST_ON_SERVER, lab.FIRST_ON_CLIENT


class Case:
    server, comm, settings, metrics = "redis-lua", "redis-server", {}, ()
    everything, column = False, None

    def __init__(self, directory):
        self.switch, self.directory = Switch(), directory

    def place(self, stack):
        """The server, with its load and its fault."""
        server = stack.enter_context(lab.Server(self.server, stack.enter_context(First()), self.directory, **self.settings))
        stack.callback(self.switch.end)
        self.begin(server)
        return server

    def counting(self, server):
        """A function: ns of the metric so far, counted elsewhere."""
        on = ["chrt", "-f", str(FIRST_PRIORITY)] + lab.ON_CLIENT
        with totals.Clocks(server.pids, on) as clocks:
            yield lambda: clocks.sums().get(server.pids[0], totals.NOTHING)[self.column]

    def load(self, server, question, seconds):
        self.switch.fork("asking", ask, server.address, server.port, question, seconds)


class RunQueue(Case):
    """redis: another process has its CPU for 6 of 20 ms"""
    metrics, column = ("rq_time",), QUEUE

    def begin(self, server):
        self.load(server, lambda on: lua(20000), .001)
        self.switch.fork("burner", burn)


class Runtime(Case):
    """redis: each request takes ten times the CPU time"""
    metrics, column = ("runtime",), RUN

    def begin(self, server):
        self.load(server, lambda on: lua(30000 if on else 3000), .002)


class Upstream(Case):
    """nginx as proxy: the server behind it answers 20 ms late"""
    server, comm, metrics = "nginx-proxy", "nginx", ("sleep_client",)
    late, busy = .02, False

    def place(self, stack):
        listening = stack.enter_context(socket.create_server((lab.Loopback.address, 0)))
        self.settings = {"UPSTREAM": listening.getsockname()[1]}
        self.upstream = self.switch.fork("upstream", answer, listening, self.late, self.busy)
        return super().place(stack)

    def begin(self, server):
        self.load(server, lambda on: b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n", .03)

    def counting(self, server):
        yield lambda: self.switch.counted


class Disk(Case):
    """redis: others write to the disk of its log of commands, which is synced each time"""
    server, metrics, column = "redis-get", ("block_time", "iowait_time"), BLOCKED

    def begin(self, server):
        for words in (("appendfsync", "always"), ("appendonly", "yes")):
            lab.run(["redis-cli", "-h", server.address, "-p", str(server.port), "CONFIG", "SET", *words])
        time.sleep(1)  # writes its first log
        self.load(server, lambda on: b"SET key:1 x\r\n", .01)
        for i in range(4):
            self.switch.fork("writer", write, os.path.join(self.directory, "hog%d" % i))


class Crowd(Upstream):
    """nginx as proxy, 2000 other threads: its CPU is taken, the server behind it computes"""
    everything, late, busy = True, .004, True

    def begin(self, server):
        super().begin(server)
        self.burner = self.switch.fork("burner", burn)
        self.others = subprocess.Popen(["chrt", "-f", str(CROWD_PRIORITY), lab.program("crowd"), str(CROWD)], stdout=subprocess.PIPE, text=True)
        self.others.stdout.readline()

    def place(self, stack):
        stack.callback(lambda: lab.end(self.others))
        return super().place(stack)


CASES = [RunQueue, Runtime, Upstream, Disk]


def drive(case, counted, windows):
    """Switches the fault; the time (ns since 1970) at which windows begin, and the ns counted elsewhere in each."""
    priority = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIRST_PRIORITY))
    try:
        start, counts = time.monotonic() + .05, []
        began = time.time_ns() + int((start - time.monotonic()) * 1e9)
        for k in range(len(windows) + 1):
            time.sleep(max(0, start + k * STEP - time.monotonic()))
            counts.append(counted())
            case.switch.on = k < len(windows) and windows[k]
            time.sleep(max(0, start + (k + 1) * STEP - REST - time.monotonic()))
            case.switch.on = False
    finally:
        case.switch.on = 0
        os.sched_setscheduler(0, *priority)
    return began, [b - a for a, b in zip(counts, counts[1:])]


def cliff(before, after):
    """Cliff's delta, by its definition."""
    return sum((b > a) - (b < a) for a in before for b in after) / (len(before) * len(after))


def answers(path, began):
    """Rows of analysis shift, in order, each its values; the finding's values; complete?"""
    half, step = SIDE * STEP, "%gms" % (1000 * STEP)
    report = json.loads(lab.run([
        lab.OBSANALYZE, "report", "--no-cache", "-a", "shift", "--json", "--step", step, "--from", lab.date(began), "--to",
        lab.date(began + int(2 * half * 1e9)), "--baseline", "0..%g" % half, "--degraded", "%g..%g" % (half, 2 * half), path]))
    rows = {}
    for m in report["metrics"]:
        if m["analysis"] == "shift":
            rows.setdefault(m["subject"], {})[m["name"]] = m["value"]
    found = next((f for f in report["findings"] if f["analysis"] == "shift"), None)
    complete = all(row["verdict"] in ("COMPLETE", "ABSENT") for row in report["coverage"])
    return rows, found, complete


def one(case, server, kind, seed, path):
    shares = SHARES[kind]
    windows = plan(shares, seed)
    with lab.Recording(path, None if case.everything else server.pids), contextlib.contextmanager(case.counting)(server) as counted:
        time.sleep(.3)
        began, counts = drive(case, counted, windows)
        time.sleep(.2)
    rows, found, complete = answers(path, began)
    row = {"case": case.__doc__.strip(), "kind": kind, "seed": seed, "planted": shares[1] - shares[0], "complete": complete,
           "rows": [[subject, values["delta"], values["from"], values["to"], values["added"]] for subject, values in rows.items()],
           "kind_found": found and found["kind"]}
    share = [100 * c / (STEP * 1e9) for c in counts]
    row["truth"] = statistics.median(share[SIDE:]) - statistics.median(share[:SIDE])
    row["truth_delta"] = cliff(share[:SIDE], share[SIDE:])
    return row


def metric_of(subject):
    """The metric in "name[pid/tid] (N threads) metric > resource, %"."""
    return subject.rpartition("] ")[2].rpartition(") ")[2].split(",")[0].split(" ")[0]


def judge_planted(case, server, row):
    first = row["rows"][0] if row["rows"] else None
    row["first"] = bool(first) and metric_of(first[0]) in case.metrics and lab.subject_pid(first[0]) in server.pids
    row["holds"] = row["first"] and first[2] <= row["planted"] <= first[3]
    row["right"] = row["first"] and abs(first[4] - row["truth"]) <= max(NEAR, ALLOWED * row["truth"]) and \
        abs(first[1] - row["truth_delta"]) <= DELTA_ALLOWED
    return row


def judge_crowd(case, server, row):
    """The three threads that matter have a row of their own, each the metric that shifts; of the others none has."""
    pids = {"server": (server.pids, ("rq_time", "sleep_client")), "burner": ([case.burner], ("runtime",)), "upstream": ([case.upstream], ("runtime",))}
    own = {name: [r for r in row["rows"] if lab.subject_pid(r[0]) in ids and metric_of(r[0]) in metrics] for name, (ids, metrics) in pids.items()}
    row["relevant"] = {name: bool(mine) for name, mine in own.items()}
    row["held"] = {name: any(r[2] <= row["planted"] <= r[3] for r in mine) for name, mine in own.items()}
    row["others"] = [r[0] for r in row["rows"] if "crowd" in r[0]]
    row["right"] = all(own.values()) and not row["others"]
    return row


def judge_noise(case, row):
    """A row of the metric that the fault moves is false, if it was not counted elsewhere as well."""
    own = next((r for r in row["rows"] if r[0].startswith(case.comm) and metric_of(r[0]) in case.metrics), None)
    row["row"] = own
    row["right"] = not own or abs(own[1] - row["truth_delta"]) <= DELTA_ALLOWED
    return row


def judged(case, server, row):
    if row["kind"] != "planted":
        return judge_noise(case, row)
    return (judge_crowd if isinstance(case, Crowd) else judge_planted)(case, server, row)


def runs(kind, directory, keep, quick, wanted):
    """All runs of one case; yields rows."""
    case = kind(directory)
    path = os.path.join(keep or directory, "shift-%s.obs" % kind.__name__.lower())
    with contextlib.ExitStack() as stack:
        server = case.place(stack)
        time.sleep(1)
        for what in ("planted",) if quick or isinstance(case, Crowd) else SHARES:
            for seed in range(1, (1 if quick else wanted) + 1):
                yield judged(case, server, one(case, server, what, seed, path))
