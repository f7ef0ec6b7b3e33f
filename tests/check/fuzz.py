# SPDX-License-Identifier: GPL-2.0-or-later
"""fuzz.py PACK OBSANALYZE ROUNDS: recordings that are sound on the outside and nonsense inside.

Numbers in the text recordings are replaced by hostile ones, lines are dropped, doubled and
swapped; every command must come to an end with a documented status. The seed is fixed."""
import os
import random
import re
import subprocess
import sys
import tempfile

pack, obsanalyze, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(20261121)
hostile = ['0', '1', '2', '255', '65535', '2147483647', '4294967295', '9223372036854775807',
           '18446744073709551615', '100', '5', '77']
here = os.path.dirname(os.path.abspath(__file__))
texts = []
for name in sorted(os.listdir(os.path.join(here, '..', '..', 'testdata'))):
    if name.endswith('.txt'):
        texts.append(open(os.path.join(here, '..', '..', 'testdata', name)).read().split('\n'))


bad = tried = 0


def nonsense():
    lines = list(rng.choice(texts))
    for _ in range(rng.randint(1, 30)):
        i = rng.randrange(len(lines))
        what = rng.random()
        if what < 0.6:
            found = list(re.finditer(r'(?<![\w.])\d[\d_]*(?![\w.])', lines[i]))
            if found and not lines[i].startswith('@'):
                m = rng.choice(found)
                lines[i] = lines[i][:m.start()] + rng.choice(hostile) + lines[i][m.end():]
        elif what < 0.75:
            del lines[i]
            lines.append('')
        elif what < 0.9:
            lines.insert(i, lines[i])
        else:
            j = rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
    return '\n'.join(lines)


with tempfile.TemporaryDirectory() as work:
    good = os.path.join(work, 'good')
    other = next(t for t in texts if any(' clock ' in line for line in t))
    open(os.path.join(work, 'other-host'), 'w').write('@recorder\n1 0 info text="boot_id=x"\n' + '\n'.join(other))
    subprocess.run([pack, os.path.join(work, 'other-host'), good], check=True)
    commands = [['report'], ['verify'], ['dump', '--json'], ['info'], ['report', '--json'],
                ['report', '--from', '1us', '--to', '200ms', '--pid', '100,1'], ['dump', '--comm', '*', '--to', '1s'],
                ['cut', '--comm', '[a-s]*', '-o', '-'], ['cut', '--from', '5ms', '--to', '77ms', '-o', '-'],
                ['redact', '--names', '-o', '-'], ['migrate', '-o', '-'], ['symbols', '--debug', '.', '-o', '-'], ['repair', '-o', '-'], ['merge', '-o', '-', good],
                ['export', '-f', 'json', '--around', '10ms'], ['request', 'slowest'], ['request', 'slowest', good],
                ['compare', '--force', good], ['report', '-a', 'pauses,hops,shift', '--from', '1ms']]
    formats = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../analyze/export/exports.def')
    commands += [['export', '-f', name] for name in re.findall(r'^EXPORT\("([a-z-]*)"', open(formats).read(), re.M)]
    text, obs = os.path.join(work, 'text'), os.path.join(work, 'obs')
    for r in range(rounds):
        open(text, 'w').write(nonsense())
        if subprocess.run([pack, text, obs], capture_output=True).returncode != 0:
            continue
        tried += 1
        command = commands[r % len(commands)]
        try:
            p = subprocess.run([obsanalyze] + command + [obs], capture_output=True, timeout=300)
            status = p.returncode
        except subprocess.TimeoutExpired:
            status, p = 'hang', None
        made = b'OBSREC' in (p.stdout if p else b'')[:32]
        if status == 0 and made:  # what a verb makes can be read like others
            open(text + '.made', 'wb').write(p.stdout)
            again = subprocess.run([obsanalyze, 'report', text + '.made'], capture_output=True, timeout=300)
            if again.returncode not in (0, 1, 3) or again.stderr.count(b'\n') > 1:
                status, p = 'made a recording that ends with %d' % again.returncode, again
        if status not in (0, 1, 3) or (status == 1 and p.stderr.count(b'\n') != 1):
            bad += 1
            kept = '/tmp/fuzz-%d.txt' % r
            open(kept, 'w').write(open(text).read())
            print('not ok', command, 'status', status, 'on', kept)
            print('#', (p.stderr if p else b'')[-1500:].decode(errors='replace').replace('\n', '\n# '))
if tried < rounds / 2:
    bad += 1
    print('not ok only %d of %d texts could be packed' % (tried, rounds))
if not bad:
    print('ok %d nonsensical recordings end with a documented status' % tried)
sys.exit(1 if bad else 0)
