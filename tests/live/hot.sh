#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --hot: calls of a function that is called often are counted in histograms, and none is lost or counted twice.
. "$(dirname "$0")/lib.sh"
cp "$top/.output/hotwork" "$work/hotwork" && cd "$work" || exit 1

all() { ask "$1" "SELECT sum(n) FROM (SELECT count(*) AS n FROM call WHERE dur IS NOT NULL UNION ALL SELECT sum(n) FROM call_count)"; }
defects() { ask "$1" "SELECT coalesce(sum(open + abandoned + nested), 0) FROM call_defect"; }
never() { ask "$1" "SELECT sum(counted - timed) FROM call_stat"; }
exact() { # title, recording, output of the program
	says "$1: nothing is lost" "$("$obsanalyze" verify "$2" | tail -n 1)" '^COMPLETE: .* 0 events lost'
	is "$1: calls that returned, counted or not" "$(all "$2")" "$(printed "$3" returned)"
	is "$1: calls left by longjmp" "$(($(defects "$2") + $(never "$2")))" $(($(printed "$3" calls) - $(printed "$3" returned)))
	is "$1: buckets have the counted calls" \
		"$(ask "$2" "SELECT sum(n) FROM latency WHERE kind='call_cpu'")" "$(ask "$2" "SELECT timed FROM call_stat")"
	is "$1: the buckets of wall time are those of all calls" \
		"$(ask "$2" "SELECT sum(n) FROM latency WHERE kind='call'")" "$(ask "$2" "SELECT n + timed FROM call_stat")"
	is "$1: calls that are open at a switch" "$(ask "$2" "SELECT sum(n) FROM latency WHERE kind='call' AND low > 5.5e9")" 2
	is "$1: returns without entry" "$(ask "$2" "SELECT total(unmatched) FROM call_defect")" 0.0
}

"$obsrec" -q -e uprobe --hot 50 -u ./hotwork:hot -o hot.obs -- ./hotwork 4 100000 >out
is "exit status" $? 0
exact "often, then seldom" hot.obs out
is "switched on, then off" "$(ask hot.obs "SELECT group_concat(counted, '') FROM (SELECT counted FROM call_mode ORDER BY ts LIMIT 2)")" 10
holds "the rate of the switch is above the limit" sh -c "[ $(ask hot.obs "SELECT rate > above AND above = 50 FROM call_mode WHERE counted LIMIT 1") = 1 ]"
holds "calls have both forms" sh -c "[ $(ask hot.obs "SELECT n > 0 AND timed > 0 FROM call_stat") = 1 ]"
says "dump shows the switches" "$("$obsanalyze" dump -e call_mode hot.obs | head -n 1)" 'limit=50 site=0 mode=1'
says "the report says so" "$("$obsanalyze" report -a functions --json hot.obs | tr -d '\n')" 'calls_counted'
is "the report has all calls" \
	"$("$obsanalyze" report -a functions --json hot.obs | tr -d ' \n' | grep -o '"name":"calls","[^}]*' | head -n 1 | grep -o '"value":[0-9]*' | cut -d: -f2)" \
	"$(ask hot.obs "SELECT n + timed FROM call_stat")"

"$obsrec" -q -e uprobe --hot 0 -u ./hotwork:hot -o events.obs -- ./hotwork 1 100000 >out
is "--hot 0: an event each" "$(ask events.obs "SELECT count(*) || ' ' || (SELECT count(*) FROM call_mode) FROM call")" "$(printed out returned) 0"

"$obsrec" -q -e uprobe --hot 50 --force no_cookie -u ./hotwork:hot -o legacy.obs -- ./hotwork 3 100000 >out
is "on kernels without cookies" "$(all legacy.obs) $(ask legacy.obs "SELECT count(*) > 0 FROM call_mode")" "$(printed out returned) 1"
"$obsrec" -q -e uprobe --hot 50 --returns never -u ./hotwork:hot -o once.obs -- ./hotwork 3 100000 >out
is "without returns" "$(ask once.obs "SELECT (entries + counted) || ' ' || (counted > 0) || ' ' || timed FROM call_stat")" "$(printed out calls) 1 0"
"$obsrec" -q --private -e uprobe --hot 50 --last 60s -u ./hotwork:hot -o flight.obs -- ./hotwork 3 100000 >out
flight=$(ls flight-*.obs)
is "flight mode, --private" "$(all "$flight") $(ask "$flight" "SELECT counted > 0 FROM call_stat")" "$(printed out returned) 1"

# cut, merge and redact keep them
"$obsanalyze" redact -o redacted.obs hot.obs
is "redact keeps counts" "$(all redacted.obs)" "$(all hot.obs)"
"$obsanalyze" merge -o merged.obs hot.obs legacy.obs 2>/dev/null
is "merge keeps counts" "$(all merged.obs)" $(($(all hot.obs) + $(all legacy.obs)))
"$obsanalyze" cut --from 0 -o cut.obs hot.obs
is "cut keeps counts" "$(all cut.obs)" "$(all hot.obs)"

# the program's clock against both forms: within 1 %
ratio_near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.99 * b && a < 1.01 * b) }'; }
near() { # title, recording
	told_ns=$(printed out ns)
	total=$(ask "$2" "SELECT total + timed_total FROM call_stat")
	echo "# $1: program $told_ns ns, recording $total ns"
	ratio_near "$total" "$told_ns"
}
agrees() { # title, obsrec's options
	rounds=10
	until rm -f near.obs && "$obsrec" -q -e uprobe $2 -u ./hotwork:hot -o near.obs -- ./hotwork 3 1000000 alone >out && near "$1" near.obs; do
		rounds=$((rounds - 1))
		[ $rounds -gt 0 ] || return 1
		echo "# disturbed: again"
	done
}
holds "events agree with the program's clock within 1 %" agrees events "--hot 0"
holds "histograms agree with the program's clock within 1 %" agrees histograms "--hot 10"
holds "most calls are counted" sh -c "[ $(ask near.obs "SELECT timed > n FROM call_stat") = 1 ]"
p50=$("$obsanalyze" report -a functions --json near.obs | tr -d ' \n' | grep -o '"name":"p50","[^}]*' | head -n 1 | grep -o '"value":[0-9.e+]*' | cut -d: -f2)
holds "p50 is that of the program within 3.2 % and 1 %" sh -c "awk 'BEGIN { exit !($p50 > 0.958 * $(printed out p50) && $p50 < 1.042 * $(printed out p50)) }'"
holds "time on a CPU is at most wall time" sh -c "[ $(ask near.obs "SELECT timed_cpu BETWEEN 1 AND timed_total FROM call_stat") = 1 ]"
