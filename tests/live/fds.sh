#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a descriptor means at the time of each call: opened before the recording, inherited, duplicated,
# used again for something else, closed by exec, below a directory, on a socket.
. "$(dirname "$0")/lib.sh"
mkdir "$work/d"
(ulimit -Sn 333 && exec "$top/.output/groupwork" descriptors "$work/d") 2>/dev/null &
program=$!
until_true [ -e "$work/d/ready" ]
"$obsrec" -q -p $program -o "$work/fds.obs" &
rec=$!
until_begun "$work/fds.obs"
touch "$work/d/go"
wait $program
kill -INT $rec
wait $rec
"$obsanalyze" load -o "$work/db" "$work/fds.obs"

# of the call that moved so many bytes: the column of what its descriptor meant then
meant() { # bytes, column
	ask "$work/db" "SELECT f.$2 FROM syscall s JOIN thread t USING(tid) JOIN fd f ON f.pid=t.pid AND f.fd=s.fd
		AND f.ts <= s.ts + s.dur AND (f.end IS NULL OR f.end > s.ts) WHERE s.ret=$1
		AND (s.nr IN (SELECT nr FROM syscall_name WHERE name IN ('read', 'recvfrom')))"
}
is "the limit of open files" "$(ask "$work/db" "SELECT files_limit FROM process WHERE pid=$program")" 333
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
