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

# waits until a condition holds, at most 60 s on a usual machine; status 1, and said, if it does not
until_true() { # command...
	tries=$((300 * slow))
	until "$@" 2>/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "# in vain: $*" && return 1; }
		sleep 0.2
	done
}

# waits until a recording that was started in the background has begun: the file is made before the programs run
until_begun() { until_true begun "$1"; }
begun() { "$obsanalyze" dump -e info "$1" | grep -q 'text="begin='; }

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
