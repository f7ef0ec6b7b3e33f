# SPDX-License-Identifier: GPL-2.0-or-later
"""Families of incidents on real servers, and look-alikes and healthy servers that must stay silent.

Judged on columns: status of the verdict, kind of the first cause, id of the offender, start of the slow
time range; where the cause is CPU or a lock, the function. No sentence is read.
"""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request

import faults
import lab
from faults import HANDLER, LUA, ROW_LOCK
from scenes import CALM, FAULT

NEAR = .2  # seconds by which the start of the problem may differ from the fault's


class Incident(faults.Fault):
    """Healthy for CALM seconds, then FAULT seconds of one fault."""
    status, kinds, never = "problem", (), ()
    upstream = None  # another server, recorded as well
    upstream_settings = {}
    pids = ()
    began = 0.0  # CLOCK_MONOTONIC ns
    timed = True  # the fault is there all the time from its start
    function = None  # regular expression: the function that the fault makes run, or wait
    limited = False  # its cgroup is at its memory limit: the first cause has to name it

    def offenders(self, server):
        """Pids of processes any of which may be the offender; none: it is not judged."""
        return ()

    def start(self, *command, **options):
        return super().start(*command, preexec_fn=os.setsid, **options)

    def first(self, *command):
        """On the server's CPU, with real-time priority."""
        return self.start("taskset", "-c", lab.SERVER_CPU, "chrt", "-f", "1", *command)

    def end(self, server):
        for p in self.started:
            with contextlib.suppress(OSError):
                os.killpg(p.pid, signal.SIGKILL)
            lab.end(p)

    def also(self, answers):
        """What else is judged, as columns."""
        return {}

    def recording(self, server, path, before=None):
        return lab.Recording(path, None if self.everything else [*server.pids, *self.pids], before=before)

    def record(self, server, seed, path, timer):
        """Records the load; timer begins the fault. Returns what the client counted."""
        with self.recording(server, path):
            timer.start()
            return self.load(server, seed)

    def every(self, period, action):
        """Runs action in a thread of its own until the end."""
        def loop():
            end = time.monotonic() + FAULT
            while time.monotonic() < end:
                action()
                time.sleep(period)
        threading.Thread(target=loop, daemon=True).start()


class FromStart(Incident):
    """The fault is there before the recording: no baseline in it."""
    status, timed = "unchanged", False

    def record(self, server, seed, path, timer):
        """Load and fault last longer than the recording, at both ends."""
        client = []
        load = threading.Thread(target=lambda: client.extend(self.load(server, seed)))

        def before():
            self.begin(server)
            load.start()
            time.sleep(1)
        with self.recording(server, path, before):
            time.sleep(FAULT)
        load.join()
        return client

    def load(self, server, seed):
        return server.load(self.rate, FAULT + 4, seed)


class PeriodicNeighbour(Incident):
    """redis: a real-time process of the same CPU computes 40 ms of every 120 ms"""
    server, settings, rate = "redis-lua", {"CONNS": 32}, 1500
    kinds, never = ("cpu_contender", "runq"), ("throttle", "lock", "disk")

    def begin(self, server):
        code = "import time\nwhile 1:\n e=time.monotonic()+.04\n while time.monotonic()<e: pass\n time.sleep(.08)"
        self.neighbour = self.first("python3", "-c", code)

    def offenders(self, server):
        return (self.neighbour.pid,)


class ForkedNeighbours(Incident):
    """redis: a real-time shell of the same CPU starts programs one after the other"""
    server, settings, rate = "redis-lua", {"CONNS": 32}, 1500
    everything = True
    kinds, never = ("cpu_contender", "runq"), ("throttle", "lock", "disk")

    def begin(self, server):
        self.first("sh", "-c", "while :; do seq 300000 >/dev/null; sleep .05; done")

    def programs(self):
        return ("sh", "seq")


class KeysCommand(Incident):
    """redis: another client sends KEYS * on 2,000,000 keys twice per second"""
    server, rate, timed = "redis-get", 2000, False
    settings = {"CONNS": 32}
    kinds, never = ("queue", "self", "run"), ("throttle", "lock", "disk", "cpu_contender")
    function = r"\bkeysCommand\b"

    def prepare(self, server):
        self.cli = ["redis-cli", "-h", server.address, "-p", str(server.port)]
        subprocess.run(self.cli + ["EVAL", "for i = 1, 2000000 do redis.call('SET', 'cold:' .. i, i) end", "0"],
                       check=True, stdout=subprocess.DEVNULL)

    def begin(self, server):
        self.every(.5, lambda: subprocess.run(lab.ON_CLIENT + self.cli + ["KEYS", "nothing*"], check=False,
                                              stdout=subprocess.DEVNULL))


class StoppedServer(Incident):
    """memcached: stopped for 0.3 s (SIGSTOP), as a pause of a collector or a debugger does"""
    server, rate, timed = "memcached", 2000, False
    settings = {"CONNS": 32}
    kinds, never = ("stopped", "other"), ("throttle", "lock", "disk", "cpu_contender")

    def begin(self, server):
        def stop():
            for pid in server.pids:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(.3)
            for pid in server.pids:
                os.kill(pid, signal.SIGCONT)
        self.every(1, stop)

    def end(self, server):
        for pid in server.pids:
            os.kill(pid, signal.SIGCONT)
        super().end(server)


class HungServer(StoppedServer):
    """memcached: stopped (SIGSTOP) until after the recording"""
    def begin(self, server):
        for pid in server.pids:
            os.kill(pid, signal.SIGSTOP)

    def record(self, server, seed, path, timer):
        client = []
        load = threading.Thread(target=lambda: client.extend(self.load(server, seed)))
        with self.recording(server, path):
            timer.start()
            load.start()
            time.sleep(CALM + FAULT)
        self.end(server)
        load.join()
        return client


class IdleInTransaction(Incident):
    """PostgreSQL: a client holds rows in a transaction and sends nothing"""
    server, settings, rate = "postgres-select", {"FSYNC": "off", "CONNS": 8}, 200
    kinds, never = ("lock", "poll", "handoff", "standstill"), ("disk", "throttle", "cpu_contender")
    function = ROW_LOCK
    prepare = faults.RowLockPostgres.prepare

    def begin(self, server):
        self.client = self.start("psql", "-qAt", "-h", server.directory, "-p", str(server.port), "-U", "postgres",
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.client.stdin.write("SELECT pg_backend_pid();\nBEGIN;\nSELECT count(*) FROM (SELECT aid FROM "
                                "pgbench_accounts WHERE aid <= 20 FOR UPDATE) x;\n")
        self.client.stdin.flush()
        self.backend = int(self.client.stdout.readline())
        self.client.stdout.readline()
        self.began = time.monotonic_ns()

        def release():
            time.sleep(FAULT - .7)
            self.client.stdin.write("COMMIT;\n")
            self.client.stdin.close()
        threading.Thread(target=release, daemon=True).start()

    def start(self, *command, **options):
        p = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=os.setsid, **options)
        self.started.append(p)
        return p

    def offenders(self, server):
        return (self.backend,)


class Deadlock(Incident):
    """PostgreSQL: two clients update two rows in opposite order, one fails with 40P01 after deadlock_timeout (1 s)"""
    server, settings, rate, timed = "postgres-select", {"FSYNC": "off", "CONNS": 8}, 100, False
    kinds, never = ("lock", "poll"), ("disk", "throttle", "cpu_contender")
    function = ROW_LOCK
    prepare = faults.RowLockPostgres.prepare
    between = .1  # seconds from one deadlock to the next

    def client(self, server, first, second):
        text = ("BEGIN;\nUPDATE pgbench_accounts SET abalance = 1 WHERE aid = %d;\nSELECT pg_sleep(.2);\n"
                "UPDATE pgbench_accounts SET abalance = 1 WHERE aid = %d;\nCOMMIT;\n" % (first, second))
        p = self.start("psql", "-q", "-h", server.address, "-p", str(server.port), "-U", "postgres",
                       stdin=subprocess.PIPE, text=True)
        p.stdin.write(text)
        p.stdin.close()
        return p

    def begin(self, server):
        def once():
            for p in [self.client(server, 1000, 2000), self.client(server, 2000, 1000)]:
                p.wait(20)
        self.every(self.between, once)

    def also(self, answers):
        errors = answers.sql("SELECT count(*) FROM request_error e JOIN request_code k ON k.id=e.code WHERE"
                             " k.code='40P01'")
        return {"errors": errors[0][0]}


class DeadlockMariadb(Deadlock):
    """MariaDB: two clients update two rows in opposite order, one fails with 1213 as soon as both wait"""
    server, rate, timed = "mariadb", 100, False
    function = HANDLER
    settings = {"CONNS": 8}
    kinds, never, between = ("lock",), ("disk", "throttle", "cpu_contender"), 1
    prepare, query = faults.RowLockMariadb.prepare, faults.RowLockMariadb.query

    def client(self, server, first, second):
        p = self.start("mariadb", "--no-defaults", "--skip-ssl", "-h", server.address, "-P", str(server.port), "-u",
                       "bench", "bench", stdin=subprocess.PIPE, text=True)
        p.stdin.write("START TRANSACTION; UPDATE sbtest1 SET k = 1 WHERE id = %d; DO SLEEP(.2); UPDATE sbtest1 SET"
                      " k = 1 WHERE id = %d; COMMIT;\n" % (first, second))
        p.stdin.close()
        return p

    def also(self, answers):
        return {"errors": answers.sql("SELECT count(*) FROM request_error WHERE status=1213")[0][0]}


class ExpiryStorm(Incident):
    """redis: 1,000,000 keys expire at the same time, the expire cycle takes the event loop"""
    server, rate, timed = "redis-get", 2000, False
    settings = {"CONNS": 32}
    kinds, never = ("queue", "self", "run"), ("throttle", "lock", "disk", "cpu_contender")
    function = r"\bactiveExpireCycle\b"

    def prepare(self, server):
        self.cli = ["redis-cli", "-h", server.address, "-p", str(server.port)]
        at = int(1000 * (time.time() + CALM + 4))
        subprocess.run(self.cli + ["EVAL", "local v = string.rep('x', 100) for i = 1, 1000000 do"
                                   " redis.call('SET', 'cold:' .. i, v, 'PXAT', ARGV[1]) end", "0", str(at)],
                       check=True, stdout=subprocess.DEVNULL)


class BackgroundSave(Incident):
    """redis: BGSAVE of 6 GB, the event loop copies page tables in fork and pages afterwards"""
    server, rate, timed = "redis-get", 2000, False
    settings = {"CONNS": 32}
    kinds, never = ("queue", "self", "run"), ("throttle", "lock", "disk")
    function = r"\bredisFork\b"

    def prepare(self, server):
        self.cli = ["redis-cli", "-h", server.address, "-p", str(server.port)]
        subprocess.run(self.cli + ["EVAL", "local v = string.rep('x', 1000) for i = 1, 5000000 do"
                                   " redis.call('SET', 'cold:' .. i, v) end", "0"],
                       check=True, stdout=subprocess.DEVNULL)

    def begin(self, server):
        subprocess.run(self.cli + ["BGSAVE"], check=False, stdout=subprocess.DEVNULL)


class DearerRequests(Incident):
    """redis: the same number of requests, each of eighty times the work"""
    server, settings, rate = "redis-lua", {"CONNS": 32}, 50
    kinds, never = ("self", "saturation", "queue"), ("throttle", "lock", "disk", "cpu_contender", "peer")
    function = LUA

    def load(self, server, seed):
        rows = server.load(self.rate, CALM, seed)
        self.began = time.monotonic_ns()
        return rows + server.load(self.rate, FAULT, seed, WORK=400000)


class LostIndex(Incident):
    """PostgreSQL: an index is dropped, each request reads the whole table; others compute on its CPU all the time"""
    server, settings, rate, everything = "postgres-select", {"FSYNC": "off", "CONNS": 8}, 60, True
    kinds, never = ("self", "saturation"), ("throttle", "lock", "disk")
    function = r"\b(heap_getnextslot|ExecScan)\b"

    def query(self, server, text):
        subprocess.run(["psql", "-q", "-h", server.directory, "-p", str(server.port), "-U", "postgres", "-c", text],
                       check=True)

    def prepare(self, server):
        self.query(server, "ALTER TABLE pgbench_accounts DROP CONSTRAINT IF EXISTS pgbench_accounts_pkey; "
                           "ALTER TABLE pgbench_accounts ADD CONSTRAINT pgbench_accounts_pkey PRIMARY KEY (aid)")
        self.start("taskset", "-c", lab.SERVER_CPU, "python3", "-c", "import time\nwhile 1:\n"
                   " e=time.monotonic()+.006\n while time.monotonic()<e: pass\n time.sleep(.004)")
        self.client = self.start("psql", "-q", "-h", server.directory, "-p", str(server.port), "-U", "postgres",
                                 stdin=subprocess.PIPE, text=True)

    def begin(self, server):  # the client is there already: its start takes a part of a second
        self.began = time.monotonic_ns()
        self.client.stdin.write("ALTER TABLE pgbench_accounts DROP CONSTRAINT pgbench_accounts_pkey;\n")
        self.client.stdin.flush()


class DiskNeighbourMariadb(Incident):
    """MariaDB: another process writes and syncs on the disk of its log"""
    server, settings, rate = "mariadb", {"CONNS": 8, "TEST": "oltp_update_non_index"}, 150
    everything = True
    kinds, never = ("disk",), ("throttle", "cpu_contender", "peer")

    def begin(self, server):
        for i in range(2):
            self.start("dd", "if=/dev/zero", "of=" + os.path.join(self.directory, "hog%d" % i), "bs=4M",
                       "count=2000", "oflag=direct,dsync")

    def programs(self):
        return ("dd",)


class MoreRequests(Incident):
    """redis: from half of what one thread can do to more than it can do"""
    server, settings, rates = "redis-lua", {"CONNS": 32}, None
    kinds, never = ("saturation", "self", "queue"), ("throttle", "lock", "disk", "cpu_contender")
    function = LUA

    def prepare(self, server):
        if not self.rates:
            top = server.load(0, 1, 1)[0]["rate"]
            type(self).rates = [.45 * top] * CALM + [2 * top] * FAULT

    def load(self, server, seed):
        return server.load(self.rates, 1, seed)


class CollectorPause(Incident):
    """HTTP server on Node: a request that makes 400,000 objects, whose collection stops the others"""
    server, rate, timed = "http", 200, False
    settings = {"CONNS": 16, **faults.PERF_MAP}
    kinds, never = ("run", "self", "saturation", "queue", "runq"), ("lock", "disk", "throttle", "peer")
    function = r"\bhttp-server\.js\b|\bv8::internal::(Scaveng|MarkCompact)"

    def begin(self, server):
        url = "http://%s:%d/garbage/400000" % (server.address, server.port)
        self.every(.4, lambda: urllib.request.urlopen(url, timeout=5).read())


class DiskHogThenRemoved(Incident):
    """PostgreSQL: another process writes and syncs on the disk of its log, and its files are removed then"""
    server, rate, everything = "postgres-select", 100, True
    settings = {"CONNS": 8}
    kinds, never = ("disk", "handoff", "lock"), ("throttle", "cpu_contender", "peer")
    prepare = faults.DiskHog.prepare

    def begin(self, server):
        self.start("sh", "-c", "while :; do for i in 1 2 3 4; do dd if=/dev/zero of=%s/hog$i bs=4M count=20 "
                   "oflag=direct,dsync & done; wait; rm -f %s/hog*; done" % (self.directory, self.directory))

    def programs(self):
        return ("dd",)


class ColdReader(Incident):
    """nginx: the files that it reads fall out of the page cache"""
    server, rate, everything = "nginx", 100, True
    settings = {"TARGET": "/file%d", "KEYS": 100, "CONNS": 16}
    kinds, never = ("disk",), ("lock", "throttle", "peer")
    files, prepare, evict, over = faults.ColdCache.files, faults.ColdCache.prepare, faults.ColdCache.evict, None

    def begin(self, server):
        faults.ColdCache.begin(self, server)

    def end(self, server):
        faults.ColdCache.end(self, server)
        super().end(server)


class ManyOutstanding(Incident):
    """nginx as proxy: the server behind it answers 20 ms late, some hundred questions under way"""
    server, rate = "nginx-proxy", 800
    kinds, never = ("peer",), ("self", "lock", "disk", "throttle")
    load, calm = faults.SlowUpstream.load, CALM


class EventLoopStall(Incident):
    """nginx as proxy of an HTTP server on Node: one request keeps Node's only thread busy for 0.4 s"""
    server, rate, timed, upstream = "nginx-proxy", 200, False, "http"
    settings, upstream_settings = {"CONNS": 16}, faults.PERF_MAP
    kinds, never = ("peer", "client", "run", "self"), ("lock", "disk", "throttle", "cpu_contender")
    function = r"\bhttp-server\.js\b"

    def begin(self, server):
        url = "http://%s:%s/slow/400000" % (server.address, server.environment["UPSTREAM"])
        self.every(.5, lambda: urllib.request.urlopen(url, timeout=5).read())


class MemoryLimit(Incident):
    """nginx: its cgroup's memory is less than the files it sends"""
    server, rate, limit = "nginx", 600, 16 << 20
    settings = {"TARGET": "/file%d", "KEYS": 100, "CONNS": 16}
    kinds, never = ("disk", "queue", "self"), ("lock", "throttle", "peer")
    files, prepare_files, group, limited = faults.ColdCache.files, faults.ColdCache.prepare, None, True

    def prepare(self, server):
        self.prepare_files(server)
        self.group = "/sys/fs/cgroup/memory/validate-%d" % os.getpid()
        os.makedirs(self.group, exist_ok=True)
        for pid in server.pids:
            self.write("cgroup.procs", pid)
        for path in self.files(server):  # the pages shall belong to the server's cgroup
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
        server.load(self.rate, 2, 1)

    def write(self, name, value):
        with open(os.path.join(self.group, name), "w", encoding="ascii") as f:
            f.write(str(value))

    def begin(self, server):
        self.write("memory.limit_in_bytes", self.limit)

    def end(self, server):
        self.write("memory.limit_in_bytes", -1)
        for pid in server.pids:
            with open("/sys/fs/cgroup/memory/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(pid))
        with contextlib.suppress(OSError):
            os.rmdir(self.group)


class FewerRequests(Incident):
    """redis: a quarter of the requests from outside, nothing else"""
    server, settings, status = "redis-get", {"CONNS": 32}, "none"

    def load(self, server, seed):
        return server.load([2000] * CALM + [500] * FAULT, 1, seed)


class RowLockFromStart(FromStart):
    """PostgreSQL: one transaction holds rows that all others update, before and during the recording"""
    server, settings, rate = "postgres-select", {"FSYNC": "off", "CONNS": 8}, 200
    status, hold = "problem", .15  # such silences are a problem without a baseline
    kinds, never, seconds = ("lock", "poll"), ("disk", "throttle", "cpu_contender"), FAULT + 4
    function = ROW_LOCK
    prepare, begin = faults.RowLockPostgres.prepare, faults.RowLockPostgres.begin


class UpstreamFromStart(FromStart):
    """nginx as proxy: the server behind it answers 20 ms late, before and during the recording"""
    server, rate, calm = "nginx-proxy", 50, 0
    kinds, never = ("peer",), ("self", "lock", "disk", "throttle")


class DiskFromStart(FromStart):
    """PostgreSQL: others write and sync on the disk of its log, before and during the recording"""
    server, rate, everything = "postgres-select", 100, True
    settings = {"CONNS": 8}
    kinds, never = ("disk",), ("throttle", "cpu_contender", "peer")
    prepare, begin = faults.DiskHog.prepare, faults.DiskHog.begin

    def programs(self):
        return ("dd",)


class NeighbourFromStart(FromStart):
    """redis: a real-time process of the same CPU computes 40 ms of every 120 ms, before and during the recording"""
    server, settings, rate, status = "redis-lua", {"CONNS": 32}, 1500, "problem"  # silences are, without a baseline
    kinds, never = ("cpu_contender", "runq"), ("throttle", "lock", "disk")
    begin, offenders = PeriodicNeighbour.begin, PeriodicNeighbour.offenders


class QuotaFromStart(FromStart):
    """nginx: its cgroup has less CPU time than it needs, before and during the recording"""
    server, rate, group = "nginx", 5000, None
    kinds, never = ("throttle",), ("cpu_contender", "disk", "lock")
    write, prepare, begin, end = faults.Quota.write, faults.Quota.prepare, faults.Quota.begin, faults.Quota.end


class DearFromStart(FromStart):
    """redis: each request needs some ms of CPU time, before and during the recording"""
    server, settings, rate = "redis-lua", {"CONNS": 32}, 50
    kinds, never = ("self", "saturation", "queue"), ("throttle", "lock", "disk", "cpu_contender")
    function = LUA

    def load(self, server, seed):
        return server.load(self.rate, FAULT + 4, seed, WORK=400000)


class SaturatedFromStart(FromStart):
    """redis: more requests than one thread can do, before and during the recording"""
    server, settings, status = "redis-lua", {"CONNS": 64}, "problem"
    kinds, never = ("saturation", "self", "queue"), ("disk", "lock", "peer", "throttle")
    function = LUA

    def load(self, server, seed):
        return server.load(0, FAULT + 4, seed)


class RemovedFiles(Incident):
    """nginx: another process removes a large file (look-alike of a disk hog)"""
    server, settings, rate, status, everything = "nginx", {"CONNS": 32}, 1000, "none", True

    def prepare(self, server):
        self.path = os.path.join(self.directory, "large")
        subprocess.run(["dd", "if=/dev/zero", "of=" + self.path, "bs=4M", "count=250", "oflag=direct"], check=True,
                       stderr=subprocess.DEVNULL)

    def begin(self, server):
        self.start("rm", self.path)


INCIDENTS = [PeriodicNeighbour, ForkedNeighbours, KeysCommand, StoppedServer, HungServer, IdleInTransaction,
             Deadlock, DeadlockMariadb, ExpiryStorm, BackgroundSave, DearerRequests, LostIndex, DiskNeighbourMariadb, MoreRequests, CollectorPause, DiskHogThenRemoved,
             ColdReader, ManyOutstanding, EventLoopStall, MemoryLimit, FewerRequests, RemovedFiles,
             RowLockFromStart, UpstreamFromStart, DiskFromStart, NeighbourFromStart, QuotaFromStart,
             DearFromStart, SaturatedFromStart]

VERDICT = "SELECT status, kind, coalesce(start, 0), pauses FROM verdict ORDER BY rank LIMIT 1"
CAUSE = """SELECT kind, category, start, offender_kind, offender, coalesce((SELECT comm FROM process WHERE pid=offender
    ORDER BY start DESC LIMIT 1), '') FROM cause ORDER BY rowid LIMIT 6"""
FUNCTIONS = "SELECT coalesce(path, '') || ' ' || coalesce(end_path, '') FROM cause ORDER BY rowid LIMIT 1"
PAUSE_FUNCTIONS = """SELECT coalesce(group_concat(text, ' '), '') FROM finding_value WHERE name IN ('function', 'caller', 'contender_function')
    AND finding IN (SELECT id FROM finding WHERE kind IN ('pause_cause', 'pause_root', 'locked_wait', 'deadlock_wait'))"""
LIMITED = """SELECT coalesce(group_concat(v.text, ' '), '') FROM cause c JOIN finding f ON f.id=c.finding OR
    f.parent=c.finding JOIN finding_value v ON v.finding=f.id WHERE c.rank=1 AND v.name='limited'"""
# what the screen shows next to pauses in which a thread waited for a CPU: the path of dearer requests
DEARER_THEN = """SELECT coalesce(group_concat(path, ' '), '') FROM cause c, (SELECT subject, ts, dur FROM pause, verdict WHERE
    counts AND rank=1 AND subject_kind='server' AND server=subject ORDER BY pause.id LIMIT 1) p WHERE c.kind='self' AND
    c.start < p.ts + p.dur AND c.end > p.ts AND EXISTS (SELECT 1 FROM finding l WHERE l.parent=c.finding AND
    l.kind='load_dearer') AND EXISTS (SELECT 1 FROM finding f JOIN finding_value v ON v.finding=f.id WHERE
    f.kind='pause_cause' AND v.name='contender' AND v.id > 0) AND c.subject IN (SELECT p.subject UNION SELECT id FROM service WHERE server=p.subject UNION
    SELECT pid FROM service WHERE server=p.subject)"""
STATES = "run futex poll socket pipe disk blocked timer child lock other stopped client".split()
# of the pauses that count: the start of the first, time by state, what its thread waited for at last, and
# the process that woke it or had the CPU
PAUSE = """SELECT min(ts), %s, sum(woken + preempted), (SELECT pid FROM thread t WHERE t.tid=p.partner),
    (SELECT comm FROM thread t WHERE t.tid=p.partner), min(id) FROM (SELECT * FROM pause WHERE counts AND server=
    (SELECT subject FROM verdict WHERE rank=1 AND subject_kind='server')) p HAVING count(*)""" % ", ".join(
        "sum(%s)" % s for s in STATES)
# the end of the wakeup chain, which comes first on the screen
ROOT = """SELECT t.pid, t.comm FROM finding f JOIN finding_value v ON v.finding=f.id AND v.name='end' JOIN thread t ON
    t.tid=v.id WHERE f.kind='pause_root' AND f.parent=(SELECT finding FROM verdict WHERE rank=1)"""
# the state of that end, and the first program at its disk
ROOT_DISK = """SELECT p.pid, p.comm FROM finding f JOIN finding_value s ON s.finding=f.id AND s.name='state' JOIN finding_value n ON
    n.finding=f.id AND n.name='share' JOIN finding d ON d.parent=f.parent AND d.kind IN ('pause_discards', 'pause_disk') JOIN
    finding_value u ON u.finding=d.id AND u.name='user' JOIN process p ON p.pid=u.id WHERE f.kind='pause_root' AND
    s.text='waiting for the disk' AND n.number >= 50 AND f.parent=(SELECT finding FROM verdict WHERE rank=1) ORDER BY d.id LIMIT 1"""
# the longest wait for a lock of another connection, and the process that had it
LOCKED = """SELECT v.start, t.pid, t.comm FROM verdict v JOIN finding f ON f.parent=v.finding LEFT JOIN finding_value h ON
    h.finding=f.id AND h.name=iif(f.kind='locked_wait', 'holder', 'thread') LEFT JOIN thread t ON t.tid=h.id WHERE
    v.rank=1 AND f.kind IN ('locked_wait', 'deadlock_wait')"""
BEGIN = "SELECT value FROM recording WHERE key='begin'"


def judge(incident, server, answers):
    """What is right of one recording, as columns."""
    status, kind, start, pauses = (answers.sql(VERDICT) or [["none recorded", "", "0", "0"]])[0]
    found, starts = answers.sql(CAUSE), [float(start)]
    if kind == "pauses":  # their cause comes first on the screen
        paused = answers.sql(PAUSE)[0]
        spent = [float(v) for v in paused[1:len(STATES) + 2]]
        state = (STATES + ["runq"])[spent.index(max(spent))]
        end = (answers.sql(ROOT) or [paused[-3:-1]])[0]
        disk = answers.sql(ROOT_DISK)
        found.insert(0, ["pause", "disk" if disk else state, paused[0], "process", *(disk or [end])[0]])
    if kind == "locked":
        locked = (answers.sql(LOCKED) or [[start, "", ""]])[0]
        found.insert(0, ["locked", "lock", locked[0], "process", locked[1], locked[2]])
    starts += [float(c[2]) for c in found[:1] if c[2]]
    row = {"status": status, "verdict": kind, "pauses": pauses, "causes": ["/".join(c[:2]) for c in found],
           "offender": found[0][5] if found else "", "complete": answers.complete(),
           "forbidden": [c[0] for c in found if (c[1] if c[0] == "pause" else c[0]) in incident.never] if status == "problem" else []}
    right = [status == incident.status]
    if incident.status == "problem":
        right.append(bool(found) and bool({*found[0][:2]} & {*incident.kinds}))
        wanted, programs = incident.offenders(server), getattr(incident, "programs", tuple)()
        if wanted or programs:
            row["offender_right"] = bool(found) and (int(found[0][4] or 0) in wanted or found[0][5] in programs)
            right.append(row["offender_right"])
        begin = incident.began - float(answers.sql(BEGIN)[0][0])
        row["off_s"] = min((abs(s - begin) / 1e9 for s in starts if s), default=None)
        if incident.timed:
            right.append(row["off_s"] is not None and row["off_s"] <= NEAR)
    if incident.function:
        row["functions"] = (answers.sql(PAUSE_FUNCTIONS if kind in ("pauses", "locked") else FUNCTIONS) or [[""]])[0][0]
        if kind == "pauses" and found and found[0][1] == "runq":
            row["functions"] += " " + answers.sql(DEARER_THEN)[0][0]
        row["function_right"] = bool(re.search(incident.function, row["functions"]))
        right.append(row["function_right"])
    if incident.limited:
        row["limited"] = answers.sql(LIMITED)[0][0]
        right.append(os.path.basename(incident.group) in row["limited"])
    row["right"] = all(right)
    return row


def one_run(incident, server, seed, directory, keep):
    name = type(incident).__name__.lower()
    path = os.path.join(keep or directory, "incident-%s-%d.obs" % (name, seed))
    incident.prepare(server)

    def begin():
        incident.began = incident.began or time.monotonic_ns()
        incident.begin(server)
    timer = threading.Timer(CALM, begin)
    try:
        client = incident.record(server, seed, path, timer)
    finally:
        timer.cancel()
        incident.end(server)
    answers = lab.Answers(path, keep=True)
    row = dict(judge(incident, server, answers), **incident.also(answers))
    answers.close()
    if not keep:
        os.unlink(path)
    row.update(case=type(incident).__doc__.splitlines()[0], program=name, seed=seed, client=client[-1])
    return row


def runs(kind, seeds, directory, keep):
    """All runs of one incident on one server; yields rows."""
    with contextlib.ExitStack() as stack:
        settings = dict(kind.settings)
        if kind in (ManyOutstanding, UpstreamFromStart):
            settings["UPSTREAM"] = stack.enter_context(faults.SlowServer(kind.calm)).port
        net = stack.enter_context(lab.Loopback())
        if kind.upstream:
            upstream = stack.enter_context(lab.Server(kind.upstream, net, directory, **kind.upstream_settings))
            settings["UPSTREAM"], kind.pids = upstream.port, tuple(upstream.pids)
        server = stack.enter_context(lab.Server(kind.server, net, directory, **settings))
        yield from each(kind, server, seeds, directory, keep)


def failed(kind, seed, why):
    return {"case": kind.__doc__.splitlines()[0], "program": kind.__name__.lower(), "seed": seed,
            "failed": "%s: %s" % (kind.__name__, why), "right": False, "forbidden": []}


def each(kind, server, seeds, directory, keep):
    for seed in seeds:
        try:
            yield one_run(kind(directory), server, seed, directory, keep)
        except (lab.Failed, subprocess.SubprocessError, OSError, ValueError, IndexError, KeyError) as e:
            yield failed(kind, seed, e)
        time.sleep(.2)


HEALTHY = ["redis-get", "nginx", "memcached", "postgres-select", "http"]
LEVELS = (.1, .5, .8)


def healthy(name, seeds, seconds, directory, keep):
    """One server at shares of what it can do, with -p and with -a: each must be reported as healthy."""
    with lab.Loopback() as net, lab.Server(name, net, directory, CONNS=16) as server:
        top = server.load(0, 2, 1)[0]["rate"]
        for seed in seeds:
            for level in LEVELS:
                for everything in (False, True):
                    row = {"case": name, "level": level, "whole": everything, "seed": seed}
                    path = os.path.join(keep or directory, "%s-%d-%s-%d.obs" % (
                        name, 100 * level, "a" if everything else "p", seed))
                    try:
                        with lab.Recording(path, None if everything else server.pids):
                            client = server.load(level * top, seconds, seed)
                        answers = lab.Answers(path, bool(keep))
                        row.update(judge(FewerRequests(directory), server, answers), client=client[-1])
                        answers.close()
                    except (lab.Failed, subprocess.SubprocessError, OSError, ValueError) as e:
                        row.update(failed=str(e), right=False)
                    yield row
