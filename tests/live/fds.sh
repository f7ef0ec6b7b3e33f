#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a descriptor means at the time of each call: opened before the recording, inherited, duplicated,
# used again for something else, closed by exec, below a directory, on a socket.
. "$(dirname "$0")/lib.sh"
cat >"$work/descriptors.py" <<'END'
# reads so many bytes from each that the size of the read names the case
import os, socket, sys, time
d = sys.argv[1]
for name in 'before', 'dupped', 'reused', 'below/deep':
    os.makedirs(os.path.dirname(d + '/' + name), exist_ok=True)
    open(d + '/' + name, 'w').write('x' * 4096)
before = os.open(d + '/before', os.O_RDONLY)
server = socket.create_server(('127.0.0.1', 0))
early = socket.create_connection(server.getsockname())
early_accepted = server.accept()[0]
open(d + '/ready', 'w').close()
while not os.path.exists(d + '/go'):
    time.sleep(0.02)
os.read(before, 101)
early.send(b'e' * 103)
early_accepted.recv(103)
first = os.open(d + '/dupped', os.O_RDONLY)
second = os.dup(first)
os.close(first)
os.read(second, 107)
again = os.open(d + '/reused', os.O_RDONLY)  # takes the number of first
assert again == first
os.read(again, 109)
if os.fork() == 0:
    os.read(before, 113)
    os.chdir(d + '/below')
    os.read(os.open('deep', os.O_RDONLY), 127)
    os._exit(0)
os.wait()
late = socket.create_connection(server.getsockname())
accepted = server.accept()[0]
copy = os.dup(accepted.fileno())
late.send(b'l' * 131)
os.read(copy, 131)
at = os.open(d, os.O_RDONLY)
os.read(os.open('below/deep', os.O_RDONLY, dir_fd=at), 137)
r, w = os.pipe()
os.write(w, b'p' * 139)
os.read(r, 139)
os.set_inheritable(before, True)
os.execvp('dd', ['dd', 'if=/dev/fd/%d' % before, 'of=/dev/null', 'bs=149', 'count=1', 'status=none'])
END
python3 "$work/descriptors.py" "$work/d" &
program=$!
mkdir -p "$work/d"
while [ ! -e "$work/d/ready" ]; do sleep 0.05; done
"$obsrec" -q -p $program -d 6 -o "$work/fds.obs" &
rec=$!
sleep 2
touch "$work/d/go"
wait $program
wait $rec
"$obsanalyze" load -o "$work/db" "$work/fds.obs"

# of the call that moved so many bytes: the column of what its descriptor meant then
meant() { # bytes, column
	ask "$work/db" "SELECT f.$2 FROM syscall s JOIN thread t USING(tid) JOIN fd f ON f.pid=t.pid AND f.fd=s.fd
		AND f.ts <= s.ts + s.dur AND (f.end IS NULL OR f.end > s.ts) WHERE s.ret=$1
		AND (s.nr IN (SELECT nr FROM syscall_name WHERE name IN ('read', 'recvfrom')))"
}
is "opened before the recording" "$(meant 101 path)" "$work/d/before"
is "a connection accepted before the recording" "$(meant 103 role)" accepted
is "a duplicate whose original is closed" "$(meant 107 path)" "$work/d/dupped"
is "a number that is used again" "$(meant 109 path)" "$work/d/reused"
is "inherited by fork" "$(meant 113 path)" "$work/d/before"
is "relative to the working directory" "$(meant 127 path)" "$work/d/below/deep"
is "a duplicate of an accepted socket" "$(meant 131 role)" accepted
says "with its address" "$(meant 131 local)" '^127.0.0.1:[0-9]'
is "relative to a directory's descriptor" "$(meant 137 path)" "$work/d/below/deep"
is "a pipe" "$(meant 139 kind)" pipe
is "descriptors closed by exec are closed" "$(ask "$work/db" "SELECT count(*) FROM fd WHERE pid=$program AND kind='socket'
	AND end IS NULL")" 0
is "that which exec keeps is open until the end" "$(ask "$work/db" "SELECT count(DISTINCT fd) FROM fd WHERE pid=$program
	AND path='$work/d/before' AND ts=0")" 1
