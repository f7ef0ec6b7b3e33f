#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Print each circle of object files: files that use each other's functions or data.

circles.py DIR: objects below DIR, as `nm` lists their symbols. No output: no circle.
"""
import os
import subprocess
import sys

top = sys.argv[1]
objects = sorted(
    os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs if f.endswith(".o")
)
defined, used = {}, {}
for o in objects:
    for line in subprocess.check_output(["nm", o], text=True).splitlines():
        kind, name = line[17:18], line[19:]
        if kind == "U":
            used.setdefault(o, set()).add(name)
        elif kind.isupper():
            defined[name] = o
edges = {
    o: {defined[n] for n in used.get(o, ()) if n in defined} - {o} for o in objects
}


def circles():
    """Strongly connected components of more than one file (Tarjan)."""
    index, low, on, stack, found = {}, {}, set(), [], []

    def visit(o):
        index[o] = low[o] = len(index)
        stack.append(o)
        on.add(o)
        for p in edges[o]:
            if p not in index:
                visit(p)
                low[o] = min(low[o], low[p])
            elif p in on:
                low[o] = min(low[o], index[p])
        if low[o] == index[o]:
            part = []
            while True:
                p = stack.pop()
                on.discard(p)
                part.append(p)
                if p == o:
                    break
            if len(part) > 1:
                found.append(sorted(part))

    for o in objects:
        if o not in index:
            visit(o)
    return found


sys.setrecursionlimit(10000)
for part in circles():
    inside = set(part)
    for o in part:
        for p in sorted(edges[o] & inside):
            names = sorted(n for n in used[o] if defined.get(n) == p)
            print(f"{os.path.relpath(o, top)} uses {', '.join(names)} of {os.path.relpath(p, top)}")
