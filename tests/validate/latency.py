# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency of requests, from their arrival in the kernel, against the client's: from its send until its socket has the answer."""
import os

import lab

SERVERS = [("redis-get", {}), ("memcached", {}), ("nginx", {}), ("postgres-select", {"ASKS": 1}), ("http", {})]
LEVELS, SECONDS = [.3, .7, 1.0, 1.2], 4
QUANTILES = ["p50", "p90", "p99", "max"]
ALLOWED = .1


def quantiles(answers, end):
    """Of the requests that the client counts, in ns, with their queueing delay; and the share whose arrival is the kernel's.
    They are answered until the end (monotonic, ns) and have one name: logins have others."""
    seen = "lossy = 0 AND ts + dur < %d - (SELECT CAST(value AS INT) FROM recording WHERE key = 'begin') AND name IS (SELECT name " \
        "FROM request GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)" % end
    n, kernel = (int(v or 0) for v in answers.sql("SELECT count(*), sum(arrival_is) FROM request WHERE " + seen)[0])
    out = {"n": n, "kernel": kernel / n if n else 0}
    for name, q in zip(QUANTILES, (.5, .9, .99, 1)):
        rows = answers.sql("SELECT dur + queued FROM request WHERE %s ORDER BY 1 LIMIT 1 OFFSET %d" % (seen, int(q * (n - 1)))) if n else []
        out[name] = float(rows[0][0]) if rows else None
    return out


def level(server, limit, share, seed, directory):
    path = os.path.join(directory, "latency.obs")
    with lab.Recording(path, server.pids):
        client = server.load(share * limit, SECONDS, seed)[-1]
    answers = lab.Answers(path)
    row = {"level": share, "client": client["to_socket"], "requests": client["requests"], "ours": quantiles(answers, client["begin"] + int(SECONDS * 1e9)),
           "complete": answers.complete()}
    answers.close()
    row["off"] = {q: row["ours"][q] / row["client"][q] - 1 if row["ours"][q] is not None else None for q in QUANTILES}
    return row


def row(name, settings, levels, directory, seed):
    with lab.Loopback() as net, lab.Server(name, net, directory, **settings) as server:
        server.load(0, 1, seed)  # warms up
        path = os.path.join(directory, "top.obs")
        with lab.Recording(path, server.pids):  # its capacity while it is recorded
            limit = server.load(0, 2, seed)[-1]["rate"]
        os.unlink(path)
        rows = [level(server, limit, share, seed + i, directory) for i, share in enumerate(levels)]
        return {"what": server.word("title"), "limit": limit, "levels": rows,
                "right": all(abs(v) <= ALLOWED for r in rows for v in r["off"].values() if v is not None)}
