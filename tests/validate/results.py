# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes RESULTS.md from the rows that the parts left in .output/validate."""
import glob
import json
import os

import callers
import colocation
import figures
import follow
import incidents
import lab
import latency
import names
import shift
import spans
import sweep

SWEEP = """## Request rates

Each row is a load sweep. Its levels are %s of the rate of a closed loop, in random order, %d s each. The loop is open with
Poisson arrivals (pgbench and sysbench: their own). The server runs on CPU %s, the client on CPU %s.
R² is that of the least squares line of the rate in the report against the client's own count, with its slope k; then R² of
identity (y = x). Sends are the paper's raw rate. Requests are those of obsanalyze(1), rps. Calls are those of a probed
function. The paper's column is its nearest application and R² there. The target for requests is 0.999 where the paper has
0.997 or more, 0.99 elsewhere. Both sides count in the same seconds (--from, --to): those of the load without a tenth at
either end (sysbench: from its second to its last report). So it does not matter where requests were at the start and the
end. "lossy" counts levels in which events were lost.
"""
LATENCY = """### Latency of requests against the client's

In us. Request latency of obsanalyze(1): from the arrival in the kernel to the end of the last send. Across the wire the
time until the client acknowledged it is added; a tenth of these times is shorter than what stands for those that the client
delayed (by up to 40 ms). The client's time is from its send until the kernel had the answer in its socket (pgbench, sysbench,
gRPC: until the client had it), in the same seconds. What is lost on its way to the server is sent again before it arrives:
only the client's p99 has that time. gRPC, multiplexed: an exchange holds several calls.
"""
SLACK = """### Variance and slack against saturation

Saturated is the first level at which the server answered less than 97 % of the sent requests. The series go
through the levels in rising order. Gaps are those of the server, over all its processes. The floor of the idle share is
what is within 6 points of its minimum.

The paper's sign of saturation is a variance of gaps that rises after a flat part. Under an open loop of Poisson arrivals it
falls with the square of the rate up to saturation. Past it the server's own pace makes gaps regular (CV² falls), or
batches make them irregular (CV² rises). "none" in the column of the knee is a miss of the variance as a sign. It has two
reasons. First, the spacing of receives is also that of the client, and one pause outweighs thousands of gaps. The brackets
hold the part of the squared gaps, below saturation and from it on, in which the server waited although ten requests were
due. Those are pauses of the client (its CPU also runs the recorder), of the network or of an upstream server, known where
one thread receives. Without them CV² still rises with the rate, without a flat part, and may jump well below saturation.
Second, the rate no longer grows at saturation: windows before and after it have the same rate. Where CV² does jump there, a
curve over the rate cannot separate them. The idle share is the sign that holds.

In a ramp of steps of 1 s, the load held is the last before a miss. A miss is a step with less than 97 % (on the slow link
90 %) answered, by more than three standard deviations of a count.

"""
CLOCKS = """The recording has monotonic time: a wait for a CPU goes from sched_waking, where the waker calls, to the switch.
schedstat has the clock of the run queue. It is read when the thread is put into the queue of its CPU, which across CPUs
is only after an interrupt arrived there. It then stands until the switch (rq_clock_skip_update). The time in between counts
as time on the CPU. So the two differ, by the last column. rqclock.c reads both clocks at the same tracepoints.
The recording must match its sums by the first clock within 1 %. In the queue 1.5 us more per switch are allowed: one
program at a tracepoint reads the clock after the other, later at a switch than at a wakeup. schedstat must match its sums
by the second clock within 1 % and the unseen time. Unseen is time of switches and wakeups that no program was called for,
as while a host hides a running thread.

"""
STACKS = """Servers at full load, %d samples per second, %d s. Complete: the stack ends in a function without a caller, by
readelf's reading of the file (_start, clone, clone3). Samples in signal handlers with a stack of their own, which say
so, are left out. perf record --call-graph dwarf runs at the same time. For each return
address with at least %d stacks in both, the share of each of its callers is compared; allowed are %.1f standard deviations.
Of 40 call paths with known shares of the CPU time, each share is compared with the known one. The limit is Holm at 5 %%
over all of them: at most 3.2 standard deviations for the largest difference. Interpreters run a program of three
functions: a named path holds all three. As large a share of these as of complete ones is asked for, from the first on
to the last. perf finds no callers of generated code.

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


INCIDENTS = """## Incidents and look-alikes

Healthy for %d s, then %d s with one fault on a real server, or with what only looks like one. Judged on columns of tables
verdict, cause and pause: status, kind of the first cause, and process id of the offender where there is one. Where the cause is
CPU or a lock, its function is judged too. The start
must be within %.1f s of the fault's. Server on CPU %s, clients on CPU %s; servers in an autogroup of nice -10; neighbours with real-time
priority.

""" % (incidents.CALM, incidents.FAULT, incidents.NEAR, lab.SERVER_CPU, lab.CLIENT_CPU)


def table(head, rows):
    lines = ["<!-- begin: measured -->", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in r) + " |"
                              for r in rows] + ["<!-- end: measured -->"]) + "\n"


def r2(value):
    if value is None or value != value:
        return "-"
    # 0.99996 is not 1
    return "%.4f" % min(value, .9999) if .99985 < value < 1 else "%.4f" % value


def us(ns):
    return "-" if ns is None else "%.0f" % (ns / 1000)


def of_client(ours, client):
    return "%s of %s (%s)" % (us(ours), us(client), "-" if ours is None or not client else "%+.0f %%" % (100 * (ours / client - 1)))


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
       "%.1f, the client counted %.1f; p50, p90, p99 in us: %s" % (mine, client, ", ".join(
           of_client(level["latency"][q], level["client_latency"][q]) for q in ("p50", "p90", "p99"))))


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
        for key in ("sends", "requests", "calls"):
            fit = fits.get(key)
            cells += [r2(fit["line"]), "%.4f" % fit["slope"], r2(fit["identity"])] if fit else ["-", "-", "-"]
        yield cells + [verdict(fits, sweep_target(paper))]


POOLS = """## Request rates of worker pools

The sweep of the section above on services that stand for those of TailBench and CloudSuite. They have a queue and four
workers. Service times are lognormal (sigma 1.2): 1 %% take more than seven times the mean. Levels are %s of the rate of a closed
loop. They take %d s each, without a ramp. Server on CPU %s, client on CPU %s. Measured %s, kernel %s, commit %s.
"""


def section_sweep(part="sweep"):
    rows = load(part + "-*.json")
    good = [row for _, row in rows if "failed" not in row]
    if not rows:
        return ""
    how = (", ".join("%g %%" % (100 * v) for v in sweep.LEVELS), good[0]["seconds"] if good else sweep.SECONDS, lab.SERVER_CPU, lab.CLIENT_CPU)
    text = [SWEEP % how if part == "sweep" else POOLS % (*how, *(rows[0][0][k] for k in ("date", "kernel", "commit")))]
    text.append(table(["server", "network", "levels", "lossy", "max 1/s", "paper: nearest, R²", "sends R²", "k", "identity",
                       "requests R²", "k", "identity", "calls R²", "k", "identity",
                       "requests against target"],
                      sweep_rows(good)))
    text.append(failures(rows))
    text.append(LATENCY if part == "sweep" else "Latency in us, read as in the section above.\n")
    lines = []
    for result in good:
        for row in result["rows"]:
            if row["level"] in (.2, .5, .8, 1.1) and row["latency"]["p50"]:
                lines.append([result["title"], result["net"], "%.0f %%" % (100 * row["level"])] + [
                    of_client(row["latency"][q], row["client_latency"][q]) for q in ("p50", "p90", "p99")])
    text.append(table(["server", "network", "load", "p50 of the client's", "p90", "p99"], lines))
    text.append(section_slack(good, SLACK if part == "sweep" else "Variance and slack, read as in the section above.\n\n"))
    return "\n".join(text)


def section_slack(good, words):
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
    return words + table(head, lines)


def section_causes(name, title, words):
    rows = load(name + ".json")
    if not rows:
        return ""
    cases = {}
    for _, row in rows:
        cases.setdefault(row.get("case", "?"), []).append(row)
    lines, functions = [], [r["function_right"] for _, r in rows if "function_right" in r]
    for case, runs in cases.items():
        done = [r for r in runs if "failed" not in r]
        right, clean = sum(r["right"] for r in done), sum(not r["forbidden"] for r in done)
        shares = [r["share"] for r in done if r.get("share") is not None]
        wrong = next((r for r in done if not r["right"] or r["forbidden"] or not r.get("function_right", True)), None)
        named = [r["function_right"] for r in done if "function_right" in r]
        example = wrong or (done[0] if done else None)
        said = "-" if not example else example.get("missing") or example["first"]
        lines.append([case, runs[0].get("expected", "-"), "%d of %d" % (right, len(runs)),
                      "%.0f %%" % figures.median(shares) if shares else "-",
                      "%d of %d" % (clean, len(done)), said[:600]] + (
                          ["%d of %d" % (sum(named), len(named)) if named else "not judged"] if functions else []))
    total = sum(len(r) for r in cases.values())
    hits = sum(r.get("right", False) for runs in cases.values() for r in runs)
    low, high = figures.wilson(hits, total)
    bad = sum(bool(r.get("forbidden")) for runs in cases.values() for r in runs)
    return "## %s\n\n%s\n\n%s\nRight cause first: %d of %d runs (%.0f %%, 95 %% interval %.0f to %.0f); something of " \
        "the must-not list reported: %d runs%s.\n" % (title, words, table(
            ["case", "expected first", "first", "its share", "must-not list clean", "the first cause as printed (a wrong run, "
             "if there is one)"] + (["function right"] if functions else []), lines), hits, total,
                100 * hits / total if total else 0, low, high, bad,
                "; right function: %d of %d runs" % (sum(functions), len(functions)) if functions else "") + \
        failures(rows)


COLOCATION = """## Servers with a neighbour

Prism's cases. Healthy for %d s, then %d s with a neighbour. It is a real-time process of the same CPU,
writes to the same disk, memory of the same cgroup, or bulk traffic on the same link. Measured %s, kernel %s, commit %s. Judged on columns as incidents are. The
series is that of the server's threads which adds the most time, by analysis correlate (--step %s). It is printed, and has to name
the resource. The verdict needs no correlation.

"""


def section_incidents(part="incidents"):
    loaded, cases = load(part + ".json"), {}
    rows = [row for _, row in loaded]
    if not rows:
        return ""
    words = INCIDENTS if part == "incidents" else COLOCATION % (
        colocation.CALM, colocation.FAULT, *(loaded[0][0][k] for k in ("date", "kernel", "commit")), colocation.STEP)
    for row in rows:
        cases.setdefault(row["case"], []).append(row)
    lines = []
    for case, mine in cases.items():
        done = [r for r in mine if "failed" not in r]
        shown = next((r for r in done if not r["right"] or r["forbidden"]), done[0] if done else None)
        judged, named = ([r[k] for r in done if k in r] for k in ("offender_right", "function_right"))
        off = [r["off_s"] for r in done if r.get("off_s") is not None]
        lines.append([case, "%d of %d" % (sum(r["right"] for r in done), len(mine)),
                      "%d of %d" % (sum(judged), len(judged)) if judged else "not judged",
                      "%d of %d" % (sum(not r["forbidden"] for r in done), len(done)), "%.2f" % max(off) if off else "-",
                      "{status} {verdict}: {0}".format(", ".join(shown["causes"]), **shown) if shown else "-"] + (
                          ["%d of %d" % (sum(named), len(named)) if named else "not judged"] if part == "incidents" else ["%d of %d" % (sum(r["series_right"] for r in done), len(done)),
                                                          shown["series"] or "none" if shown else "-"]))
    right = sum(r["right"] and not r["forbidden"] for r in rows)
    return words + table(
        ["case", "verdict, first cause and time right", "offender right", "must-not list clean", "start off by at most, s",
         "columns (of a wrong run, if there is one)"] + (["function right"] if part == "incidents" else ["series right", "series"]), lines) + "\nRight: %d of %d runs (95 %% interval %.0f to %.0f %%).\n" % (
             right, len(rows), *figures.wilson(right, len(rows))) + failures([(None, r) for r in rows])


def section_healthy():
    rows, cases = [row for _, row in load("healthy.json")], {}
    if not rows:
        return ""
    for row in rows:
        cases.setdefault((row["case"], row["whole"]), []).append(row)
    lines = [[name, "-a" if whole else "-p", len(mine), sum(r["right"] for r in mine),
              ", ".join("%s at %.0f %%" % (r.get("failed") or r["verdict"], 100 * r["level"]) for r in mine if not r["right"]) or "-"]
             for (name, whole), mine in cases.items()]
    silent = sum(r["right"] for r in rows)
    return "## Healthy servers\n\nFive seconds at 10, 50 and 80 % of what each can do; the verdict must be that there is no " \
        "problem.\n\n" + table(["server", "recorded with", "recordings", "no problem named", "else"], lines) + \
        "\nNo problem named: %d of %d (95 %% interval %.0f to %.0f %%).\n" % (silent, len(rows), *figures.wilson(silent, len(rows)))


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
            requests, request_line = figures.line(x, [r["requests"] for r in row["rows"]])
            identity = figures.identity(x, [r["sends"] for r in row["rows"]])
            ok = abs(slope / row["k"] - 1) < .01 and abs(requests - 1) < .01 and line > .999
            lines.append([row["case"], "slope %.3f, R² of the line %s, of identity %s; requests: slope %.3f, R² %s" % (
                slope, r2(line), r2(identity), requests, r2(request_line)), "ok" if ok else "MISS"])
        else:
            wanted, margin = (1 if row["error"] else 0), max(1.96 * row["error"], .02)
            # against what the client did send; its windows lie elsewhere, so both have that error
            ok = bool(row["cv2"]) and abs(row["cv2"][0] - row["sent"]) < 1.5 * margin + .05 * row["sent"]
            lines.append([row["case"], row["missing"] or "CV² of receives %s, of the client's sends %.3f; such arrivals "
                          "have %d ± %.2f (95 %%)" % (", ".join("%.3f" % v for v in row["cv2"]) or "not reported",
                                                      row["sent"], wanted, margin), "ok" if ok else "MISS"])
    return "## Sends per request, and arrivals\n\n" + table(["case", "found", ""], lines) + failures(rows)


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
    notes = ["* A/A pair %d: %s; the client's own median latency %s and %s us\n" % (
        row["seed"], ", ".join("%s %.2f times" % (a["name"], a["ratio"]) for a in row["alarms"]), *map(us, row["client"]))
        for _, row in rows if row.get("scale") == 1 and row.get("alarms")]
    return "## Two recordings of the same, and of a slower service\n\n" + table(
        ["pair", "pairs", "compared", "with any change reported", "with something slower", "intervals that hold the ratio of "
         "all recordings: CPU per request", "request p50", "request p90", "not compared because"], lines) + "\n" + "".join(notes) + failures([r for r in rows if "verdicts" not in r[1]])


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
            ["what", "recording, s", "monotonic time, s", "off", "schedstat, s", "queue's clock, s", "off", "unseen, s", "wakeups",
             "recording less schedstat, us per switch", ""], clocks)


def callers_of(row):
    if not row.get("sites"):
        return "-", "-"
    off, name, mine, theirs = row["worst"]
    return row["sites"], "%.1f sd: %s%s" % (off, name, ", %.1f %% and %.1f %%" % (100 * mine, 100 * theirs) if mine or theirs else "")


def section_stacks():
    rows = load("stacks.json")
    if not rows:
        return ""
    lines = [[r["what"], r["n"], "%.2f %% (%.2f to %.2f)" % (100 * r["complete"] / max(r["n"], 1), *r["interval"]),
              "%.0f %%" % (100 * r["least"]), "%d of %d" % (r["complete_waits"], r["waits"]), r.get("perf", "-"), *callers_of(r),
              "%.1f %%" % (100 * r["named"] / r["named_of"]) if "named_of" in r else "-", "ok" if r["right"] else "MISS"] for _, r in rows if "n" in r]
    when = rows[0][0]
    return "## Call stacks\n\n" + "Measured %s, kernel %s, commit %s. " % (when["date"], when["kernel"], when["commit"]) + STACKS % (callers.HZ, callers.SECONDS, callers.LEAST, callers.DEVIATION) + table(
        ["program", "samples", "complete (95 % CI)", "target", "complete waits", "samples of perf", "callers compared", "largest difference",
         "named path", ""], lines) + failures(rows)


def section_names():
    rows = load("names.json")
    if not rows:
        return ""

    def listed(names):
        return ", ".join("%s: %d" % pair for pair in sorted(names.items())) or "-"
    lines = [[row["what"], row["net"], row["verdict"], row["asked"], row["counted"], "%.3f %%" % (100 * row["off"]), "%.3f %%" % (100 * row["unnamed"]),
              listed(row["wrong"]), listed(row["missing"]), "%d of %d%s" % (row["errors found"], row["errors"], "" if row["error codes"] else
                                                                        ", other codes"), row.get("misnamed", "-"), row.get("nameless", "-"),
              "%d of %d" % (row["arrived"], row["bytes"]), "ok" if row["right"] else "MISS"]
             for _, row in rows if "failed" not in row]
    return "## Requests by name\n\nAgainst clients that know what they sent (asking.py, asking.js): random sizes, pipelined (16 commands " \
        "of redis at once) or multiplexed (8 streams, 20 B to 20 kB).\nTarget: at most %g %% off, %g %% unnamed, no wrong name, of requests or of errors.\n\n" % (
            100 * names.ALLOWED, 100 * names.UNNAMED) + table(
                ["server", "network", "events", "sent", "recorded", "off", "unnamed", "wrong names", "missing", "errors", "of a wrong name", "without one", "bytes arrived of those read",
                 ""], lines) + failures(rows)


def section_follow():
    rows = load("follow.json")
    if not rows:
        return ""
    when, sums = rows[0][0], {}
    for _, r in rows:
        if "n" in r:
            sums.setdefault((r["what"], r["how"]), []).append(r)
    lines = []
    for (what, how), some in sums.items():
        n, right, off = (sum(r[k] for r in some) for k in ("n", "right servers", "clocks"))
        lines.append([what, how, n, "%d (%.1f %%)" % (right, 100 * right / n), sum(r["followed"] for r in some),
                      "%d of %d" % (sum(r["within"] for r in some), off) if off else "-",
                      "%.1f, %.1f us" % tuple(max(r[k] for r in some) / 1e3 for k in ("off", "error")) if off else "-",
                      "ok" if right >= follow.SHOWN * n and all(r["within"] == r["clocks"] for r in some) else "MISS"])
    return "## Requests followed from server to server\n\nMeasured %s, kernel %s, commit %s. " % (
        when["date"], when["kernel"], when["commit"]) + \
        "A chain of three servers; each request is delayed by 5 to 40 ms at\none of them. `obsanalyze request` has to name that server as " \
        "the longest part (target: %.0f %%). Three hosts are network\nnamespaces with a recorder each, whose wall clocks are wrong by %s ms. " \
        "Their events have one clock, so the true offset is known.\n\n" % (100 * follow.SHOWN, ", ".join("%g" % (w / 1e6) for w in follow.WRONG)) + \
        table(["where", "delayed by", "requests", "right server first", "followed through all three", "offsets of clocks within the stated error",
               "max off, max stated error", ""], lines) + section_network([r for _, r in rows if "delay" in r]) + failures(rows)


def section_network(rows):
    """Median and maximum of how much longer than known."""
    lines = [["%d ms" % r["delay"], r["asked"], r["named"], *("%d: %+.0f, %+.0f us" % (len(v), v[len(v) // 2] / 1e3, v[-1] / 1e3)
              for v in (r["network"], r["hop"])), "ok" if r["right"] else "MISS"] for r in rows]
    return "\nTwo servers that answer at once, with a known delay each way between them; group hops. Network time is to be both ways," \
        "\nthe time until the device of the receiver one. Programs make the delay: it is at least the known one.\n\n" + table(
            ["each way", "requests", "network named as longest part", "network time: found, longer than known (median, max)",
             "device of the receiver: the same", ""], lines) if lines else ""


def section_spans():
    rows = load("spans.json")
    if not rows:
        return ""
    when, sums = rows[0][0], {}
    for _, r in rows:
        if "found" in r:
            sums.setdefault(r["what"], []).append(r)
    lines = []
    for what, some in sums.items():
        pairs = [(sum(r["found"][i] for r in some), None if some[0]["truth"][i] is spans.ANY else sum(r["truth"][i] for r in some)) for i in range(5)]
        lines.append([what, len(some)] + ["%d" % found if true is None else "%d of %d" % (found, true) for found, true in pairs] + ["complete" if all(r["complete"] for r in some) else "LOSSY",
                                                                            "ok" if all(r["right"] for r in some) else "MISS"])
    return "## Spans between two functions\n\nMeasured %s, kernel %s, commit %s. " % (when["date"], when["kernel"], when["commit"]) + \
        "`-u FILE:START..END@KEY`: spans recorded, of those\nthat the program or its client counted; each number has to be exact. Numbers without a second one are not known elsewhere.\n\n" + \
        table(["program", "recordings", "spans", "on two threads", "keys reused", "ends without a start", "starts without an end",
               "events", ""], lines) + failures(rows)


SHIFTS = """## Shifts of metrics

Measured %s, kernel %s, commit %s. A fault is switched on and off in windows of %g ms. It is on in %d windows of the baseline half and in
%d of %d of the slow half, in random order: delta is %.1f. What it adds is counted elsewhere too: by rqclock.c, in
monotonic time at the kernel's tracepoints, or by the program that makes the fault. The first row of analysis shift has to be that metric of the server.
Delta has to be within %.1f of what was counted, the added median within %.1f points or %.0f %%.

"""


def section_shift():
    loaded = load("shift.json")
    rows, planted, noise = [row for _, row in loaded if "failed" not in row], {}, {}
    if not rows:
        return ""
    for row in rows:
        (planted if row["kind"] == "planted" else noise).setdefault((row["case"], row["kind"]), []).append(row)
    before, after = shift.SHARES["planted"]
    words = SHIFTS % (*(loaded[0][0][k] for k in ("date", "kernel", "commit")), 1000 * shift.STEP, before * shift.SIDE, after * shift.SIDE,
                      shift.SIDE, after - before, shift.DELTA_ALLOWED, shift.NEAR, 100 * shift.ALLOWED)
    lines, crowd = [], []
    for (case, _), mine in planted.items():
        if "relevant" in mine[0]:
            crowd += [[case, name, "%d of %d" % (sum(r["relevant"][name] for r in mine), len(mine)),
                       "%d of %d" % (sum(r["held"][name] for r in mine), len(mine)), sum(bool(r["others"]) for r in mine),
                       "complete" if all(r["complete"] for r in mine) else "LOSSY"] for name in mine[0]["relevant"]]
            continue
        first = [r["rows"][0] for r in mine if r["first"]]

        def list_of(form, values):
            return ", ".join(form % v for v in values)
        lines.append([case, "%d of %d" % (len(first), len(mine)), list_of("%.2f", [f[1] for f in first]), "%d of %d" % (sum(r["holds"] for r in mine), len(mine)),
                      list_of("%.2f", [r["truth_delta"] for r in mine]), list_of("%.1f", [f[4] for f in first]), list_of("%.1f", [r["truth"] for r in mine]),
                      "complete" if all(r["complete"] for r in mine) else "LOSSY", "ok" if all(r["right"] for r in mine) else "MISS"])
    text = words + table(["server and fault", "right metric first", "delta", "its interval holds the planted one", "counted elsewhere", "added, points",
                          "counted elsewhere", "events", ""], lines)
    text += "\n%d threads with names of their own run as well. Three threads shift: each has to have a row of its own. " \
        "Of the others none may have one.\n\n" % shift.CROWD + table(["server and fault", "thread", "has its row", "its interval holds the planted one", "runs with a row of others", "events"], crowd)
    held = [h for mine in planted.values() for r in mine for h in (r["held"].values() if "held" in r else [r["holds"]])]
    low, high = figures.wilson(sum(held), len(held))
    text += "\nIntervals that hold the planted delta: %d of %d (95 %% interval %.0f to %.0f %%); they are 95 %% intervals: %s.\n" % (
        sum(held), len(held), low, high, "ok" if high >= 95 else "MISS")
    quiet = [[case, kind, len(mine), sum(bool(r["row"]) for r in mine), sum(not r["right"] for r in mine),
              sum(len(r["rows"]) - bool(r["row"]) for r in mine)] for (case, kind), mine in noise.items()]
    n, alarms = sum(len(m) for m in noise.values()), sum(not r["right"] for m in noise.values() for r in m)
    text += "\nThe same servers without a fault, and with it in as many windows of both halves. A row of that metric is false if it was not counted elsewhere " \
        "as well; at most 5 % of recordings may\nhave one by chance. Rows of other metrics are not judged: other programs ran on this machine.\n\n" + table(
            ["server and fault", "fault", "recordings", "with a row of that metric", "false", "rows of other metrics"], quiet)
    return text + "\nFalse: %d of %d recordings (95 %% interval %.0f to %.0f %%).\n" % (alarms, n, *figures.wilson(alarms, n)) + failures(loaded)


def section_latency():
    rows = load("latency.json")
    if not rows:
        return ""
    lines = [[row["what"], "%.0f" % row["limit"], "%.0f %%" % (100 * r["level"]), "%d of %d" % (r["ours"]["n"], r["requests"]),
              "complete" if r["complete"] else "lossy", "%.2f %%" % (100 * r["ours"]["kernel"])] + [
                  of_client(r["ours"][q], r["client"][q])
                  for q in latency.QUANTILES] for _, row in rows if "failed" not in row for r in row["levels"]]
    return "## Latency of requests against the client's socket\n\nLoopback, open loop with Poisson arrivals, %d s each. Request latency is from the " \
        "arrival in the kernel to the end of the last\nsend. The client's time is from its send until the kernel had the last segment of the answer in " \
        "its socket. In us; target: at\nmost %g %% off. Requests with lost " \
        "events are excluded.\n\n" % (latency.SECONDS, 100 * latency.ALLOWED) + table(
            ["server", "max 1/s", "load", "requests of the client's", "events", "arrival seen", "p50", "p90", "p99", "max"], lines) + failures(rows)


KNOWN = {
    "offsets": ("Positions of reads and writes", "`-e +offsets`: each read and write of shipper in order. Position, bytes and size of the\nfile are compared "
                "with lseek(2) and fstat(2). Patterns are by file. Each number has to be exact."),
    "hot": ("Hot functions", "`--hot`: calls that returned, exact. Alone: total time\nand p50 against the program's clock, in calls of 1 ms. Target: 1 %; "
            "for p50 a bucket of 3.2 % more. Both at once: two recorders of one run, one with\nhistograms, one with events. Time and CPU time of "
            "the same calls are compared."),
    "statements": ("Statements of SQL", "Statements with different values, in random order, found by\ntheir text without values. Each "
                   "number has to be exact, and no value may be in the file. With TLS: requests by name.\nA prepared statement has a request more."),
}


def section_known(part):
    rows = load(part + ".json")
    if not rows:
        return ""
    when, some = rows[0][0], {}
    for _, r in rows:
        if "found" in r:
            some.setdefault(r["what"], []).append(r)
    lines = []
    for what, mine in some.items():
        found, true = ({k: sum(r[which][k] for r in mine) for k in mine[0][which]} for which in ("found", "truth"))
        wide = {k: max((abs(r[k]) for r in mine if k in r), default=None) for k in ("time", "p50", "cpu")}
        counted = ["%d of %d" % tuple(sum(r[k] for r in mine) for k in ("counted", "n"))] if "n" in mine[0] else []
        lines.append([what, len(mine), "; ".join("%s: %d of %d" % (k, found[k], n) for k, n in true.items())] + (counted + [
            "-" if v is None else "%.2f %%" % (100 * v) for v in wide.values()] if counted else []) + [
                "complete" if all(r["complete"] for r in mine) else "LOSSY", "ok" if all(r["right"] for r in mine) else "MISS"])
    head = ["program", "recordings", "found of true"] + (["in histograms", "time off by at most", "p50 off by at most", "CPU time off by at most"] if part == "hot" else [])
    return "## %s\n\nMeasured %s, kernel %s, commit %s. %s\n\n" % (KNOWN[part][0], when["date"], when["kernel"], when["commit"], KNOWN[part][1]) + \
        table(head + ["events", ""], lines) + failures(rows)


def share(ours, theirs):
    return "%.2f %%" % (100 * (ours / theirs - 1)) if theirs else "-"


def dated(part, text):
    """A section with the date of its measurement, if its text has none."""
    title, _, rest = text.partition("\n\n")
    if not text or "Measured " in rest.partition("\n\n")[0]:
        return text
    when = load(part + ".json")[0][0]
    return "%s\n\nMeasured %s, kernel %s, commit %s. %s" % (title, when["date"], when["kernel"], when["commit"], rest)


def with_kept(head, sections):
    """Sections of parts that were not measured in this tree stay as they are, with the head that says when they were."""
    fresh = {text.partition("\n")[0]: text for text in sections if text}
    with open(PATH, encoding="utf-8") as f:
        first, *old = ["## " * bool(i) + part for i, part in enumerate(f.read().split("\n## "))]
    kept = {part.partition("\n")[0]: part + "\n" * (not part.endswith("\n")) for part in old}
    missing = kept.keys() - fresh.keys()
    with open(PATH, "w", encoding="utf-8") as f:
        f.write((first + "\n" if missing else head) + "\n".join({**kept, **fresh}.values()))


THESIS = """## The programs of the thesis

Cost of the five programs (Rita, IST 2024), alone and together, in obsrec, bpftrace and bcc, on redis and PostgreSQL:
[docs/bench.md](../../docs/bench.md), written by `make bench-update WORK=thesis`.
"""


def write():
    files = [json.load(open(p, encoding="utf-8")) for p in sorted(glob.glob(os.path.join(lab.OUT, "*.json")))]
    stamps = sorted({(f["provenance"]["date"], f["provenance"]["commit"]) for f in files if "provenance" in f})
    if not stamps:
        return
    last = next(f for f in files if "provenance" in f)["provenance"]
    commits = sorted({c for _, c in stamps})
    head = "# What make validate found\n\nWritten by the command, not by hand. Sections without a date: measured %s to %s, kernel %s, %d CPUs, " \
        "commit %s (+: with changes that are not committed). Method: the head of each file in this " \
        "directory.\n\n" % (stamps[0][0], stamps[-1][0], last["kernel"], last["cpus"], ", ".join(commits))
    with_kept(head, [
        section_sweep(), section_sweep("pools"),
        dated("scenes", section_causes("scenes", "Programs with one known cause", "`tests/scenarios`: calm for 5 s, then 3 s "
                                       "with the fault; each run with another seed.")),
        dated("small", section_small()),
        dated("faults", section_causes("faults", "Faults on real servers", "Calm for 5 s, then 3 s with the fault; each run "
                                       "with another seed. Where the cause is CPU or a lock, its function is judged too.")),
        dated("incidents", section_incidents()), section_incidents("colocation"), dated("healthy", section_healthy()),
        dated("pairs", section_pairs()), dated("repeats", section_repeats()), dated("totals", section_totals()), section_latency(),
        section_names(), section_stacks(), section_follow(), section_spans(), section_shift(), *(section_known(part) for part in KNOWN), THESIS])
