# SPDX-License-Identifier: GPL-2.0-or-later
"""Prism's cases: a server and a neighbour that takes CPU time, the disk, memory or the network.

Healthy for some seconds, then with the neighbour; judged on columns as in incidents.py, and on the series that analysis
correlate puts first: the one that adds the most time while requests are slow.
"""
import contextlib
import json
import os
import re
import subprocess
import time

import faults
import incidents
import lab
from scenes import CALM, FAULT

MIB = 1 << 20
SPARE = 32 * MIB  # of the memory for pages of files, next to a neighbour in the cgroup
STEP = "200ms"  # of correlate: a window of each must have requests, and there must be enough windows


class Case(incidents.Incident):
    everything = True
    series = ()  # one of which correlate has to put first
    comm = ""    # of the server's processes, as they begin

    def also(self, answers):
        report = json.loads(lab.run([lab.OBSANALYZE, "report", "-a", "correlate", "--step", STEP, "--json", answers.path]))
        pids = {int(row[0]) for row in answers.sql("SELECT pid FROM process WHERE comm LIKE '%s%%'" % self.comm)}
        first = next((m["subject"] for m in report["metrics"] if m["name"] == "added" and lab.subject_pid(m["subject"]) in pids), "")
        return {"series": first, "series_right": any(name in re.split("[ ,]", first) for name in self.series)}


class Cpu(Case):
    kinds, never = ("cpu_contender", "runq"), ("throttle", "lock", "disk")
    series = ("rq_time",)
    begin, offenders = incidents.PeriodicNeighbour.begin, incidents.PeriodicNeighbour.offenders


class CpuRedis(Cpu):
    """CPU: redis"""
    server, settings, rate, comm = "redis-lua", {"CONNS": 32}, 1500, "redis"


class CpuMariadb(Cpu):
    """CPU: MariaDB"""
    server, settings, rate, comm = "mariadb", {"CONNS": 16}, 600, "mariadbd"


class CpuPostgres(Cpu):
    """CPU: PostgreSQL"""
    server, settings, rate, comm = "postgres-select", {"CONNS": 16}, 600, "postgres"


class CpuJvm(Cpu):
    """CPU: service on the JVM, times of a heavy tail"""
    server, settings, rate, comm = "jvm", {"CONNS": 32, "WORK_US": 300}, 300, "java"


class Disk(Case):
    kinds, never = ("disk",), ("throttle", "cpu_contender", "peer")
    series = ("block_time", "iowait_time", "sleep_poll", "sleep_futex", "futex_wait")  # of the disk, or of what waits for its writer

    def begin(self, server):
        for i in range(4):
            self.start("dd", "if=/dev/zero", "of=" + os.path.join(self.directory, "hog%d" % i), "bs=4M", "count=2000",
                       "oflag=direct,dsync")

    def programs(self):
        return ("dd",)


class DiskRedis(Disk):
    """disk: redis, log of commands synced each time"""
    server, rate, comm = "redis-get", 100, "redis"
    settings = {"CONNS": 8, "REQUEST": "SET key:%d x\\r\\n"}

    def prepare(self, server):
        for words in (("appendfsync", "always"), ("appendonly", "yes")):
            lab.run(["redis-cli", "-h", server.address, "-p", str(server.port), "CONFIG", "SET", *words])
        time.sleep(1)  # writes its first log


class DiskMariadb(Disk):
    """disk: MariaDB"""
    server, settings, rate, comm = "mariadb", {"CONNS": 8, "TEST": "oltp_update_non_index"}, 100, "mariadbd"


class DiskPostgres(Disk):
    """disk: PostgreSQL"""
    server, settings, rate, comm = "postgres-select", {"CONNS": 8}, 100, "postgres"
    prepare = faults.DiskHog.prepare


class DiskJvm(Disk):
    """disk: broker on the JVM, each message synced"""
    server, settings, rate, comm = "jvm", {"CONNS": 8, "TARGET": "/append"}, 60, "java"


class Memory(Case):
    """The neighbour shares a cgroup with the server and takes memory that held the pages of the server's files."""
    kinds, never = ("disk", "reclaim"), ("throttle", "lock", "peer", "cpu_contender")
    series, timed = ("block_time", "iowait_time"), False  # it takes a while until the pages are gone
    group, pages = None, None  # the files, below the server's directory

    def write(self, name, value):
        with open(os.path.join(self.group, name), "w", encoding="ascii") as f:
            f.write(str(value))

    def used(self, what):
        """Bytes of the cgroup's memory."""
        with open(os.path.join(self.group, "memory.stat"), encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("total_%s " % what))

    def prepare(self, server):
        self.group = "/sys/fs/cgroup/memory/validate-%d" % os.getpid()
        os.makedirs(self.group, exist_ok=True)
        for pid in server.pids:
            with contextlib.suppress(ProcessLookupError):  # it ended since it was listed
                self.write("cgroup.procs", pid)
        os.sync()
        for base, _, names in os.walk(os.path.join(server.directory, self.pages)):
            for name in names:  # the pages shall belong to the server's cgroup
                with contextlib.suppress(OSError):
                    fd = os.open(os.path.join(base, name), os.O_RDONLY)
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    os.close(fd)
        lab.run(["sh", "-c", 'echo $$ >"$0"/cgroup.procs; exec find "$1" -type f -exec cat {} + >/dev/null', self.group,
                 os.path.join(server.directory, self.pages)])
        server.load(self.rate, 1, 1)
        self.write("memory.limit_in_bytes", self.used("rss") + self.used("cache") + SPARE)

    def begin(self, server):
        """Takes all but a part of what the pages of files have; nothing of the server's own memory."""
        self.start("sh", "-c", "echo $$ >%s/cgroup.procs; exec taskset -c %s python3 -c 'import time; x = bytearray(b\"x\") * %d; time.sleep(60)'" % (
            self.group, lab.CLIENT_CPU, self.used("cache") - SPARE))

    def end(self, server):
        super().end(server)
        if self.group:
            self.write("memory.limit_in_bytes", -1)
            for pid in open(os.path.join(self.group, "cgroup.procs"), encoding="ascii").read().split():
                with contextlib.suppress(OSError), open("/sys/fs/cgroup/memory/cgroup.procs", "w", encoding="ascii") as f:
                    f.write(pid)
            with contextlib.suppress(OSError):
                os.rmdir(self.group)


class MemoryPostgres(Memory):
    """memory: PostgreSQL, 200 rows per request, tables in the page cache"""
    server, settings, rate, comm, pages = "postgres-select", {"CONNS": 8, "SCALE": 20, "SHARED_BUFFERS": "1MB"}, 40, "postgres", "data/base"

    def prepare(self, server):
        script = os.path.join(server.directory, "rows.sql")
        with open(script, "w", encoding="ascii") as f:
            f.write("SELECT sum(abalance) FROM pgbench_accounts WHERE aid = ANY(ARRAY(SELECT (2000000 * random())::int "
                    "FROM generate_series(1, 200)));\n")
        server.environment["SCRIPT"] = "-f " + script
        super().prepare(server)


class MemoryJvm(Memory):
    """memory: service on the JVM, 200 reads per request, file in the page cache"""
    server, settings, rate, comm, pages = "jvm", {"CONNS": 8, "TARGET": "/pages/200"}, 40, "java", "pages"

    def prepare(self, server):
        path = os.path.join(server.directory, self.pages, "data")
        if os.path.getsize(path) == 0:
            with open(path, "r+b") as f:
                for _ in range(300):
                    f.write(os.urandom(MIB))
        super().prepare(server)


class Beyond:
    """The other end of a wire."""
    def __init__(self, wire):
        self.address, self.on_server, self.on_client = "192.0.2.2", wire.on_client, wire.on_server


class NetworkProxy(Case):
    """network: nginx as proxy, bulk traffic on the link to the server behind it"""
    server, settings, rate, comm = "nginx-proxy", {"CONNS": 32}, 100, "nginx"
    kinds, never, timed = ("peer",), ("self", "lock", "disk", "throttle", "cpu_contender"), False  # a queue has to fill
    series = ("sleep_client", "sleep_poll", "epoll_wait")
    link, everything = "20mbit", False

    @classmethod
    def place(cls, stack, directory):
        cls.wire = stack.enter_context(lab.Wire(0, 0))
        lab.run(["ip", "netns", "exec", cls.wire.names[1], "tc", "qdisc", "add", "dev", "wire0", "root", "tbf", "rate", cls.link,
                 "burst", "16k", "latency", "80ms"])
        upstream = stack.enter_context(lab.Server("nginx", Beyond(cls.wire), directory))
        return cls.wire, dict(cls.settings, UPSTREAM=upstream.port, UPSTREAM_ADDR=upstream.address)

    def begin(self, server):
        sink = "import socket\ns=socket.create_server(('192.0.2.1',9))\nwhile 1:\n c=s.accept()[0]\n while c.recv(1<<16): pass"
        bulk = "import socket,time\ntime.sleep(.1)\nc=socket.create_connection(('192.0.2.1',9))\nwhile 1: c.sendall(bytes(1<<16))"
        self.start(*self.wire.on_server, "python3", "-c", sink)
        self.start(*self.wire.on_client, "python3", "-c", bulk)


CASES = [CpuRedis, CpuMariadb, CpuPostgres, CpuJvm, DiskRedis, DiskMariadb, DiskPostgres, DiskJvm, MemoryPostgres, MemoryJvm,
         NetworkProxy]


def runs(kind, seeds, directory, keep):
    """All runs of one case; yields rows, each with a judgement or the reason why there is none."""
    done = 0
    try:
        for row in with_server(kind, seeds, directory, keep):
            done += 1
            yield row
    except (lab.Failed, subprocess.SubprocessError, OSError, ValueError) as e:
        for seed in list(seeds)[done:]:  # what fails after them, as the end of the server, leaves rows as they are
            yield incidents.failed(kind, seed, e)


def with_server(kind, seeds, directory, keep):
    with contextlib.ExitStack() as stack:
        place = getattr(kind, "place", lambda stack, _: (stack.enter_context(lab.Loopback()), kind.settings))
        net, settings = place(stack, directory)
        server = stack.enter_context(lab.Server(kind.server, net, directory, **settings))
        server.load(kind.rate, 2, 1)  # warm: a JVM compiles what is called often
        yield from incidents.each(kind, server, seeds, directory, keep)
