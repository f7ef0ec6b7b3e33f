#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# futex_waitv waits on several futexes, which are named in memory: the recording says which ended the wait.
. "$(dirname "$0")/lib.sh"
w=$top/.output/waitv

for way in '' raw_tp; do
	"$obsrec" -q ${way:+--force $way} -o "$work/by$way.obs" -- "$w" >"$work/told"
	status=$?
	if [ $status = 77 ]; then
		is "the call that this kernel has not fails once" "$(ask "$work/by$way.obs" "SELECT count(*) FROM syscall
			WHERE nr=449 AND ret=-38")" 1
		echo "ok futexes of futex_waitv # SKIP this kernel has no such call"
		exit 0
	fi
	is "${way:-tp_btf}: the workload's exit status" $status 0
	"$obsanalyze" load -o "$work/db" "$work/by$way.obs"
	second="address=$(told "$work/told" second)"
	is "${way:-tp_btf}: waits that the second futex ended" "$(ask "$work/db" "SELECT waits FROM futex WHERE $second")" \
		"$(told "$work/told" waits)"
	is "${way:-tp_btf}: waits that nothing ended count for the first" "$(ask "$work/db" "SELECT timeouts FROM futex
		WHERE address=$(told "$work/told" first)")" "$(told "$work/told" timeouts)"
	is "${way:-tp_btf}: their releases, seen in wake calls" "$(ask "$work/db" "SELECT sum(r.observed) FROM futex_release r JOIN futex f
		ON f.id=r.futex WHERE f.$second")" "$(told "$work/told" waits)"
	is "${way:-tp_btf}: sleeps in the call are waits for that futex" "$(ask "$work/db" "SELECT count(*) FROM thread_state s
		JOIN futex f ON f.id=s.object JOIN state n ON n.id=s.state WHERE n.name='futex' AND s.nr=449 AND
		s.tid=$(told "$work/told" pid) AND f.$second")" "$(told "$work/told" waits)"
	rm -f "$work/db"
done
