#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Calls that become slow for one known reason: that reason comes first. Other work on this machine
# is a reason too, so they run with real-time priority if they may, and each is tried up to three times.
. "$(dirname "$0")/lib.sh"
w=$top/.output/slowly

first=
chrt -r 5 true 2>/dev/null && first="chrt -r 5"

judge() { # mode, kind, culprit's name
	for round in 1 2 3; do
		r=$work/$1$round.obs
		# shellcheck disable=SC2086 # words
		"$obsrec" -q -u "$w:probed_request" -o "$r" -- $first "$w" "$1" "$work" >"$work/told"
		"$obsanalyze" load -o "$r.db" "$r"
		kind=$(ask "$r.db" "SELECT kind FROM cause WHERE rank=1")
		culprit=$(ask "$r.db" "SELECT culprit FROM cause WHERE rank=1")
		case $kind:$culprit in $2:*$3*) break ;; esac
		echo "# round $round of $1: $(ask "$r.db" "SELECT sentence FROM cause WHERE rank=1")"
	done
	is "$1: the first cause" "$kind" "$2"
	case $culprit in *$3*) ok="ok" ;; *) ok="not ok" ;; esac
	echo "$ok $1: by $culprit${3:+, wanted $3}"
}

judge lock lock holder
is "who releases is asleep" "$(ask "$r.db" "SELECT second LIKE 'asleep until a timer%' FROM cause WHERE rank=1")" 1
is "releases were seen in wake calls" "$(ask "$r.db" "SELECT label FROM cause WHERE rank=1")" OBSERVED
judge pipe pipe reader
judge peer peer "127.0.0.1:"
is "the peer's port" "$(ask "$r.db" "SELECT culprit_id FROM cause WHERE rank=1")" "$(told "$work/told" port)"
judge disk disk ""
judge self self ""
judge antagonist antagonist burner
is "the timeline of the slowest calls has rows" "$(ask "$r.db" "SELECT count(*) > 10 FROM timeline")" 1
