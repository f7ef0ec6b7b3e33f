#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the live tests share. Sourced from the top of the tree.
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
obsrec=$top/obsrec
obsanalyze=$top/obsanalyze
work=$(mktemp -d "$top/.output/live.XXXXXX")
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$work"' EXIT

# skip unless this kernel and these rights can record at all
probe=$work/probe.obs
if ! why=$("$obsrec" -q -d 0.1 -a -o "$probe" 2>&1); then
	echo "ok recording is possible # SKIP $why"
	exit 0
fi
rm -f "$probe"

# how much slower than a usual one this machine is: an emulated processor's limits of time are wider
slow=${LIVE_SLOW:-1}

# waits until a recording that was started in the background has begun, at most 20 s
until_begun() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -s "$1" ] && return
		sleep 1
	done
}

is() { # description, got, wanted
	if [ -n "$2" ] && [ "$2" = "$3" ]; then
		echo "ok $1 ($2)"
	else
		echo "not ok $1: $2, not $3"
	fi
}

holds() { # description, command...
	what=$1
	shift
	if "$@"; then echo "ok $what"; else echo "not ok $what"; fi
}

says() { # description, text, pattern
	if printf '%s\n' "$2" | grep -q -- "$3"; then echo "ok $1"; else echo "not ok $1: $2"; fi
}

# the last row's first column of a query
ask() { "$obsanalyze" sql --csv "$1" "$2" | tail -n 1 | tr -d '\r"'; }

# value of key in the workload's own line
told() { sed -n "s/.*\b$2=\([0-9]*\).*/\1/p" "$1"; }
