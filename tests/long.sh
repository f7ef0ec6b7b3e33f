#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make long: flight mode for LONG seconds (180) under load. Threads, files, programs, processes and connections come
# and go; memory, file descriptors and threads of the recorder stay constant; snapshots are COMPLETE.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib/shell.sh
seconds=${LONG:-180}
load='' rec=''
cleanup() {
	# shellcheck disable=SC2086 # a list
	kill $load $rec 2>/dev/null
	wait
	remove_work
}
cd "$work" || exit 1

# Programs, processes and files that are new each time; connections, and threads that end; calls. A rate that the
# rings hold on any machine: what they do when it is too high is tested by tests/live/losses.sh.
cat >load.sh <<'LOAD'
python3 -c '
import os, socket, threading, time
s = socket.create_server(("127.0.0.1", 0))
def serve():
	while True:
		c = s.accept()[0]
		c.send(c.recv(100))
		c.close()
threading.Thread(target=serve, daemon=True).start()
def ask():
	with socket.create_connection(s.getsockname()) as c:
		c.send(b"hello")
		c.recv(100)
while True:
	for i in range(20):
		t = threading.Thread(target=ask)
		t.start()
		t.join()
	for i in range(200):
		os.getppid()
	sum(range(200000))
	time.sleep(0.1)
' &
python=$!
trap 'kill $python; exit' TERM
while :; do
	i=$(((${i:-0} + 1) % 1000))
	cp "$(command -v gzip)" "prog.$i" && "./prog.$i" -c /bin/sh >/dev/null
	rm -f "prog.$i"
	echo x >"file.$i"
	sleep 0.3
done
LOAD
sh load.sh &
load=$!
"$top/obsrec" --last 2M -p $load -o long.obs 2>messages &
rec=$!
# anonymous memory in KB (without the rings), fds but those of code in stacks and of /proc, which it reads now and then,
# all of them, threads
used() {
	# shellcheck disable=SC2012 # where they lead to
	echo "$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' /proc/$rec/status)" \
		"$(ls -l /proc/$rec/fd | sed -n 's/.* -> //p' | grep -vc '^/proc$\|^/proc/[0-9]\|^/.*\(lib\|bin\|prog\)\|^socket:')" \
		"$(ls /proc/$rec/fd | wc -l) $(ls /proc/$rec/task | wc -l)"
}
step=$((seconds / 12))
sleep $((seconds / 3 > 60 ? seconds / 3 : 60)) # the history is full, code has been forgotten once
used >used
begin=$(cut -d' ' -f 14,15 /proc/$rec/stat)
start=$(date +%s) end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt $end ]; do
	sleep $((step > 0 ? step : 1))
	used >>used
	[ $(($(wc -l <used) % 4)) -ne 0 ] || kill -USR2 $rec # snapshots in between
done
echo "# after $(($(date +%s) - start)) s: KB, fds, with those of code, threads, in 12 steps: $(tr '\n' ',' <used)"
echo "# CPU ticks at the start $begin, at the end $(cut -d' ' -f 14,15 /proc/$rec/stat)"
halves() { # column, share, constant: the max of the second half is within both of that of the first
	awk -v c="$1" -v share="$2" -v plus="$3" '{ m[NR] = $c } END { h = int(NR / 2); for (i = 1; i <= NR; i++)
		if (i <= h) { if (m[i] > a) a = m[i] } else if (m[i] > b) b = m[i]; exit !(a > 0 && b <= a * share + plus) }' used
}
holds "memory is constant: the max of the second half is within 15 % and 4 MB of that of the first" halves 1 1.15 4096
is "fds are constant" "$(tail -n +2 used | cut -d' ' -f 2 | sort -u | wc -l)" 1
# a program runs too short to be in each minute's stacks
holds "fds of code are bounded: the max of the second half is within 25 % and 16 of that of the first" halves 3 1.25 16
is "threads are constant" "$(tail -n +2 used | cut -d' ' -f 4 | sort -u | wc -l)" 1
kill -INT $rec
wait $rec
is "exit status" $? 0
rec=''
snapshots=$(ls long-*.obs | wc -l)
for f in long-*.obs; do "$top/obsanalyze" verify "$f" | tail -n 1; done >verdicts
is "snapshots are complete" "$(grep -c ^COMPLETE verdicts)" "$snapshots"
grep -v ^COMPLETE verdicts | sed 's/^/# /'
echo "# $snapshots snapshots, $(du -ch long-*.obs | tail -n 1 | cut -f 1)"
exit $bad
