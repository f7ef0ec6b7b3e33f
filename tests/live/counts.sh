#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A workload of exact prime counts is recorded, in both flavours of hooks: all must be found.
# What happens in interrupts a host may hide while a thread of its own runs (see balance.sh): a round
# in which such an event is missing is printed and repeated.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload

# How many wake-ups of a thread happened within the main thread's calls of a name, on a condition.
# A call's record is written at its end, so it follows the wake-ups that belong to it.
wakeups() { # name of the call, thread, condition
	awk -v pid="$pid" -v nr="^nr=$1\$" -v target="target=$2" '
		function value(name, i) {
			for (i = 4; i <= NF; i++) if (index($i, name "=") == 1) return substr($i, length(name) + 2) + 0
		}
		$3 == "waking" && $4 == target { context = value("context"); if ('"$3"') at[n++] = $1; next }
		$3 ~ /^syscall/ && $2 == pid {
			for (i = 4; i <= NF; i++) if ($i ~ nr) for (k = 0; k < n; k++) found += at[k] >= $1 - value("dur")
			n = 0
		}
		END { print found + 0 }' "$work/dump"
}

# an emulated processor takes half a minute for each way: a kernel that has no cookies for functions (before 5.15)
# counts in some, a newer one in the others
ways='raw_tp raw_calls irq no_cookie'
if [ "$slow" -gt 1 ]; then
	case $(uname -r) in 5.[0-9].* | 5.1[0-4].*) ways='raw_tp raw_calls' ;; *) ways='irq no_cookie' ;; esac
fi
for force in '' $ways; do
	r=$work/counts$force.obs
	db=$work/counts$force.db
	for round in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$r" "$db"
		# -u for each function; the whole life of the command is recorded
		"$obsrec" -q ${force:+--force $force} -o "$r" -u "$w:probed_outer" -u "$w:probed_inner" \
			-u "$w:probed_recursive" -- "$w" "$work" >"$work/printed"
		status=$?
		"$obsanalyze" load -o "$db" "$r"
		"$obsanalyze" dump "$r" >"$work/dump"
		pid=$(printed "$work/printed" pid)
		naps=$(wakeups '(clock_)?nanosleep' "$pid" 'context > 0')
		[ "$naps" = 31 ] && break
		echo "# round $round: interrupts that ended $((31 - naps)) naps are missing"
	done
	is "$force workload's exit status is passed on" $status 0
	holds "$force verify finds the recording complete" sh -c "'$obsanalyze' verify '$r' | grep -q '^COMPLETE'"
	mine="tid IN (SELECT tid FROM thread WHERE pid=$pid)"
	by_name() { ask "$db" "SELECT count(*) FROM syscall JOIN syscall_name USING(abi, nr) WHERE name='$1' AND $mine $2"; }
	is "$force getppid calls" "$(by_name getppid '')" "$(printed "$work/printed" getppid)"
	is "$force fsync calls" "$(by_name fsync '')" "$(printed "$work/printed" fsync)"
	is "$force pwrite64 calls" "$(by_name pwrite64 'AND ret=4096')" "$(printed "$work/printed" writes)"
	is "$force failed opens" "$(ask "$db" "SELECT sum(n) FROM syscall_error JOIN syscall_name USING(abi, nr) \
		WHERE name='openat' AND error=2 AND pid=$pid AND n >= 53")" "$(printed "$work/printed" errors)"
	is "$force opens of the file" "$(ask "$db" "SELECT count(*) FROM fd WHERE pid=$pid AND kind='file' AND ino = \
		(SELECT ino FROM fd WHERE pid=$pid AND kind='file' GROUP BY ino ORDER BY count(*) DESC LIMIT 1)")" \
		"$(($(printed "$work/printed" opens) + 1))"
	is "$force calls of probed_outer" "$(ask "$db" "SELECT count(*) FROM call JOIN site ON site.id=call.site WHERE function='probed_outer'")" \
		"$(printed "$work/printed" outer)"
	is "$force nested calls of probed_inner" "$(ask "$db" "SELECT count(*) FROM call JOIN site ON site.id=call.site \
		WHERE function='probed_inner' AND depth=1")" "$(printed "$work/printed" inner)"
	is "$force recursive calls" "$(ask "$db" "SELECT count(*) || ' ' || max(depth) || ' ' || max(value) FROM call \
		JOIN site ON site.id=call.site WHERE function='probed_recursive'")" "47 46 47"
	is "$force calls without partner" "$(ask "$db" "SELECT count(*) FROM call_defect")" 0
	partner=$(ask "$db" "SELECT tid FROM thread WHERE pid=$pid AND tid<>pid")
	# other calls may wake it too: a lock of the address space, at its start
	is "$force wake-ups of the partner by the main thread's futex calls" \
		"$(wakeups futex "$partner" 'context == 0 && $2 == pid')" "$(printed "$work/printed" woken)"
	is "$force wake-ups of the main thread from its naps, by interrupts" "$naps" 31
	is "$force and by anything else" "$(wakeups '(clock_)?nanosleep' "$pid" 'context == 0')" 0
done

# Block requests: O_DIRECT writes of 4096 bytes are one request each. They complete in interrupts.
for start in '' no_start; do
	for round in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$work/block.obs" "$work/block.db"
		"$obsrec" -q ${start:+--force $start} -e syscalls,block -o "$work/block.obs" -- "$w" "$work" >"$work/printed"
		db=$work/block.db
		"$obsanalyze" load -o "$db" "$work/block.obs"
		pid=$(printed "$work/printed" pid)
		open=$(ask "$db" "SELECT count(*) FROM block_io WHERE dur IS NULL AND tid=$pid")
		[ "$open" = 0 ] && break
		echo "# round $round: completions of $open requests are missing"
	done
	holds "$start block requests were seen: $work is on a disk" sh -c "[ $(ask "$db" "SELECT count(*) FROM block_io") -gt 0 ]"
	is "$start O_DIRECT writes as block requests" "$(ask "$db" "SELECT count(*) FROM block_io b WHERE bytes=4096 AND EXISTS( \
		SELECT 1 FROM syscall s JOIN syscall_name n USING(abi, nr) WHERE n.name='pwrite64' AND s.tid=b.tid \
		AND b.ts BETWEEN s.ts AND s.ts + s.dur)")" "$(printed "$work/printed" writes)"
	is "$start requests without an end" "$open" 0
done
