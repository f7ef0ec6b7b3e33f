# SPDX-License-Identifier: GPL-2.0-or-later
"""check_export.py FORMAT DATABASE|- FILE...: an export obeys the rules of its format, and says what
the tables of the database say. The rules are those of the formats' own documents:

json         Trace Event Format (slices of a track nest; an arrow begins and ends inside slices)
openmetrics  OpenMetrics 1.0: the ABNF, families, types, order of samples
otlp         OTLP's JSON: requests to export, one per line, of the mapping of proto3 to JSON
folded       what flamegraph.pl and speedscope take for a line
pprof        profile.proto: known fields, strings and functions that exist, two values per sample
csv          RFC 4180, and no cell that a spreadsheet takes for a formula

Prints "ok ..." or "not ok ..." lines."""
import json
import math
import re
import sqlite3
import sys

bad = []


def rule(holds, sentence, *values):
    """Values of the sentence are put into it only where it is broken: there are millions of rules."""
    if not holds and len(bad) < 20:
        bad.append(sentence % values if values else sentence)
    return holds


def rows(db, sql):
    return db.execute(sql).fetchall() if db else []


# ---- json ----

NEEDED = {'B': {'ts', 'name'}, 'E': {'ts', 'name'}, 'i': {'ts', 'name', 's'}, 's': {'ts', 'name', 'cat', 'id'},
          'f': {'ts', 'name', 'cat', 'id', 'bp'}, 'C': {'ts', 'name', 'args'}, 'M': {'name', 'args'}}
META = {'process_name': 'name', 'thread_name': 'name', 'process_sort_index': 'sort_index',
        'thread_sort_index': 'sort_index'}


def one_name(pairs):
    found = dict(pairs)
    rule(len(found) == len(pairs), 'an object has a name twice: %s', pairs)
    return found


class Ns(int):
    """Microseconds as written, to the nanosecond."""

    def __new__(cls, text):
        rule(re.match(r'\d+\.\d{3}$', text), 'time %s', text)
        return int.__new__(cls, text.replace('.', ''))


def check_json(path, db):
    top = json.load(open(path, encoding='utf-8', errors='strict'), object_pairs_hook=one_name,
                    parse_float=Ns)
    # Perfetto 20 reads times in this unit, against the format's own words, which say microseconds
    rule('displayTimeUnit' not in top, 'displayTimeUnit')
    events = top['traceEvents']
    slices, opened, named, arrows, used = {}, {}, set(), {}, set()
    for e in events:
        ph = e.get('ph')
        if not rule(ph in NEEDED, 'phase %s', ph):
            continue
        rule(not NEEDED[ph] - set(e), '%s without %s', ph, NEEDED[ph] - set(e))
        rule(all(isinstance(e[k], int) and 0 <= e[k] < 2**32 for k in ('pid', 'tid')), 'pid, tid')
        track = e['pid'], e['tid']
        if ph == 'M':
            rule(list(e['args']) == [META.get(e['name'])], 'metadata %s', e)
            if e['name'] == 'thread_name':
                rule(track not in named, 'track %s is named twice', track)
                named.add(track)
            continue
        rule(isinstance(e['ts'], Ns) and e['ts'] >= 0, 'ts of %s', e)
        if ph != 'C':
            used.add(track)
        if ph in 'BE':
            last, stack = opened.setdefault(track, (0, []))
            rule(last <= e['ts'], 'time goes back on a track: %s', e)
            opened[track] = e['ts'], stack
        if ph == 'B':
            stack.append(e)
        elif ph == 'E' and rule(stack and stack[-1]['name'] == e['name'], 'ends nothing: %s', e):
            begin = stack.pop()
            slices.setdefault(track, []).append((begin['ts'], e['ts'], begin))
        elif ph in 'sf':
            arrows.setdefault((e['cat'], e['name'], e['id']), []).append(e)
        elif ph == 'C':
            rule(all(isinstance(v, (int, float)) for v in e['args'].values()), 'counter %s', e)
    rule(not used - named, 'tracks without a name: %s', used - named)
    for track, (_, stack) in opened.items():
        rule(not stack, 'still open: %s', stack)
    for key, ends in arrows.items():
        if not rule(sorted(e['ph'] for e in ends) == ['f', 's'], 'arrow %s', key):
            continue
        s, f = sorted(ends, key=lambda e: e['ph'], reverse=True)
        rule(s['ts'] <= f['ts'] and f['bp'] == 'e', 'arrow %s goes back', key)
        for e in ends:
            inside = [x for x in slices.get((e['pid'], e['tid']), []) if x[0] <= e['ts'] < x[1]]
            rule(inside, 'arrow %s hangs in the air', key)
    if not db:
        return
    # what the tables say
    for tid, pid, wall in rows(db, 'SELECT tid, max(pid), sum(dur) FROM thread_state JOIN'
                               ' (SELECT tid, pid FROM thread) USING (tid) GROUP BY tid'):
        drawn = sum(b - a for a, b, _ in slices.get((pid, 100000000 + tid), []))
        rule(drawn == wall, 'thread %d: %d ns drawn, %d in the table', tid, drawn, wall)
    run = rows(db, 'SELECT total(dur) FROM thread_state WHERE state = 0')[0][0]
    rule(sum(b - a for (pid, _), l in slices.items() if pid == 300000001 for a, b, _ in l) == run,
         'CPUs do not run as long as threads')
    for cat, sql in (('syscall', 'SELECT count(*) FROM syscall'),
                     ('function', 'SELECT count(*) FROM call'),
                     ('request', 'SELECT count(*) FROM request'),
                     ('block', 'SELECT count(*) FROM block_io')):
        n = sum(e.get('cat') == cat for e in events)
        rule(n == rows(db, sql)[0][0], '%d events of %s', n, cat)
    lost = sum(e['args']['events'] for e in events if e['ph'] == 'B' and e['pid'] == 300000002)
    rule(lost == rows(db, 'SELECT total(n) FROM loss')[0][0], '%d lost', lost)
    woken = rows(db, "SELECT count(*) FROM thread_state s JOIN state t ON t.id = s.state WHERE"
                 " t.name = 'woken' AND s.waker > 0 AND s.dur > 0 AND EXISTS (SELECT 1 FROM"
                 " thread_state r WHERE r.tid = s.waker AND r.state = 0 AND r.ts <= s.ts AND"
                 " r.ts + r.dur > s.ts)")[0][0] if len(events) < 10000 else len(arrows)
    rule(len(arrows) == woken, '%d arrows, not %d', len(arrows), woken)


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
        if not rule(m, 'labels %s', text):
            break
        rule(m.group(1) not in [k for k, _ in found], 'label twice: %s', text)
        found.append((m.group(1), m.group(2)))
        at = m.end()
    rule(not text.endswith(','), 'labels end with a comma: %s', text)
    return found


def check_histogram(name, points):
    for key, samples in points.items():
        buckets = [(float(le), v) for suffix, le, v in samples if suffix == '_bucket']
        rule(buckets == sorted(buckets) and len(set(b[0] for b in buckets)) == len(buckets),
             '%s: buckets of %s are out of order', name, key)
        rule([b[1] for b in buckets] == sorted(b[1] for b in buckets), '%s: not cumulative', name)
        rule(buckets and buckets[-1][0] == math.inf, '%s: no +Inf bucket', name)
        others = {suffix: v for suffix, le, v in samples if suffix != '_bucket'}
        rule(set(others) in (set(), {'_count', '_sum'}), '%s: count without sum', name)
        rule(others.get('_count', buckets[-1][1]) == buckets[-1][1], '%s: count', name)


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
                rule(name not in types, 'family %s comes twice', name)
                family, last, groups, points = name, None, set(), {}
            where = {'TYPE': types, 'UNIT': units, 'HELP': helps}[kind]
            rule(name not in where, '%s of %s twice', kind, name)
            where[name] = rest
            if kind == 'TYPE':
                rule(rest in SUFFIXES, 'type %s', rest)
            if kind == 'UNIT':
                rule(name.endswith('_' + rest), 'unit %s is not in the name %s', rest, name)
            continue
        m = re.match(r'(%s)(?:\{(.*)\})? (\S+)(?: (\S+))?$' % NAME, line)
        if not rule(m, 'line %s', line):
            continue
        name, inside, value, time = m.groups()
        suffix = name[len(family):]
        rule(name.startswith(family) and suffix in SUFFIXES[types[family]], 'sample %s', line)
        found = labels_of(inside or '')
        le = dict(found).get('le')
        rule((le is not None) == (suffix == '_bucket'), 'le: %s', line)
        key = tuple(kv for kv in found if kv[0] != 'le')
        rule(NUMBER.match(value) and (time is None or NUMBER.match(time)), 'numbers: %s', line)
        if key != last:
            rule(key not in groups, 'samples of %s %s do not stand together', family, key)
            groups.add(key)
            last, last_time = key, None
        if time is not None:
            # a histogram is one point of many samples
            later = last_time is None or float(time) > last_time or (
                types[family] == 'histogram' and float(time) == last_time)
            rule(later, 'time goes back: %s', line)
            last_time = float(time)
        rule((name, tuple(found), time) not in seen, 'sample twice: %s', line)
        seen.add((name, tuple(found), time))
        if types[family] in ('counter', 'histogram'):
            rule(float(value) >= 0, 'negative: %s', line)
        if types[family] == 'histogram':
            points.setdefault(key, []).append((suffix, le, float(value)))
        values.setdefault(name, []).append((dict(found), float(value)))
    check_histogram(family, points)
    for name in types:
        if name.endswith(('_seconds', '_bytes')):
            rule(name in units, '%s has no unit', name)
    if not db:
        return
    states = sum(v for _, v in values.get('obs_thread_state_seconds_total', []))
    table = rows(db, 'SELECT total(dur) / 1e9 FROM thread_state')[0][0]
    rule(abs(states - table) < 1e-6 * max(table, 1), 'states: %s s, not %s', states, table)
    calls = sum(v for l, v in values.get('obs_syscall_duration_seconds_count', []))
    rule(calls == rows(db, 'SELECT total(timed) FROM syscall_stat')[0][0], '%s calls', calls)
    requests = {}
    for l, v in values.get('obs_requests_total', []):
        requests[tuple(l.items())] = v
    rule(sum(requests.values()) == rows(db, 'SELECT total(requests) FROM request_window')[0][0], 'requests')


# ---- folded stacks ----


def check_folded(path, db):
    total = 0
    raw = open(path, encoding='utf-8', errors='strict', newline='').read()
    rule(raw.endswith('\n') and raw.strip(), 'empty, or no end of line')
    for line in raw[:-1].split('\n'):
        rule(not line.startswith('#'), 'comment: %s', line)
        # flamegraph.pl: the last word is the number; if the one before is a number too, the
        # line is taken for a difference of two profiles
        m = re.match(r'^(.*)\s+?(\d+(?:\.\d*)?)$', line)
        if not rule(m, 'flamegraph.pl does not take %s', line):
            continue
        rule(not re.match(r'^(.*)\s+?(\d+(?:\.\d*)?)$', m.group(1)), 'two numbers: %s', line)
        # speedscope
        rule(re.match(r'^(.*) (\d+)$', line), 'speedscope does not take %s', line)
        rule(all(m.group(1).split(';')), 'empty frame: %s', line)
        rule(not re.search('[\x00-\x1f\x7f]', line), 'control: %r' % line)
        total += int(m.group(2))
    if db:
        sql = {'calls': 'SELECT total(dur) FROM call WHERE depth = 0', 'cpu': 'SELECT total(weight) FROM sample',
               'offcpu': 'SELECT total(weight) FROM offcpu'}
        table = rows(db, sql.get(path.rpartition('-')[2], 'SELECT total(dur) FROM thread_state'))[0][0]
        rule(total == table, '%d ns, not %d', total, table)


# ---- CSV ----


QUOTED, BARE = re.compile(r'"([^"]*(?:""[^"]*)*)"'), re.compile(r'[^,\r]*')


def cells(text):
    """RFC 4180 to the letter."""
    at, row = 0, []
    while at < len(text):
        if text[at] == '"':
            cell = QUOTED.match(text, at)
            if not rule(cell, 'no end of the quoted cell at %d', at):
                return
            row.append(('"', cell[1].replace('""', '"')))
        else:
            cell = BARE.match(text, at)
            rule('"' not in cell[0] and '\n' not in cell[0], 'quote or end of line in a bare cell')
            row.append(('', cell[0]))
        at = cell.end()
        if text[at:at + 2] == '\r\n':
            yield row
            row, at = [], at + 2
        elif not rule(text[at:at + 1] == ',', 'no comma at %d', at):
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
            rule(quote or re.match(r'-?\d*\.?\d*(e[+-]?\d+)?$', text), 'bare text %s', text)
            rule(not quote or not text.startswith(tuple('=+-@\t\r')), 'formula %s', text)
    if db:
        names = [r[1] for r in rows(db, 'PRAGMA table_info("%s")' % table)]
        rule([t for _, t in lines[0]] == names, 'names of columns')
        rule(len(lines) - 1 == rows(db, 'SELECT count(*) FROM "%s"' % table)[0][0], 'rows')


# ---- OTLP ----

VALUES = {'stringValue': str, 'intValue': str, 'boolValue': bool}


def attributes_of(list_):
    found = {}
    for a in list_:
        rule(set(a) == {'key', 'value'} and len(a['value']) == 1 and a['key'] not in found, 'attribute %s', a)
        (kind, value), = a['value'].items()
        rule(isinstance(value, VALUES.get(kind, ())), 'value %s', a)
        rule(kind != 'intValue' or re.match(r'-?\d+$', value), 'number %s', a)
        found[a['key']] = int(value) if kind == 'intValue' else value
    return found


def check_otlp(path, db):
    spans = {}
    for line in open(path, encoding='utf-8', errors='strict'):
        (resource,) = json.loads(line, object_pairs_hook=one_name)['resourceSpans']
        of = attributes_of(resource['resource']['attributes'])
        rule({'service.name', 'process.pid', 'host.name'} <= set(of), 'resource %s', of)
        (scope,) = resource['scopeSpans']
        rule(set(scope['scope']) == {'name', 'version'} and 0 < len(scope['spans']) <= 1000, 'scope')
        for s in scope['spans']:
            rule(set(s) - {'parentSpanId'} == {'traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano',
                                               'endTimeUnixNano', 'attributes'}, 'fields of %s', s)
            for key, n in ('traceId', 32), ('spanId', 16), ('parentSpanId', 16):
                text = s.get(key, '1' * n)
                rule(re.match('[0-9a-f]{%d}$' % n, text) and int(text, 16), '%s %s', key, text)
            rule(s['spanId'] not in spans, 'span %s twice', s['spanId'])
            rule(s['kind'] in (2, 3) and s['name'], 'kind')
            a = attributes_of(s['attributes'])
            spans[s['spanId']] = (int(s['startTimeUnixNano']), int(s['endTimeUnixNano']), s, of, a)
    for start, end, s, of, a in spans.values():
        rule(start <= end, 'span ends before it starts')
        if 'parentSpanId' not in s:
            continue
        up = spans.get(s['parentSpanId'])
        if rule(up and s['kind'] == 3, 'parent of %s', s):
            rule(up[2]['traceId'] == s['traceId'] and up[0] <= start and end <= up[1] and up[2]['kind'] == 2 and
                 up[3] == of and up[4]['thread.id'] == a['thread.id'], 'parent encloses %s' % s)
    if not db:
        return
    base = int(rows(db, "SELECT value FROM recording WHERE key = 'start_realtime_ns'")[0][0])
    for kind, sql in (2, 'SELECT ts - queued, ts + dur, recv_bytes, send_bytes FROM request'), \
                     (3, 'SELECT ts, ts + dur, recv_bytes, send_bytes FROM upstream'):
        got = sorted((x[0] - base, x[1] - base, x[4]['obs.received_bytes'], x[4]['obs.sent_bytes'])
                     for x in spans.values() if x[2]['kind'] == kind)
        rule(got == sorted(rows(db, sql)), 'spans of kind %d are not the rows of the table', kind)


# ---- pprof ----


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def message(data, texts):
    """Fields of a message: number -> values; those of texts have a length."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        rule(tag & 7 == (2 if tag >> 3 in texts else 0), 'wire type of field %d', tag >> 3)
        if tag & 7 == 2:
            rule(at + value <= len(data), 'a field ends after its message')
            value, at = data[at:at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


def check_pprof(path, db):
    top = message(open(path, 'rb').read(), {1, 2, 4, 5, 6})
    rule(set(top) <= {1, 2, 4, 5, 6, 9, 10, 13}, 'fields %s' % sorted(top))
    strings = [s.decode('utf-8') for s in top[6]]
    types = [message(t, ()) for t in top[1]]
    rule(strings[0] == '', 'the first string')
    rule([[strings[t[k][0]] for k in (1, 2)] for t in types] == [['samples', 'count'], ['cpu', 'nanoseconds']], 'types')
    rule(strings[top[13][0]].startswith('recording: '), 'completeness')
    functions = [message(x, ()) for x in top.get(5, [])]
    names = {f[1][0]: strings[f[2][0]] for f in functions}
    lines = {m[1][0]: message(m[4][0], ())[1][0] for m in (message(x, {4}) for x in top.get(4, []))}
    rule(all(names.values()) and set(lines.values()) <= set(names) and 0 not in lines, 'functions of locations')
    samples = [message(x, {3}) for x in top[2]]
    for s in samples:
        rule(set(s.get(1, [])) <= set(lines) and len(s[2]) == 2, 'sample %s', s)
        labels = {strings[m[1][0]]: strings[m[2][0]] for m in (message(x, ()) for x in s[3])}
        rule({'process', 'thread'} <= set(labels) <= {'process', 'thread', 'stack'}, 'labels %s', labels)
    if db:
        sums = tuple(sum(s[2][k] for s in samples) for k in (0, 1))
        places = {f[1][0]: (strings[f[2][0]], strings[f[4][0]]) for f in functions if 4 in f}
        numbers = {x[1][0]: message(x[4][0], ()).get(2, [0])[0] for x in (message(x, {4}) for x in top.get(4, []))}
        known = rows(db, "SELECT name || iif(kernel, '_[k]', ''), file, line FROM v_frame WHERE file IS NOT NULL")
        rule({k for k, v in numbers.items() if v} == set(places), 'functions with a line are not those with a file')
        rule({places[k] + (numbers[k],) for k in places} <= set(known), 'file and line of %s', places)
        rule({name for name, _ in places.values()} == {name for name, _, _ in known}, 'functions with a file')
        rule(sums == rows(db, 'SELECT count(*), sum(weight) FROM sample')[0], 'sums %s', sums)


form, database = sys.argv[1:3]
database = sqlite3.connect(database) if database != '-' else None
failed = False
for path in sys.argv[3:]:
    bad.clear()
    globals()['check_' + form.partition('-')[0]](path, database)
    print(('not ok %s: ' % path + '\n#  '.join(bad)) if bad else 'ok %s obeys the rules' % path)
    failed = failed or bool(bad)
sys.exit(failed)
