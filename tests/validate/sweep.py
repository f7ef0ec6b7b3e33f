# SPDX-License-Identifier: GPL-2.0-or-later
"""Load sweeps: rates from system calls against what the client counted, up to and past saturation."""
import os
import random
import re

import figures
import lab

SERVERS = ["redis-get", "redis-lua", "memcached", "nginx", "nginx-proxy", "postgres-select", "mariadb", "http", "grpc",
           "grpc-single"]
# stand for services of TailBench and CloudSuite: queues, workers, service times of a heavy tail
POOLS = ["pool", "pool-parts", "jvm"]
FLOOR = 6  # points of the idle share
LEVELS = [.1, .2, .35, .5, .65, .8, .95, 1.1, 1.3, 1.6]  # of the rate of a closed loop
SECONDS, CALIBRATION = 5, 2
POOL_SECONDS = 3
# Request latency of obsanalyze(1), from the arrival. Across the wire the client's has a round trip more: until the answer is
# acknowledged. A client delays that by up to 40 ms; only what takes longer than such a delay was sent again.
LATENCY, DELAYED = "dur + queued", 45000000
ACROSS = "dur + queued + CASE WHEN acked < %d + {0} THEN {0} ELSE acked END" % DELAYED
# a server that answers less of what it is asked for is saturated; in a step of a second, what is under way at
# its end is counted in the next: 2 % of it at 20 ms, and what is sent again later than that
ANSWERED, ANSWERED_IN_STEP = .97, {"loopback": .97}
# connections of the client: enough that the network's delay does not limit the rate
WIRE_CONNS = {"redis-get": 2000, "memcached": 2000, "nginx": 800, "nginx-proxy": 800, "redis-lua": 400,
              "postgres-select": 100, "mariadb": 64, "http": 800, "grpc": 16, "grpc-single": 100,
              "pool": 200, "pool-parts": 200, "jvm": 400}


def servers(answers, name):
    """Rows of servers: "NAME (N processes)" stands for its processes, "NAME[PID]..."."""
    rows = answers.metrics("rps", name)
    whole = {r["subject"].rpartition(" (")[0] for r in rows if r["subject"].endswith(" processes)")}
    return [r for r in rows if re.sub(r"\[[0-9]+\]", "", r["subject"], count=1) not in whole]


def rates(answers):
    """What the analysis rps says, all processes and sockets of the server together."""
    def total(name):
        rows = servers(answers, name)
        return sum(r["value"] for r in rows) if rows else None

    def requests():
        """Requests, or exchanges where one receive may hold several."""
        each = {r["subject"]: r["value"] for name in ("requests", "exchanges") for r in servers(answers, name)}
        return sum(each.values()) if each else None

    def average(name):
        rows = servers(answers, name)
        n = sum(r["n"] for r in rows)
        return sum(r["value"] * r["n"] for r in rows) / n if n else None
    return {"requests": requests(), "sends": total("sends"), "calls": total("calls"),
            "sends_per_request": average("sends/request"), "spread": average("spread")}


def whole(rows):
    """Of these rows those of servers of several processes, if there are any: they stand for their workers."""
    return [r for r in rows if " processes)" in r["subject"]] or rows


def waits_in_poll(subject):
    return subject.rstrip().endswith("poll")


# what saturation and slack say of a recording: name here, analysis, metric, subjects
SERIES = [
    ("variance", "saturation", "recv var", None), ("cv2", "saturation", "recv CV2", None),
    ("wait", "slack", "mean wait", waits_in_poll), ("idle", "slack", "idle share", None),
]


def latency(answers, server):
    """Of requests as the client sees them: p50, p90, p99, ns."""
    if server.address != lab.Wire.address:
        return answers.quantiles("request", LATENCY, "lossy = 0")
    acked = answers.sql("SELECT acked FROM request WHERE acked > 0 ORDER BY 1")
    trip = int(acked[len(acked) // 10][0]) if acked else 0  # not delayed by the client
    return answers.quantiles("request", ACROSS.format(trip), "lossy = 0 AND acked IS NOT NULL")


def round_at(server, offered, seconds, seed, directory, probe=None):
    path = os.path.join(directory, "round.obs")
    pids = server.pids
    options = ["-u", probe] if probe else []
    with lab.Recording(path, pids, options):
        before = lab.cpu_seconds(pids)
        client = server.load(offered, seconds, seed)[-1]
        cpu = (lab.cpu_seconds(pids) - before) / seconds
    # both sides count in the same seconds, in which the load is steady
    answers = lab.Answers(path, counted=client["counted"])
    row = {"offered": offered, "client": client, "cpu": cpu, "complete": answers.complete(),
           "latency": latency(answers, server), "client_latency": client.get("steady") or client.get("from_sent") or client["from_due"]}
    row.update(rates(answers))
    for key, analysis, metric, subjects in SERIES:
        values = [m["value"] for m in whole(answers.metrics(analysis, metric, subjects))]
        row[key] = figures.mean(values) if values else None
        row["has_" + analysis] = answers.has(analysis)
    answers.close()
    return row


# Windows of the busiest server, if one thread of it receives: begin and length in ns, sum of the squared gaps, and
# squared waits for requests in which ten were due, which happens by chance in e^-10 of gaps; such a wait is within one
# gap. The waits before the first request and after the last are none.
PAUSES = """WITH s AS (SELECT server FROM server_window GROUP BY server ORDER BY sum(recvs) DESC LIMIT 1),
t AS (SELECT min(tid) AS tid FROM request WHERE service IN (SELECT id FROM service WHERE server = (SELECT server FROM s))
      HAVING min(tid) = max(tid)),
w AS (SELECT ts, dur, recv_gap, recv_m2 + recv_gaps * recv_gap * recv_gap AS squares FROM server_window
      WHERE server = (SELECT server FROM s) AND recv_gaps >= 30),
p AS (SELECT (ts + dur) / (SELECT max(dur) FROM w) AS i, 1.0 * dur AS long FROM thread_state
      WHERE tid = (SELECT tid FROM t) AND state = (SELECT id FROM state WHERE name = 'poll')
      AND ts > (SELECT min(ts + dur) FROM w) AND ts + dur < (SELECT max(ts) FROM w))
SELECT w.ts, w.dur, squares, (SELECT total(long * long) FROM p WHERE i = w.ts / w.dur AND long > 10 * recv_gap)
FROM w WHERE (SELECT tid FROM t) IS NOT NULL ORDER BY w.ts"""


def pauses(answers, seconds):
    """How much of the squared gaps between receives, in the first seconds and after them, the server
    waited with nothing to do: pauses of its client, or of the network, not its own."""
    rows = [[float(v) for v in row] for row in answers.sql(PAUSES)]
    out = []
    for later in (False, True):
        part = [r for r in rows if (r[0] >= rows[0][0] + seconds * 1e9) == later]
        out.append(sum(r[3] for r in part) / sum(r[2] for r in part) if part else None)
    return out


def is_short(step, least):
    """Fewer answers than asked for, by more than three standard deviations of a count of arrivals."""
    return step["rate"] < least * step["offered"] - 3 * step["offered"] ** .5


def ramp(server, limit, seed, directory, least):
    """One recording in which the load rises past saturation: where does the report see the knee?"""
    path = os.path.join(directory, "ramp.obs")
    rates = [limit * step / 10 for step in range(1, 17)]
    with lab.Recording(path, server.pids):
        steps = server.load(rates, 1, seed)
    answers = lab.Answers(path)
    n = next((i for i, s in enumerate(steps) if is_short(s, least)), len(steps))
    row = {"saturated": steps[n]["rate"] if n < len(steps) else None,
           "held": steps[n - 1]["offered"] if n else None, "pauses": pauses(answers, n),
           "has": answers.has("saturation"),
           "knees": [{k: m[k] for k in ("value", "low", "high")} for m in answers.metrics("saturation", "recv knee")]}
    answers.close()
    return row


def sweep(name, net_class, quick, seed, say):
    seconds = 2 if quick else POOL_SECONDS if name in POOLS else SECONDS
    settings = {"CONNS": WIRE_CONNS[name]} if net_class is lab.Wire else {}
    with lab.scratch() as directory, net_class() as net, lab.Server(name, net, directory, **settings) as server:
        probe = server.word("probe")
        title, paper = server.word("title"), server.word("paper")
        server.load(0, 1, seed)  # warms up
        top = round_at(server, 0, CALIBRATION, seed, directory, probe)
        limit = top["client"]["rate"]
        say("%s, %s: at most %.0f requests/s (server CPU %.0f %%)" % (title, net.name, limit, 100 * top["cpu"]))
        levels = [.5] if quick else list(LEVELS)
        random.Random(seed).shuffle(levels)  # so that a drift of the machine is no trend
        rows = []
        for i, level in enumerate(levels):
            row = round_at(server, level * limit, seconds, seed + i + 1, directory, probe)
            row["level"] = level
            rows.append(row)
            say("  %4.0f %%: client %.1f/s, requests %s, sends %s, calls %s" % (
                100 * level, row["client"]["counted"]["rate"], *("%.1f" % row[k] if row[k] is not None else "-"
                                                      for k in ("requests", "sends", "calls"))))
        rows.sort(key=lambda r: r["level"])
        knee = None
        # pgbench, sysbench and the gRPC client keep one rate; of pools only levels are measured
        if not quick and name not in ("postgres-select", "mariadb", "grpc", "grpc-single", *POOLS):
            knee = ramp(server, limit, seed, directory, ANSWERED_IN_STEP.get(net.name, .9))
            say("  ramp: %s" % knee)
        return {"server": name, "title": title, "net": net.name, "paper": paper, "probe": probe,
                "limit": limit, "knee": knee, "limit_cpu": top["cpu"], "rows": rows, "seconds": seconds}


def fits(result):
    """For each of the rates: slope, R2 of the line, R2 of identity, largest deviation from the line."""
    out = {}
    for key in ("sends", "requests", "calls"):
        rows = [r for r in result["rows"] if r[key] is not None]
        x, y = [r["client"]["counted"]["rate"] for r in rows], [r[key] for r in rows]
        if len(rows) >= 3:
            slope, r2 = figures.line(x, y)
            out[key] = {"slope": slope, "line": r2, "identity": figures.identity(x, y), "n": len(rows)}
    return out


def saturated_at(result):
    """The lowest level at which the server answered less than ANSWERED of the sent requests."""
    return next((r["level"] for r in result["rows"] if r["client"]["counted"]["rate"] < ANSWERED * r["offered"]), None)


def full_from(result):
    """The lowest level from which on the idle share stays within FLOOR of its lowest."""
    rows = [r for r in result["rows"] if r.get("idle") is not None]
    lowest = min((r["idle"] for r in rows), default=0)
    above = [i for i, r in enumerate(rows) if r["idle"] > lowest + FLOOR]
    return rows[above[-1] + 1]["level"] if above and above[-1] + 1 < len(rows) else None
