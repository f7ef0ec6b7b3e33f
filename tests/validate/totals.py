# SPDX-License-Identifier: GPL-2.0-or-later
"""Totals of a recording against those that the kernel and other tools counted at the same time. The
server is idle when counting begins and ends, so the edges do not matter."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

import lab


def compared(what, ours, theirs, unit, allowed):
    """allowed: largest difference, as a share of theirs."""
    off = abs(ours - theirs) / theirs if theirs else (0 if ours == theirs else float("inf"))
    return {"what": what, "ours": ours, "theirs": theirs, "unit": unit, "off": off, "allowed": allowed,
            "right": off <= allowed}


def schedstat(pids):
    """Run time and run queue time of each thread, ns."""
    out = {}
    for pid in pids:
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as f:
                run, queue, _ = f.read().split()
            out[int(tid)] = (int(run), int(queue))
    return out


class Clocks:
    """rqclock beside a recording: what it sums and what schedstat says, read at the same moments."""

    def __init__(self, pids, on=lab.ON_CLIENT):
        self.pids = pids
        self.process = subprocess.Popen(on + [lab.program("rqclock")] + [str(p) for p in pids],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "counting\n":
            raise lab.Failed("rqclock counts nothing")
        self.moments = []

    def __enter__(self):
        return self

    def __exit__(self, *broken):
        self.process.communicate("")

    def sums(self):
        """What rqclock.c prints, by thread."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        sums = {}
        for line in iter(self.process.stdout.readline, "\n"):
            tid, *values = (int(v) for v in line.split())
            sums[tid] = values
        return sums

    def read(self):
        stat = schedstat(self.pids)
        sums = self.sums()
        self.moments.append({"ns": time.time_ns(), "stat": stat, "sums": sums})

    def between(self, kind, column):
        """What was added between the two moments for the threads that live at the later one."""
        first, last = self.moments
        return sum(last[kind].get(tid, NOTHING)[column] - first[kind].get(tid, NOTHING)[column]
                   for tid in last["stat"])


class OneCpu(lab.Loopback):
    """Server and client on one CPU: every wake-up happens on the CPU that then switches."""
    name = "one CPU"
    on_client = lab.ON_SERVER


NOTHING = (0, 0, 0, 0, 0, 0, 0)
READ_NS = 1500  # a wait in the queue: of two programs at a tracepoint one reads the clock after the other


def two_clocks(what, path, clocks):
    """The recording against rqclock by monotonic time, and schedstat against rqclock by the queue's clock."""
    first, last = clocks.moments
    answers = lab.Answers(path, counted={"from": first["ns"], "to": last["ns"]})
    tids = ",".join(str(tid) for tid in last["stat"])
    run, queue, wakes = (float(v or 0) for v in answers.sql(
        "SELECT sum(run), sum(woken + preempted), sum(wakeups) FROM thread WHERE tid IN (%s)" % tids)[0])
    answers.close()
    rows = []
    for time_of, ours, column, stat in (("on a CPU", run, 1, 0), ("in the run queue", queue, 3, 1)):
        seconds = {"recording": ours, "real": clocks.between("sums", column), "kernel": clocks.between("sums", column + 1),
                   "schedstat": clocks.between("stat", stat), "unseen": clocks.between("sums", 5)}
        row = {"what": "%s: time %s" % (what, time_of), "switches": clocks.between("sums", 0), "wakes": wakes,
               **{k: ns / 1e9 for k, ns in seconds.items()}}
        slack = READ_NS * row["switches"] / 1e9 if stat else 0
        row["right"] = abs(row["recording"] - row["real"]) <= .01 * row["real"] + slack and \
            abs(row["schedstat"] - row["kernel"]) <= .01 * row["kernel"] + row["unseen"]
        row["text"] = "%(recording)g s, by monotonic time at the same tracepoints %(real)g s; schedstat " \
            "%(schedstat)g s, by the queue's clock there %(kernel)g s, %(unseen)g s unseen" % row
        rows.append(row)
    return rows


def times(name, rate, directory, seed, net_class=OneCpu):
    """Time on a CPU and in the run queue of a server against /proc/PID/task/*/schedstat."""
    path = os.path.join(directory, "times.obs")
    with net_class() as net, lab.Server(name, net, directory, CONNS=32) as server:
        with lab.Recording(path, server.pids), Clocks(server.pids) as clocks:
            time.sleep(.3)
            clocks.read()
            server.load(rate, 5, seed)
            time.sleep(.3)
            clocks.read()
    return two_clocks("%s, client on %s CPU" % (name, "the same" if net_class is OneCpu else "another"), path, clocks)


def burners(directory):
    """The same for two processes that compute on one CPU: hardly a wake-up."""
    path = os.path.join(directory, "burners.obs")
    processes = [subprocess.Popen(lab.ON_SERVER + ["sh", "-c", "kill -STOP $$; while :; do :; done"]) for _ in "ab"]
    pids = [p.pid for p in processes]
    try:
        time.sleep(.3)
        with lab.Recording(path, pids), Clocks(pids) as clocks:
            clocks.read()
            for p in processes:
                p.send_signal(signal.SIGCONT)
            time.sleep(4)
            for p in processes:
                p.send_signal(signal.SIGSTOP)
            time.sleep(.3)
            clocks.read()
    finally:
        for p in processes:
            p.kill()
            p.wait()
    return two_clocks("two loops on one CPU", path, clocks)


def sectors():
    total = 0
    for disk in os.listdir("/sys/block"):
        with open("/sys/block/%s/stat" % disk, encoding="ascii") as f:
            fields = [int(v) for v in f.read().split()]
        total += fields[2] + fields[6]
    return total


def blocks(directory):
    """Sectors read and written against /sys/block/*/stat, whole host."""
    path = os.path.join(directory, "blocks.obs")
    os.sync()
    with lab.Recording(path):
        begin, before = time.monotonic_ns(), sectors()
        lab.run(["dd", "if=/dev/zero", "of=" + os.path.join(directory, "data"), "bs=256k", "count=200",
                 "oflag=direct"])
        lab.run(["dd", "if=" + os.path.join(directory, "data"), "of=/dev/null", "bs=64k", "iflag=direct"])
        os.sync()
        after, finish = sectors(), time.monotonic_ns()
    answers = lab.Answers(path)
    zero = int(answers.report["recording"]["begin"])
    ours = float(answers.sql("SELECT sum(bytes) / 512 FROM block_io WHERE ts + dur BETWEEN %d AND %d" %
                             (begin - zero, finish - zero))[0][0] or 0)
    answers.close()
    return [compared("dd, direct writes and reads: sectors, /sys/block/*/stat", ours, after - before,
                     "sectors", .01)]


def call_counts(answers, pid):
    """Calls of a process by name."""
    mine = {}
    for m in answers.metrics("syscalls", "calls"):
        if lab.subject_pid(m["subject"]) == pid:
            mine[m["subject"].rpartition(" ")[2]] = int(m["value"])
    return mine


def before_exec(path, pid):
    """Calls that a process made before it became the program: strace does not count those."""
    out = {}
    dump = subprocess.Popen([lab.OBSANALYZE, "dump", "-j", "-t", str(pid), path],
                            stdout=subprocess.PIPE, text=True)
    for line in dump.stdout:
        record = json.loads(line)
        if record["event"] == "exec":
            break
        if record["event"].startswith("syscall"):
            out[record["nr"]] = out.get(record["nr"], 0) + 1
    dump.stdout.close()
    lab.end(dump)
    return out


def strace(directory):
    """Calls of the live tests' workload against strace -c of the same run."""
    path, table = os.path.join(directory, "strace.obs"), os.path.join(directory, "strace.txt")
    with lab.Recording(path):
        told = lab.run(["strace", "-f", "-c", "-o", table, lab.program("workload"), directory])
    pid = int(re.search(r"pid=([0-9]+)", told).group(1))
    early = before_exec(path, pid)
    answers = lab.Answers(path)
    mine = call_counts(answers, pid)
    for name, nr in answers.sql("SELECT name, nr FROM syscall_name WHERE abi=0"):
        mine[name] = mine.get(name, 0) - early.get(int(nr), 0)
    answers.close()
    rows = []
    with open(table, encoding="ascii") as f:
        for line in f:
            c = line.split()
            if len(c) in (5, 6) and c[3].isdigit() and c[-1] != "total" and int(c[3]) >= 20:
                rows.append(compared("workload: %s, strace -c" % c[-1], mine.get(c[-1], 0), int(c[3]),
                                     "calls", 0))
    return rows or [{"what": "strace -c", "failed": "it counted nothing"}]


def wait_for_counters(pid, n):
    """perf counts from when it has opened its events, which takes long if it is not in memory yet."""
    def opened():
        links = []
        for fd in os.listdir("/proc/%d/fd" % pid):
            with contextlib.suppress(OSError):
                links.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        return sum("perf_event" in link for link in links)
    for _ in range(100):
        if opened() >= n:
            break
        time.sleep(.1)
    else:
        raise lab.Failed("perf stat opened no events in 10 s")
    time.sleep(.5)  # and enables them


def perf(directory, seed):
    """Calls of redis against perf stat of the system call tracepoints."""
    path = os.path.join(directory, "perf.obs")
    names = ["read", "write", "epoll_wait"]
    with lab.Loopback() as net, lab.Server("redis-get", net, directory, CONNS=32) as server:
        pid = server.pids[0]
        with lab.Recording(path, server.pids):
            counter = subprocess.Popen(
                ["perf", "stat", "-x", ",", "-e", ",".join("syscalls:sys_enter_" + n for n in names), "-p",
                 str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            wait_for_counters(counter.pid, len(names))
            server.load(10000, 3, seed)
            time.sleep(.3)
            counter.send_signal(signal.SIGINT)
            text = counter.communicate(timeout=10)[1]
    answers = lab.Answers(path)
    mine = call_counts(answers, pid)
    answers.close()
    rows = []
    for name in names:
        found = re.search(r"^([0-9]+),[^,]*,syscalls:sys_enter_%s," % name, text, re.M)
        if not found:
            return [{"what": "perf stat", "failed": "it counted nothing: " + text.strip()[-200:]}]
        # redis' own timer goes on between the starts and between the ends of the two
        rows.append(compared("redis: %s, perf stat" % name, mine.get(name, 0), int(found.group(1)), "calls",
                             .002))
    return rows
