# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes RESULTS.md from the rows that the parts left in .output/validate."""
import glob
import json
import os

import figures
import lab
import sweep

SWEEP = """## Request rates

Each row is a load sweep: %s of the rate of a closed loop, in random order, %d s each, open loop with
Poisson arrivals (pgbench and sysbench: their own), server on CPU %s, client on CPU %s. R² is that of the
least squares line of the rate in the report against the client's own count, slope k beside it; then R² of
identity (y = x). Sends are the paper's raw rate; turns and requests are ours, calls those of a probed function.
Requests are what the first sentence of a report says: turns, or, where several share a turn, what their size tells
(rps in obsanalyze(1)). The paper's column is its nearest application and R² there; the target is 0.999 where it has
0.997 or more, 0.99 elsewhere, for requests. Both sides count in the same seconds (--from, --to): those of the load but for a tenth at
either end (sysbench: its second to its last report), so that it does not matter where on the way requests were when it began and
ended. "lossy" counts levels in which events were lost.
"""
LATENCY = """### Latency of turns against the client's

In µs. The client's time runs from its send to its receive, so it holds the network, and the wait in the
socket until the server reads, which a turn cannot show. Past saturation that wait is nearly all of it.
"""
SLACK = """### Variance and slack against saturation

Saturated is the first level at which the server answered less than 97 % of what was asked for. The series go
through the levels in rising order; gaps are those of the server, all its processes together; the floor of the idle share is what is within 6 points of its lowest.
The paper's sign of saturation is a variance of gaps that rises from a level part on. Under an open loop
of Poisson arrivals it falls with the square of the rate up to saturation, and past it the server's own pace makes gaps
regular (CV² falls) or batches make them irregular (CV² rises). "none" in the column of the knee is a miss of the variance
as a sign, for two reasons. The spacing of receives is that of the client too, and one pause outweighs thousands of gaps:
in brackets stands how much of the squared gaps, below saturation and from it on, are waits of the server for requests
although ten were due, which are pauses of the client, whose CPU the recorder shares, of the network or of a server behind
(known where one thread receives). By these alone CV² rises with the rate, without a level part, and may leap well below saturation.
And the rate grows no more at saturation: windows before and behind it have the same one, so where CV² does leap there, a
curve over the rate cannot tell them apart. The idle share is the sign that holds. In a ramp, of steps of 1 s, the load held is the
last before the first of which less than 97 % (across the slow link 90 %) is answered, by more than three standard deviations of a count.

"""
CLOCKS = """The recording has monotonic time: a wait for a CPU goes from sched_waking, where the waker calls, to the switch.
schedstat has the clock of the run queue. It is read when the thread is put into the queue of its CPU, which across CPUs
is only after an interrupt arrived there, and it then stands until the switch (rq_clock_skip_update): what passes in
between is billed as time on the CPU. So the two differ, by the last column. rqclock.c reads both clocks at the same
tracepoints. The recording has to be what it sums by the one: within 1 %, and in the queue 1.5 us more a switch, as of
two programs at a tracepoint one reads the clock after the other, and not by as much at a wake-up as at a switch.
schedstat has to be what it sums by the other: within 1 % and what is unseen, time for which a thread got a CPU by a
switch, or waited for one from a wake-up, of which no program is told, as while a thread runs that a host hides.

"""
PATH = os.path.join(lab.HERE, "RESULTS.md")


def load(pattern):
    """(provenance, rows) of every file of a part."""
    out = []
    for path in sorted(glob.glob(os.path.join(lab.OUT, pattern))):
        with open(path, encoding="utf-8") as f:
            part = json.load(f)
        out += [(part["provenance"], row) for row in part["rows"]]
    return out


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in r) + " |"
                              for r in rows]) + "\n"


def r2(value):
    if value is None or value != value:
        return "-"
    # 0.99996 is not 1
    return "%.4f" % min(value, .9999) if .99985 < value < 1 else "%.4f" % value


def us(ns):
    return "-" if ns is None else "%.0f" % (ns / 1000)


def failures(rows):
    return "".join("* not measured: %s\n" % row["failed"] for _, row in rows if "failed" in row)


def quick_sweep(row, name, suffix, ok):
    """One level: the rate of requests is the client's within 2 %."""
    if "failed" in row:
        ok("%s, %s" % (name, suffix), False, row["failed"])
        return
    level = row["rows"][0]
    mine, client = level["requests"] or 0, level["client"]["counted"]["rate"]
    ok("%s, %s: rate of requests" % (name, suffix), abs(mine / client - 1) < .02,
       "%.1f, the client counted %.1f" % (mine, client))


def sweep_target(paper_r2):
    """The paper's best rows must be met; where it is weak, .99."""
    return .999 if float(paper_r2) >= .997 else .99


def verdict(fits, target):
    """Requests must meet it; of what they miss, a probed function is the remedy that the report names."""
    if fits.get("requests", {}).get("line", 0) >= target:
        return "ok"
    probed = fits.get("calls", {}).get("line", 0) >= target
    return "MISS (< %g)%s" % (target, ", but met by the probed function" if probed else "")


def sweep_rows(results):
    for result in results:
        name, loopback, wire = result["paper"].split("|")
        paper = loopback if result["net"] == "loopback" else wire
        fits = sweep.fits(result)
        cells = [result["title"], result["net"], len(result["rows"]), sum(not r["complete"] for r in result["rows"]), "%.0f" % result["limit"], name + " " + paper]
        for key in ("sends", "turns", "requests", "calls"):
            fit = fits.get(key)
            cells += [r2(fit["line"]), "%.4f" % fit["slope"], r2(fit["identity"])] if fit else ["-", "-", "-"]
        yield cells + [verdict(fits, sweep_target(paper))]


def section_sweep():
    rows = load("sweep-*.json")
    good = [row for _, row in rows if "failed" not in row]
    if not rows:
        return ""
    text = [SWEEP % (", ".join("%g %%" % (100 * v) for v in sweep.LEVELS), sweep.SECONDS, lab.SERVER_CPU,
                     lab.CLIENT_CPU)]
    text.append(table(["server", "network", "levels", "lossy", "max 1/s", "paper: nearest, R²", "sends R²", "k", "identity",
                       "turns R²", "k", "identity", "requests R²", "k", "identity", "calls R²", "k", "identity",
                       "requests against target"],
                      sweep_rows(good)))
    text.append(failures(rows))
    text.append(LATENCY)
    lines = []
    for result in good:
        for row in result["rows"]:
            sent = row["client"].get("from_sent") or row["client"]["from_due"]
            if row["level"] in (.2, .5, .8, 1.1) and row["latency"]["p50"]:
                lines.append([result["title"], result["net"], "%.0f %%" % (100 * row["level"])] + [
                    "%s / %s" % (us(row["latency"][q]), us(sent[q])) for q in ("p50", "p90", "p99")])
    text.append(table(["server", "network", "load", "p50 turn / client", "p90", "p99"], lines))
    text.append(section_slack(good))
    return "\n".join(text)


def section_slack(good):
    head = ["server", "network", "saturated at", "idle share at its floor from",
            "knee of receives in a ramp; load held, answers at the next (pauses)", "server CPU there",
            "variance of gaps / its maximum, by level", "CV² by level", "mean wait, µs, by level", "idle share by level"]
    lines = []
    for result in good:
        at = sweep.saturated_at(result)
        cpu = next((r["cpu"] for r in result["rows"] if r["level"] == at), None)

        def series(key, form, scale=1.0, result=result):
            values = [r.get(key) for r in result["rows"]]
            if all(v is None for v in values):
                part = "saturation" if key in ("variance", "cv2") else "slack"
                return "no such metric" if any(r.get("has_" + part) for r in result["rows"]) else \
                    "analysis not in this build"
            return " ".join(form % (v * scale) if v is not None else "-" for v in values)
        knee = "-"
        if result.get("knee"):
            k = result["knee"]
            found = ", ".join("%.0f (%.0f..%.0f)" % (v["value"], v["low"] or 0, v["high"] or 0) for v in k["knees"])
            at_limit = "; not saturated"
            if k["saturated"]:
                at_limit = "; %s, %.0f/s" % ("%.0f/s" % k["held"] if k.get("held") else "-", k["saturated"])
            shares = ["%.0f %%" % (100 * v) if v is not None else "-" for v in k.get("pauses", [])]
            knee = (found or ("none" if k["has"] else "analysis not in this build")) + (
                at_limit) + (" (%s)" % ", ".join(shares) if shares else "")
        most = max((r["variance"] for r in result["rows"] if r.get("variance")), default=1)
        full = sweep.full_from(result)
        lines.append([result["title"], result["net"], "%.0f %%" % (100 * at) if at else "not reached",
                      "%.0f %%" % (100 * full) if full else "-", knee,
                      "%.0f %%" % (100 * cpu) if cpu is not None else "-", series("variance", "%.2g", 1 / most),
                      series("cv2", "%.2f"), series("wait", "%.0f", 1e-3), series("idle", "%.2f")])
    return SLACK + table(head, lines)


def section_causes(name, title, words):
    rows = load(name + ".json")
    if not rows:
        return ""
    cases = {}
    for _, row in rows:
        cases.setdefault(row.get("case", "?"), []).append(row)
    lines = []
    for case, runs in cases.items():
        done = [r for r in runs if "failed" not in r]
        right, clean = sum(r["right"] for r in done), sum(not r["forbidden"] for r in done)
        shares = [r["share"] for r in done if r.get("share") is not None]
        wrong = next((r for r in done if not r["right"] or r["forbidden"]), None)
        example = wrong or (done[0] if done else None)
        said = "-" if not example else example.get("missing") or example["first"]
        lines.append([case, runs[0].get("expected", "-"), "%d of %d" % (right, len(runs)),
                      "%.0f %%" % figures.median(shares) if shares else "-",
                      "%d of %d" % (clean, len(done)), said[:600]])
    total = sum(len(r) for r in cases.values())
    hits = sum(r.get("right", False) for runs in cases.values() for r in runs)
    low, high = figures.wilson(hits, total)
    bad = sum(bool(r.get("forbidden")) for runs in cases.values() for r in runs)
    return "## %s\n\n%s\n\n%s\nRight cause first: %d of %d runs (%.0f %%, 95 %% interval %.0f to %.0f); something of " \
        "the must-not list reported: %d runs.\n" % (title, words, table(
            ["case", "expected first", "first", "its share", "must-not list clean", "what the report said (a wrong run, "
             "if there is one)"], lines), hits, total, 100 * hits / total if total else 0, low, high, bad) + \
        failures(rows)


def section_small():
    rows = load("small.json")
    if not rows:
        return ""
    lines = []
    for _, row in rows:
        if "failed" in row:
            continue
        if "k" in row:
            x = [r["client"] for r in row["rows"]]
            slope, line = figures.line(x, [r["sends"] for r in row["rows"]])
            turns, turn_line = figures.line(x, [r["turns"] for r in row["rows"]])
            identity = figures.identity(x, [r["sends"] for r in row["rows"]])
            ok = abs(slope / row["k"] - 1) < .01 and abs(turns - 1) < .01 and line > .999
            lines.append([row["case"], "slope %.3f, R² of the line %s, of identity %s; turns: slope %.3f, R² %s" % (
                slope, r2(line), r2(identity), turns, r2(turn_line)), "ok" if ok else "MISS"])
        else:
            wanted, margin = (1 if row["error"] else 0), max(1.96 * row["error"], .02)
            # against what the client did send; its windows lie elsewhere, so both have that error
            ok = bool(row["cv2"]) and abs(row["cv2"][0] - row["sent"]) < 1.5 * margin + .05 * row["sent"]
            lines.append([row["case"], row["missing"] or "CV² of receives %s, of the client's sends %.3f; such arrivals "
                          "have %d ± %.2f (95 %%)" % (", ".join("%.3f" % v for v in row["cv2"]) or "not reported",
                                                      row["sent"], wanted, margin), "ok" if ok else "MISS"])
    return "## Sends a request, and arrivals\n\n" + table(["case", "found", ""], lines) + failures(rows)


def held(done, name):
    """Of how many pairs does the interval hold the ratio that all recordings together have?"""
    rows = [v for r in done for v in r["verdicts"] if v["name"] == name and v["low"] is not None]
    if not rows:
        return "-"
    ratio = figures.median([v["after"] for v in rows]) / figures.median([v["before"] for v in rows])
    return "%d of %d (%.3f)" % (sum(v["low"] <= ratio <= v["high"] for v in rows), len(rows), ratio)


def section_pairs():
    rows = load("pairs.json")
    if not rows:
        return ""
    lines = []
    for scale in (1, 1.1, 1.3):
        mine = [row for _, row in rows if row.get("scale") == scale]
        done = [r for r in mine if "alarms" in r]
        alarms, slower = (sum(bool(r[k]) for r in done) for k in ("alarms", "slower"))
        why = next((r.get("missing") or r.get("failed") for r in mine if "verdicts" not in r or "failed" in r), "")
        lines.append(["A/A" if scale == 1 else "+%.0f %% service time" % (100 * (scale - 1)), len(mine), len(done)] + (
            ["%d (%.0f %%, 95 %% interval %.0f to %.0f)" % (n, 100 * n / len(done), *figures.wilson(n, len(done)))
             for n in (alarms, slower)] if done else ["-", "-"]) + [
            *(held(done, name) for name in ("CPU per request", "request p50", "request p90")), why or "-"])
    told = ["* A/A pair %d: %s; the client's own median latency %s and %s us\n" % (
        row["seed"], ", ".join("%s %.2f times" % (a["name"], a["ratio"]) for a in row["alarms"]), *map(us, row["client"]))
        for _, row in rows if row.get("scale") == 1 and row.get("alarms")]
    return "## Two recordings of the same, and of a slower service\n\n" + table(
        ["pair", "pairs", "compared", "with any change told", "with something slower", "intervals that hold the ratio of "
         "all recordings: CPU per request", "request p50", "request p90", "not compared because"], lines) + "\n" + "".join(told) + failures([r for r in rows if "verdicts" not in r[1]])


def section_repeats():
    rows = load("repeats.json")
    if not rows:
        return ""
    lines = [[r["what"], r["compared"], r["gate"], r["failed_on"], r["said"]] for _, r in rows if "compared" in r]
    return "## Comparing the same with itself\n\nredis under a steady load, 3 s a recording. Every change that is found " \
        "is a false alarm; at most 5 % may raise one, within the error of so many.\n\n" + table(
            ["what", "compared", "raise an alarm", "with --fail-on slower", "with metrics that --fail-on leaves out"],
            lines) + failures(rows)


def section_totals():
    rows = load("totals.json")
    if not rows:
        return ""
    clocks = [[row["what"], *("%.6f" % row[k] for k in ("recording", "real")), share(row["recording"], row["real"]),
               *("%.6f" % row[k] for k in ("schedstat", "kernel")), share(row["schedstat"], row["kernel"]),
               "%.6f" % row["unseen"], "%.0f" % row["wakes"], "%+.2f" % ((row["recording"] - row["schedstat"]) / row["switches"] * 1e6),
               "ok" if row["right"] else "MISS"] for _, row in rows if "kernel" in row]
    lines = [[row["what"], "%.6g %s" % (row["ours"], row["unit"]), "%.6g" % row["theirs"], "%.3f %%" % (100 * row["off"]),
              "%.3g %%" % (100 * row["allowed"]), "ok" if row["right"] else "MISS"] for _, row in rows if "ours" in row]
    return "## Totals against the kernel and other tools\n\n" + table(
        ["what", "recording", "counted elsewhere", "off", "allowed", ""], lines) + failures(rows) + \
        "\n### Run time and run-queue time against schedstat\n\n" + CLOCKS + table(
            ["what", "recording, s", "monotonic time, s", "off", "schedstat, s", "queue's clock, s", "off", "unseen, s", "wake-ups",
             "recording less schedstat, us a switch", ""], clocks)


def share(ours, theirs):
    return "%.2f %%" % (100 * (ours / theirs - 1)) if theirs else "-"


def write():
    files = [json.load(open(p, encoding="utf-8")) for p in sorted(glob.glob(os.path.join(lab.OUT, "*.json")))]
    stamps = sorted({(f["provenance"]["date"], f["provenance"]["commit"]) for f in files if "provenance" in f})
    if not stamps:
        return
    last = next(f for f in files if "provenance" in f)["provenance"]
    commits = sorted({c for _, c in stamps})
    text = "# What make validate found\n\nWritten by the command, not by hand. Measured %s to %s, kernel %s, %d CPUs, " \
        "commit %s (+: with changes that are not committed). Method: the head of each file in this " \
        "directory.\n\n" % (stamps[0][0], stamps[-1][0], last["kernel"], last["cpus"], ", ".join(commits))
    text += "\n".join(filter(None, [
        section_sweep(),
        section_causes("scenes", "Programs with one known cause", "`tests/scenarios`: calm for 5 s, then 3 s with the "
                       "fault; each run with another seed."),
        section_small(),
        section_causes("faults", "Faults on real servers", "Calm for 5 s, then 3 s with the fault; each run with "
                       "another seed."),
        section_pairs(), section_repeats(), section_totals()]))
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(text)
