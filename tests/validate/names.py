# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests by name, errors and bytes in recordings of real servers, against clients that know what they sent."""
import csv
import json
import os
import subprocess

import lab

# server, protocol of the client, rounds on loopback
SERVERS = [("redis-get", "redis", 3000), ("http", "http", 2000), ("postgres-select", "postgres", 500), ("mariadb", "mysql", 700),
           ("h2", "h2", 8000), ("grpc", "grpc", 8000)]
ALLOWED = .005  # requests, off
UNNAMED = .001
NAMELESS = 20   # errors without a name: one send of each of four clients, before all answers of their connections are read
SLOWER = 12     # rounds on loopback for one across the wire


def client(net, protocol, server, rounds, seed):
    asking = ["node", os.path.join(lab.OUT, "node", "asking.js")] if protocol in ("h2", "grpc") else \
        ["python3", os.path.join(lab.HERE, "asking.py")]
    return json.loads(lab.run(net.on_client + asking + [protocol, server.address, str(server.port), str(rounds), str(seed)]))


def verdict(path):
    """COMPLETE, LOSSY or DAMAGED."""
    text = subprocess.run([lab.OBSANALYZE, "verify", path], stdout=subprocess.PIPE, text=True, check=False).stdout
    return text.splitlines()[-1].partition(":")[0]


FAILED = """SELECT n.name, CASE WHEN e.protocol IN (2, 3) THEN e.status ELSE coalesce(c.code, e.status) END, count(*) FROM request_error e
    LEFT JOIN request_name n ON n.id = e.name LEFT JOIN request_code c ON c.id = e.code GROUP BY 1, 2"""


def failed(path):
    """Errors by name and code."""
    rows = csv.reader(lab.run([lab.OBSANALYZE, "sql", "--csv", path, FAILED]).splitlines()[1:])
    return {"%s %s" % (name, code): int(n) for name, code, n in rows}


def recorded(path, port):
    """Names, errors and bytes of the port."""
    dump = subprocess.Popen([lab.OBSANALYZE, "dump", path], stdout=subprocess.PIPE)
    text = lab.run(["python3", os.path.join(lab.TOP, "tests", "lib", "named.py")], stdin=dump.stdout)
    dump.wait()
    out = {"verdict": verdict(path), "failed": failed(path), "names": {}, "errors": {}, "bytes": {"all": 0, "bytes": 0, "read": 0}}
    for line in text.splitlines():
        key, n = line.split("\t")
        at, _, name = key.partition(" ")
        if at != str(port):
            continue
        if name in out["bytes"]:
            out["bytes"][name] = int(n)
        elif name.startswith("error "):
            status, code = name.split(" ")[1:3]
            out["errors"][code or status] = int(n)
        else:
            out["names"][name] = int(n)
    return out


def judged(what, net, protocol, sent, found):
    asked = sum(sent["names"].values())
    counted, unnamed = found["bytes"]["all"], found["names"].get("", 0)
    wrong = {name: n for name, n in found["names"].items() if name and name not in sent["names"]}
    missing = {name: n - found["names"].get(name, 0) for name, n in sent["names"].items() if n != found["names"].get(name, 0)}
    nameless = sum(n for key, n in found["failed"].items() if key.startswith(" "))
    misnamed = sum(max(0, n - sent["failed"].get(key, 0)) for key, n in found["failed"].items() if not key.startswith(" "))
    invented = sum(max(0, n - sent["errors"].get(code, 0)) for code, n in found["errors"].items())
    named = not misnamed and not invented and nameless <= NAMELESS
    return {"what": what, "net": net, "verdict": found["verdict"], "asked": asked, "counted": counted, "off": counted / asked - 1, "unnamed": unnamed / asked,
            "wrong": wrong, "missing": missing, "errors": sum(sent["errors"].values()), "errors found": sum(found["errors"].values()),
            "error codes": found["errors"] == sent["errors"],
            "misnamed": misnamed, "nameless": nameless, "bytes": found["bytes"]["read"], "arrived": found["bytes"]["bytes"],
            "right": abs(counted / asked - 1) <= ALLOWED and unnamed <= UNNAMED * asked and not wrong and named}


def row(name, protocol, rounds, net_class, directory, seed):
    path = os.path.join(directory, "names.obs")
    with net_class() as net, lab.Server(name, net, directory) as server:
        with lab.Recording(path, server.pids, ["-e", "syscalls,requests,net"]):
            sent = client(net, protocol, server, rounds if net_class is lab.Loopback else max(20, rounds // SLOWER), seed)
        found = recorded(path, server.port)
        os.unlink(path)
        return judged(server.word("title"), net.name, protocol, sent, found)
