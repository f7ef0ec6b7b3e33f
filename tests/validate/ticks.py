# SPDX-License-Identifier: GPL-2.0-or-later
"""What pgbench and sysbench counted, as the line of JSON that loadgen.c prints.

ticks.py pgbench OFFERED LOG... | sysbench OFFERED OUTPUT
"""
import json
import re
import sys


def quantiles(values):
    """values: sorted pairs (ns, how often)."""
    total = sum(n for _, n in values)
    out = {"mean": sum(v * n for v, n in values) / total if total else 0}
    for name, q in (("p50", .5), ("p90", .9), ("p99", .99), ("p999", .999)):
        left = q * (total - 1)
        for value, n in values:
            left -= n
            if left < 0:
                out[name] = value
                break
        else:
            out[name] = values[-1][0] if values else 0
    return out


def pgbench(files):
    """Columns: client, number, time in us, script, seconds, microseconds[, lag behind schedule]."""
    due, sent, ends, starts, failed = [], [], [], [], 0
    for name in files:
        with open(name) as f:
            for line in f:
                c = line.split()
                if not c[2].isdigit():
                    failed += 1
                    continue
                end = int(c[4]) * 1000000 + int(c[5])
                lag = int(c[6]) if len(c) > 6 and c[6].isdigit() else 0
                # the time in the log counts from when the transaction was due
                due.append(int(c[2]) * 1000)
                sent.append((int(c[2]) - lag) * 1000)
                ends.append(end)
                starts.append(end - int(c[2]) + lag)
    seconds = (max(ends) - min(starts)) / 1e6 if ends else 0
    return {"requests": len(ends), "errors": failed, "seconds": seconds,
            "rate": len(ends) / seconds if seconds else 0,
            "from_due": quantiles([(v, 1) for v in sorted(due)]),
            "from_sent": quantiles([(v, 1) for v in sorted(sent)])}


def sysbench(files):
    with open(files[0]) as f:
        text = f.read()

    def number(pattern):
        found = re.search(pattern, text)
        return float(found.group(1)) if found else 0.0
    histogram = [(float(ms) * 1e6, int(n)) for ms, n in
                 re.findall(r"^\s*([0-9.]+) \|\**\s*([0-9]+)\s*$", text, re.M)]
    requests = number(r"\n\s*total:\s+([0-9]+)")
    seconds = number(r"total time:\s+([0-9.]+)s")
    return {"requests": int(requests), "transactions": int(number(r"transactions:\s+([0-9]+)")),
            "errors": int(number(r"ignored errors:\s+([0-9]+)")), "seconds": seconds,
            "rate": requests / seconds if seconds else 0,
            # with a rate, the time counts from when the event was due
            "from_due": quantiles(sorted(histogram)), "from_sent": None}


def main():
    row = {"pgbench": pgbench, "sysbench": sysbench}[sys.argv[1]](sys.argv[3:])
    row["offered"] = float(sys.argv[2])
    row["broken"] = row["unasked"] = row["unanswered"] = 0
    print(json.dumps(row))


main()
