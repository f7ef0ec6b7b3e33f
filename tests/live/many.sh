#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 20,000 threads of one process, and limits of resources that are too small for the recorder.
. "$(dirname "$0")/lib.sh"

# as many threads as this machine has room for
n=20000
[ "$(cat /proc/sys/kernel/pid_max)" -ge 32768 ] && [ "$slow" -eq 1 ] &&
	[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -ge 2000000 ] || n=1000

# records n threads, and the recorder's greatest memory so far in KiB
threads() { # name, n
	# shellcheck disable=SC2016 # expanded by the inner shell
	"$obsrec" -q -e syscalls,sched -o "$work/$1.obs" -- sh -c '"$0" "$1" || exit
		sed -n "s/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/$PPID/status" >"$2"' \
		"$top/.output/manythreads" "$2" "$work/$1.kib"
	is "$1: exit status" $? 0
}
threads few 100
threads many $n
rss_few=$(cat "$work/few.kib") rss_many=$(cat "$work/many.kib")
echo "# memory of the recorder: $rss_few KiB with 100 threads, $rss_many KiB with $n"
"$obsanalyze" load -o "$work/many.db" "$work/many.obs"
# of the rings, which are its memory too, more pages are in use
rings=$(ask "$work/many.db" "SELECT max(CASE key WHEN 'ring' THEN value END) * max(CASE key WHEN 'cpus' THEN value END) / 1024 FROM recording")
echo "# the rings have $rings KiB"
holds "memory of the recorder does not grow with threads" [ "$((rss_many - rss_few))" -lt "$((rings + 32768))" ]
is "$n threads: seen = emitted + lost + suppressed" "$(ask "$work/many.db" "SELECT sum(abs(seen - emitted - lost - own - filtered - counted
	+ coalesce((SELECT sum(p.missed) FROM program p WHERE p.grp=c.grp), 0))) FROM coverage c")" 0
is "$n threads: emitted are in the file" "$(ask "$work/many.db" "SELECT sum(abs(emitted - records)) FROM coverage")" 0
if [ "$(ask "$work/many.db" "SELECT sum(lost) FROM coverage")" -eq 0 ]; then
	is "$n threads: each is there" "$(ask "$work/many.db" "SELECT count(*) FROM thread WHERE comm='manythreads'")" $((n + 1))
	is "$n threads: each writes once" "$(ask "$work/many.db" "SELECT count(*) FROM syscall s JOIN thread t USING(tid)
		WHERE t.comm='manythreads' AND s.nr=1 AND s.ret=7")" "$n"
else
	echo "# events were lost: threads and writes are not counted"
fi
prints "$n threads: report" 0 'manythreads' timeout $((120 * slow)) "$obsanalyze" report -v "$work/many.obs"

# limits: one sentence, a documented status, and what was written is readable
prints "few open files" 2 '^obsrec: the limit of open files is 20, [0-9]* are needed; raise it with ulimit -n$' \
	sh -c 'ulimit -n 20; exec "$0" -q -d 0.1 -a -o "$1"' "$obsrec" "$work/n.obs"
prints "a small stack" 2 '^obsrec: the limit of the stack is 64 KiB, 256 are needed; raise it with ulimit -s$' \
	sh -c 'ulimit -s 64; exec "$0" -q -d 0.1 -a -o "$1"' "$obsrec" "$work/s.obs"
holds "no locked memory" sh -c 'ulimit -l 0; exec "$0" -q -d 0.1 -a -o "$1"' "$obsrec" "$work/l.obs"
prints "little memory" 1 '^obsrec: .*memory' sh -c 'ulimit -v 40000; exec "$0" -q -d 0.1 -a -o "$1"' "$obsrec" "$work/v.obs"
prints "a small file" 1 '^obsrec: cannot write the recording: File too large$' \
	sh -c 'ulimit -f 64; exec "$0" -q -o "$1" -- dd if=/dev/zero of=/dev/null bs=1 count=500000' "$obsrec" "$work/f.obs"
prints "a small file: it can be read" 3 'truncated' "$obsanalyze" verify "$work/f.obs"

exit $bad
