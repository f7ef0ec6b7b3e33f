# SPDX-License-Identifier: GPL-2.0-or-later
"""Rounds of the validation: networks, servers, the recorder, and what obsanalyze says."""
import contextlib
import csv
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(TOP, ".output", "validate")
HERE = os.path.join(TOP, "tests", "validate")
OBSANALYZE = os.environ.get("OBSANALYZE", os.path.join(TOP, "obsanalyze"))
SERVER_CPU, CLIENT_CPU = "0", "1"
ON_SERVER = ["taskset", "-c", SERVER_CPU]
ON_CLIENT = ["taskset", "-c", CLIENT_CPU]
# with real-time priority, so that others on this machine take no time from what is compared with itself
FIRST_ON_SERVER, FIRST_ON_CLIENT = ["chrt", "-f", "50"] + ON_SERVER, ["chrt", "-f", "40"] + ON_CLIENT


class Failed(Exception):
    """A round that could not be made; the sentence says why."""


def program(name):
    return os.path.join(OUT, "..", name)


def run(command, timeout=120, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, **options)
    if done.returncode != 0:
        raise Failed("%s: status %d: %s" % (os.path.basename(command[0]), done.returncode,
                                            done.stderr.strip()[-400:]))
    return done.stdout


def end(process, sig=signal.SIGTERM, timeout=20):
    """Ends a process that was started here."""
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


def prefer():
    """Before others on this machine: by nice, and, where sessions share the CPUs as groups, by the
    group's; servers are sessions of their own (serving.sh)."""
    os.nice(-10)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as f:
        f.write("-10")


@contextlib.contextmanager
def machine():
    """Others who measure on this machine wait for this file, if VALIDATE_LOCK names one. Who holds
    it longer than five minutes has died or forgotten it."""
    path = os.environ.get("VALIDATE_LOCK")
    if not path:
        yield
        return
    def give_up(*_):
        raise TimeoutError
    with open(path, "w", encoding="ascii") as f:
        before = signal.signal(signal.SIGALRM, give_up)
        signal.alarm(300)
        with contextlib.suppress(TimeoutError):
            fcntl.flock(f, fcntl.LOCK_EX)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        yield


@contextlib.contextmanager
def scratch():
    """A directory on a real disk that every user may enter: databases refuse to be root."""
    path = tempfile.mkdtemp(prefix="validate.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Loopback:
    """Server and client on one host."""
    name = "loopback"
    address = "127.0.0.1"
    on_server, on_client = ON_SERVER, ON_CLIENT

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Wire:
    """Two network namespaces with delay and loss between them, 10 ms and 1 % each way."""
    name = "10 ms, 1 %"
    address = "192.0.2.1"

    def __init__(self, delay_us=10000, loss_ppm=10000, seed=1):
        self.options = ["-d", str(delay_us), "-l", str(loss_ppm), "-s", str(seed)]
        self.names = ["obsv%d%s" % (os.getpid(), c) for c in "sc"]
        self.on_server = ["ip", "netns", "exec", self.names[0]] + ON_SERVER
        self.on_client = ["ip", "netns", "exec", self.names[1]] + ON_CLIENT
        self.wire = None

    def __enter__(self):
        try:
            self.build()
        except Exception:
            self.__exit__()
            raise
        return self

    def build(self):
        devices = []
        for name in self.names:
            run(["ip", "netns", "add", name])
            devices += ["/run/netns/" + name, "wire0"]
        self.wire = subprocess.Popen(ON_CLIENT + [program("wire")] + self.options + devices,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.wire.stdout.readline().strip() != "ready":
            raise Failed("the wire between the namespaces could not be made")
        for name, own, peer in zip(self.names, ("192.0.2.1", "192.0.2.2"), ("192.0.2.2", "192.0.2.1")):
            for command in (["link", "set", "lo", "up"], ["link", "set", "wire0", "up"],
                            ["addr", "add", own + "/32", "peer", peer, "dev", "wire0"]):
                run(["ip", "-n", name] + command)

    def __exit__(self, *_):
        if self.wire:
            end(self.wire)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)
        return False


class Server:
    """One of servers/NAME.sh. settings: environment that its file knows."""
    port = 21000 + os.getpid() % 500 * 20

    def __init__(self, name, net, directory, **settings):
        Server.port += 10
        self.name = name
        self.script = os.path.join(HERE, "servers", name + ".sh")
        self.port, self.address = Server.port, net.address
        self.directory = os.path.join(directory, "%s.%d" % (name, self.port))
        self.environment = dict(os.environ, DIR=self.directory, ADDR=net.address, PORT=str(self.port),
                                ON_SERVER=" ".join(net.on_server), ON_CLIENT=" ".join(net.on_client),
                                CLIENT_CPU=CLIENT_CPU, LOAD=program("loadgen"),
                                NODE=os.path.join(OUT, "node"),
                                **{k: str(v) for k, v in settings.items()})

    def call(self, *words, timeout=180, **settings):
        return run(["sh", self.script] + [str(w) for w in words], timeout=timeout, cwd=os.path.dirname(self.directory),
                   env=dict(self.environment, **{k: str(v) for k, v in settings.items()}))

    def __enter__(self):
        try:
            self.call("start")
        except Exception:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.call("stop")
        except Failed:
            pass
        return False

    @property
    def pids(self):
        """Those of its processes that still run: one that prepared the data may have ended since."""
        with open(os.path.join(self.directory, "pids"), encoding="ascii") as f:
            return [int(p) for p in f.read().split() if os.path.exists("/proc/" + p)]

    def word(self, what):
        return self.call(what).strip()

    def load(self, rate, seconds, seed, **settings):
        """rate: a number, or several, one after the other. Returns what the client counted, a row
        for each."""
        # sysbench knows whole numbers only
        rates = ",".join("%.0f" % r for r in (rate if isinstance(rate, (list, tuple)) else [rate]))
        return [json.loads(line) for line in
                self.call("load", rates, seconds, seed, **settings).splitlines()]


class Recording:
    """obsrec as a context: what happens within is recorded. Held alone on this machine. before: is called
    before the recording, alone on this machine as well."""

    def __init__(self, path, pids=None, options=(), before=None):
        self.before, self.path, self.pids, self.options = before, path, pids, options
        self.process = None
        self.lock = machine()

    def command(self):
        # a process of a server can end while another recording is waited for
        live = [str(p) for p in self.pids or [] if os.path.exists("/proc/%d" % p)]
        who = ["-p", ",".join(live)] if self.pids else ["-a"]
        return ON_CLIENT + [os.path.join(TOP, "obsrec"), "-q", "-o", self.path] + who + list(self.options)

    def __enter__(self):
        self.lock.__enter__()
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            if self.before:
                self.before()
            self.process = subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True)
            for _ in range(100):
                if os.path.exists(self.path) and os.path.getsize(self.path) > 0:
                    break
                if self.process.poll() is not None:
                    raise Failed("obsrec: " + self.process.stderr.read().strip()[-300:])
                time.sleep(0.05)
            time.sleep(0.4)
        except BaseException as e:
            self.__exit__(type(e))
            raise
        return self

    def __exit__(self, *broken):
        status = end(self.process, signal.SIGINT) if self.process else 0
        self.lock.__exit__(None, None, None)
        if status and not broken[0]:
            raise Failed("obsrec: status %d: %s" % (status, self.process.stderr.read().strip()[-300:]))
        return False


class Answers:
    """What obsanalyze says about one recording."""

    def __init__(self, path, keep=False, counted=None):
        """counted: from and to in ns since 1970; only what happened between them."""
        self.analyze = OBSANALYZE
        self.path, self.db = path, path + ".db"
        part = ["--from", date(counted["from"]), "--to", date(counted["to"])] if counted else []
        run([self.analyze, "load", "--force", "-o", self.db] + part + [path], timeout=300)
        self.report = json.loads(run([self.analyze, "report", "--json", self.db], timeout=300))
        self.analyses = {row["analysis"] for row in self.report["metrics"] + self.report["findings"]}
        if not keep:
            os.unlink(path)

    def close(self):
        os.unlink(self.db)

    def has(self, analysis):
        return analysis in self.analyses

    def metrics(self, analysis, name, subject=None):
        return [m for m in self.report["metrics"] if m["analysis"] == analysis and m["name"] == name
                and m["value"] is not None and (subject is None or subject(m["subject"]))]

    def findings(self, analysis):
        return [f for f in self.report["findings"] if f["analysis"] == analysis]

    def complete(self):
        """Nothing was lost of what was asked for."""
        return all(row["verdict"] in ("COMPLETE", "ABSENT") for row in self.report["coverage"])

    def sql(self, query):
        text = run([self.analyze, "sql", "--csv", self.db, query], timeout=300)
        return list(csv.reader(text.splitlines()))[1:]

    def quantiles(self, table, column, where="1"):
        """p50, p90, p99 of a column in ns."""
        n = int(self.sql("SELECT count(*) FROM %s WHERE %s" % (table, where))[0][0])
        out = {"n": n}
        for name, q in (("p50", .5), ("p90", .9), ("p99", .99)):
            rows = self.sql("SELECT %s FROM %s WHERE %s ORDER BY 1 LIMIT 1 OFFSET %d" %
                            (column, table, where, int(q * (n - 1)))) if n else []
            out[name] = float(rows[0][0]) if rows else None
        return out


def date(ns):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + ".%09dZ" % (ns % 10**9)


def subject_pid(subject):
    """The pid in name[pid] or name[pid/tid] at the begin of a subject; None: there is none."""
    inside = subject.partition("[")[2].partition("]")[0].partition("/")[0]
    return int(inside) if inside.isdigit() else None


def cpu_seconds(pids):
    """CPU time of processes and of their children that ended."""
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
                fields = f.read().rpartition(")")[2].split()
            total += sum(int(f) for f in fields[11:15])
        except OSError:
            pass
    return total / os.sysconf("SC_CLK_TCK")
