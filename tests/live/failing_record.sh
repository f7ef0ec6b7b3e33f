#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Allocations and writes of a recorder that fail: it ends as usual or with one sentence, and what is written can be read.
. "$(dirname "$0")/lib.sh"
dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
flood=$!

# records for a moment with a fault: status, and what it says in $work/err
with() { # fault
	rm -f "$work/a.obs"
	timeout -s KILL $((20 * slow)) env LD_PRELOAD="$top/.output/faulty.so" FAULT="$1" \
		"$obsrec" -p $flood -d 0.3 -o "$work/a.obs" 2>"$work/err"
	status=$?
}

wrong() { # fault, why
	failed "$1: $2" "status $status: $(head -n 5 "$work/err")"
}

# no core dump, no hang; no sentence about this host for want of memory
try() { # fault
	with "$1"
	runs=$((runs + 1))
	last=$(tail -n 1 "$work/err")
	case $status in
	0) "$obsanalyze" verify "$work/a.obs" >"$work/verify" || wrong "$1" "not complete" ;;
	1 | 2)
		case $last in "obsrec: "????????????*) ;; *) wrong "$1" "no sentence" ;; esac
		grep -q 'no BTF\|not root\|CAP_' "$work/err" && wrong "$1" "another reason"
		[ ! -s "$work/a.obs" ] || { "$obsanalyze" verify "$work/a.obs" >"$work/verify" 2>&1; [ $? -eq 3 ]; } ||
			[ "$(tail -n 1 "$work/verify" | cut -d: -f1)" = COMPLETE ] || wrong "$1" "cannot be read"
		;;
	*) wrong "$1" "no exit status of its own" ;;
	esac
}

export FAULT_COUNT="$work/count"
with none:0
is "without a fault: exit status" $status 0
read -r allocations writes <"$work/count"
unset FAULT_COUNT
holds "its writes and allocations are counted" [ "$writes" -gt 5 -a "$allocations" -gt 1000 ]
echo "# $allocations allocations, $writes writes"
runs=0
n=1
while [ $n -le "$writes" ]; do # the disk is full at each write; ALL=1: each in each way
	try ENOSPC:$n
	[ $((n % 3)) -ne 1 ] && [ -z "${ALL:-}" ] || try EIO:$n+
	[ $((n % 3)) -ne 2 ] && [ -z "${ALL:-}" ] || try short:$n$([ $((n % 2)) -eq 0 ] || echo +)
	n=$((n + 1))
done
holds "each write that fails: $runs runs" [ $bad -eq 0 ]
runs=0
n=1
while [ $n -le "$allocations" ]; do # the first ones, then in steps that grow
	try alloc:$n$([ $((n % 2)) -eq 0 ] || echo +)
	n=$((n + 1 + n / ${ALL:+1}4))
done
holds "allocations that fail: $runs runs" [ $bad -eq 0 ]
kill $flood
exit $bad
