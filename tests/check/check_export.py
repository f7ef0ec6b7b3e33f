# SPDX-License-Identifier: GPL-2.0-or-later
"""check_export.py FORMAT DATABASE|- FILE...: an export obeys the rules of its format, and says what
the tables of the database say. The rules are those of the formats' own documents:

trace        Trace Event Format (slices of a track nest; an arrow begins and ends inside slices)
openmetrics  OpenMetrics 1.0: the ABNF, families, types, order of samples
folded       what flamegraph.pl and speedscope take for a line
csv          RFC 4180, and no cell that a spreadsheet takes for a formula

Prints "ok ..." or "not ok ..." lines."""
import json
import math
import re
import sqlite3
import sys

bad = []


def rule(holds, sentence):
    if not holds and len(bad) < 20:
        bad.append(sentence)
    return holds


def rows(db, sql):
    return db.execute(sql).fetchall() if db else []


# ---- trace ----

NEEDED = {'B': {'ts', 'name'}, 'E': {'ts', 'name'}, 'i': {'ts', 'name', 's'}, 's': {'ts', 'name', 'cat', 'id'},
          'f': {'ts', 'name', 'cat', 'id', 'bp'}, 'C': {'ts', 'name', 'args'}, 'M': {'name', 'args'}}
META = {'process_name': 'name', 'thread_name': 'name', 'process_sort_index': 'sort_index',
        'thread_sort_index': 'sort_index'}


def one_name(pairs):
    names = [k for k, _ in pairs]
    rule(len(set(names)) == len(names), 'an object has a name twice: %s' % names)
    return dict(pairs)


class Ns(int):
    """Microseconds as written, to the nanosecond."""

    def __new__(cls, text):
        rule(re.match(r'\d+\.\d{3}$', text), 'time %s' % text)
        return int.__new__(cls, text.replace('.', ''))


def check_trace(path, db):
    top = json.load(open(path, encoding='utf-8', errors='strict'), object_pairs_hook=one_name,
                    parse_float=Ns)
    # Perfetto 20 reads times in this unit, against the format's own words, which say microseconds
    rule('displayTimeUnit' not in top, 'displayTimeUnit')
    events = top['traceEvents']
    slices, opened, named, arrows, used = {}, {}, set(), {}, set()
    for e in events:
        ph = e.get('ph')
        if not rule(ph in NEEDED, 'phase %s' % ph):
            continue
        rule(not NEEDED[ph] - set(e), '%s without %s' % (ph, NEEDED[ph] - set(e)))
        rule(all(isinstance(e[k], int) and 0 <= e[k] < 2**32 for k in ('pid', 'tid')), 'pid, tid')
        track = e['pid'], e['tid']
        if ph == 'M':
            rule(list(e['args']) == [META.get(e['name'])], 'metadata %s' % e)
            if e['name'] == 'thread_name':
                rule(track not in named, 'track %s is named twice' % (track,))
                named.add(track)
            continue
        rule(isinstance(e['ts'], Ns) and e['ts'] >= 0, 'ts of %s' % e)
        if ph != 'C':
            used.add(track)
        if ph in 'BE':
            last, stack = opened.setdefault(track, (0, []))
            rule(last <= e['ts'], 'time goes back on a track: %s' % e)
            opened[track] = e['ts'], stack
        if ph == 'B':
            stack.append(e)
        elif ph == 'E' and rule(stack and stack[-1]['name'] == e['name'], 'ends nothing: %s' % e):
            begin = stack.pop()
            slices.setdefault(track, []).append((begin['ts'], e['ts'], begin))
        elif ph in 'sf':
            arrows.setdefault((e['cat'], e['name'], e['id']), []).append(e)
        elif ph == 'C':
            rule(all(isinstance(v, (int, float)) for v in e['args'].values()), 'counter %s' % e)
    rule(not used - named, 'tracks without a name: %s' % (used - named))
    for track, (_, stack) in opened.items():
        rule(not stack, 'still open: %s' % stack)
    for key, ends in arrows.items():
        if not rule(sorted(e['ph'] for e in ends) == ['f', 's'], 'arrow %s' % (key,)):
            continue
        s, f = sorted(ends, key=lambda e: e['ph'], reverse=True)
        rule(s['ts'] <= f['ts'] and f['bp'] == 'e', 'arrow %s goes back' % (key,))
        for e in ends:
            inside = [x for x in slices.get((e['pid'], e['tid']), []) if x[0] <= e['ts'] < x[1]]
            rule(inside, 'arrow %s hangs in the air' % (key,))
    if not db:
        return
    # what the tables say
    for tid, pid, wall in rows(db, 'SELECT tid, max(pid), sum(dur) FROM thread_state JOIN'
                               ' (SELECT tid, pid FROM thread) USING (tid) GROUP BY tid'):
        drawn = sum(b - a for a, b, _ in slices.get((pid, 100000000 + tid), []))
        rule(drawn == wall, 'thread %d: %d ns drawn, %d in the table' % (tid, drawn, wall))
    run = rows(db, 'SELECT total(dur) FROM thread_state WHERE state = 0')[0][0]
    rule(sum(b - a for (pid, _), l in slices.items() if pid == 300000001 for a, b, _ in l) == run,
         'CPUs do not run as long as threads')
    for cat, sql in (('syscall', 'SELECT count(*) FROM syscall'),
                     ('function', 'SELECT count(*) FROM call'),
                     ('request', 'SELECT count(*) FROM turn'),
                     ('block', 'SELECT count(*) FROM block_io')):
        n = sum(e.get('cat') == cat for e in events)
        rule(n == rows(db, sql)[0][0], '%d events of %s' % (n, cat))
    lost = sum(e['args']['events'] for e in events if e['ph'] == 'B' and e['pid'] == 300000002)
    rule(lost == rows(db, 'SELECT total(n) FROM loss')[0][0], '%d lost' % lost)
    woken = rows(db, "SELECT count(*) FROM thread_state s JOIN state t ON t.id = s.state WHERE"
                 " t.name = 'woken' AND s.waker > 0 AND s.dur > 0 AND EXISTS (SELECT 1 FROM"
                 " thread_state r WHERE r.tid = s.waker AND r.state = 0 AND r.ts <= s.ts AND"
                 " r.ts + r.dur > s.ts)")[0][0] if len(events) < 10000 else len(arrows)
    rule(len(arrows) == woken, '%d arrows, not %d' % (len(arrows), woken))


# ---- OpenMetrics ----

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
NUMBER = re.compile(r'[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|Inf)$|NaN$')
SUFFIXES = {'gauge': [''], 'counter': ['_total'], 'info': ['_info'],
            'histogram': ['_bucket', '_count', '_sum']}


def labels_of(text):
    found, at = [], 0
    while at < len(text):
        m = LABEL.match(text, at)
        if not rule(m, 'labels %s' % text):
            break
        rule(m.group(1) not in [k for k, _ in found], 'label twice: %s' % text)
        found.append((m.group(1), m.group(2)))
        at = m.end()
    rule(not text.endswith(','), 'labels end with a comma: %s' % text)
    return found


def check_histogram(name, points):
    for key, samples in points.items():
        buckets = [(float(le), v) for suffix, le, v in samples if suffix == '_bucket']
        rule(buckets == sorted(buckets) and len(set(b[0] for b in buckets)) == len(buckets),
             '%s: buckets of %s are out of order' % (name, key))
        rule([b[1] for b in buckets] == sorted(b[1] for b in buckets), '%s: not cumulative' % name)
        rule(buckets and buckets[-1][0] == math.inf, '%s: no +Inf bucket' % name)
        others = {suffix: v for suffix, le, v in samples if suffix != '_bucket'}
        rule(set(others) in (set(), {'_count', '_sum'}), '%s: count without sum' % name)
        rule(others.get('_count', buckets[-1][1]) == buckets[-1][1], '%s: count' % name)


def check_openmetrics(path, db):
    text = open(path, encoding='utf-8', errors='strict', newline='').read()
    rule(text.endswith('# EOF\n'), 'the end is missing')
    rule(text.count('# EOF') == 1 and '\r' not in text, 'EOF, line ends')
    types, units, helps, seen = {}, {}, {}, set()
    family = last = last_time = None
    groups, points, values = set(), {}, {}
    for line in text[:-len('# EOF\n')].split('\n')[:-1]:
        m = re.match(r'# (TYPE|UNIT|HELP) (%s) (.*)$' % NAME, line)
        if m:
            kind, name, rest = m.groups()
            if name != family:
                check_histogram(family, points)
                rule(name not in types, 'family %s comes twice' % name)
                family, last, groups, points = name, None, set(), {}
            where = {'TYPE': types, 'UNIT': units, 'HELP': helps}[kind]
            rule(name not in where, '%s of %s twice' % (kind, name))
            where[name] = rest
            if kind == 'TYPE':
                rule(rest in SUFFIXES, 'type %s' % rest)
            if kind == 'UNIT':
                rule(name.endswith('_' + rest), 'unit %s is not in the name %s' % (rest, name))
            continue
        m = re.match(r'(%s)(?:\{(.*)\})? (\S+)(?: (\S+))?$' % NAME, line)
        if not rule(m, 'line %s' % line):
            continue
        name, inside, value, time = m.groups()
        suffix = name[len(family):]
        rule(name.startswith(family) and suffix in SUFFIXES[types[family]], 'sample %s' % line)
        found = labels_of(inside or '')
        le = dict(found).get('le')
        rule((le is not None) == (suffix == '_bucket'), 'le: %s' % line)
        key = tuple(kv for kv in found if kv[0] != 'le')
        rule(NUMBER.match(value) and (time is None or NUMBER.match(time)), 'numbers: %s' % line)
        if key != last:
            rule(key not in groups, 'samples of %s %s do not stand together' % (family, key))
            groups.add(key)
            last, last_time = key, None
        if time is not None:
            # a histogram is one point of many samples
            later = last_time is None or float(time) > last_time or (
                types[family] == 'histogram' and float(time) == last_time)
            rule(later, 'time goes back: %s' % line)
            last_time = float(time)
        rule((name, tuple(found), time) not in seen, 'sample twice: %s' % line)
        seen.add((name, tuple(found), time))
        if types[family] in ('counter', 'histogram'):
            rule(float(value) >= 0, 'negative: %s' % line)
        if types[family] == 'histogram':
            points.setdefault(key, []).append((suffix, le, float(value)))
        values.setdefault(name, []).append((dict(found), float(value)))
    check_histogram(family, points)
    for name in types:
        if name.endswith(('_seconds', '_bytes')):
            rule(name in units, '%s has no unit' % name)
    if not db:
        return
    states = sum(v for _, v in values.get('obs_thread_state_seconds_total', []))
    table = rows(db, 'SELECT total(dur) / 1e9 FROM thread_state')[0][0]
    rule(abs(states - table) < 1e-6 * max(table, 1), 'states: %s s, not %s' % (states, table))
    calls = sum(v for l, v in values.get('obs_syscall_duration_seconds_count', []))
    rule(calls == rows(db, 'SELECT total(timed) FROM syscall_stat')[0][0], '%s calls' % calls)
    turns = {}
    for l, v in values.get('obs_request_turns_total', []):
        turns[tuple(l.items())] = v
    rule(sum(turns.values()) == rows(db, 'SELECT total(turns) FROM request_window')[0][0], 'turns')


# ---- folded stacks ----


def check_folded(path, db):
    total = 0
    raw = open(path, encoding='utf-8', errors='strict', newline='').read()
    rule(raw.endswith('\n') and raw.strip(), 'empty, or no end of line')
    for line in raw[:-1].split('\n'):
        rule(not line.startswith('#'), 'comment: %s' % line)
        # flamegraph.pl: the last word is the number; if the one before is a number too, the
        # line is taken for a difference of two profiles
        m = re.match(r'^(.*)\s+?(\d+(?:\.\d*)?)$', line)
        if not rule(m, 'flamegraph.pl does not take %s' % line):
            continue
        rule(not re.match(r'^(.*)\s+?(\d+(?:\.\d*)?)$', m.group(1)), 'two numbers: %s' % line)
        # speedscope
        rule(re.match(r'^(.*) (\d+)$', line), 'speedscope does not take %s' % line)
        rule(all(m.group(1).split(';')), 'empty frame: %s' % line)
        rule(not re.search('[\x00-\x1f\x7f]', line), 'control: %r' % line)
        total += int(m.group(2))
    if db:
        sql = ('SELECT total(dur) FROM call WHERE depth = 0' if path.endswith('calls') else
               'SELECT total(dur) FROM thread_state')
        table = rows(db, sql)[0][0]
        rule(total == table, '%d ns, not %d' % (total, table))


# ---- CSV ----


def cells(text):
    """RFC 4180 to the letter."""
    at, row = 0, []
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"' or text[end:end + 2] == '""':
                end += 2 if text[end] == '"' else 1
            row.append(('"', text[at + 1:end].replace('""', '"')))
            at = end + 1
        else:
            end = at
            while text[end] not in ',\r':
                rule(text[end] not in '"\n', 'quote or end of line in a bare cell')
                end += 1
            row.append(('', text[at:end]))
            at = end
        if text[at:at + 2] == '\r\n':
            yield row
            row, at = [], at + 2
        elif not rule(text[at] == ',', 'no comma at %d' % at):
            return
        else:
            at += 1
    rule(not row, 'the last line has no end')


def check_csv(path, db):
    table = re.sub(r'.*/|\.csv$', '', path)
    lines = list(cells(open(path, encoding='utf-8', errors='strict', newline='').read()))
    rule(lines and all(len(l) == len(lines[0]) for l in lines), 'rows of different length')
    for line in lines:
        for quote, text in line:
            rule(quote or re.match(r'-?\d*\.?\d*(e[+-]?\d+)?$', text), 'bare text %s' % text)
            rule(not quote or not text.startswith(tuple('=+-@\t\r')), 'formula %s' % text)
    if db:
        names = [r[1] for r in rows(db, 'PRAGMA table_info("%s")' % table)]
        rule([t for _, t in lines[0]] == names, 'names of columns')
        rule(len(lines) - 1 == rows(db, 'SELECT count(*) FROM "%s"' % table)[0][0], 'rows')


form, database = sys.argv[1:3]
database = sqlite3.connect(database) if database != '-' else None
failed = False
for path in sys.argv[3:]:
    bad.clear()
    {'trace': check_trace, 'openmetrics': check_openmetrics, 'folded': check_folded,
     'csv': check_csv}[form](path, database)
    print(('not ok %s: ' % path + '\n#  '.join(bad)) if bad else 'ok %s obeys the rules' % path)
    failed = failed or bool(bad)
sys.exit(failed)
