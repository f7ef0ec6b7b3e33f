# SPDX-License-Identifier: GPL-2.0-or-later
"""pushdown.py OBSANALYZE RECORDING DATABASE ROUNDS: conditions that the tables of raw events take
down to the reader leave exactly the rows that SQLite leaves by itself (a + before a column keeps
it from being offered; also from being converted, so numbers as text are not tried), and those of
the plain tables of load --raw. The seed is fixed."""
import random
import subprocess
import sys

analyze, recording, database, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rng = random.Random(7)


def ask(path, query):
    p = subprocess.run([analyze, 'sql', '--csv', path, query], capture_output=True, text=True)
    if p.returncode != 0:
        print('not ok %s: %s' % (query, p.stderr))
        sys.exit(1)
    return p.stdout


spans = ask(recording, 'SELECT min(ts), max(ts) FROM event WHERE cpu IS NOT NULL').split('\n')[1]
low, high = map(int, spans.split(','))
names = [n.strip('"') for n in ask(recording, 'SELECT DISTINCT event FROM event').split('\n')[1:-1]]
tids = ask(recording, 'SELECT DISTINCT tid FROM event').split('\n')[1:-1]


def instant():
    t = rng.randint(low - 2000, high + 2000)
    return rng.choice([str(t), str(t), '%d.5' % t, str(low), str(high), '-1', '1e300',
                       '-1e300', '-9223372036854775808', '9223372036854775807', 'NULL', "'x'"])


def condition(only):
    kind = rng.choice(['ts', 'ts', 'between', 'cpu', 'tid', 'event', 'in', 'or'])
    if kind == 'ts':
        return '{ts} %s %s' % (rng.choice(['<', '<=', '>', '>=', '=', '<>']), instant())
    if kind == 'between':
        return '{ts} BETWEEN %s AND %s' % (instant(), instant())
    if kind == 'cpu':
        return '{cpu} %s' % rng.choice(['= 0', '= 1', '= -1', 'IS NULL', '= 7', '= 0.5', '= 0.0'])
    if kind == 'tid':
        return '{tid} %s' % rng.choice(['= %s' % rng.choice(tids), '= -1'])
    if kind == 'or':
        return '({ts} < %s OR {tid} = %s)' % (instant(), rng.choice(tids))
    if only:
        return '{ts} > %s' % instant()
    some = [rng.choice(names + ['none']) for _ in range(3)]
    return '{event} = \'%s\'' % some[0] if kind == 'event' else "{event} IN ('%s')" % "','".join(some)


def results(path, conditions, columns):
    """One line for each condition. Fifty are asked in one query: starting the program is what takes time."""
    lines = []
    for first in range(0, len(conditions), 50):
        query = ' UNION ALL '.join(
            'SELECT * FROM (SELECT %d, count(*), sum(ts), sum(tid), sum(ts * tid) FROM %s WHERE %s)'
            % (i, table, where.format(**columns))
            for i, (table, where) in enumerate(conditions[first:first + 50], first))
        lines += ask(path, query).split('\n')[1:-1]
    return lines


conditions = []
for _ in range(rounds):
    table = rng.choice(['event', 'event', 'event_' + rng.choice(names)])
    conditions.append((table, ' AND '.join(condition(table != 'event') for _ in range(rng.randint(1, 3)))))
plain = {c: c for c in ('ts', 'cpu', 'tid', 'event')}
fast = results(recording, conditions, plain)
slow = results(recording, conditions, {c: '+' + c for c in plain})
copied = results(database, conditions, plain)
for (table, where), one, other, third in zip(conditions, fast, slow, copied, strict=True):
    if not one == other == third:
        print('not ok %s WHERE %s:\n# %s\n# %s\n# %s' % (table, where, one, other, third))
        sys.exit(1)
rows = sum(int(line.split(',')[1]) for line in fast)
if len(fast) != rounds or not rows:
    print('not ok %d results, not %d, and %d rows' % (len(fast), rounds, rows))
    sys.exit(1)
print('ok %d conditions on raw events leave the same rows, %d in all' % (rounds, rows))
