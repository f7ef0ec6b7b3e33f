#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# wall = run + run queue + waits for every thread, and run is what the kernel's own clock says.
# (Without the time that the recording says the hypervisor took: the kernel's clock stands still then.)
# A host may keep tracepoints from threads of its own (a sandbox's supervisor); a switch to one of
# those is then missing and shows as unknown time. Such a round is printed and repeated, at most
# ten times; the demand stays the same.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload

for round in 1 2 3 4 5 6 7 8 9 10; do
	r=$work/balance$round.obs
	weightily "$obsrec" -q -o "$r" -- "$w" "$work" burn >"$work/printed"
	db=$work/balance$round.db
	"$obsanalyze" load -o "$db" "$r"
	pid=$(printed "$work/printed" pid)
	unknown=$(ask "$db" "SELECT count(*) FROM thread WHERE pid=$pid AND (unknown * 1000 > wall OR defects > 0)")
	run=$(ask "$db" "SELECT run - coalesce(stolen, 0) FROM thread WHERE tid=$pid")
	cpu=$(printed "$work/printed" cpu_ns)
	switches=$(ask "$db" "SELECT switches FROM thread WHERE tid=$pid")
	wanted=$(printed "$work/printed" switches)
	[ "$unknown" -eq 0 ] && [ $((run * 100)) -lt $((cpu * 101)) ] && [ $((run * 100)) -gt $((cpu * 99)) ] &&
		[ "$switches" -ge $((wanted - 2)) ] && [ "$switches" -le $((wanted + 3)) ] && break
	echo "# round $round: switches of threads that cannot be traced are missing, or time was stolen:" \
		"$run of $cpu ns, $switches of $wanted switches, $unknown unbalanced"
done
is "threads whose time does not balance to 0.1 %" "$unknown" 0
is "threads whose states do not sum up to their wall time" "$(ask "$db" "SELECT count(*) FROM thread WHERE pid=$pid AND wall <> \
	run + woken + preempted + futex + poll + socket + pipe + disk + blocked + timer + child + lock + other + stopped + unknown")" 0
is "threads of the workload" "$(ask "$db" "SELECT count(*) FROM thread WHERE pid=$pid")" 2
is "threads whose wall time is not their life" "$(ask "$db" "SELECT count(*) FROM thread t WHERE pid=$pid AND \
	abs(wall - (coalesce(t.end, (SELECT value FROM recording WHERE key='duration_ns')) - start)) > wall / 1000")" 0
# the workload read its clock shortly before its end, and was alive before the recording began
holds "run time $run ns is the kernel's $cpu ns within 1 %" \
	sh -c "[ $((run * 100)) -gt $((cpu * 99)) ] && [ $((run * 100)) -lt $((cpu * 101)) ]"
holds "switches $switches are the kernel's $wanted, and those at begin and end" \
	sh -c "[ $switches -ge $((wanted - 2)) ] && [ $switches -le $((wanted + 3)) ]"
holds "waits: the futex hand-overs are futex time" \
	sh -c "[ $(ask "$db" "SELECT count(*) FROM thread WHERE pid=$pid AND tid<>pid AND futex > 20000000") -eq 1 ]"
