# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests through three servers, each delayed by one of them: obsanalyze request has to name that one. On one host, and on
three: network namespaces with names, boot ids and wall clocks of their own, each with a recorder."""
import contextlib
import os
import random
import re
import signal
import subprocess
import time
import uuid

import lab

NAMES = ("front", "middle", "back")
WRONG = (0, 7000000, -13000000)  # ns, of the wall clocks
SHOWN = 0.95
DELAYS = (2, 10)  # ms, each way
NEAR = 1e6  # ns by which the median of network times may be longer: programs make that network
HOP = os.path.join(lab.TOP, "tests", "live", "hop.py")
# a mount namespace has a boot id of its own, and another host name
AS_HOST = 'hostname "$1" && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && exec "$@"'
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


class OneHost:
    name, hosts = "one host", 1
    address = ["127.0.0.1"] * 3
    inside = [[]] * 3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class ThreeHosts:
    name, hosts = "three hosts", 3
    address = ["10.78.0.1", "10.78.0.2", "10.78.0.3"]

    def __init__(self):
        self.nets = ["obsfollow%d.%d" % (os.getpid(), i) for i in range(4)]
        self.inside = [["ip", "netns", "exec", net] for net in self.nets[:3]]

    def __enter__(self):
        try:
            for net in self.nets:
                lab.run(["ip", "netns", "add", net])
            switch = self.nets[3]
            lab.run(["ip", "-n", switch, "link", "add", "between", "type", "bridge"])
            lab.run(["ip", "-n", switch, "link", "set", "between", "up"])
            for i, net in enumerate(self.nets[:3]):
                lab.run(["ip", "-n", switch, "link", "add", "port%d" % i, "type", "veth", "peer", "name", "eth", "netns", net])
                lab.run(["ip", "-n", switch, "link", "set", "port%d" % i, "master", "between", "up"])
                lab.run(["ip", "-n", net, "addr", "add", self.address[i] + "/24", "dev", "eth"])
                lab.run(["ip", "-n", net, "link", "set", "eth", "up"])
                lab.run(["ip", "-n", net, "link", "set", "lo", "up"])
        except Exception:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for net in self.nets:
            subprocess.run(["ip", "netns", "del", net], stderr=subprocess.DEVNULL, check=False)
        return False


@contextlib.contextmanager
def started(command, **options):
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        lab.end(process)


def recorder(net, i, pids, directory):
    path = os.path.join(directory, "follow.%d.obs" % i)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    record = [os.path.join(lab.TOP, "obsrec"), "-q", "-p", ",".join(str(p) for p in pids), "-o", path]
    if net.hosts == 1:
        return path, record, None
    boot = os.path.join(directory, "boot.%d" % i)
    with open(boot, "w", encoding="ascii") as f:
        f.write(str(uuid.uuid4()))
    return path, ["unshare", "-m", "-u", "sh", "-c", AS_HOST, "sh", NAMES[i], boot] + record, dict(
        os.environ, LD_PRELOAD=lab.program("wallclock.so"), WALL_CLOCK_ADD=str(WRONG[i]))


def wait_for(path):
    """Until it has begun; a file without an end is damaged to dump."""
    for _ in range(200):
        dump = subprocess.run([lab.OBSANALYZE, "dump", "-e", "info", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False)
        if 'text="begin=' in dump.stdout:
            return
        time.sleep(0.05)
    raise lab.Failed("obsrec did not start")


def record(net, lines, directory, port):
    """Asks, recorded. Returns the recordings."""
    with contextlib.ExitStack() as stack:
        servers = []
        for i in reversed(range(3)):
            following = [net.address[i + 1], str(port + i + 1)] if i < 2 else []
            servers.insert(0, stack.enter_context(started(net.inside[i] + ["python3", HOP, "serve", net.address[i], str(port + i),
                                                                           NAMES[i]] + following)))
        client = stack.enter_context(started(net.inside[0] + ["python3", HOP, "ask", net.address[0], str(port)],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        if client.stdout.readline().strip() != "connected":
            raise lab.Failed("the client did not connect")
        pids = [s.pid for s in servers]
        with lab.machine():
            paths, recorders = [], []
            for i in range(net.hosts):
                path, command, environment = recorder(net, i, pids if net.hosts == 1 else [pids[i]], directory)
                paths.append(path)
                recorders.append(stack.enter_context(started(command, env=environment)))
            for path in paths:
                wait_for(path)
            client.stdin.write("".join(lines))
            client.stdin.close()
            client.wait(60)
            for r in recorders:
                if lab.end(r, signal.SIGINT):
                    raise lab.Failed("obsrec failed")
    return paths


def clocks(text, shifts):
    """How far each clock is off, and its error, in ns: the clock of the events is the same for all recorders."""
    out = []
    for i, name in enumerate(NAMES[1:], 1):
        found = re.search(r"^Clock of %s: corrected by (\S+) s \+-(\S+) (\S+) \(n = (\d+)" % name, text, re.MULTILINE)
        if found:
            out.append((float(found[1]) * 1e9 + shifts[i] - shifts[0], float(found[2]) * UNITS[found[3]]))
    return out


def row(net_class, how, n, seed, directory):
    """n requests, each delayed by 5 to 40 ms at one of the servers."""
    draw = random.Random(seed)
    truth = [draw.randrange(3) for _ in range(n)]
    lines = ["/%s/%s %.4f\n" % (NAMES[t], how, draw.uniform(0.005, 0.04)) for t in truth]
    port = 20000 + os.getpid() % 10000
    right, whole, wrong, off = 0, 0, [], []
    with net_class() as net:
        paths = record(net, lines, directory, port)
        if net.hosts > 1:
            merged = os.path.join(directory, "follow.obs")
            lab.run([lab.OBSANALYZE, "merge", "--force", "-o", merged] + paths)
            shifts = [int(s) for s in lab.run([
                lab.OBSANALYZE, "sql", "--csv", merged,
                "SELECT CAST(value AS INTEGER) AS ns FROM recording WHERE key GLOB '?.clock_shift_ns' ORDER BY key"
            ]).split()[1:]]
        else:
            merged, shifts = paths[0], []
        answer = lab.run([lab.OBSANALYZE, "sql", "--csv", merged, "SELECT r.rowid FROM request r JOIN service s ON s.id=r.service"
                          " WHERE s.port=%d ORDER BY r.ts" % port]).split()[1:]
        for t, request in zip(truth, answer):
            text = lab.run([lab.OBSANALYZE, "request", request, merged])
            named = re.search(r":(\d+): [^:]*\Z", text)
            good = named is not None and int(named[1]) == port + t
            right += good
            whole += text.count(", network ") == 2
            off += clocks(text, shifts)
            if not good:
                wrong.append("%s: %s" % (NAMES[t], text.splitlines()[-1]))
    return {"what": net.name, "how": how, "n": n, "found": len(answer), "right servers": right, "followed": whole, "wrong": wrong[:3],
            "clocks": len(off), "within": sum(abs(o) <= e for o, e in off), "error": max((e for _, e in off), default=0),
            "off": max((abs(o) for o, _ in off), default=0), "right": right >= SHOWN * n and all(abs(o) <= e for o, e in off)}


def ns_of(number, unit):
    return float(number) * UNITS[unit]


def network_row(delay, n, directory):
    """Two servers that answer at once, with so many ms each way between them: network time, in whole and at the receiving device.
    The way of the first question is not seen: a connection has a number from its first receive on."""
    port, path, named, whole, hop = 20000 + os.getpid() % 10000, os.path.join(directory, "follow.obs"), 0, [], []
    with contextlib.ExitStack() as stack:
        net = stack.enter_context(lab.Wire(delay_us=1000 * delay, loss_ppm=0))
        back = stack.enter_context(started(net.on_server + ["python3", HOP, "serve", net.address, str(port + 1), "back"]))
        front = stack.enter_context(started(net.on_client + ["python3", HOP, "serve", "127.0.0.1", str(port), "front", net.address, str(port + 1)]))
        client = stack.enter_context(started(net.on_client + ["python3", HOP, "ask", "127.0.0.1", str(port)],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        if client.stdout.readline().strip() != "connected":
            raise lab.Failed("the client did not connect")
        with lab.Recording(path, [front.pid, back.pid], ["-e", "+hops"]):
            client.stdin.write("/none/fast 0\n" * n)
            client.stdin.close()
            client.wait(60)
    for request in lab.run([lab.OBSANALYZE, "sql", "--csv", path, "SELECT r.rowid FROM request r JOIN service s ON s.id=r.service"
                            " WHERE s.port=%d ORDER BY r.ts" % port]).split()[1:]:
        text = lab.run([lab.OBSANALYZE, "request", request, path])
        named += text.splitlines()[-1].startswith("Longest part: network to %s:%d" % (net.address, port + 1))
        whole += [ns_of(*found) for found in re.findall(r", network ([0-9.]+) (\w+)$", text, re.MULTILINE)]
        hop += [ns_of(*found) for found in re.findall(r"there: wire0 sends [^,]*, wire0 receives ([0-9.]+) (\w+),", text)]
    os.unlink(path)
    off = [sorted(v - known * 1e6 * delay for v in values) for values, known in ((whole, 2), (hop, 1))]
    return {"delay": delay, "asked": n, "named": named, "network": off[0], "hop": off[1],
            "right": named >= SHOWN * n and all(len(v) >= SHOWN * (n - 1) and 0 <= v[len(v) // 2] < NEAR for v in off)}


def rows(rounds, n, directory):
    for net in (OneHost, ThreeHosts):
        for how in ("sleep", "cpu"):
            for seed in range(1, rounds + 1):
                yield net, how, n, seed, directory
