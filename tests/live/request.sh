#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A request through three servers of which one is slow: the command names it, and every server is in the tree.
. "$(dirname "$0")/lib.sh"
port=$((20000 + $$ % 10000))

for tier in 0 1 2; do
	mkfifo "$work/go.$tier"
	python3 tests/live/tiers.py $((port + 3 * tier)) $tier <"$work/go.$tier" >"$work/pids.$tier" &
	tiers=$!
	exec 3>"$work/go.$tier"
	until_true [ -s "$work/pids.$tier" ]
	pids=$(cat "$work/pids.$tier")
	"$obsrec" -q -p "$pids" -o "$work/$tier.obs" &
	recorder=$!
	until_begun "$work/$tier.obs"
	echo >&3
	exec 3>&-
	wait $tiers
	kill -INT $recorder
	wait $recorder
	"$obsanalyze" request slowest --name 'GET /slow' "$work/$tier.obs" >"$work/said"
	is "server $tier is slow: requests in the tree" "$(grep -c 'GET /slow from' "$work/said")" 3
	is "server $tier is slow: each question is followed" "$(grep -c 'asked 127.0.0.1:[0-9]*, network ' "$work/said")" 2
	pid=$(echo "$pids" | cut -d , -f $((tier + 1)))
	# it sleeps 1 s, longer than a busy host gives no CPU to another
	says "server $tier is slow: it is named" "$(tail -n 1 "$work/said")" "^Longest part: timer, .*\[$pid\]:$((port + 4 * tier)): [1-9][0-9.]* s, "
done
[ $bad -eq 0 ] || sed "s/^/# /" "$work/said"
exit $bad
