#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the live tests share. Sourced from the top of the tree.
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
obsrec=$top/obsrec
obsanalyze=$top/obsanalyze
work=$(mktemp -d "$top/.output/live.XXXXXX")
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$work"; [ ! -d "${heavy:-}" ] || until_true rmdir "$heavy"' EXIT

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
# the same for one that writes nothing yet (--last): shortly before it begins, a recorder gives its rights back
until_flying() { until_true grep -q '^NoNewPrivs:.*1' "/proc/$1/status"; }
begun() { "$obsanalyze" dump -e info "$1" | grep -q 'text="begin='; }

# Runs a command in a control group that weighs a hundred times as much as others, if one can be made: for what
# fills a CPU and must have it, whoever else uses the machine. (Of real-time threads the kernel takes a part of it.)
weightily() { # command...
	if [ -z "${heavy:-}" ]; then
		mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
		file=cpu.shares weight=102400
		if [ -z "$mount" ]; then
			mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
			file=cpu.weight weight=10000
			[ -z "$mount" ] || echo +cpu 2>/dev/null >"$mount/cgroup.subtree_control"
		fi
		heavy=${mount:-/none}/obsweight.$$
		{ mkdir "$heavy" && echo $weight >"$heavy/$file"; } 2>/dev/null || echo "# no control group: others are equals" >&2
	fi
	# shellcheck disable=SC2016 # expanded by the inner shell
	sh -c '[ ! -w "$0/cgroup.procs" ] || echo $$ >"$0/cgroup.procs"; exec "$@"' "$heavy" "$@"
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
