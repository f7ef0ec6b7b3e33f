# SPDX-License-Identifier: GPL-2.0-or-later
"""What pgbench and sysbench counted, as the line of JSON that loadgen.c prints.

ticks.py pgbench OFFERED LOG... | sysbench OFFERED <OUTPUT, while it comes
"""
import json
import re
import sys
import time


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
    # without a tenth at either end, as loadgen.c does
    low, high = (min(starts) + seconds * 1e5, max(ends) - seconds * 1e5) if ends else (0, 0)
    counted = sum(low <= end < high for end in ends)
    return {"requests": len(ends), "errors": failed, "seconds": seconds,
            "rate": len(ends) / seconds if seconds else 0,
            "counted": {"from": int(low * 1000), "to": int(high * 1000),
                        "rate": counted * 1e6 / (high - low) if seconds else 0},
            "from_due": quantiles([(v, 1) for v in sorted(due)]),
            "from_sent": quantiles([(v, 1) for v in sorted(sent)]),
            "steady": quantiles([(v, 1) for v in sorted(v for v, end in zip(sent, ends) if low <= end < high)])}


def sysbench(_):
    """It does not say when its requests ended; but each second it tells how many did (--report-interval)."""
    text, begin, reports = "", 0, []
    for line in sys.stdin:
        text += line
        if line.startswith("Threads started"):
            begin = time.time()
        report = re.match(r"\[ [0-9]+s \].* qps: ([0-9.]+)", line)
        if report:
            reports.append((time.time(), float(report.group(1))))

    def number(pattern):
        found = re.search(pattern, text)
        return float(found.group(1)) if found else 0.0
    histogram = [(float(ms) * 1e6, int(n)) for ms, n in
                 re.findall(r"^\s*([0-9.]+) \|\**\s*([0-9]+)\s*$", text, re.M)]
    requests = number(r"\n\s*total:\s+([0-9]+)")
    seconds = number(r"total time:\s+([0-9.]+)s")
    if not begin or not seconds:
        sys.exit(text.strip())
    # its end lasts until the slowest has its answer: the whole is counted only where there is no better
    counted = {"from": int(begin * 1e9), "to": int((begin + seconds) * 1e9), "rate": requests / seconds}
    if len(reports) >= 3:
        answered = sum(rate * (at - before) for (before, _), (at, rate) in zip(reports, reports[1:]))
        first, last = reports[0][0], reports[-1][0]
        counted = {"from": int(first * 1e9), "to": int(last * 1e9), "rate": answered / (last - first)}
    return {"requests": int(requests), "transactions": int(number(r"transactions:\s+([0-9]+)")),
            "errors": int(number(r"ignored errors:\s+([0-9]+)")), "seconds": seconds,
            "rate": requests / seconds, "counted": counted,
            # with a rate, the time counts from when the event was due
            "from_due": quantiles(sorted(histogram)), "from_sent": None}


def main():
    row = {"pgbench": pgbench, "sysbench": sysbench}[sys.argv[1]](sys.argv[3:])
    row["offered"] = float(sys.argv[2])
    row["broken"] = row["unasked"] = row["unanswered"] = 0
    print(json.dumps(row))


main()
