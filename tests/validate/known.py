# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs and clients that count what they do: positions of reads and writes, calls of a hot function, statements of SQL."""
import glob
import os
import random
import re
import subprocess

import lab

SECONDS, CALL_NS, LIMIT = 3, 1000000, 10  # of hotwork and --hot, where calls are timed
BUCKET = .032  # of the histograms: width of a bucket


def printed(said):
    return {k: int(v) for k, v in re.findall(r"\b(\w+)=(\d+)", said)}


def count(answers, query):
    """One row of whole numbers."""
    return [int(float(v or 0)) for v in answers.sql(query)[0]]


def recorded(path, options, command, **how):
    """Runs a command under obsrec; what it printed."""
    with lab.machine():
        return lab.run([os.path.join(lab.TOP, "obsrec"), "-q", "-o", path, *options, "--", *command], **how)


# -- offsets --

def seen_positions(path, pid):
    """The accesses of one thread, as shipper prints them."""
    rows = []
    for line in lab.run([lab.OBSANALYZE, "dump", "-e", "file_io", path]).splitlines():
        f = dict(re.findall(r" (\w+)=(\d+)", line))
        if line.split()[1] == str(pid) and "nr" not in f and not 4 <= int(f.get("flags", 0)) <= 7:
            rows.append("io %d %s %s %s" % (int(f.get("flags", 0)) % 2, f.get("pos", 0), f.get("bytes", 0), f.get("size", 0)))
    return rows


def offsets(directory, _seed):
    """Found and true: exact positions, patterns by file, gaps by file."""
    path, files = os.path.join(directory, "offsets.obs"), os.path.join(directory, "shipped")
    os.mkdir(files)
    try:
        said = recorded(path, ["-e", "+offsets"], [lab.program("shipper"), files])
    finally:
        subprocess.run(["rm", "-rf", files], check=True)
    known, true = [line for line in said.splitlines() if line.startswith("io ")], printed(said)
    answers = lab.Answers(path, keep=True)
    pid = answers.sql("SELECT pid FROM process WHERE comm='shipper' ORDER BY start LIMIT 1")[0][0]
    seen = seen_positions(path, pid)
    # reads of libraries come before, the program's own output after
    first = seen.index(known[0]) if known and known[0] in seen else len(seen)
    found = {"positions": sum(a == b for a, b in zip(known, seen[first:]))}
    truth = {"positions": len(known)}

    def sums(what, name, column):
        return count(answers, "SELECT total(%s) FROM file_access a JOIN inode i ON i.id=a.inode JOIN file_path p ON p.id=i.path "
                     "WHERE p.path='%s/%s' AND a.pid=%s" % (column, files, name, pid))[0]
    for what, name, column, n in (
            ("sequential reads", "space", "read_sequential", true["sequential"]), ("strided reads", "space", "read_strided", true["strided"]),
            ("random reads", "space", "read_random", true["random"] + 1), ("appends", "space", "appends", true["appends"]),
            ("overwrites", "space", "overwrites", true["overwrites"]),
            ("overwritten bytes", "space", "overwrite_bytes", true["overwrites"] * true["block"]),
            ("reads past the end", "calls", "read_past_end", 1), ("writes that leave a hole", "calls", "holes", 1)):
        found[what], truth[what] = sums(what, name, column), n
    for what, name, n in (("bytes that a shipper skipped in a replaced log", "lost", true["second"]),
                          ("bytes unread in a truncated log", "cut", true["unread"]),
                          ("gaps of readers that start again", "found", 0), ("gaps after a rotation", "rotated", 0)):
        column = "total(skipped + unread)" if n else "count(*)"
        rows = count(answers, "SELECT %s FROM file_gap g JOIN inode i ON i.id=g.inode JOIN file_path p ON p.id=i.path "
                     "WHERE p.path='%s/%s'" % (column, files, name))
        found[what], truth[what] = rows[0], n
    return done("shipper", answers, path, found, truth)


# -- hot functions --

def all_calls(answers):
    return count(answers, "SELECT sum(n) FROM (SELECT count(*) AS n FROM call WHERE dur IS NOT NULL UNION ALL SELECT sum(n) FROM call_count)")[0]


def hot(what, options, arguments, timed, directory):
    """timed: the main loop alone, whose time is compared with the program's clock."""
    path = os.path.join(directory, "hot.obs")
    true = printed(recorded(path, ["-e", "uprobe", *options, "-u", lab.program("hotwork") + ":hot"], [lab.program("hotwork"), *arguments]))
    answers = lab.Answers(path, keep=True)
    ours, counted, ns = count(answers, "SELECT n + timed, timed, total + timed_total FROM call_stat")
    found, truth = {"calls that returned": all_calls(answers)}, {"calls that returned": true["returned"]}
    row = {"counted": counted, "n": ours}
    if timed:
        p50 = next((m["value"] for m in answers.metrics("functions", "p50")), 0)
        row.update(time=ns / true["ns"] - 1, p50=p50 / true["p50"] - 1)
    row = dict(done("hotwork " + what, answers, path, found, truth), **row)
    row["right"] &= not timed or (abs(row["time"]) < .01 and abs(row["p50"]) < .01 + BUCKET)
    return row


def same_run(directory):
    """Two recorders of one run: the outer one counts in histograms what the inner one has an event each of."""
    path, inner = os.path.join(directory, "hot.obs"), os.path.join(directory, "events.obs")
    probe = ["-u", lab.program("hotwork") + ":hot"]
    recorded(path, ["-e", "uprobe", "--hot", str(LIMIT), *probe], [
        os.path.join(lab.TOP, "obsrec"), "-q", "-o", inner, "-e", "uprobe,sched", "--hot", "0", *probe, "--",
        lab.program("hotwork"), str(SECONDS), str(CALL_NS), "alone"])
    events = lab.Answers(inner, keep=True)
    each = [(int(ns), int(run or 0)) for ns, run in events.sql("SELECT dur, coalesce(run, 0) FROM call ORDER BY ts")]
    whole = events.complete()
    events.close()
    os.unlink(inner)
    answers = lab.Answers(path, keep=True)
    start = [int(ts) for ts, in answers.sql("SELECT ts FROM call ORDER BY ts")]
    # calls come one after the other: the counted ones are those between the two events that are farthest from each other
    before = 1 + max(range(len(start) - 1), key=lambda i: start[i + 1] - start[i])
    same = each[before:len(each) - (len(start) - before)]
    counted, ns, cpu = count(answers, "SELECT timed, timed_total, timed_cpu FROM call_stat")
    row = done("hotwork alone, both at once", answers, path, {"calls that returned": counted + len(start)},
               {"calls that returned": len(each)})
    row.update(counted=counted, n=counted + len(start), time=ns / sum(n for n, _ in same) - 1, cpu=cpu / sum(run for _, run in same) - 1)
    row["complete"] &= whole
    row["right"] &= abs(row["time"]) < .01 and abs(row["cpu"]) < .01
    return row


HOT = [("all ways, in histograms", ["--hot", "50"], ["4", "100000"], False),
       ("all ways, an event each", ["--hot", "0"], ["1", "100000"], False),
       ("alone, in histograms", ["--hot", str(LIMIT)], [str(SECONDS), str(CALL_NS), "alone"], True),
       ("alone, an event each", ["--hot", "0"], [str(SECONDS), str(CALL_NS), "alone"], True)]


# -- statements --

STATEMENTS = [("INSERT INTO t VALUES(?)", "INSERT INTO t VALUES({i},'secret{i}')", 53),
              ("SELECT b FROM t WHERE a=? AND b<>?", "SELECT b FROM t WHERE a={i} AND b<>'secret'", 41),
              ("UPDATE t SET b=? WHERE a IN (?)", "UPDATE t SET b='secret' WHERE a IN ({i}, 2, 3) /* user {i} */", 29),
              ("DELETE FROM t WHERE a=?", "DELETE FROM t WHERE a={i}", 7)]


def script_table():
    return "CREATE TABLE t(a INTEGER, b VARCHAR(40))"


def script(seed):
    """Inserts in order, the others among them, each on a line."""
    lines = [text.format(i=i) for _, text, n in STATEMENTS for i in range(n)]
    random.Random(seed).shuffle(lines)
    return [script_table()] + lines


def judged(what, path):
    answers = lab.Answers(path, keep=True)
    rows = {text: int(n) for text, n in answers.sql("SELECT text, sum(n) FROM v_statement GROUP BY text")}
    found = {name: rows.get(name, 0) for name, _, _ in STATEMENTS}
    truth = {name: n for name, _, n in STATEMENTS}
    dump = lab.run([lab.OBSANALYZE, "dump", path])
    found["values in the file"], truth["values in the file"] = len(re.findall(r"secret\d|user \d", dump)), 0
    return done(what, answers, path, found, truth)


def sqlite(directory, seed):
    path = os.path.join(directory, "statements.obs")
    library = glob.glob("/usr/lib/*/libsqlite3.so.0")[0]
    recorded(path, ["-e", "uprobe", "-u", library + ":sqlite3_prepare_v2", "--args", "s2:128"],
             ["sqlite3", os.path.join(directory, "seed%d.db" % seed)], input=";\n".join(script(seed)) + ";\n")
    return judged("SQLite, function", path)


def server_statements(name, options, client, what, directory, seed):
    """client: words of a command that reads statements."""
    path = os.path.join(directory, "statements.obs")
    with lab.Server(name, lab.Loopback(), directory) as server:
        with lab.Recording(path, server.pids, options):
            lab.run(client(server), input=";\n".join(script(seed)) + ";\n")
    return judged(what, path)


def postgres(directory, seed):
    binary = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))[-1]
    return server_statements(
        "postgres-select", ["-e", "uprobe", "--no-names", "-U", binary + ":query__start(1:sql)"],
        lambda s: ["psql", "-q", "-h", s.address, "-p", str(s.port), "-U", "postgres"], "PostgreSQL, USDT", directory, seed)


def mariadb(directory, seed):
    probe = lab.run(["sh", "-c", "command -v mariadbd"]).strip() + ":_Z16dispatch_command19enum_server_commandP3THDPcjb"
    return server_statements(
        "mariadb", ["-e", "uprobe", "--no-names", "-u", probe, "--args", "s3:128"],
        lambda s: ["mariadb", "--no-defaults", "-h", s.address, "-P", str(s.port), "-u", "bench", "bench"], "MariaDB, function", directory, seed)


WEIGHTS = (4, 3, 2, 1)  # of the statements in a transaction


def tls(directory, _seed):
    """Prepared statements on encrypted connections name their requests; each is prepared once, by a request of its own."""
    path, script, n = os.path.join(directory, "statements.obs"), os.path.join(directory, "script.sql"), 49
    binary = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))[-1]
    with open(script, "w", encoding="ascii") as f:
        f.write("\\set i random(1, 100000)\n")
        for (_, text, _), weight in zip(STATEMENTS, WEIGHTS):
            f.write((text.replace("{i}", ":i", 1).replace("{i}", "0") + ";\n") * weight)
    with lab.Server("postgres-select", lab.Loopback(), directory, TLS="on") as server:
        lab.run(["psql", "-q", "-h", server.address, "-p", str(server.port), "-U", "postgres"], input=script_table() + ";\n")
        with lab.Recording(path, server.pids, ["-U", binary + ":statement__status(1:sql)"]):
            lab.run(["pgbench", "-n", "-M", "prepared", "-t", str(n), "-f", script, "-h", server.address, "-p", str(server.port),
                     "-U", "postgres", "postgres"], env=dict(os.environ, PGSSLMODE="require"))
    answers = lab.Answers(path, keep=True)
    named = {name: int(rows) for name, rows in answers.sql(
        "SELECT n.name, count(*) FROM request r JOIN request_name n ON n.id=r.name GROUP BY n.name")}
    found = {"requests named " + name: named.get(name, 0) for name, _, _ in STATEMENTS}
    truth = {"requests named " + name: (n + 1) * weight for (name, _, _), weight in zip(STATEMENTS, WEIGHTS)}
    found["values in the file"], truth["values in the file"] = len(re.findall(r"secret\d|user \d", lab.run([lab.OBSANALYZE, "dump", path]))), 0
    return done("PostgreSQL, TLS, prepared", answers, path, found, truth)


def done(what, answers, path, found, truth):
    row = {"what": what, "found": found, "truth": truth, "complete": answers.complete(), "right": found == truth}
    answers.close()
    os.unlink(path)
    return row


def hot_row(*how):
    return lambda directory, _seed: hot(*how, directory)


PARTS = {"offsets": [("shipper", offsets)], "hot": [(how[0], hot_row(*how)) for how in HOT] + [("both at once", lambda directory, _seed: same_run(directory))],
         "statements": [("sqlite", sqlite), ("postgres", postgres), ("mariadb", mariadb), ("tls", tls)]}
