#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Limits, stubborn commands, silent readers and low priority: each ends with the right reason.
. "$(dirname "$0")/lib.sh"
bounded() { timeout -s KILL $((30 * slow)) "$@"; }

# a command that ignores SIGTERM
bounded "$obsrec" -q -d 1 -o "$work/term.obs" -- sh -c 'trap "" TERM; exec sleep 600' 2>"$work/err"
is "a command that ignores SIGTERM: exit status" $? 137
says "a command that ignores SIGTERM: sentence" "$(cat "$work/err")" 'did not end within 5 s of SIGTERM: SIGKILL sent'
holds "a command that ignores SIGTERM: complete" sh -c "'$obsanalyze' verify '$work/term.obs' >/dev/null"
"$obsrec" -q -o "$work/pipe.obs" -- sh -c 'kill -PIPE $$; exit 3'
is "the command has the usual action of SIGPIPE" $? 141

# some supervisors start programs so
bounded env --ignore-signal=CHLD "$obsrec" -q -o "$work/ignored.obs" -- sh -c 'exit 7'
is "SIGCHLD is ignored: the end of the command is noticed" $? 7

# a flood of system calls
dd if=/dev/zero of=/dev/null bs=1 status=none &
flood=$!
sh -c 'ulimit -f 200; exec "$@"' sh timeout -s KILL $((60 * slow)) "$obsrec" -q -p $flood -d 40 -o "$work/limit.obs" 2>"$work/err"
is "a limit of the file size: exit status" $? 1
says "a limit of the file size: sentence" "$(cat "$work/err")" 'File too large'
"$obsanalyze" verify "$work/limit.obs" >"$work/verify"
is "a limit of the file size: readable" $? 3
says "a limit of the file size: records are there" "$(tail -n 1 "$work/verify")" ' [0-9]\{4,\} records'
{ bounded "$obsrec" -q -p $flood -d 3 -o - 2>"$work/err"; echo $? >"$work/status"; } | until_true [ -s "$work/status" ]
is "a reader that does not read: exit status" "$(cat "$work/status")" 1
says "a reader that does not read: sentence" "$(cat "$work/err")" 'cannot write the recording: Connection timed out'

# messages that are not read: a pipe that is full
mkfifo "$work/messages"
sleep 600 <"$work/messages" &
reader=$!
dd if=/dev/zero of="$work/messages" bs=4096 count=16 status=none
"$obsrec" --last 60s -p $flood -o "$work/unread.obs" 2>"$work/messages" &
recorder=$!
until_flying $recorder
# shellcheck disable=SC2144 # one file
unread() { [ -s "$work"/unread-*-"$1".obs ]; }
kill -USR2 $recorder
holds "messages that are not read: a snapshot is written" until_true unread 1
gone() { ! kill -0 "$1" 2>/dev/null; }
began=$(date +%s%N)
kill -TERM $recorder
holds "messages that are not read: SIGTERM ends it" until_true gone $recorder
took=$((($(date +%s%N) - began) / 1000000))
kill -KILL $recorder 2>/dev/null
wait $recorder
is "messages that are not read: exit status" $? 0
holds "messages that are not read: within 5 s ($took ms)" [ $took -lt $((5000 * slow)) ]
kill $reader
kill $flood

sh -c 'ulimit -n 20; exec "$@"' sh "$obsrec" -q -a -d 0.1 -o "$work/files.obs" 2>"$work/err"
is "few open files: exit status" $? 2
says "few open files: sentence" "$(cat "$work/err")" 'the limit of open files is 20'
sh -c 'ulimit -S -n 20; exec "$@"' sh "$obsrec" -q -a -d 0.1 -o "$work/files.obs" 2>"$work/err"
is "a soft limit of open files is raised: exit status" $? 0

# priority
nice -n 19 "$obsrec" -o "$work/nice.obs" -- awk '{ print $19 }' /proc/self/stat >"$work/out" 2>"$work/err"
is "nice 19: exit status" $? 0
says "nice 19: sentence" "$(cat "$work/err")" 'nice 19): raised to nice 0'
is "nice 19: the command keeps it" "$(cat "$work/out")" 19

# at nice 19 with four burners: nothing was recorded in 15 s
burners=
for _ in 1 2 3 4; do
	sh -c 'while :; do :; done' &
	burners="$burners $!"
done
sh -c 'while :; do read -r _ </proc/self/stat; done' &
target=$!
bounded nice -n 19 "$obsrec" -p $target -d 3 -o "$work/burners.obs" 2>"$work/err"
is "nice 19, four burners: exit status" $? 0
# shellcheck disable=SC2086 # a list
kill $burners $target
says "nice 19, four burners: sentence" "$(cat "$work/err")" 'nice 19): raised to nice 0'
n=$(ask "$work/burners.obs" "SELECT count(*) FROM v_syscall WHERE tid = $target")
holds "nice 19, four burners: calls of the target ($n)" [ "$n" -gt 100 ]

# snapshots whose names exist
"$obsrec" -q --last 60s -a -e process -o "$work/snap.obs" &
recorder=$!
until_flying $recorder
now=$(date +%s)
for s in $(seq 0 $((90 * slow))); do : >"$work/snap-$(date -u -d "@$((now + s))" +%Y%m%dT%H%M%SZ)-1.obs"; done
kill -USR2 $recorder
# shellcheck disable=SC2144 # one file
snapshot() { [ -s "$work"/snap-*-2.obs ]; }
holds "a snapshot takes the next free number" until_true snapshot
find "$work" -name 'snap-*-1.obs' -size 0 -delete
kill -INT $recorder
wait $recorder
is "flight mode: exit status" $? 0

# several ways to choose
for name in pidA pidB named other; do
	cp "$(command -v sleep)" "$work/$name"
	"$work/$name" 600 &
	eval "$name=$!"
	until_true grep -q $name /proc/$!/comm
done
# shellcheck disable=SC2154 # set by eval
"$obsrec" -q -p " $pidA $pidB
" --comm 'nam*' -d 1 -o "$work/mixed.obs"
is "blanks between numbers, and a name: exit status" $? 0
for name in pidA pidB named; do
	is "$name is recorded" "$(ask "$work/mixed.obs" "SELECT count(*) FROM thread WHERE wall IS NOT NULL AND comm = '$name'")" 1
done
is "another is not" "$(ask "$work/mixed.obs" "SELECT count(*) FROM thread WHERE wall IS NOT NULL AND comm = 'other'")" 0
# shellcheck disable=SC2154
kill "$pidA" "$pidB" "$named" "$other"
says "a stray argument: sentence" "$("$obsrec" -p 1 2 2>&1)" "unexpected argument '2' (several pids: -p 1,2; a command: put it after --)"
