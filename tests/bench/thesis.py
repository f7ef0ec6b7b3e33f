# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench WORK=thesis: five tracing programs alone and together, each in three frameworks, under a load like YCSB's.

After Rita, "Evaluating eBPF frameworks" (MSc thesis, IST 2024): opens, reads and writes, TCP, processes, page cache. Each
round measures without a tracer, then all tracers in random order, each from an empty database on: load, then mixes A to F. Prints Markdown.
THESIS_SECONDS of each mix, BENCH_ROUNDS, THESIS_DATABASES; VALIDATE_LOCK as in tests/validate.
"""
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "validate"))
import figures
import lab

ROUNDS, SECONDS = int(os.environ.get("BENCH_ROUNDS", 5)), float(os.environ.get("THESIS_SECONDS", 1))
MIXES = ["load", "A", "B", "C", "D", "E", "F"]
DATABASES = {"redis": ("redis-get", "redis-server", 20000), "postgres": ("postgres-select", "postgres", 2000)}
CALLS = ["read", "write", "pread64", "pwrite64", "readv", "writev", "recvfrom", "sendto"]
PROGRAMS = ["opens", "reads and writes", "TCP", "processes", "page cache"]
OBSREC = [["-e", "files"], ["-e", "syscalls", "--syscalls", ",".join(CALLS)], ["-e", "requests,net"], ["-e", "process"], ["-e", "pagecache"]]
TOGETHER = ["-e", "files,syscalls,requests,net,process,pagecache", "--syscalls", ",".join(CALLS)]

BPFTRACE = [
    'tracepoint:syscalls:sys_enter_openat /comm == "COMM"/ { @opens[pid] = count(); }',
    "\n".join('tracepoint:syscalls:sys_enter_%s /comm == "COMM"/ { printf("%%d %%d %%s\\n", pid, tid, comm); }' % c for c in CALLS), None,
    'tracepoint:sched:sched_process_fork /comm == "COMM"/ { @spawned[args->child_pid, args->parent_pid] = nsecs; }',
    'tracepoint:filemap:mm_filemap_get_pages /comm == "COMM"/ { @hits[pid] = count(); }\n'
    'tracepoint:filemap:mm_filemap_add_to_page_cache /comm == "COMM"/ { @misses[pid] = count(); }']

BCC_HEAD = """#define MINE ({ char c[16]; bpf_get_current_comm(c, sizeof(c)); *(u32 *)c == *(u32 *)"COMM"; })
BPF_HASH(lost, u32, u64);
"""
# bcc rewrites uses of maps, but none in macros
COUNT = " { u32 pid = bpf_get_current_pid_tgid() >> 32; if (MINE) %s.increment(pid); return 0; }"
BCC = [
    "BPF_HASH(opens, u32, u64);\nTRACEPOINT_PROBE(syscalls, sys_enter_openat)" + COUNT % "opens",
    """struct io { u64 id; char comm[16]; };
BPF_RINGBUF_OUTPUT(ios, 64);
static int on_io(void *ctx)
{
	struct io e = { bpf_get_current_pid_tgid() };
	if (!MINE) return 0;
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	if (ios.ringbuf_output(&e, sizeof(e), 0)) lost.increment(0);
	return 0;
}
""" + "\n".join("TRACEPOINT_PROBE(syscalls, sys_enter_%s) { return on_io(args); }" % c for c in CALLS),
    # the last 1024 segments of the interface; the thesis has this program at the hook tc
    """struct segment { u32 from, to; char bytes[64]; };
BPF_ARRAY(segments, struct segment, 1024);
BPF_ARRAY(next, u64, 1);
int tcp(struct __sk_buff *skb)
{
	u32 zero = 0, ihl, at;
	struct segment s = {};
	u64 *n = next.lookup(&zero);
	if (!n || load_half(skb, 12) != 0x0800 || load_byte(skb, 23) != 6) return 0;
	s.from = load_word(skb, 26);
	s.to = load_word(skb, 30);
	at = 14 + 20 + ((load_byte(skb, 46) >> 4) << 2);
	bpf_skb_load_bytes(skb, at, s.bytes, sizeof(s.bytes));
	at = __sync_fetch_and_add(n, 1) & 1023;
	segments.update(&at, &s);
	return 0;
}""",
    "BPF_HASH(spawned, u32, u32);\nTRACEPOINT_PROBE(sched, sched_process_fork)\n"
    "{ u32 child = args->child_pid, parent = args->parent_pid; if (MINE) spawned.update(&child, &parent); return 0; }",
    "BPF_HASH(hits, u32, u64);\nBPF_HASH(misses, u32, u64);\nTRACEPOINT_PROBE(filemap, mm_filemap_get_pages)" + COUNT % "hits" +
    "\nTRACEPOINT_PROBE(filemap, mm_filemap_add_to_page_cache)" + COUNT % "misses"]

ORDER = """The thesis (MongoDB, two nodes, 2 CPUs; all five programs at once) has throughput in the order: reads: none, Aya, Cilium, libbpf, BCC,
Eunomia, bpftrace; writes: none, libbpf, Cilium, Aya, bpftrace, BCC, Eunomia. obsrec is a libbpf program. As there, bpftrace
has no program for TCP."""


def bcc(programs, comm):
    """The tracer in bcc: becomes one. Prints what it counted."""
    from bcc import BPF
    b = BPF(text=(BCC_HEAD + "\n".join(BCC[p] for p in programs)).replace("COMM", comm), cflags=["-Wno-macro-redefined"])
    n = [0]
    if 1 in programs:
        out = open(os.devnull, "w", encoding="ascii")

        def on_io(_cpu, data, _size):
            e = b["ios"].event(data)
            n[0] += 1
            out.write("%d %d %s\n" % (e.id >> 32, e.id & 0xffffffff, e.comm.decode(errors="replace")))
        b["ios"].open_ring_buffer(on_io)
    if 2 in programs:
        BPF.attach_raw_socket(b.load_func("tcp", BPF.SOCKET_FILTER), "lo")
    print("ready", flush=True)
    over = []
    signal.signal(signal.SIGINT, lambda *_: over.append(1))
    while not over:
        b.ring_buffer_poll(100) if 1 in programs else time.sleep(.1)
    if 1 in programs:
        b.ring_buffer_consume()
    counted = []
    for name, program in (("opens", 0), ("next", 2), ("hits", 4), ("misses", 4)):
        if program in programs:
            counted.append(sum(v.value for v in b[name].values()))
    print("events %d lost %d" % (n[0] + sum(counted) + (len(b["spawned"]) if 3 in programs else 0), sum(v.value for v in b["lost"].values())), flush=True)


def bcc_python():
    """An interpreter that has bcc, and why there is none."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import bcc"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            text = "from bcc import BPF; BPF(text='BPF_HASH(x);')"
            tried = subprocess.run([python, "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True)
            return python, None if tried.returncode == 0 else \
                "bcc does not compile programs here: no headers of this kernel (BCC_KERNEL_SOURCE=DIR names some)"
    return None, "not installed (python3-bpfcc)"


class Tracer:
    """framework: none, obsrec, bpftrace, bcc; programs: numbers."""
    def __init__(self, framework, programs, server, comm, directory, python):
        self.framework, self.server, self.path = framework, server, os.path.join(directory, "trace")
        if framework == "obsrec":
            what = OBSREC[programs[0]] if len(programs) == 1 else TOGETHER
            self.command = [os.path.join(lab.TOP, "obsrec"), "-p", ",".join(map(str, server.pids)), "-o", self.path, *what]
        elif framework == "bpftrace":
            text = "\n".join(BPFTRACE[p] for p in programs if BPFTRACE[p]).replace("COMM", comm)
            # not printf, whose text stays in a buffer
            self.command = ["bpftrace", "--unsafe", "-o", self.path, "-e", 'BEGIN { system("echo ready >&2"); }\n' + text]
        else:
            self.command = [python, os.path.abspath(__file__), "bcc", ",".join(map(str, programs)), comm]

    def __enter__(self):
        self.process, self.row = None, {}
        if self.framework == "none":
            return self
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.said = open(self.path + ".said", "w+", encoding="utf-8")
        self.process = subprocess.Popen(lab.ON_CLIENT + self.command, stdout=self.said, stderr=subprocess.STDOUT)
        for _ in range(300):
            time.sleep(.1)
            if self.process.poll() is not None or "ready" in self.text() or (
                    self.framework == "obsrec" and os.path.exists(self.path) and os.path.getsize(self.path)):
                break
        else:
            lab.end(self.process)
            raise lab.Failed(self.framework + ": not ready in 30 s")
        time.sleep(.3)
        if self.process.poll() is not None:
            raise lab.Failed("%s: %s" % (self.framework, self.text()[-300:]))
        self.before = lab.cpu_seconds([self.process.pid])
        return self

    def text(self):
        out = ""
        for path in (self.path + ".said", self.path if self.framework == "bpftrace" else ""):
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as f:
                    out += f.read()
        return out

    def use(self):
        """CPU seconds and MiB of the tracer, while it runs."""
        if self.process:
            with open("/proc/%d/status" % self.process.pid, encoding="ascii") as f:
                rss = int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) / 1024
            self.row = {"tracer": lab.cpu_seconds([self.process.pid]) - self.before, "memory": rss}

    def __exit__(self, *_):
        if not self.process:
            return False
        lab.end(self.process, signal.SIGINT, 60)
        text = self.text()
        if self.framework == "obsrec":
            self.row["events"], self.row["lost"] = map(int, re.search(r"obsrec: (\d+) events .*?(\d+) records lost", text).groups())
        elif self.framework == "bcc":
            self.row["events"], self.row["lost"] = map(int, re.search(r"events (\d+) lost (\d+)", text).groups())
        else:
            lines = text.splitlines()
            self.row["events"] = sum(line[:1].isdigit() for line in lines) + sum(
                int(n) if name != "spawned" else 1 for name, n in re.findall(r"^@(\w+)\[.*\]: (\d+)$", text, re.M))
            self.row["lost"] = sum(int(n) for n in re.findall(r"^Lost (\d+) events", text, re.M))
        return False


def machine():
    """user, system, iowait and all ticks of the machine."""
    with open("/proc/stat", encoding="ascii") as f:
        t = [int(v) for v in f.readline().split()[1:9]]
    return t[0] + t[1], t[2] + t[5] + t[6], t[4], sum(t)


def empty(database, server):
    if database == "redis":
        lab.run(["redis-cli", "-p", str(server.port), "FLUSHALL"])
    else:
        lab.run(["psql", "-q", "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "-c", "DROP TABLE IF EXISTS usertable; CREATE TABLE "
                 "usertable(k varchar PRIMARY KEY, %s)" % ", ".join("f%d text" % i for i in range(10)), "-c", "CHECKPOINT"], stdin=subprocess.DEVNULL)


def server_cpu(server):
    pids = {int(p) for p in subprocess.run(["pgrep", "-P", str(server.pids[0])], stdout=subprocess.PIPE, text=True, check=False).stdout.split()}
    return lab.cpu_seconds(pids | {server.pids[0]})


def measure(tracer, database, server, records, seed):
    """One tracer: load and all mixes, with what they cost."""
    empty(database, server)
    row = {}
    with lab.machine(), tracer:
        cpu, ticks = server_cpu(server), machine()
        for i, mix in enumerate(MIXES):
            said = json.loads(lab.run(lab.ON_CLIENT + [lab.program("ycsb"), database, str(server.port), mix, "8", str(records), str(SECONDS), str(seed + i)]))
            if said["errors"]:
                raise lab.Failed("%s: %d errors" % (mix, said["errors"]))
            row[mix], records = said, said["records"]
        after = [b - a for a, b in zip(ticks, machine())]
        tracer.use()
        row["cpu"] = 1e6 * (server_cpu(server) - cpu) / sum(row[m]["n"] for m in MIXES)
        row["shares"] = [100 * v / after[3] for v in after[:3]]
    return dict(row, **tracer.row)


def plan(python, why):
    """(framework, programs, why not)"""
    everything = list(range(len(PROGRAMS)))
    yield "none", everything, None
    for programs in [[p] for p in everything] + [everything]:
        for framework in ("obsrec", "bpftrace", "bcc"):
            reason = why if framework == "bcc" else "not installed" if framework == "bpftrace" and not BPFTRACE_THERE else None
            yield framework, programs, "no program, as in the thesis" if framework == "bpftrace" and programs == [2] else reason


BPFTRACE_THERE = subprocess.run(["sh", "-c", "command -v bpftrace"], stdout=subprocess.DEVNULL, check=False).returncode == 0


def name(programs):
    return PROGRAMS[programs[0]] if len(programs) == 1 else "all five"


def table(rows, untraced):
    """Medians over rounds of ratios to the same round without a tracer."""
    def ratio(mine, what):
        return "%.2f" % figures.median([what(r) / what(untraced[i]) for i, r in mine])

    def middle(mine, what, form="%.1f"):
        return form % figures.median([what(r) for _, r in mine])
    yield "| programs | framework | " + " | ".join(MIXES) + " | p50 | p99 | CPU of the server per request | user, system, iowait of the machine, % | " \
        "CPU of the tracer, s | memory, MiB | events | lost |"
    yield "|" + "---|" * (len(MIXES) + 10)
    for framework, programs, why, mine in rows:
        head = "| %s | %s | " % ("-" if framework == "none" else name(programs), framework)
        if not mine:
            yield head + (why or "not measured") + " |" * (len(MIXES) + 8)
            continue
        shares = ", ".join(middle(mine, lambda r, i=i: r["shares"][i], "%.0f") for i in range(3))
        if framework == "none":
            yield head + " | ".join(middle(mine, lambda r, m=m: r[m]["rate"], "%.0f") for m in MIXES) + " | %s us | %s us | %s us | %s | | | | |" % (
                middle(mine, lambda r: figures.median([r[m]["p50"] for m in MIXES])), middle(mine, lambda r: figures.median([r[m]["p99"] for m in MIXES])),
                middle(mine, lambda r: r["cpu"]), shares)
            continue
        yield head + " | ".join(["x " + ratio(mine, lambda r, m=m: r[m]["rate"]) for m in MIXES] + [
            "x " + ratio(mine, lambda r, q=q: figures.median([r[m][q] for m in MIXES])) for q in ("p50", "p99")] + [
                "x " + ratio(mine, lambda r: r["cpu"]), shares, middle(mine, lambda r: r["tracer"], "%.2f"), middle(mine, lambda r: r["memory"], "%.0f"),
                middle(mine, lambda r: r["events"], "%.0f"), "%d" % sum(r["lost"] for _, r in mine)]) + " |"


def one(row, i, database, server, records, directory, python):
    framework, programs, reason, mine = row
    if reason:
        return
    try:
        mine.append((i, measure(Tracer(framework, programs, server, DATABASES[database][1], directory, python), database, server, records, i)))
    except (lab.Failed, subprocess.SubprocessError, OSError, AttributeError) as e:
        print("%s, %s, %s: %s" % (database, framework, name(programs), e), file=sys.stderr)


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that servers and tracers end with it
    lab.prefer()
    python, why = bcc_python()
    for database in os.environ.get("THESIS_DATABASES", ",".join(DATABASES)).split(","):
        server_name, comm, records = DATABASES[database]
        rows = [(*what, []) for what in plan(python, why)]
        with lab.scratch() as directory, lab.Server(server_name, lab.Loopback(), directory) as server:
            measure(Tracer("none", [], server, comm, directory, python), database, server, records, 0)  # warms up
            with contextlib.suppress(KeyboardInterrupt):  # prints what there is
                for i in range(ROUNDS):
                    # the untraced run of a round comes first, so that a round that is cut short can be used
                    for row in rows[:1] + random.Random(i).sample(rows[1:], len(rows) - 1):
                        one(row, i, database, server, records, directory, python)
        untraced = dict(rows[0][3])
        print("\n**The thesis's five programs on %s, under a load like YCSB's: 8 connections, %d records, %g s of each mix**\n" % (comm, records, SECONDS))
        print("\n".join(table([(f, p, w, [(i, r) for i, r in mine if i in untraced]) for f, p, w, mine in rows], untraced)))
        print("\nMeasured %s, %d rounds. Untraced: requests per second; else medians of ratios to the untraced run of the round. Memory is the tracer's own.\n%s" % (
            time.strftime("%Y-%m-%d", time.gmtime()), len(untraced), ORDER))


if sys.argv[1:2] == ["bcc"]:
    bcc([int(p) for p in sys.argv[2].split(",")], sys.argv[3])
else:
    main()
