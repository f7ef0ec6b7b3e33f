#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Time on a CPU of a probed function is the kernel's own clock's within 1 %, although two threads
# share a CPU, are preempted and sleep in it. A round in which time was stolen or a switch is
# missing is printed and repeated, as in balance.sh. The more others share the CPU, the more of these there are:
# the two weigh more.
. "$(dirname "$0")/lib.sh"
w=$top/.output/cputime

for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	r=$work/oncpu$round.obs
	weightily "$obsrec" -q -u "$w:probed_work" -o "$r" -- "$w" >"$work/told"
	db=$work/oncpu$round.db
	"$obsanalyze" load -o "$db" "$r"
	run=$(ask "$db" "SELECT total(run) FROM call")
	cpu=$(told "$work/told" cpu_ns)
	run=${run%.*}
	[ "$(ask "$db" "SELECT total(apart) FROM call_stat")" = 0.0 ] && [ $((run * 100)) -lt $((cpu * 101)) ] &&
		[ $((run * 100)) -gt $((cpu * 99)) ] && [ "$(ask "$db" "SELECT count(*) FROM call WHERE timer > 0")" = 134 ] && break
	echo "# round $round: $run ns on a CPU, $cpu by the kernel: time was stolen, or switches are missing"
done
is "calls" "$(ask "$db" "SELECT n FROM call_stat")" "$(told "$work/told" calls)"
holds "on a CPU: $run ns are the kernel's $cpu ns within 1 %" \
	sh -c "[ $((run * 100)) -gt $((cpu * 99)) ] && [ $((run * 100)) -lt $((cpu * 101)) ]"
is "calls whose parts do not sum up to their wall time" "$(ask "$db" "SELECT count(*) FROM call WHERE dur <> run + woken + \
	preempted + futex + poll + socket + pipe + disk + blocked + timer + child + lock + other + stopped + unknown + client")" 0
holds "preemption by the other thread is seen" \
	sh -c "[ $(ask "$db" "SELECT total(preempted) > 100000000 FROM call") -eq 1 ]"
is "calls that slept" "$(ask "$db" "SELECT count(*) FROM call WHERE timer > 0")" 134
