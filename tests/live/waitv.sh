#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# futex_waitv waits on several futexes, which are named in memory: the recording says which ended the wait.
. "$(dirname "$0")/lib.sh"
w=$top/.output/waitv

# A host may hide a switch (see balance.sh), and who is preempted on its way into the call needs no sleep there:
# a round with fewer sleeps than waits is printed and repeated.
for way in '' raw_tp; do
	for round in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$work/by.obs" "$work/db"
		"$obsrec" -q ${way:+--force $way} -o "$work/by.obs" -- "$w" >"$work/printed"
		status=$?
		if [ $status = 77 ]; then
			is "the call that this kernel has not fails once" "$(ask "$work/by.obs" "SELECT count(*) FROM syscall
				WHERE nr=449 AND ret=-38")" 1
			echo "ok futexes of futex_waitv # SKIP this kernel has no such call"
			exit 0
		fi
		"$obsanalyze" load -o "$work/db" "$work/by.obs"
		second="address=$(printed "$work/printed" second)"
		waits=$(printed "$work/printed" waits)
		slept=$(ask "$work/db" "SELECT count(*) FROM thread_state s JOIN futex f ON f.id=s.object
			JOIN state n ON n.id=s.state WHERE n.name='futex' AND s.nr=449 AND s.tid=$(printed "$work/printed" pid) AND f.$second")
		[ "$slept" = "$waits" ] && break
		echo "# round $round: of $waits waits $slept were sleeps"
	done
	is "${way:-tp_btf}: the workload's exit status" $status 0
	is "${way:-tp_btf}: waits that the second futex ended" "$(ask "$work/db" "SELECT waits FROM futex WHERE $second")" "$waits"
	is "${way:-tp_btf}: waits that nothing ended count for the first" "$(ask "$work/db" "SELECT timeouts FROM futex
		WHERE address=$(printed "$work/printed" first)")" "$(printed "$work/printed" timeouts)"
	is "${way:-tp_btf}: their releases, seen in wake calls" "$(ask "$work/db" "SELECT sum(r.observed) FROM futex_release r JOIN futex f
		ON f.id=r.futex WHERE f.$second")" "$waits"
	is "${way:-tp_btf}: sleeps in the call are waits for that futex" "$slept" "$waits"
done
