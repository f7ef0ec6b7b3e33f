#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way to lose events, forced: each is counted and located, and sums stay exact.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload

sums() { # name: seen = emitted + lost + suppressed in every group, and emitted are in the file
	"$obsanalyze" load -o "$work/$1.db" "$work/$1.obs"
	is "$1: seen = emitted + lost + suppressed" "$(ask "$work/$1.db" "SELECT sum(abs(seen - emitted - lost - own - filtered - counted
		+ coalesce((SELECT sum(p.missed) FROM program p WHERE p.grp=c.grp), 0))) FROM coverage c")" 0
	is "$1: emitted are in the file" "$(ask "$work/$1.db" "SELECT sum(abs(emitted - records)) FROM coverage")" 0
	is "$1: every loss is located" "$(ask "$work/$1.db" "SELECT (SELECT coalesce(sum(n), 0) FROM loss)
		- (SELECT sum(lost) FROM coverage)")" 0
}

# a drainer that is stopped: the rings fill up, the rest is lost and counted
"$obsrec" -q --ring 64K -e syscalls -a -o "$work/stopped.obs" &
rec=$!
until_begun "$work/stopped.obs"
from=$(date +%s%N)
kill -STOP $rec
"$w" flood
to=$(date +%s%N)
kill -CONT $rec
kill -INT $rec
wait $rec
is "stopped drainer: exit status" $? 0
sums stopped
holds "stopped drainer: events were lost" [ "$(ask "$work/stopped.db" "SELECT lost FROM coverage WHERE grp='syscalls'")" -gt 100000 ]
# a block has up to 0.5 s of events before the stop; the first one after it is written at once
holds "stopped drainer: most are located in the time it stood" [ "$(ask "$work/stopped.db" "SELECT
	CAST(100 * sum(CASE WHEN start + ts >= $from - 600000000 AND start + ts + dur <= $to + 1000000000 * $slow THEN n END) / sum(n)
	AS INT) FROM loss, (SELECT value AS start FROM recording WHERE key='start_realtime_ns')")" -ge 95 ]

# the same of call stacks, which have a ring of their own
"$obsrec" -q --sample-rate 4999 -a -o "$work/stacks.obs" &
rec=$!
until_begun "$work/stacks.obs"
kill -STOP $rec
"$top/.output/stackwork" few >/dev/null
kill -CONT $rec
kill -INT $rec
wait $rec
sums stacks
holds "stopped sampler: stacks were lost" [ "$(ask "$work/stacks.db" "SELECT lost FROM coverage WHERE grp='cpu'")" -gt 100 ]

# lost state events: the state is recorded again, and names are right afterwards
"$obsrec" -q --ring 4K -a -o "$work/state.obs" &
rec=$!
until_begun "$work/state.obs"
kill -STOP $rec # so that the rings are full
"$w" flood
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sh -c 'true; true'; done
cp "$(command -v sleep)" "$work/lateborn"
"$work/lateborn" 600 &
late=$!
kill -CONT $rec
snapshots() { "$obsanalyze" dump -e info "$1" | grep -c 'text="snapshot='; }
retaken() { [ "$(snapshots "$1")" -ge 2 ]; }
until_true retaken "$work/state.obs"
kill -INT $rec
wait $rec
"$obsanalyze" dump "$work/state.obs" >"$work/dump"
lost=$("$obsanalyze" sql --csv "$work/state.obs" "SELECT lost FROM coverage WHERE grp='core'" | tail -n 1 | tr -d '\r')
if [ "$lost" -gt 0 ]; then
	holds "lost state: it is recorded again" [ "$(grep -c 'text="snapshot_begin=' "$work/dump")" -ge 2 ]
	says "lost state: how much was lost is recorded" "$(grep 'lost_state=' "$work/dump")" 'lost_state=[1-9]'
	is "lost state: names are known all the same" "$(ask "$work/state.obs" "SELECT count(*) FROM process WHERE pid=$late AND comm='lateborn'")" 1
else
	echo "not ok lost state: nothing of group core was lost in a one-page ring"
fi
kill $late 2>/dev/null
sums state

# Another tracer on the same hooks takes nothing away. What is lost while the recorder gets no CPU is no tracer's
# doing: such a round is printed and repeated.
flooded() { # name: its recording, of a flood
	for round in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$work/$1.obs"
		"$obsrec" -q --ring 64M -e syscalls -o "$work/$1.obs" -- "$w" flood # all of it has room
		lost=$(ask "$work/$1.obs" "SELECT sum(lost) FROM coverage")
		[ "$lost" = 0 ] && break
		echo "# round $round of $1: $lost events were lost"
	done
}
flooded alone
want=$(ask "$work/alone.obs" "SELECT emitted FROM coverage WHERE grp='syscalls'")
# it finds tracepoints in tracefs, which is not mounted everywhere
if bpftrace -l tracepoint:raw_syscalls:sys_enter 2>/dev/null | grep -q raw_syscalls; then
	bpftrace -q -e 'tracepoint:raw_syscalls:sys_enter { @a[tid] = count() } tracepoint:raw_syscalls:sys_exit { @b[tid] = count() }
		tracepoint:sched:sched_switch { @c = count() }' >/dev/null 2>&1 &
	other=$!
	sleep 3
	flooded beside
	holds "the other tracer ran all the time" kill -0 $other
	kill -INT $other
	wait $other 2>/dev/null
	is "beside bpftrace: calls recorded" "$(ask "$work/beside.obs" "SELECT emitted FROM coverage WHERE grp='syscalls'")" "$want"
	sums beside
else
	echo "# bpftrace is not installed or has no tracepoints: only beside another obsrec"
fi
"$obsrec" -q -a -o "$work/first.obs" &
rec=$!
until_begun "$work/first.obs"
flooded second
is "beside another obsrec: calls recorded" "$(ask "$work/second.obs" "SELECT emitted FROM coverage WHERE grp='syscalls'")" "$want"
kill -INT $rec
wait $rec
sums first

# a CPU that goes and comes back
cpu=$(find /sys/devices/system/cpu -maxdepth 1 -name 'cpu[1-9]*' | sort | head -n 1)
if [ -w "$cpu/online" ] && echo 0 2>/dev/null >"$cpu/online"; then
	echo 1 >"$cpu/online"
	"$obsrec" -q -a --ring 64M -o "$work/plug.obs" &
	rec=$!
	until_begun "$work/plug.obs"
	echo 0 >"$cpu/online"
	"$w" flood
	echo 1 >"$cpu/online"
	"$w" flood
	kill -INT $rec
	wait $rec
	is "a CPU goes and comes: exit status" $? 0
	sums plug
	holds "a CPU goes and comes: both floods are there" [ "$(ask "$work/plug.db" "SELECT sum(n) FROM syscall_stat JOIN
		syscall_name USING(abi, nr) WHERE name='getppid'")" -ge 800018 ]
else
	echo "# CPUs cannot be taken offline here: not tested"
fi
