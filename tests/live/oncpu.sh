#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Time on a CPU of a probed function is the kernel's own clock's within 1 %, although two threads
# share a CPU, are preempted and sleep in it: each call returns what the kernel's clock says. A host may hide switches
# (balance.sh): such a call has unknown time, and counts for nothing. The more others share the CPU, the more of these
# there are: the two weigh more. A round in which they are many, or in which time was stolen, is printed and repeated.
. "$(dirname "$0")/lib.sh"
w=$top/.output/cputime

for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	r=$work/oncpu$round.obs
	weightily "$obsrec" -q -u "$w:probed_work" --args 1 -o "$r" -- "$w" >"$work/printed"
	db=$work/oncpu$round.db
	"$obsanalyze" load -o "$db" "$r"
	known=$(ask "$db" "SELECT count(*) FROM call WHERE unknown = 0")
	run=$(ask "$db" "SELECT sum(run) FROM call WHERE unknown = 0")
	cpu=$(ask "$db" "SELECT sum(value) FROM call WHERE unknown = 0")
	# two of three calls sleep; one that is preempted on its way there until its timer ends does not
	slept=$(ask "$db" "SELECT sum((timer > 0) = (arg0 % 3 > 0)) FROM call WHERE unknown = 0")
	[ "$known" -ge 180 ] && [ $((run * 100)) -lt $((cpu * 101)) ] && [ $((run * 100)) -gt $((cpu * 99)) ] &&
		[ "$slept" = "$known" ] && break
	echo "# round $round: $known calls, $run ns on a CPU, $cpu by the kernel: time was stolen, or switches are missing"
done
is "calls" "$(ask "$db" "SELECT n + excluded FROM call_stat")" "$(printed "$work/printed" calls)"
holds "of nearly all of them all switches are known ($known)" [ "$known" -ge 180 ]
holds "on a CPU: $run ns are the kernel's $cpu ns within 1 %" \
	sh -c "[ $((run * 100)) -gt $((cpu * 99)) ] && [ $((run * 100)) -lt $((cpu * 101)) ]"
is "calls whose parts do not sum up to their wall time" "$(ask "$db" "SELECT count(*) FROM call WHERE dur <> run + woken + \
	preempted + futex + poll + socket + pipe + disk + blocked + timer + child + lock + other + stopped + unknown + client")" 0
holds "preemption by the other thread is seen" \
	sh -c "[ $(ask "$db" "SELECT total(preempted) > 100000000 FROM call") -eq 1 ]"
is "the calls that slept are those that should" "$slept" "$known"
