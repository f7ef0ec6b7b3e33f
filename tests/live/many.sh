#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 20,000 threads of one process, limits of resources that are too small for the recorder, interrupted calls, and a CPU
# that goes offline.
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

# Storms of interrupted calls: each third read, write and open of the recorder, then real ones of stops.
flood() { # name, command...
	name=$1
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	"$@" "$obsrec" -q -e syscalls -o "$work/$name.obs" -- sh -c 'for i in 1 2 3 4; do
		dd if=/dev/zero of=/dev/null bs=1 count=1000 2>/dev/null; sleep 0.8; done' &
	flooder=$!
}
survives() { # name
	wait $flooder
	is "$1: exit status" $? 0
	holds "$1: no record is missing" "$obsanalyze" verify "$work/$1.obs"
	is "$1: each write is there" "$(ask "$work/$1.obs" "SELECT count(*) FROM v_syscall WHERE comm='dd' AND syscall='write' AND fd=1")" 4000
}
flood EINTR env LD_PRELOAD="$top/.output/faulty.so" FAULT=EINTR:3
survives EINTR
flood stops
until_begun "$work/stops.obs"
for _ in $(seq 100); do
	kill -STOP $flooder 2>/dev/null && sleep 0.002 && kill -CONT $flooder && sleep 0.005
done
survives stops

# A CPU that goes and comes back: its events are of the times when it was there, and the counts agree.
second=/sys/devices/system/cpu/cpu1/online
if [ "$(cat $second 2>/dev/null)" = 1 ] && command -v taskset >/dev/null; then
	cleanup() {
		echo 1 >$second
		remove_work
	}
	# shellcheck disable=SC2016 # expanded by the inner shell
	"$obsrec" -q -o "$work/cpu.obs" -- sh -c 'calls() { "$@" dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null; }
		calls taskset -c 1; echo 0 >"$0" || exit; cat "$1"; sleep 0.5; calls; sleep 0.5; cat "$1"; echo 1 >"$0" || exit; calls taskset -c 1' \
		$second /sys/devices/system/cpu/online >"$work/cpus"
	is "a CPU goes offline: exit status" $? 0
	echo 1 >$second
	is "a CPU goes offline: it was, for a while" "$(sort -u "$work/cpus" | wc -l) $(grep -c '[-,]1\b' "$work/cpus")" "1 0"
	holds "a CPU goes offline: no record is missing" "$obsanalyze" verify "$work/cpu.obs"
	"$obsanalyze" load -o "$work/cpu.db" "$work/cpu.obs"
	is "a CPU goes offline: seen = emitted + lost + suppressed" "$(ask "$work/cpu.db" "SELECT sum(abs(seen - emitted - lost - own - filtered - counted
		+ coalesce((SELECT sum(p.missed) FROM program p WHERE p.grp=c.grp), 0))) FROM coverage c")" 0
	lost=$(ask "$work/cpu.db" "SELECT sum(lost) FROM coverage")
	if [ "$lost" -eq 0 ]; then
		is "a CPU goes offline: each write is there" "$(ask "$work/cpu.db" "SELECT count(*) FROM syscall s JOIN thread t USING(tid)
			WHERE t.comm='dd' AND s.nr=1 AND s.fd=1")" 15000
	else
		echo "# $lost events were lost: writes are not counted"
	fi
else
	echo "# a CPU that goes offline is not tested: no CPU 1 that can"
fi

exit $bad
