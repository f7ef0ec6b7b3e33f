#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording is on a file system that stops to respond (FUSE): a signal ends obsrec in bounded time, and it says which.
. "$(dirname "$0")/lib.sh"
mkdir "$work/out" "$work/flight" "$work/sync"
if [ ! -c /dev/fuse ] && ! modprobe fuse 2>/dev/null; then
	echo "ok an output that does not respond # SKIP no /dev/fuse"
	exit 0
fi
cleanup() {
	jobs -p >"$work/jobs"
	xargs -r kill -KILL <"$work/jobs" 2>/dev/null
	umount -l "$work/out" "$work/flight" "$work/sync" 2>/dev/null
	remove_work
}
gone() { ! kill -0 "$1" 2>/dev/null; }
serve() { # directory: mounts it; $server is its server
	"$top/.output/fuse_hang" "$work/$1" "$(command -v sleep)" 600 >"$work/$1.said" &
	server=$!
	until_true [ -s "$work/$1.said" ]
}
stops() { # directory, signal, word: the server no longer answers
	kill "-$2" $server
	until_true grep -q "$3" "$work/$1.said"
}
ends() { # what, seconds: SIGTERM ends $recorder; status is its exit status
	began=$(date +%s%N)
	kill -TERM $recorder
	holds "$1: SIGTERM ends it" until_true gone $recorder
	took=$((($(date +%s%N) - began) / 1000000))
	if ! gone $recorder; then # what hangs ends with the server
		kill -KILL $server
		kill -KILL $recorder
	fi
	wait $recorder
	status=$?
	holds "$1: within $2 s ($took ms)" [ $took -lt $(($2 * 1000 * slow)) ]
}
has_writer() { pgrep -P "$1" obsrec-output >"$work/writer"; }

dd if=/dev/zero of=/dev/null bs=1 status=none &
flood=$!
serve out
"$obsrec" -q -p $flood -o "$work/out/a.obs" 2>"$work/err" &
recorder=$!
until_flying $recorder
sleep 1
stops out USR1 hung
sleep 1
has_writer $recorder
ends "writes hang" 20
is "writes hang: exit status" $status 1
is "writes hang: sentence" "$(cat "$work/err")" \
	"obsrec: cannot write the recording $work/out/a.obs: its file system does not respond"
holds "writes hang: what wrote is left" kill -0 "$(cat "$work/writer")"
kill -KILL $server
holds "it ends with its server" until_true gone "$(cat "$work/writer")"

serve flight
"$obsrec" --last 60s --last 1M -p $flood -o "$work/flight/f.obs" 2>"$work/err" &
recorder=$!
until_flying $recorder
sleep 1
kill -USR2 $recorder
holds "flight mode: a snapshot can be written" until_true grep -q 'wrote .*-1.obs' "$work/err"
stops flight USR1 hung
kill -USR2 $recorder
until_true grep -q 'f-.*does not respond' "$work/err"
says "flight mode: sentence of a snapshot" "$(cat "$work/err")" 'cannot create the recording .*f-.*-2.obs: its file system does not respond'
holds "flight mode: it goes on" kill -0 $recorder
ends "flight mode" 20
is "flight mode: exit status" $status 1
says "flight mode: sentence of the last one" "$(tail -n 1 "$work/err")" 'f-.*-3.obs: its file system does not respond'
kill -KILL $server

# the disk does not take what the file system has
serve sync
"$obsrec" -q -p $flood -o "$work/sync/a.obs" 2>"$work/err" &
recorder=$!
until_flying $recorder
stops sync USR2 mute
sleep 1
ends "its sync hangs" 35
is "its sync hangs: exit status" $status 1
says "its sync hangs: sentence" "$(cat "$work/err")" 'cannot write to its disk the recording .*: its file system does not respond'
kill -KILL $server
kill $flood
exit $bad
