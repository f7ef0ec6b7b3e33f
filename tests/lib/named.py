#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests by server port and name in a dump: "PORT NAME<tab>COUNT", errors as "PORT error STATUS CODE<tab>COUNT",
bytes that arrived as "PORT bytes<tab>COUNT", and bytes that were read as "PORT read<tab>COUNT"."""
import collections
import re
import sys

names, ports, counts, ends, last = {"0": ""}, {}, collections.Counter(), collections.Counter(), {}
lines = [line.rstrip("\n").split(" ", 3) for line in sys.stdin]
records = [(line[2], dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line[3]))) for line in lines if len(line) == 4]
for event, f in records:
    if event == "request_name":
        names[f["id"]] = f["name"].strip('"')
    if event == "connection" and f["side"] == "1":
        ports[f["conn"]] = f["sport"]
for event, f in records:
    port = ports.get(f.get("conn"), "0")
    if event in ("head", "head_more") and int(f["requests"]):
        counts["%s %s" % (port, names[f["name"]])] += int(f["requests"])
        counts["%s all" % port] += int(f["requests"])
    if event == "head":
        counts["%s read" % port] += int(f["len"])
    if event == "answer" and f["status"] != "0":
        counts["%s error %s %s" % (port, f["status"], f["code"].strip('"'))] += 1
    if event == "answer_more":
        counts["%s error %s %s" % (port, f["status"], f["code"].strip('"'))] += int(f["errors"])
    if event in ("segment", "segment_next"):
        pos = int(f["pos"]) if event == "segment" else last[f["conn"]]
        end = last[f["conn"]] = pos + int(f["len"])  # segments may come again
        counts["%s bytes" % port] += max(0, end - ends[f["conn"]])
        ends[f["conn"]] = max(end, ends[f["conn"]])
for key, n in sorted(counts.items()):
    print("%s\t%d" % (key, n))
