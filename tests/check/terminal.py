# SPDX-License-Identifier: GPL-2.0-or-later
"""terminal.py OBSANALYZE PACK DIR: loading at a terminal shows progress, and breaks off cleanly; reports keep to
its width, and are coloured there alone."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

# who started the tests may have chosen to ignore it, which programs inherit
signal.signal(signal.SIGINT, signal.default_int_handler)

obsanalyze, pack, work = sys.argv[1:4]
text, obs = os.path.join(work, 'long.txt'), os.path.join(work, 'long.obs')
with open(text, 'w') as f:
    f.write('@recorder\n900 0 info text="targets=all"\n900 0 info text="groups=core,syscalls"\n@cpu 0\n')
    for i in range(1500000):
        if i % 10000 == 0:
            f.write('@block\n')
        f.write('+%d %d syscall nr=read fd=3 ret=%d dur=%d\n' % (900 + i * 7919 % 97, 7 + i % 3, i % 65536, i * 31 % 4001))
subprocess.run([pack, text, obs], check=True)
os.unlink(text)
env = dict(os.environ, XDG_CACHE_HOME=os.path.join(work, 'cache2'))


def read_all(master):
    seen = b''
    while select.select([master], [], [], 60)[0]:
        try:
            got = os.read(master, 65536)
        except OSError:
            break
        if not got:
            break
        seen += got
    os.close(master)
    return seen


def shown(command, columns, **more):
    """What stands on a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    plain = {k: v for k, v in env.items() if k != 'NO_COLOR'}
    p = subprocess.Popen([obsanalyze] + command, stdout=slave, stderr=subprocess.DEVNULL, env=dict(plain, **more), cwd=work)
    os.close(slave)
    seen = read_all(master)
    p.wait(60)
    return seen.decode().replace('\r\n', '\n')


def begun(p, command, since):
    """Will it handle a signal? An export does not; the others do when they begin to read."""
    if command[0] == 'export':
        return time.monotonic() > since + 0.1
    with open('/proc/%d/status' % p.pid, encoding='utf-8') as f:
        caught = re.search(r'^SigCgt:\s*([0-9a-f]+)', f.read(), re.M)
    return p.poll() is not None or bool(caught and int(caught[1], 16) >> (signal.SIGINT - 1) & 1)


def held(command):
    """Starts it with standard error at a terminal, and stops it at once; again, if it has ended before that."""
    before = files()
    for _ in range(20):
        p, master = start(command)
        p.send_signal(signal.SIGSTOP)
        if p.poll() is None:
            break
        os.close(master)
        for made in files() - before:
            os.unlink(made)
    return p, master


def files():
    return {os.path.join(d, f) for d, _, names in os.walk(work) for f in names}


def start(command):
    master, slave = pty.openpty()
    p = subprocess.Popen([obsanalyze] + command, stdout=subprocess.DEVNULL, stderr=slave, env=env, cwd=work)
    os.close(slave)
    since = time.monotonic()
    while p.poll() is None and not begun(p, command, since):
        time.sleep(0.001)
    return p, master


def run(command, stop=None):
    """Runs with standard error at a terminal, and holds it up for a while; stop: signal sent meanwhile."""
    p, master = held(command)
    time.sleep(0.6)
    if stop:
        p.send_signal(stop)
    p.send_signal(signal.SIGCONT)
    seen = read_all(master)
    return p.wait(60), seen


def check(good, name, what):
    print('%s %s' % ('ok' if good else 'not ok', name))
    if not good:
        print('#', repr(what)[:600])


def broken_off(status, seen):
    """By the program, or by the signal itself when it came before anything had begun."""
    return (status == 1 and b'interrupted' in seen) or status in (-signal.SIGINT, -signal.SIGTERM)


def left():
    return sorted(f for d, _, files in os.walk(work) for f in files if '.part-' in f or f.startswith('long.obs.'))


status, seen = run(['load', '-o', 'long.db', 'long.obs'])
check(status == 0 and b'loading: ' in seen and b'million records/s' in seen and b's left' in seen,
      'progress with rate and remaining time', (status, seen))
check(seen.endswith(b'\r\x1b[K'), 'the line is taken away', seen[-80:])
os.unlink(os.path.join(work, 'long.db'))
for number in signal.SIGINT, signal.SIGTERM:
    status, seen = run(['load', 'long.obs'], number)
    check(broken_off(status, seen) and not left(), '%s leaves no half database' % number.name,
          (status, seen, left()))
status, seen = run(['report', 'long.obs'], signal.SIGINT)
check(broken_off(status, seen) and not left(), 'nor in the cache', (status, seen, left()))
status, seen = run(['cut', '--from', '1ms', '-o', 'long.obs.cut', 'long.obs'], signal.SIGINT)
check(broken_off(status, seen) and not left(), 'nor half a recording', (status, seen, left()))

subprocess.run([obsanalyze, 'load', '-o', 'long.db', 'long.obs'], cwd=work, check=True)
for command in (['cut', '--from', '1ms', '-o', 'long.obs.cut', 'long.obs'],
                ['export', '-f', 'csv', '-t', 'syscall', '-o', 'long.obs.csv', 'long.db'],
                ['export', '-o', 'long.obs.json', 'long.db']):
    for number in signal.SIGINT, signal.SIGKILL:
        status, seen = run(command, number)
        check(status != 0 and not left(), '%s leaves nothing of %s' % (number.name, command[0]), (status, seen, left()))
        for f in left():
            os.unlink(os.path.join(work, f))
os.unlink(os.path.join(work, 'long.db'))

demo = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'testdata', 'demo.obs'))
reports = {}
for what in ['report', '-v', demo], ['compare', '-v', '--force', demo, demo]:
    for columns in 60, 80, 120, 200:
        text = reports[what[0], columns] = re.sub('\x1b\\[[0-9;]*m', '', shown(what, columns))
        # the command that was recorded stays one line, to be copied
        lines = [line for line in text.split('\n') if not line.startswith(('Command: ', 'Recording '))]
        widest = max(lines, key=len)
        most = min(max(columns, 80), 160)
        check(len(lines) > 30 and len(widest) <= most, '%s on %d columns takes at most %d' % (what[0], columns, most), widest)
    check(len(reports[what[0], 120].split('\n')) < len(reports[what[0], 80].split('\n')), '%s uses the width' % what[0], '')
    check('\x1b[1m' in shown(what, 80), '%s is coloured on a terminal' % what[0], '')
    check('\x1b[1m' in shown(what, 80, NO_COLOR=''), 'and with an empty NO_COLOR', '')
    check('\x1b' not in shown(what, 80, NO_COLOR='1'), 'not with NO_COLOR', '')
    for form in '--markdown', '--json':
        check('\x1b' not in shown(what + [form], 80), 'nor with ' + form, '')
    for columns, most in ('80', 80), ('132', 132), ('20', 80), ('1000', 160), ('x', 100):
        text = subprocess.run([obsanalyze] + what, capture_output=True, env=dict(env, COLUMNS=columns), cwd=work).stdout.decode()
        widest = max((line for line in text.split('\n') if not line.startswith(('Command: ', 'Recording '))), key=len)
        check(min(most, 132) - 12 <= len(widest) <= most, '%s with COLUMNS=%s fills %d' % (what[0], columns, most), widest)
    piped = subprocess.run([obsanalyze] + what, capture_output=True, env={k: v for k, v in env.items() if k != 'NO_COLOR'})
    check(b'\x1b' not in piped.stdout and len(piped.stdout) > 2000, 'nor in a pipe', piped.stdout[:80])
