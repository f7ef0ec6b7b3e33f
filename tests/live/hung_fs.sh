#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that does not respond (FUSE) stops neither a recording nor its end: one that has not answered since
# before the recording, and one that stops while a program on it is recorded.
. "$(dirname "$0")/lib.sh"
mkdir "$work/fs" "$work/code" "$work/mute" "$work/open" "$work/map"
if [ ! -c /dev/fuse ] && ! modprobe fuse 2>/dev/null; then
	echo "ok a file system that does not respond # SKIP no /dev/fuse"
	exit 0
fi
"$top/.output/fuse_hang" "$work/fs" >"$work/holder" &
server=$!
# what has asked a server that was killed waits in the kernel for good
release() {
	mkdir "$work/connections"
	mount -t fusectl none "$work/connections" 2>/dev/null || return
	for at in fs code mute open map; do
		n=$(awk -v at="$work/$at" '$5 == at { sub(/.*:/, "", $3); print $3 }' /proc/self/mountinfo)
		[ -z "$n" ] || echo 1 >"$work/connections/$n/abort"
	done
	umount "$work/connections"
}
cleanup() {
	release
	[ -z "${generated:-}" ] || rm -f "/tmp/perf-$generated.map"
	kill $server ${coder:-} ${muted:-} ${opened:-} ${mapper:-} ${worker:-} ${guard:-} ${recorder:-} ${hasty:-} ${flying:-} ${generated:-} 2>/dev/null
	umount -l "$work/fs" "$work/code" "$work/mute" "$work/open" "$work/map" 2>/dev/null
	remove_work
}
until_true [ -s "$work/holder" ]
holder=$(cat "$work/holder")

# runs a command that ends within 20 s, however the file system does; prints what it says
bounded() { timeout -s KILL $((20 * slow)) "$@" 2>&1; }
alive() { kill -0 "$1" 2>/dev/null; }
gone() { ! alive "$1"; }
# SIGTERM: a sentence comes in a second, the end later; its time is in $took
ends_later() { # what, process, file of its messages
	answer=$(term_to_sentence "$2" "$3" 'not written yet; another signal ends obsrec')
	began=$(date +%s%N)
	holds "$1: SIGTERM is answered within $((1500 * slow)) ms ($answer ms)" [ "$answer" -lt $((1500 * slow)) ]
	holds "$1: SIGTERM ends it" until_true gone "$2"
	took=$((($(date +%s%N) - began) / 1000000 + answer))
	holds "$1: within 8 s ($took ms)" [ $took -lt $((8000 * slow)) ]
}

bounded "$obsrec" -q -p "$holder" -d 1 -o "$work/pid.obs" >"$work/out"
is "-p a process with such a file: exit status" $? 0
is "its file is recorded with its type" "$("$obsanalyze" dump -e fd "$work/pid.obs" | grep -c ' fd=9 .* ino=2 \| ino=2 .* fd=9 mode=32768 ')" 1
is "its working directory is recorded" "$("$obsanalyze" dump -e fd "$work/pid.obs" | grep -c " fd=-100 .*$work/fs")" 1
bounded "$obsrec" -q -a -d 1 -o "$work/all.obs" >"$work/out"
is "-a: exit status" $? 0
says "-u on it: sentence" "$(bounded "$obsrec" -q -p "$holder" -d 1 -u "$work/fs/file:main" -o "$work/u.obs")" 'does not respond'
says "a command on it: sentence" "$(bounded "$obsrec" -q -d 1 -o "$work/c.obs" -- "$work/fs/file")" 'cannot execute'

# a signal ends it at any time
"$obsrec" -q -p "$holder" -o "$work/signal.obs" &
recorder=$!
until_begun "$work/signal.obs"
kill -TERM $recorder
holds "SIGTERM ends it" until_true gone $recorder
wait $recorder
is "SIGTERM: exit status" $? 0

# A program whose code was opened when its file system stops: opens are the client's alone, reads are not.
"$top/.output/fuse_hang" "$work/code" "$top/.output/hotwork" 600 1000 alone >"$work/runner" &
coder=$!
until_true [ -s "$work/runner" ]
runner=$(cat "$work/runner")
"$obsrec" -q --sample-rate 997 -p "$runner" -o "$work/code.obs" 2>"$work/code.err" &
recorder=$!
"$obsrec" -q --sample-rate 997 -p "$runner" -o "$work/twice.obs" 2>"$work/twice.err" &
hasty=$!
until_recorded "$work/code.obs" module "$work/code/file"
until_recorded "$work/twice.obs" module "$work/code/file"
"$obsrec" -q --sample-rate 997 --last 60s -p "$runner" -o "$work/last.obs" 2>"$work/last.err" &
flying=$!
until_flying $flying
has_code() { grep -q memfd:obsrec-code "/proc/$1/maps"; } # the first code that is sampled
until_true has_code $flying
until_recorded "$work/code.obs" sample ' user_stack=[1-9]'
until_recorded "$work/twice.obs" sample ' user_stack=[1-9]'
kill -USR1 $coder
until_true grep -q hung "$work/runner"
# what hangs nevertheless ends with the server
(sleep $((60 * slow)) && kill -KILL $coder) &
guard=$!
ends_later "code that cannot be read" $recorder "$work/code.err"
wait $recorder
is "code that cannot be read: exit status" $? 0
holds "code that cannot be read: complete" "$obsanalyze" verify "$work/code.obs"
says "code that cannot be read: sentence" "$(cat "$work/code.err")" 'a file of code did not respond in time'
answer=$(term_to_sentence $hasty "$work/twice.err" 'not written yet; another signal ends obsrec')
began=$(date +%s%N)
kill -TERM $hasty
wait $hasty 2>/dev/null
is "code that cannot be read, two signals: exit status" $? 143
took=$((($(date +%s%N) - began) / 1000000))
holds "code that cannot be read, two signals: answered after $answer ms, ended $took ms later" \
	[ "$answer" -lt $((1500 * slow)) -a $took -lt $((1000 * slow)) ]
snapshot() { [ -s "$work"/last-*-"$1".obs ]; } # number
kill -USR2 $flying
holds "flight mode: a snapshot is written" until_true snapshot 1
kill -USR2 $flying
holds "flight mode: another one" until_true snapshot 2
kill -TERM $flying
holds "flight mode: SIGTERM ends it" until_true gone $flying
is "flight mode: snapshots are complete" "$(for f in "$work"/last-*.obs; do "$obsanalyze" verify "$f"; done | grep -c ^COMPLETE)" 3
is "flight mode: the file is waited for once" "$(grep -c 'a file of code did not respond in time' "$work/last.err")" 1
says "-u on it, opened without its server: sentence" \
	"$(bounded "$obsrec" -q -p "$runner" -d 1 -u "$work/code/file:main" -o "$work/u2.obs")" 'does not respond'
bounded "$obsrec" -q --sample-rate 997 -p "$runner" -d 1 -o "$work/late.obs" >"$work/out"
is "its stacks, opened without its server: exit status" $? 0
holds "its server still runs" alive $coder

# A server that answers opens, but takes reads and closes of files for good: call frame information is read then.
"$top/.output/fuse_hang" "$work/mute" "$top/.output/hotwork" 600 1000 alone >"$work/reader" &
muted=$!
until_true [ -s "$work/reader" ]
runner=$(cat "$work/reader")
"$obsrec" -q --sample-rate 997 -p "$runner" -o "$work/before.obs" 2>"$work/before.err" &
recorder=$!
until_recorded "$work/before.obs" sample ' user_stack=[1-9]'
kill -USR2 $muted
until_true grep -q mute "$work/reader"
ends_later "reads that are taken" $recorder "$work/before.err"
wait $recorder
is "reads that are taken: exit status" $? 0
holds "reads that are taken: complete" "$obsanalyze" verify "$work/before.obs"
says "reads that are taken: sentence" "$(cat "$work/before.err")" 'a file of code did not respond in time'
# what its thread has is missing if a recording ends before that thread gives up, after 3 s per path
began=$(date +%s)
bounded "$obsrec" -q --sample-rate 997 -p "$runner" -d 9 -o "$work/after.obs" >"$work/out"
is "its call frame information cannot be read: exit status" $? 0
echo "# $(($(date +%s) - began)) s with a recording of 9 s"
holds "its call frame information cannot be read: complete" "$obsanalyze" verify "$work/after.obs"
says "-u on it, whose reads are taken: sentence" \
	"$(bounded "$obsrec" -q -p "$runner" -d 1 -u "$work/mute/file:main" -o "$work/u3.obs")" "$work/mute/file: its file system does not respond"
says "-u with its name alone: sentence" "$(bounded "$obsrec" -q -p "$runner" -d 1 -u file:main -o "$work/u4.obs")" 'does not respond'
says "-U on it: sentence" "$(bounded "$obsrec" -q -a -d 1 -U "$work/mute/file:a:b" -o "$work/u5.obs")" 'does not respond'
bounded "$obsrec" list -u "$work/mute/file:main" >"$work/out"
is "list -u on it: exit status" $? 1
says "list -u on it: sentence" "$(cat "$work/out")" 'does not respond'
# a signal ends it within a second, while it waits for the file
"$obsrec" -q -a -d 1 -u "$work/mute/file:main" -o "$work/u6.obs" 2>/dev/null &
recorder=$!
has_worker() { [ -n "$(pgrep -P "$1" obsrec-files)" ]; }
until_true has_worker $recorder
began=$(date +%s%N)
kill -TERM $recorder
holds "-u on it: SIGTERM ends it" until_true gone $recorder
took=$((($(date +%s%N) - began) / 1000000)) # looked for every 200 ms
holds "-u on it: within a second ($took ms)" [ $took -lt $((1200 * slow)) ]
holds "its server still runs, too" alive $muted

# A server that answers all but closes: its functions are found, and recorded.
"$top/.output/fuse_hang" "$work/open" "$top/.output/hotwork" 600 1000 alone >"$work/looper" &
opened=$!
until_true [ -s "$work/looper" ]
runner=$(cat "$work/looper")
kill -HUP $opened
until_true grep -q open "$work/looper"
says "list -u on a file that cannot be closed" "$(bounded "$obsrec" list -u "$work/open/file:main")" ' main$'
bounded "$obsrec" -q -p "$runner" -d 1 -u "$work/open/file:main" -o "$work/u7.obs" >"$work/out"
is "-u on it: exit status" $? 0
holds "-u on it: complete" "$obsanalyze" verify "$work/u7.obs"
is "-u on it: its function is recorded" "$("$obsanalyze" dump -e site "$work/u7.obs" | grep -c main)" 1
says "its stacks, too: no sentence, complete" "$(bounded "$obsrec" -q --sample-rate 997 -p "$runner" -d 1 -o "$work/u8.obs")$("$obsanalyze" verify "$work/u8.obs")" '^COMPLETE'
holds "its stacks, too: with names" has_event "$work/u8.obs" symbol 'text="main_loop\|text="main'
holds "the server of closes still runs" alive $opened

# A process that is stuck with the lock of its memory map, and computes: the stacks of others are recorded.
"$top/.output/fuse_hang" "$work/map" map >"$work/stuck" &
mapper=$!
until_true [ -s "$work/stuck" ]
stuck=$(cat "$work/stuck")
blocks() { ! timeout 1 cat "/proc/$1/maps"; }
if until_true blocks "$stuck" >"$work/out"; then
	"$top/.output/hotwork" 600 1000 alone &
	worker=$!
	bounded "$obsrec" -q --sample-rate 997 -p "$stuck,$worker" -d 6 -o "$work/stuck.obs" >"$work/out"
	is "a process stuck in its memory map, and another one: exit status" $? 0
	holds "the two: complete" "$obsanalyze" verify "$work/stuck.obs"
	stacks=$("$obsanalyze" dump -e sample "$work/stuck.obs" | grep -c " user_stack=[1-9].* pid=$worker ")
	holds "the two: stacks of the other one ($stacks)" [ "$stacks" -gt 20 ]
	says "-u with a name alone: the memory map" \
		"$(bounded "$obsrec" -q -p "$stuck" -d 1 -u fuse_hang:main -o "$work/u9.obs")" "memory map of process $stuck: it does not respond"
	kill $worker
else
	echo "ok a process stuck in its memory map # SKIP this kernel copies changed pages before it waits for the server"
fi

# a perf map there: names and callers of generated code
if command -v python3 >/dev/null; then
	python3 -c '
import ctypes, mmap, os, sys
os.symlink(sys.argv[1], "/tmp/perf-%d.map" % os.getpid())
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\xeb\xfe" if os.uname().machine == "x86_64" else b"\x00\x00\x00\x14") # an endless loop
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()' "$work/mute/file" &
	generated=$!
	until_true [ -L "/tmp/perf-$generated.map" ]
	bounded "$obsrec" -q --sample-rate 49 -p $generated -d 6 -o "$work/map.obs" >"$work/out"
	is "its perf map cannot be read: exit status" $? 0
	kill -KILL $generated
	rm -f "/tmp/perf-$generated.map"
	holds "its perf map cannot be read: complete" "$obsanalyze" verify "$work/map.obs"
	holds "its perf map cannot be read: its code is sampled" has_event "$work/map.obs" sample ' user_stack=[1-9]'
	holds "its server still runs here" alive $muted
else
	echo "# a perf map is not tested: no python3"
fi
exit $bad
