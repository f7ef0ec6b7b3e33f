# SPDX-License-Identifier: GPL-2.0-or-later
"""make validate: proves the answers of obsanalyze on real servers and on programs with known truth.

Each part leaves its rows in .output/validate/PART.json; RESULTS.md is written from the rows of all parts
that there are. --quick makes one short round of each, prints ok and not ok, and leaves RESULTS.md alone.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import lab
import results
import sweep

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


def part_sweep(options):
    for net, suffix in ((lab.Loopback, "loopback"), (lab.Wire, "wire")):
        for name in sweep.SERVERS:
            if options.only and name not in options.only.split(",") and suffix not in options.only.split(","):
                continue
            rows = []
            attempt(rows, "%s, %s" % (name, suffix), sweep.sweep, name, net, options.quick, SEED, say)
            if options.quick:
                results.quick_sweep(rows[0], name, suffix)
            else:
                store("sweep-%s-%s" % (suffix, name), rows)


PARTS = {"sweep": part_sweep}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round of each")
    parser.add_argument("--part", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    parser.add_argument("--only", help="only rows of these names")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("validate: recording needs root")
    os.makedirs(lab.OUT, exist_ok=True)
    for part in options.part.split(","):
        if part not in PARTS:
            sys.exit("validate: there is no part %s; there are %s" % (part, ", ".join(PARTS)))
        PARTS[part](options)
        if not options.quick:
            results.write()


main()
