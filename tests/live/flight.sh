#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Flight mode: memory stays bounded, signals and triggers write whole recordings with what was before.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload
cd "$work" || exit 1

whole() { # description, file
	"$obsanalyze" verify "$2" >verify
	is "$1: a whole recording" $? 0
	says "$1: COMPLETE" "$(tail -n 1 verify)" '^COMPLETE'
	"$obsanalyze" report "$2" >report 2>err
	is "$1: report" $? 0
}
anonymous() { sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; } # without the rings

# a flood for some seconds, far more than is kept
dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
flood=$!
"$obsrec" --last 1M -p $flood -o size.obs 2>told &
rec=$!
until_flying $rec
sleep 2
early=$(anonymous $rec)
sleep 4
late=$(anonymous $rec)
holds "memory is bounded ($early KB, then $late KB)" [ $((late - early)) -lt 3000 ]
is "nothing is written before it is asked for" "$(ls | grep -c 'size-')" 0
kill -USR2 $rec
until_true grep -q 'wrote size-' told
is "SIGUSR2 writes a snapshot" "$(ls | grep -c 'size-.*-1.obs')" 1
holds "and goes on" kill -0 $rec
whole "SIGUSR2" size-*-1.obs
# facts and the host's state come on top of what is kept
holds "it is about as large as what is kept" [ "$(stat -c %s size-*-1.obs)" -lt 2000000 ]
is "the process has its name" "$(ask size-*-1.obs "SELECT comm FROM process WHERE pid=$flood")" dd
is "its descriptors are known" "$(ask size-*-1.obs "SELECT path FROM fd WHERE pid=$flood AND fd=1")" /dev/null
"$obsanalyze" load -o size.db size-*-1.obs
is "nothing is lost inside" "$(ask size.db "SELECT sum(lost) FROM coverage")" 0
is "calls join without a gap" "$(ask size.db "SELECT count(*) FROM syscall WHERE dur IS NULL")" 0
kill -INT $rec
wait $rec
is "the end: exit status" $? 0
is "the end writes the last snapshot" "$(ls | grep -c 'size-.*-2.obs')" 1
whole "end" size-*-2.obs
kill $flood

# triggers: the history before, some time after, and a pause
# (on a busy machine a sleep of 1 s may take more than 10 ms longer: such a round is printed and repeated)
for round in 1 2 3 4 5 6 7 8 9 10; do
	rm -f trig-*
	"$obsrec" -q --last 30s --trigger 'syscall clock_nanosleep > 700ms' --after 500ms -o trig.obs -- \
		sh -c 'true; sleep 1; sleep 1; sleep 0.1; true' 2>told
	slept=$(ask trig-*-1.obs "SELECT max(dur) / 1000000 FROM syscall JOIN syscall_name USING(abi, nr) WHERE name='clock_nanosleep'")
	[ "${slept:-0}" -lt 1010 ] && break
	echo "# round $round: a sleep of 1 s took $slept ms"
done
is "a trigger writes one snapshot, the end another" "$(ls | grep -c 'trig-')" 2
whole "trigger" trig-*-1.obs
is "what came before is in it" "$(ask trig-*-1.obs "SELECT count(*) > 0 FROM syscall JOIN syscall_name USING(abi, nr)
	WHERE name='execve'")" 1
is "so is the call that was slow" "$(ask trig-*-1.obs "SELECT count(*) FROM syscall JOIN syscall_name USING(abi, nr)
	WHERE name='clock_nanosleep' AND dur BETWEEN 1e9 AND 1.5e9")" 1
after=$(ask trig-*-1.obs "SELECT CAST((max(s.ts + s.dur) - (SELECT min(ts + dur) FROM syscall JOIN syscall_name USING(abi, nr)
	WHERE name='clock_nanosleep')) / 1e6 AS INT) FROM thread_state s")
holds "and what came in the time after ($after ms)" [ "$after" -ge 300 ]
is "what the pause kept back is told" "$(ask trig-*-2.obs "SELECT value FROM recording WHERE key='triggers_suppressed'")" 1
says "why is told" "$(ask trig-*-1.obs "SELECT value FROM recording WHERE key='end'")" 'syscall clock_nanosleep of thread [0-9]* took 100[0-9]'
said=$(ask trig-*-1.obs "SELECT value FROM recording WHERE key='end'" | sed -n 's/.*, until \([0-9:.]*\) UTC$/\1/p')
is "when is told" "$(ask trig-*-1.obs "SELECT abs((julianday(date(value) || ' ${said:-none}') - julianday(value)) * 86400e9 -
	ts - dur) < 5e6 FROM recording, syscall JOIN syscall_name USING(abi, nr)
	WHERE key='start' AND name='clock_nanosleep' AND dur > 7e8")" 1
is "so that --from takes it" "$("$obsanalyze" sql --csv --from "${said:-none}" trig-*-1.obs \
	'SELECT min(ts) FROM thread_state' | tail -n 1 | tr -d '\r')" 0

# a function that takes its time, and a wait for the CPU
"$obsrec" -q --last 30s -u "$w:probed_outer" --trigger 'call probed_outer > 1us' --after 100ms -e uprobe -o call.obs -- \
	"$w" "$work" >/dev/null
says "a slow function triggers" "$(ask call-*-1.obs "SELECT value FROM recording WHERE key='end'")" '^call probed_outer of thread'
for i in 1 2; do
	taskset -c 0 sh -c 'while :; do :; done' &
	burners="${burners:-} $!"
done
taskset -c 0 "$obsrec" -q --last 30s --trigger 'runq > 2ms' --after 100ms -e sched -d 8 -o runq.obs -- \
	sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
# shellcheck disable=SC2086 # a list
kill $burners
says "a wait in the run queue triggers" "$(ask runq-*-1.obs "SELECT value FROM recording WHERE key='end'")" '^runq of thread'

# what cannot be written is printed, and recording continues
mkdir small
if mount -t tmpfs -o size=200k none small 2>/dev/null; then
	"$obsrec" --last 10s -a -o small/full.obs 2>told &
	rec=$!
	until_flying $rec
	sleep 1
	kill -USR2 $rec
	until_true grep -q 'too little room' told
	holds "a full disk does not end it" kill -0 $rec
	kill -INT $rec
	wait $rec
	says "it is told" "$(cat told)" 'too little room'
	is "nothing half written is left" "$(ls small | wc -l)" 0
	umount small
else
	echo "not ok cannot mount a small tmpfs"
fi
"$obsrec" -q --trigger 'runq > 1ms' -a 2>err
is "--trigger without --last: exit status" $? 1
"$obsrec" -q --last 5s --trigger 'nonsense > 1ms' -a 2>err
says "a trigger that means nothing" "$(cat err)" 'needs .syscall NAME > 100ms'
"$obsrec" -q --last 5s --trigger 'call nowhere > 1ms' -u "$w:probed_outer" -a 2>err
says "a trigger on what is not probed" "$(cat err)" 'which no --uprobe does'
for name in workload:probed_outer "$w:probed_outer" malloc libc.so.6:malloc; do
	"$obsrec" -q --last 5s --trigger "call $name > 1m" -u "$w:probed_outer" -u libc.so.6:malloc -o "named$((n += 1)).obs" -- \
		true 2>err
	is "a trigger on $name: exit status" $? 0
done
"$obsrec" -q --last 5s --trigger 'call probed_outer > 1ms' -u "$w:probed_outer" --returns never -a 2>err
is "a trigger on a function without returns: exit status" $? 1
says "a trigger on a function without returns" "$(cat err)" 'returns are not recorded: --returns never'
