#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Print each circle of object files: files that use each other's functions or data.

circles.py OUT DIR: the objects of OUT/DIR, as `nm` lists their symbols, whose source is still in DIR.
No output: no circle. Without any object there is nothing to check: exit status 1.
"""
import os
import subprocess
import sys


def read(out, top):
    """What each object defines and what it uses: {object: {object that it uses: [names]}}."""
    objects = []
    for d, _, files in os.walk(os.path.join(out, top)):
        objects += [os.path.join(d, f) for f in files if f.endswith(".o")]
    objects = sorted(o for o in objects if os.path.exists(os.path.relpath(o, out)[:-1] + "c"))
    defined, used = {}, {}
    # one nm for all of them, its start takes longer than its work: "FILE:" stands before each line
    lines = subprocess.check_output(["nm", "-A", *objects], text=True).splitlines() if objects else ()
    for o, _, line in (line.partition(":") for line in lines):
        kind, name = line[17:18], line[19:]
        if kind == "U":
            used.setdefault(o, set()).add(name)
        elif kind.isupper():
            defined[name] = o
    edges = {o: {} for o in objects}
    for o in objects:
        for name in sorted(used.get(o, ())):
            if defined.get(name, o) != o:
                edges[o].setdefault(defined[name], []).append(name)
    return edges


def circles(edges):
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
            while not part or part[-1] != o:
                part.append(stack.pop())
                on.discard(part[-1])
            if len(part) > 1:
                found.append(sorted(part))

    for o in edges:
        if o not in index:
            visit(o)
    return found


out, top = sys.argv[1:3]
edges = read(out, top)
if not edges:
    sys.exit(f"no objects of {top} in {out}")
for part in circles(edges):
    for o in part:
        for p in sorted(set(edges[o]) & set(part)):
            names = ", ".join(edges[o][p])
            print(f"{os.path.relpath(o, out)} uses {names} of {os.path.relpath(p, out)}")
