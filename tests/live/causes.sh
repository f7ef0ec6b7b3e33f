#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Calls that become slow for one known reason: that reason comes first. Other work on this machine
# is a reason too, so they run with real-time priority if they may, and each is tried up to ten times.
. "$(dirname "$0")/lib.sh"
w=$top/.output/slowly

first=
chrt -r 5 true 2>/dev/null && first="chrt -r 5"

judge() { # mode, kind, culprit's name
	for round in 1 2 3 4 5 6 7 8 9 10; do
		r=$work/$1$round.obs
		# shellcheck disable=SC2086 # words
		"$obsrec" -q -u "$w:probed_request" -o "$r" -- $first "$w" "$1" "$work" >"$work/printed"
		"$obsanalyze" load -o "$r.db" "$r"
		kind=$(ask "$r.db" "SELECT kind FROM cause WHERE rank=1")
		culprit=$(ask "$r.db" "SELECT sentence(finding) FROM cause WHERE rank=1")
		case $kind:$culprit in $2:*$3*) break ;; esac
		echo "# round $round of $1: $kind: $culprit"
	done
	is "$1: the first cause" "$kind" "$2"
	case $culprit in *$3*) ok="ok" ;; *) ok="not ok" ;; esac
	echo "$ok $1: by $culprit${3:+, wanted $3}"
}

judge lock lock holder
is "who releases is asleep" "$(ask "$r.db" "SELECT end_state='timer' FROM cause WHERE rank=1")" 1
is "releases were seen in wake calls" "$(ask "$r.db" "SELECT evidence FROM cause WHERE rank=1")" OBSERVED
judge pipe pipe reader
judge peer peer "127.0.0.1:"
is "the upstream's port" "$(ask "$r.db" "SELECT remote LIKE '%:$(printed "$work/printed" port)' FROM cause JOIN fd ON
	fd.rowid=object WHERE rank=1")" 1
judge disk disk ""
judge self self ""
judge cpu_contender cpu_contender burner
is "the timeline of the slowest calls has rows" "$(ask "$r.db" "SELECT count(*) > 10 FROM timeline")" 1

# A batch job without requests, and later a neighbour on its CPU: the time is not given; the windows are found.
# Others who build are neighbours too, so the two weigh more.
for round in 1 2 3 4 5 6 7 8 9 10; do
	r=$work/batch$round.obs
	weightily "$obsrec" -q -e sched -o "$r" -- "$w" batch "$work" >"$work/printed"
	"$obsanalyze" load -o "$r.db" "$r"
	# begin of what was found, and of the neighbour's first long time on a CPU, in windows
	began=$(ask "$r.db" "SELECT round(abs(m.value - (SELECT min(ts) FROM thread_state WHERE state=0 AND dur > 2000000
		AND tid=$(printed "$work/printed" burner))) * 128 / (SELECT value FROM recording WHERE key='duration_ns'), 1)
		FROM metric m WHERE analysis='causes' AND name='from'")
	first=$(ask "$r.db" "SELECT kind || ': ' || basis || ': ' || sentence(finding) FROM cause WHERE rank=1")
	case $began:$first in [01].*:cpu_contender:*) break ;; esac
	echo "# round $round: begins $began windows off: $first"
done
says "batch: the neighbour comes first, in windows that were found" "$first" \
	"^cpu_contender: change: The CPU ran burner\[.* Run-queue latency"
case $began in [01].*) ok="ok" ;; *) ok="not ok" ;; esac
echo "$ok batch: what was found begins with the neighbour, within two windows ($began)"
