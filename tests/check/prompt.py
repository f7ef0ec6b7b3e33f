# SPDX-License-Identifier: GPL-2.0-or-later
"""prompt.py OBSANALYZE RECORDING: sql at a terminal. Prints "ok ..." or "not ok ..." lines."""
import os
import pty
import select
import subprocess
import sys

LINES = b""".tables
.schema mount
.schema nothing
SELECT count(*) AS raw FROM event_info;
SELECT count(*) > 0
 AS lines FROM syscall;
SELECT count(*) > 5 AS answers FROM metric;
SELECT nonsense;
.tabels
DELETE FROM thread;
SELECT count(*) > 0 AS again FROM thread;
.quit
"""
WANTED = ("v_request ", "source       TEXT", "no table nothing", "raw", "lines", "answers", "no such column: nonsense",
          "did you mean .tables?", "only SELECT is allowed", "again")


def main():
    master, slave = pty.openpty()
    with subprocess.Popen([sys.argv[1], "sql", "-l", sys.argv[2]], stdin=slave, stdout=slave, stderr=slave) as p:
        os.close(slave)
        os.write(master, LINES)
        seen = b""
        while select.select([master], [], [], 60)[0]:
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            seen += got
        status = p.wait(60)
    text = seen.decode(errors="replace")
    missing = [w for w in WANTED if w not in text.split("Queries end", 1)[-1]]
    missing += [w for w in ("lines = 1", "answers = 1", "again = 1") if w not in text]
    good = status == 0 and not missing
    print("%s queries at a prompt" % ("ok" if good else "not ok"))
    if not good:
        print("# status %s, missing %s\n# %r" % (status, missing, text[-1500:]))
    return not good


sys.exit(main())
