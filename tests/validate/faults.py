# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults on real servers: each run is calm for some seconds, then one thing goes wrong. Where its cause is CPU or
a lock, the function is judged too."""
import contextlib
import os
import subprocess
import threading
import time

import callers
import judge
import lab
from scenes import CALM, FAULT, cgroup_for, remove_cgroup

LUA = r"\b(evalGenericCommand|luaCallFunction)\b"
ROW_LOCK = r"\bProcSleep\b"
HANDLER = r"\bhandler::"  # MariaDB's calls into InnoDB, whose own functions have no symbols
PERF_MAP = {"NODE_OPTIONS": "--perf-basic-prof --interpreted-frames-native-stack"}


class Fault:
    """What goes wrong: begin() after the calm, end() when the run is over."""
    server, settings = "redis-get", {}
    rate = 2000
    everything = False  # record the whole host
    expected, culprit, never = (), (), ()
    function = None  # regular expression: the function that the fault makes run, or wait

    def __init__(self, directory):
        self.directory = directory
        self.started = []

    def prepare(self, server):
        """Before the recording."""

    def begin(self, server):
        """The fault."""

    def end(self, server):
        for p in self.started:
            lab.end(p)

    def load(self, server, seed):
        """The load: constant, by default."""
        return server.load(self.rate, CALM + FAULT, seed)

    def start(self, *command, **options):
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.started.append(p)
        return p


class Burner(Fault):
    """redis: another process computes on its CPU"""
    # no function: that of the other process is to blame, which is not recorded
    server, settings = "redis-lua", {"CONNS": 32}
    expected, culprit = ("cpu_contender",), (r"\byes\b",)
    never = ("saturation", "throttle", "lock", "disk")
    limit = None

    def prepare(self, server):
        """Two fifths of what it can do: half a CPU would be enough, were it given at once."""
        if not self.limit:
            type(self).limit = server.load(0, 1, 1)[0]["rate"]
        self.rate = .4 * self.limit

    def begin(self, server):
        self.start("taskset", "-c", lab.SERVER_CPU, "yes")


class BurnerMariadb(Burner):
    """MariaDB: another process computes on its CPU"""
    server, settings, limit = "mariadb", {"CONNS": 32}, None


class Saturation(Fault):
    """redis: more Lua loops asked for than one thread can do"""
    server, settings = "redis-lua", {"CONNS": 32}
    expected, never = ("saturation", "self"), ("disk", "lock", "peer", "throttle")
    function = LUA
    rates = None

    def prepare(self, server):
        if not self.rates:
            top = server.load(0, 1, 1)[0]["rate"]
            type(self).rates = [.4 * top] * CALM + [1.4 * top] * FAULT

    def load(self, server, seed):
        return server.load(self.rates, 1, seed)


class Quota(Fault):
    """nginx: its cgroup gets less CPU time than it needs"""
    # no function: it stops in any of them
    server, rate = "nginx", 5000
    expected, never = ("throttle",), ("cpu_contender", "disk", "lock")
    group = None

    def write(self, name, text):
        with open(os.path.join(self.group, name), "w", encoding="ascii") as f:
            f.write(text)

    def prepare(self, server):
        self.group = cgroup_for("nginx")
        os.makedirs(self.group, exist_ok=True)
        for pid in server.pids:
            self.write("cgroup.procs", str(pid))

    def begin(self, server):
        try:
            self.write("cpu.cfs_quota_us", "5000")
        except FileNotFoundError:
            self.write("cpu.max", "5000 100000")

    def end(self, server):
        try:
            self.write("cpu.cfs_quota_us", "-1")
        except FileNotFoundError:
            self.write("cpu.max", "max 100000")
        for pid in server.pids:
            with contextlib.suppress(OSError), open(os.path.join(
                    os.path.dirname(self.group), "cgroup.procs"), "w", encoding="ascii") as f:
                f.write(str(pid))
        remove_cgroup(self.group)


class RowLockPostgres(Fault):
    """PostgreSQL: one transaction holds rows that all others update"""
    server, settings, rate = "postgres-select", {"FSYNC": "off", "CONNS": 8}, 200
    # a backend waits for another one's transaction in epoll, and is woken by its signal
    expected, culprit = ("lock", "poll"), (r"woken by postgres\[",)
    function = ROW_LOCK
    never = ("disk", "throttle", "cpu_contender")
    seconds, hold = FAULT, .05

    def prepare(self, server):
        script = os.path.join(server.directory, "rows.sql")
        with open(script, "w", encoding="ascii") as f:
            f.write("\\set id random(1, 20)\n"
                    "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :id;\n")
        server.environment["SCRIPT"] = "-f " + script

    def begin(self, server):
        # one statement, so that the one who holds the rows answers no requests of its own
        locker = self.start("psql", "-q", "-h", server.directory, "-p", str(server.port), "-U", "postgres",
                            stdin=subprocess.PIPE, text=True)
        locker.stdin.write("DO $$ BEGIN FOR i IN 1..%d LOOP PERFORM aid FROM pgbench_accounts WHERE aid <= 20 "
                           "FOR UPDATE; PERFORM pg_sleep(%g); COMMIT; PERFORM pg_sleep(0.01); END LOOP; END $$;\n"
                           % (self.seconds / (self.hold + .01), self.hold))
        locker.stdin.close()


class RowLockMariadb(Fault):
    """MariaDB: one transaction holds rows that all others update"""
    server, rate = "mariadb", 200
    settings = {"CONNS": 8}
    # InnoDB waits for a row on a futex of its own; its holder wakes it
    expected, culprit = ("lock", "handoff"), (r"woken by mariadbd\[",)
    function = HANDLER
    never = ("disk", "throttle", "cpu_contender")

    def prepare(self, server):
        script = os.path.join(server.directory, "rows.lua")
        with open(script, "w", encoding="ascii") as f:
            f.write("function thread_init() drv = sysbench.sql.driver(); con = drv:connect() end\n"
                    "function event() con:query('UPDATE sbtest1 SET k = k + 1 WHERE id = ' .. "
                    "sysbench.rand.uniform(1, 20)) end\n")
        server.environment["TEST"] = script
        self.query(server, "SET GLOBAL innodb_flush_log_at_trx_commit = 0").wait(20)

    def query(self, server, text):
        client = self.start("mariadb", "--no-defaults", "-S", os.path.join(server.directory, "socket"), "-u",
                            "root", "bench", stdin=subprocess.PIPE, text=True)
        client.stdin.write(text)
        client.stdin.close()
        return client

    def begin(self, server):
        self.query(server, "DELIMITER //\nBEGIN NOT ATOMIC DECLARE i INT DEFAULT 0; WHILE i < %d DO "
                           "START TRANSACTION; SELECT count(*) INTO @n FROM (SELECT id FROM sbtest1 WHERE id <= 20 "
                           "FOR UPDATE) rows_held; DO SLEEP(0.05); COMMIT; DO SLEEP(0.01); SET i = i + 1; "
                           "END WHILE; END//\n" % (FAULT / .06))


class DiskHog(Fault):
    """PostgreSQL: another process writes and syncs on the disk of its log"""
    server, rate, everything = "postgres-select", 100, True
    settings = {"CONNS": 8}
    expected, culprit, never = ("disk",), (r"\bdd\b",), ("throttle", "cpu_contender", "peer")

    def prepare(self, server):
        script = os.path.join(server.directory, "commit.sql")
        with open(script, "w", encoding="ascii") as f:
            f.write("\\set id random(1, 100000)\n"
                    "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :id;\n")
        server.environment["SCRIPT"] = "-f " + script

    def begin(self, server):
        for i in range(4):
            self.start("dd", "if=/dev/zero", "of=" + os.path.join(self.directory, "hog%d" % i), "bs=4M",
                       "count=2000", "oflag=direct,dsync")


class SlowUpstream(Fault):
    """nginx as proxy: the server behind it becomes slow"""
    server, rate = "nginx-proxy", 50
    expected, never = ("peer",), ("self", "lock", "disk", "throttle")
    upstream = None

    def load(self, server, seed):
        port = int(server.environment["UPSTREAM"])
        self.culprit = (str(port),)
        return server.load(self.rate, CALM + FAULT, seed)


class SlowHandler(Fault):
    """HTTP server on Node: some requests keep its only thread busy"""
    server, rate = "http", 300
    settings = PERF_MAP
    expected, culprit, never = ("queue",), (r"GET /slow/:id",), ("disk", "lock", "peer", "throttle")
    function = r"\bhttp-server\.js\b"  # the handler has no name, but a place

    def begin(self, server):
        threading.Thread(target=server.load, args=(8, FAULT, 99),
                         kwargs={"TARGET": "/slow/40000", "CONNS": 8}, daemon=True).start()


class ColdCache(Fault):
    """nginx: its files fall out of the page cache"""
    server, rate = "nginx", 100
    settings = {"TARGET": "/file%d", "KEYS": 100, "CONNS": 16}
    expected, never = ("disk",), ("lock", "throttle", "cpu_contender", "peer")
    over = None

    def files(self, server):
        for i in range(100):
            yield os.path.join(server.directory, "files", "file%d" % i)

    def prepare(self, server):
        for path in self.files(server):
            with open(path, "wb") as f:
                f.write(os.urandom(1 << 20))
                os.fsync(f.fileno())

    def evict(self, server):
        os.sched_setaffinity(0, {int(lab.CLIENT_CPU)})  # this thread, away from the server
        while not self.over.wait(.05):
            for path in self.files(server):
                fd = os.open(path, os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)

    def begin(self, server):
        self.over = threading.Event()
        threading.Thread(target=self.evict, args=(server,), daemon=True).start()

    def end(self, server):
        if self.over:
            self.over.set()


FAULTS = [Burner, BurnerMariadb, Saturation, Quota, RowLockPostgres, RowLockMariadb, DiskHog, SlowUpstream,
          SlowHandler, ColdCache]


def one_run(fault, server, seed, directory, keep):
    name = type(fault).__name__.lower()
    path = os.path.join(keep or directory, "fault-%s-%d.obs" % (name, seed))
    fault.prepare(server)
    timer = threading.Timer(CALM, fault.begin, [server])
    try:
        with lab.Recording(path, None if fault.everything else server.pids):
            timer.start()
            client = fault.load(server, seed)
    finally:
        timer.cancel()
        fault.end(server)
    answers = lab.Answers(path, keep=bool(keep))
    row = judge.judge(answers, fault.expected, fault.culprit, fault.never, fault.function)
    answers.close()
    row.update(case=type(fault).__doc__.splitlines()[0], program=name, seed=seed, client=client[-1])
    return row


def runs(kind, seeds, directory, keep, say):
    """All runs of one fault on one server; yields rows."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(callers.no_maps_left())
        net = stack.enter_context(lab.Loopback())
        settings = dict(kind.settings)
        if kind is SlowUpstream:
            settings["UPSTREAM"] = stack.enter_context(SlowServer()).port
        server = stack.enter_context(lab.Server(kind.server, net, directory, **settings))
        for seed in seeds:
            try:
                row = one_run(kind(directory), server, seed, directory, keep)
            except (lab.Failed, subprocess.TimeoutExpired, OSError, ValueError) as e:
                row = {"case": kind.__doc__.splitlines()[0], "program": kind.__name__.lower(), "seed": seed,
                       "failed": str(e), "right": False, "forbidden": []}
            say(row)
            yield row
            time.sleep(.2)


class SlowServer:
    """An HTTP server that sleeps before each answer once the calm is over: time counts from the
    first request after a pause of a second."""

    def __init__(self, calm=CALM):
        self.calm = calm

    def __enter__(self):
        self.process = subprocess.Popen(
            lab.ON_CLIENT + ["python3", os.path.join(lab.HERE, "slow_upstream.py"), str(self.calm)],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        lab.end(self.process)
        return False
