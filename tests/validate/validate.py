# SPDX-License-Identifier: GPL-2.0-or-later
"""make validate: proves the answers of obsanalyze on real servers and on programs with known truth.

Each part leaves its rows in .output/validate/PART.json; RESULTS.md is written from the rows of all parts
that there are. --quick makes one short round of each, prints ok and not ok, and leaves RESULTS.md alone.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

import callers
import colocation
import faults
import follow
import incidents
import known
import lab
import latency
import names
import pairs
import repeats
import results
import scenes
import shift
import spans
import sweep
import totals

SEED = 20240


def say(text):
    print("# " + text, flush=True)


def provenance():
    def git(*words):
        return subprocess.run(["git", "-C", lab.TOP] + list(words), stdout=subprocess.PIPE, text=True,
                              check=False).stdout.strip()
    commit = git("rev-parse", "--short=10", "HEAD") or "unknown"
    # what the table itself changes does not count
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!tests/validate/RESULTS.md")
    return {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "kernel": os.uname().release,
            "cpus": os.cpu_count(), "commit": commit + ("+" if changed else "")}


def store(part, rows):
    path = os.path.join(lab.OUT, part + ".json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"provenance": provenance(), "rows": rows}, f, indent=1)


def attempt(rows, what, function, *arguments):
    """A row that cannot be made is a row that says why."""
    try:
        rows.append(function(*arguments))
    except (lab.Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as e:
        say("%s: %s" % (what, e))
        rows.append({"failed": "%s: %s" % (what, e)})


def wanted(options, *names):
    return not options.only or any(n in options.only.split(",") for n in names)


def ok(what, good, detail=""):
    """A line that tests/run.sh counts."""
    print("%s %s%s" % ("ok" if good else "not ok", what, ": " + detail if detail else ""), flush=True)


def part_sweep(options, part="sweep", servers=tuple(sweep.SERVERS)):
    for net, suffix in ((lab.Loopback, "loopback"), (lab.Wire, "wire")):
        for name in servers:
            if not wanted(options, name, suffix):
                continue
            rows = []
            attempt(rows, "%s, %s" % (name, suffix), sweep.sweep, name, net, options.quick, SEED, say)
            if options.quick:
                results.quick_sweep(rows[0], name, suffix, ok)
            else:
                store("%s-%s-%s" % (part, suffix, name), rows)


def told(options):
    """What is shown of a run with a cause."""
    def show(row):
        detail = row.get("failed") or row.get("missing") or row["first"]
        if options.quick:
            ok("%s: cause" % row["case"], row["right"] and not row["forbidden"] and row.get("function_right", True), detail[:200])
        else:
            say("%s, seed %d: %s: %s" % (row["case"], row["seed"], "right" if row["right"] else "WRONG", detail[:160]) +
                ("" if row.get("function_right", True) else "; WRONG function: %s" % row.get("functions")))
    return show


def keep(options):
    path = options.keep
    if path:
        os.makedirs(path, exist_ok=True)
    return path


def part_scenes(options):
    rows, show = [], told(options)
    with lab.scratch() as directory:
        for scene in scenes.SCENES:
            if not wanted(options, scene[1]):
                continue
            for seed in range(1, (1 if options.quick else options.repeat) + 1):
                attempt(rows, scene[0], scenes.play, scene, seed, directory, keep(options))
                rows[-1].update(case=scene[0], seed=seed, right=rows[-1].get("right", False),
                                forbidden=rows[-1].get("forbidden", []))
                show(rows[-1])
    if not options.quick and not options.only:
        store("scenes", rows)


def part_small(options):
    rows = []
    with lab.scratch() as directory:
        for k in (1, 2, 3):
            attempt(rows, "%d sends" % k, scenes.sends, k, k, directory)
            say("%d sends a request: %s" % (k, rows[-1].get("rows", rows[-1])))
        for poisson in (True, False):
            attempt(rows, "arrivals", scenes.arrivals, poisson, 7, directory)
            say("%s" % rows[-1])
    if not options.quick:
        store("small", rows)


def part_faults(options):
    rows = []
    with lab.scratch() as directory:
        for kind in faults.FAULTS:
            if not wanted(options, kind.__name__.lower()):
                continue
            seeds = range(1, (1 if options.quick else options.repeat) + 1)
            try:
                rows += faults.runs(kind, seeds, directory, keep(options), told(options))
            except (lab.Failed, subprocess.TimeoutExpired, OSError) as e:
                rows.append({"case": kind.__doc__, "seed": 0, "failed": str(e), "right": False, "forbidden": []})
                told(options)(rows[-1])
    if not options.quick and not options.only:
        store("faults", rows)


def part_incidents(options, part="incidents", cases=incidents):
    rows = []
    with lab.scratch() as directory:
        for kind in cases.INCIDENTS if part == "incidents" else cases.CASES:
            if wanted(options, kind.__name__.lower()):
                seeds = range(1, (1 if options.quick else options.repeat) + 1)
                for row in cases.runs(kind, seeds, directory, keep(options)):
                    rows.append(row)
                    detail = row.get("failed") or "{status} {verdict}, causes {causes}, offender {offender!r}, start off by {0} s{1}".format(
                        row.get("off_s"), "".join(", %s %s" % (k, row[k]) for k in ("functions", "limited", "series") if k in row), **row)
                    ok("%s, %d" % (row["case"], row["seed"]), row["right"] and not row["forbidden"], detail)
    if not options.quick and not options.only:
        store(part, rows)


def part_healthy(options):
    rows = []
    with lab.scratch() as directory:
        for name in incidents.HEALTHY:
            if wanted(options, name):
                for row in incidents.healthy(name, range(1, 2 if options.quick else 4), 5, directory,
                                             keep(options)):
                    rows.append(row)
                    ok("%s at %.0f %%%s, %d" % (name, 100 * row["level"], ", whole host" if row["whole"] else "", row["seed"]),
                       row["right"], row.get("failed") or "{status} {verdict}, causes {causes}".format(**row))
    if not options.quick and not options.only:
        store("healthy", rows)


def part_pairs(options):
    rows = []
    plan = [1] * (1 if options.quick else 20) + [1.1] * (0 if options.quick else 5) + [1.3] * (1 if options.quick else 5)
    with lab.scratch() as directory:
        for seed, scale in enumerate(plan, 1):
            attempt(rows, "pair", pairs.pair, scale, seed, directory)
            say("pair x%g, %d: %s" % (scale, seed, rows[-1].get("alarms", rows[-1].get("missing", rows[-1]))))
            if options.quick and "verdicts" in rows[-1]:
                ok("a pair of recordings, service time x%g" % scale, bool(rows[-1]["alarms"]) == (scale > 1))
    if not options.quick:
        store("pairs", rows)


def part_repeats(options):
    rows = []
    with lab.scratch() as directory:
        attempt(rows, "repeats", repeats.repeats, *((4, 2, 0) if options.quick else (20, 3, 40)), directory)
    rows = rows[0] if isinstance(rows[0], list) else rows
    for row in rows:
        ok("repeats: " + row.get("what", "recorded"), row.get("right", False), row.get("failed") or
           "%(gate)d of %(compared)d raise a false alarm, %(failed_on)d of them as slower; %(said)d with what is not "
           "counted" % row)
        for r in row.get("which", []):
            say("%(verdict)s: %(name)s of %(subject)s %(ratio).3f (%(low).3f .. %(high).3f)" % r)
    if not options.quick:
        store("repeats", rows)


def part_totals(options):
    rows = []

    def add(what, function, *arguments):
        some = []
        attempt(some, what, function, *arguments)
        rows.extend(some[0] if isinstance(some[0], list) else some)
    with lab.scratch() as directory:
        add("times of redis", totals.times, "redis-get", 4000, directory, 1)
        add("times of redis", totals.times, "redis-get", 4000, directory, 1, lab.Loopback)
        if not options.quick:
            add("times of MariaDB", totals.times, "mariadb", 1000, directory, 1)
            add("times of MariaDB", totals.times, "mariadb", 1000, directory, 1, lab.Loopback)
            add("times of memcached", totals.times, "memcached", 4000, directory, 1)
            add("times of memcached", totals.times, "memcached", 4000, directory, 1, lab.Loopback)
        add("times of two loops", totals.burners, directory)
        add("blocks", totals.blocks, directory)
        add("strace", totals.strace, directory)
        add("perf", totals.perf, directory, 1)
    for row in rows:
        ok(row.get("what", "total"), row.get("right", False), row.get("failed") or row.get("text") or
           "%g, elsewhere %g %s, off %.3f %%" % (row["ours"], row["theirs"], row["unit"], 100 * row["off"]))
    if not options.quick:
        store("totals", rows)


def part_stacks(options):
    rows = []

    def add(name, what, function, *arguments):
        if not wanted(options, name):
            return
        attempt(rows, what, function, *arguments)
        row = rows[-1]
        ok("stacks of " + row.get("what", what), row.get("right", False), row.get("failed") or
           "%(complete)d of %(n)d complete, %(complete_waits)d of %(waits)d of waits" % row)
    with lab.scratch() as directory:
        for name, settings, least in callers.SERVERS:
            add(name, name, callers.server, name, settings, least, directory)
        for name, *rest in callers.interpreters():
            add(name, name, callers.interpreter, *rest, directory)
        add("stackwork", "stackwork", callers.paths, directory)
    if not options.quick and not options.only:
        store("stacks", rows)


def part_names(options):
    rows = []
    with lab.scratch() as directory:
        for name, protocol, rounds in names.SERVERS:
            if not wanted(options, name, protocol):
                continue
            attempt(rows, name, names.row, name, protocol, rounds, lab.Loopback, directory, SEED)
            if not options.quick:
                attempt(rows, name, names.row, name, protocol, rounds, lab.Wire, directory, SEED)
    for row in rows:
        ok("%s, %s: names" % (row.get("what", "server"), row.get("net", "")), row.get("right", False), row.get("failed") or
           "%(counted)d of %(asked)d, wrong %(wrong)s, missing %(missing)s" % row)
    if not options.quick:
        store("names", rows)


def part_follow(options):
    rows = []
    with lab.scratch() as directory:
        for net, how, *rest in follow.rows(*((1, 12) if options.quick else (options.repeat, 100)), directory):
            if not wanted(options, how, net.name):
                continue
            attempt(rows, "%s, %s" % (net.name, how), follow.row, net, how, *rest)
            row = rows[-1]
            ok("%s, delayed by %s" % (net.name, how), row.get("right", False), row.get("failed") or
               "%(right servers)d of %(n)d, followed %(followed)d, clocks %(within)d of %(clocks)d within %(error).0f ns, %(wrong)s" % row)
        for delay in follow.DELAYS if wanted(options, "network") else ():
            attempt(rows, "network, %d ms" % delay, follow.network_row, delay, 12 if options.quick else 100, directory)
            row = rows[-1]
            ok("a network of %d ms each way" % delay, row.get("right", False), row.get("failed") or "named by %(named)d of %(asked)d, "
               "ns longer: %(network)s, at the device: %(hop)s" % row)
    if not options.quick and not options.only:
        store("follow", rows)


def part_spans(options):
    rows = []
    with lab.scratch() as directory:
        for name in spans.PROGRAMS:
            if not wanted(options, name):
                continue
            for _ in range(1 if options.quick else options.repeat):
                some = []
                attempt(some, name, spans.rows, name, directory)
                for row in some[0] if isinstance(some[0], list) else some:
                    rows.append(row)
                    ok("%s: spans" % row.get("what", name), row.get("right", False), row.get("failed") or "%(found)s of %(truth)s" % row)
    if not options.quick and not options.only:
        store("spans", rows)


def part_shift(options):
    rows = []
    with lab.scratch() as directory:
        for kind in shift.CASES + [shift.Crowd]:
            if not wanted(options, kind.__name__.lower()):
                continue
            try:
                for row in shift.runs(kind, directory, keep(options), options.quick, options.repeat):
                    rows.append(row)
                    ok("%s, %s, %d: shifts" % (row["case"], row["kind"], row["seed"]), row["right"], "; ".join(
                        "%s %.2f (%.2f..%.2f) %+.1f" % tuple(r) for r in row["rows"][:3]) + str(row.get("relevant", "")) + ", counted elsewhere %.2f %+.1f" % (row.get("truth_delta", 0), row.get("truth", 0)))
            except (lab.Failed, subprocess.SubprocessError, OSError, ValueError) as e:
                rows.append({"failed": "%s: %s" % (kind.__doc__, e)})
                ok("%s: shifts" % kind.__doc__, False, str(e))
    if not options.quick and not options.only:
        store("shift", rows)


def part_latency(options):
    rows = []
    with lab.scratch() as directory:
        for name, settings in latency.SERVERS:
            if not wanted(options, name):
                continue
            attempt(rows, name, latency.row, name, settings, [.7] if options.quick else latency.LEVELS, directory, SEED)
            row = rows[-1]
            ok("%s: latency" % row.get("what", name), row.get("right", False), row.get("failed") or "; ".join(
                "%.0f %%: " % (100 * r["level"]) + ", ".join("%s %.0f of %.0f us" % (q, (r["ours"][q] or 0) / 1000, r["client"][q] / 1000)
                                                           for q in latency.QUANTILES) for r in row["levels"]))
    if not options.quick and not options.only:
        store("latency", rows)


def part_known(part):
    def run(options):
        rows = []
        with lab.scratch() as directory:
            for name, function in known.PARTS[part]:
                for seed in range(1, (1 if options.quick else options.repeat) + 1) if wanted(options, name) else ():
                    attempt(rows, name, function, directory, seed)
                    row = rows[-1]
                    ok("%s: %s, %d" % (part, name, seed), row.get("right", False), row.get("failed") or ", ".join(
                        "%s %d of %d" % (k, row["found"][k], n) for k, n in row["truth"].items() if row["found"][k] != n) or
                        " ".join("%s off by %.2f %%" % (k, 100 * row[k]) for k in ("time", "p50", "cpu") if k in row))
        if not options.quick and not options.only:
            store(part, rows)
    return run


PARTS = {"sweep": part_sweep, "pools": lambda options: part_sweep(options, "pools", tuple(sweep.POOLS)), "follow": part_follow, "spans": part_spans, "shift": part_shift, "latency": part_latency, "totals": part_totals, "names": part_names, "stacks": part_stacks, "small": part_small, "scenes": part_scenes,
         "faults": part_faults, "incidents": part_incidents,
         "colocation": lambda options: part_incidents(options, "colocation", colocation),
         "healthy": part_healthy, **{part: part_known(part) for part in known.PARTS}, "pairs": part_pairs, "repeats": part_repeats}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round of each")
    parser.add_argument("--part", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    parser.add_argument("--only", help="only rows of these names")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each scenario and fault")
    parser.add_argument("--keep", help="directory to keep the recordings of scenarios and faults in")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("validate: recording needs root")
    # what else runs on this machine shall disturb little; what is measured keeps its proportions
    lab.prefer()
    # so that namespaces, servers and recorders end with it
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    os.makedirs(lab.OUT, exist_ok=True)
    for part in options.part.split(","):
        if part not in PARTS:
            sys.exit("validate: there is no part %s; there are %s" % (part, ", ".join(PARTS)))
        PARTS[part](options)
        if not options.quick:
            results.write()


main()
