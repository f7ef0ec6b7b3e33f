#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording is on a file system that stops to respond (FUSE): a signal is answered with a sentence, and the next one ends obsrec.
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
answers() { # what, path: SIGTERM is answered within 1.5 s; a second one is sent
	took=$(term_to_sentence $recorder "$work/err" 'not written yet')
	is "$1: sentence" "$(tail -n 1 "$work/err")" "obsrec: $2 is not written yet; another signal ends obsrec without the rest"
	holds "$1: within $((1500 * slow)) ms ($took ms)" [ "$took" -lt $((1500 * slow)) ]
	holds "$1: it waits" kill -0 $recorder
	kill -TERM $recorder
}

dd if=/dev/zero of=/dev/null bs=1 status=none &
flood=$!
serve out
"$obsrec" -q -p $flood -o "$work/out/a.obs" 2>"$work/err" &
recorder=$!
until_flying $recorder
sleep 1
kill -STOP $server # it takes no request any more
sleep 1
answers "writes hang" "$work/out/a.obs"
kill -KILL $server # FUSE has the end of a process wait for the close of its files
holds "writes hang: the next signal ended it" until_true gone $recorder
gone $recorder && wait $recorder
is "writes hang: exit status" $? 143

# its main thread is in the file system while it goes on
serve flight
"$obsrec" --last 60s --last 1M -p $flood -o "$work/flight/f.obs" 2>"$work/err" &
recorder=$!
until_flying $recorder
sleep 1
kill -USR2 $recorder
holds "flight mode: a snapshot can be written" until_true grep -q 'wrote .*-1.obs' "$work/err"
kill -STOP $server
kill -USR2 $recorder
sleep 1
answers "flight mode" "a snapshot"
holds "flight mode: the next signal ends it" until_true gone $recorder
kill -KILL $server

# the disk does not take what the file system has; what the server has taken waits for it, whatever comes
serve sync
"$obsrec" -q -p $flood -d 2 -o "$work/sync/a.obs" 2>"$work/err" &
recorder=$!
until_flying $recorder
kill -USR2 $server
until_true grep -q mute "$work/sync.said"
holds "its sync hangs after -d: it says so" until_true grep -q 'not written yet; a signal ends' "$work/err"
kill -HUP $recorder
holds "it waits" kill -0 $recorder
kill -TERM $recorder
kill -KILL $server
holds "it ends with the server" until_true gone $recorder
kill $flood
exit $bad
