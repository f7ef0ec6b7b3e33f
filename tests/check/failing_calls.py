#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""failing_calls.py SECONDS|RUNSx [SEED [COMMAND [FAULT]]]: allocations, writes and reads that fail.

Each command runs with .output/faulty.so (tests/programs/faulty.c): its first and last calls fail, and a sample of the
others, for so many seconds or runs ("90x"). The command ends with its usual result, or with status 1 and one sentence. It leaves
no part of a file, and no cache that changes a later result. The seed is new in each run and printed."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

top = os.getcwd()
sub = os.environ.get('SUB', '')
pack = f'{top}/.output/pack'
obsanalyze = f'{top}/.output{sub}/obsanalyze' if sub else f'{top}/obsanalyze'
runs = int(sys.argv[1][:-1]) if sys.argv[1].endswith('x') else sys.maxsize
seconds = float(sys.argv[1]) if runs == sys.maxsize else float('inf')
seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
only = sys.argv[3:]
pick = random.Random(seed)
work = tempfile.mkdtemp(prefix='obsfaults.')
COMMANDS = [
    'report --no-cache shop.obs',
    'report --no-cache -v usage.obs',
    'report shop.obs',
    'report --no-cache --html OUT shop.obs',
    'report --no-cache --json -o OUT calls.obs',
    'load -o OUT two-cpus.obs',
    'load --raw -o OUT shop.obs',
    'export --no-cache -o OUT shop.obs',
    'export --no-cache -f csv -t thread_state -o OUT shop.obs',
    'export --no-cache -f otlp -o OUT usage.obs',
    'compare --force --no-cache -o OUT shop.obs usage.obs',
    'cut --from 0 -o OUT shop.obs',
    'merge -o OUT shop.obs usage.obs',
    'redact --key key -o OUT shop.obs',
    'repair -o OUT shop.obs',
    'verify shop.obs',
    'dump --json shop.obs',
    'sql --csv --no-cache shop.obs SELECT\v*\vFROM\vthread_state',
]
inputs = {}


def run(command, fault, count=''):
    """Its status, standard output, error output, the files that it left, and its directory."""
    place = tempfile.mkdtemp(dir=work)
    for name, path in inputs.items():
        os.symlink(path, f'{place}/{name}')
    os.mkdir(f'{place}/tmp')
    env = {**os.environ, 'FAULT': fault, 'FAULT_COUNT': count, 'LD_PRELOAD': f'{top}/.output/faulty.so',
           'XDG_CACHE_HOME': f'{place}/cache', 'TMPDIR': f'{place}/tmp',
           'ASAN_OPTIONS': 'verify_asan_link_order=0:exitcode=99:allocator_may_return_null=1'}
    if not count:
        del env['FAULT_COUNT']
    words = [w.replace('\v', ' ') for w in command.split(' ')]
    p = subprocess.run([obsanalyze] + words, cwd=place, env=env, capture_output=True, timeout=120, check=False)
    left = sorted(f for f in os.listdir(place) + [f'tmp/{f}' for f in os.listdir(f'{place}/tmp')]
                  if f not in inputs and f not in ('tmp', 'cache'))
    return p.returncode, p.stdout, p.stderr.decode(errors='replace'), left, place


def content(place):
    try:
        with open(f'{place}/OUT', 'rb') as f:
            return f.read()
    except FileNotFoundError:
        return b''


class Usual:
    """What a command does without faults."""

    def __init__(self, command):
        self.command = command
        counts = f'{work}/count'
        self.status, self.out, said, self.left, place = run(command, 'none:0', counts)
        self.said = said.split('\n')
        self.content = content(place)
        with open(counts) as f:
            self.allocations, self.writes = map(int, f.read().split())
        again = run(command, 'none:0')
        self.same = (again[1], content(again[4])) == (self.out, self.content)
        if self.status != 0:
            raise SystemExit(f'not ok {command}: status {self.status}: {said}')
        shutil.rmtree(place)
        shutil.rmtree(again[4])

    def trial(self, fault):
        """What is wrong with the end of a run with this fault, or None."""
        try:
            status, out, said, left, place = run(self.command, fault)
        except subprocess.TimeoutExpired:
            return f'{self.command} {fault}: does not end'
        try:
            wrong = self.judge(status, out, said, left, place)
            if not wrong and os.path.exists(f'{place}/cache'):
                wrong = self.cached(place)
        finally:
            shutil.rmtree(place)
        return f'{self.command} {fault}: {wrong}' if wrong else None

    def judge(self, status, out, said, left, place):
        if status == 0:
            if left != self.left:
                return f'status 0 with the files {left}'
            if b'pictures are missing' in content(place):
                return None  # a page without a plot, and with the reason
            if self.same and (out != self.out or content(place) != self.content):
                return f'status 0 and another result: {said}'
            return None
        lines = [s for s in said.strip().split('\n') if s not in self.said]
        if status != 1:
            return f'status {status}: {said[:3000]}'
        if len(lines) != 1 or not lines[0].startswith('obsanalyze: ') or len(lines[0]) < 20:
            return f'no sentence, but: {said[:1000]!r}'
        return f'leaves {left}' if left else None

    def cached(self, place):
        env = {**os.environ, 'XDG_CACHE_HOME': f'{place}/cache'}
        p = subprocess.run([obsanalyze] + self.command.split(' '), cwd=place, env=env, capture_output=True, check=False)
        return None if (p.returncode, p.stdout) == (0, self.out) else f'a cache that changes the result: {p.stderr}'


def spread(n, near):
    """The first and the last numbers up to n, then others at random, without an end."""
    yield from sorted({i for i in range(1, near + 1) if i <= n} | {i for i in range(n - near + 1, n + 1) if i > 0})
    while n > 0:
        # early, middle and late: by size and by logarithm
        yield pick.randint(1, n) if pick.random() < 0.5 else int(n ** pick.random())


def faults(usual):
    """Faults of a command in turns: allocations, writes, reads."""
    allocations, writes = spread(usual.allocations, 1), spread(usual.writes, 2)
    while True:
        for _ in range(3):
            yield f'alloc:{next(allocations)}{pick.choice(["", "+"])}'
        if usual.writes:
            yield f'{pick.choice(["ENOSPC", "EIO", "short"])}:{next(writes)}{pick.choice(["", "+"])}'
        yield f'EINTR:{pick.randint(2, 9)}'


def trials():
    usual = [Usual(c) for c in COMMANDS if not only or only[0] in c]
    if len(only) > 1:
        yield from ((u, f) for u in usual for f in only[1:])
        return
    rounds = [(u, faults(u)) for u in usual]
    ends = time.time() + seconds
    done = 0
    while time.time() < ends and done < runs:
        for u, f in rounds:
            if time.time() < ends and done < runs:
                yield u, next(f)
                done += 1


def main():
    print(f'# seed {seed}')
    for name in ('shop', 'usage', 'calls', 'two-cpus'):
        inputs[f'{name}.obs'] = f'{work}/{name}.obs'
        subprocess.run([pack, f'testdata/{name}.txt', f'{work}/{name}.obs'], check=True)
    inputs['key'] = f'{work}/key'
    with open(inputs['key'], 'w') as f:
        f.write('a secret for the tests of faults')
    tried, bad, todo = 0, [], trials()
    with ThreadPoolExecutor(2) as pool:
        while batch := [t for t in (next(todo, None) for _ in range(16)) if t]:
            tried += len(batch)
            bad += [w for w in pool.map(lambda t: t[0].trial(t[1]), batch) if w]
    shutil.rmtree(work, ignore_errors=True)
    for wrong in bad[:40]:
        print('not ok', wrong.replace('\n', '\n#   '))
    if not bad:
        print(f'ok {tried} runs with faults end in their usual result or a sentence (seed {seed})')
    return bool(bad)


sys.exit(main())
