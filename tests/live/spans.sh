#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Spans between two functions in known numbers: paired by keys, on the same thread and across threads.
. "$(dirname "$0")/lib.sh"
cp "$top/.output/spanwork" "$work/spanwork" && cd "$work" || exit 1
./spanwork >plain
same=$(printed plain same) moved=$(printed plain moved) reused=$(printed plain reused) made=$(printed plain made)
no_start=$(printed plain no_start) no_end=$(printed plain no_end)

check() { # title, recording
	"$obsanalyze" load --force -o spans.db "$2"
	is "$1: spans" "$(ask spans.db "SELECT n + excluded FROM call_stat WHERE site=0")" $((same + moved + reused))
	is "$1: a row each" "$(ask spans.db "SELECT count(*) || ' ' || sum(tid <> end_tid) FROM call WHERE site=0")" "$((same + moved + reused)) $moved"
	is "$1: each key its pair" "$(ask spans.db "SELECT sum(arg0) FROM call WHERE site=0 AND arg0 > 1000")" $((1000 * moved + moved * (moved + 1) / 2))
	is "$1: arguments after the key" "$(ask spans.db "SELECT count(*) FROM call WHERE site=0 AND tid = end_tid AND arg0 <> 5 AND arg1 <> arg0")" 0
	is "$1: states of one thread only" "$(ask spans.db "SELECT count(run) FROM call WHERE site=0")" $((same + reused))
	is "$1: keys reused, ends without start, starts without end" \
		"$(ask spans.db "SELECT reused || ' ' || unmatched || ' ' || open FROM call_defect WHERE site=0")" "$reused $no_start $no_end"
	is "$1: located" "$(ask spans.db "SELECT group_concat(defect || ' ' || key || ' ' || n, ', ') FROM (SELECT defect, min(key) AS key, count(*) AS n FROM span_defect WHERE site=0 GROUP BY defect ORDER BY defect)")" \
		"no end 2000 $no_end, no start 6 $no_start, reused 5 $reused"
	is "$1: from a return to an entry" "$(ask spans.db "SELECT n + excluded FROM call_stat WHERE site=1")" "$made"
	is "$1: all objects end" "$(ask spans.db "SELECT count(*) FROM call_defect WHERE site=1")" 0
	is "$1: on the same thread without a key" "$(ask spans.db "SELECT n + excluded FROM call_stat WHERE site=2")" "$made"
}
both="-u ./spanwork:serve_start..serve_end@2,1 -u ./spanwork:make_object%return..end_object@return,2 -u ./spanwork:make_object..end_object%return"
# shellcheck disable=SC2086 # options
"$obsrec" -e uprobe,sched --args 2 $both -o spans.obs -- ./spanwork >out 2>said
is "exit status" $? 0
says "costs are printed for each" "$(grep -c 'us per probe\|cost not known' said)" '^3$'
check "spans" spans.obs
says "the report names spans" "$("$obsanalyze" report -a functions spans.obs)" "^serve_start..serve_end@2,1  *$((same + moved + reused)) "
says "and says what is not paired" "$("$obsanalyze" report -a functions spans.obs | tr -s '\n ' ' ')" "keys reused before an end $reused; ends without a start $no_start; starts without an end $no_end"
"$obsanalyze" export -f json -o spans.json spans.obs
is "spans in a trace" "$(grep -c '"name":"serve_start..serve_end@2,1","cat":"span"' spans.json)" $((same + moved + reused))

# shellcheck disable=SC2086
"$obsrec" -q -e uprobe,sched --args 2 --force no_cookie $both -o legacy.obs -- ./spanwork >out
check "on kernels without cookies" legacy.obs

# static probes in the same functions
if "$obsrec" list -U ./spanwork | grep -q 'span:start'; then
	"$obsrec" -q -e uprobe -U './spanwork:span:start(1)..end@2,1' -o usdt.obs -- ./spanwork >out
	is "static probes: spans" "$(ask usdt.obs "SELECT count(*) || ' ' || sum(tid <> end_tid) FROM call")" "$((same + moved + reused)) $moved"
	is "static probes: key and argument" "$(ask usdt.obs "SELECT count(*) FROM call WHERE tid = end_tid AND arg0 <> 5 AND arg1 <> arg0")" 0
	is "static probes: defects" "$(ask usdt.obs "SELECT reused || ' ' || unmatched || ' ' || open FROM call_defect")" "$reused $no_start $no_end"
fi

# a function that is recorded, and starts a span
"$obsrec" -q -e uprobe -u ./spanwork:serve_end -u ./spanwork:serve_start..serve_end@2,1 -o two.obs -- ./spanwork >out
is "calls of a function at an end" "$(ask two.obs "SELECT n + excluded FROM call_stat WHERE site=0")" $((same + moved + reused + no_start))
is "and its spans" "$(ask two.obs "SELECT n + excluded FROM call_stat WHERE site=1")" $((same + moved + reused))

"$obsrec" -q -e uprobe --last 60s --trigger 'call serve_start..serve_end > 1us' --after 100ms -u ./spanwork:serve_start..serve_end@2,1 -o trigger.obs -- sh -c './spanwork; sleep 1' >out
says "a slow span triggers" "$(ask trigger-*-1.obs "SELECT value FROM recording WHERE key='end'")" '^call serve_start..serve_end@2,1 of thread'

prints "an unknown end" 1 'has no function serve_and; the nearest names are serve_end' \
	"$obsrec" -a -d 1 -u ./spanwork:serve_start..serve_and@1 -o none.obs
prints "an unknown start" 1 'has no function serve_stort' "$obsrec" -a -d 1 -u ./spanwork:serve_stort..serve_end@1 -o none.obs
prints "the same span twice" 1 'two --uprobe name the span' \
	"$obsrec" -a -d 1 -u ./spanwork:serve_start..serve_end@1 -u ./spanwork:serve_start..serve_end@1 -o none.obs
prints "a return without its value" 1 "at an entry, and 'return' at %return" \
	"$obsrec" -a -d 1 -u ./spanwork:serve_start..serve_end%return@1 -o none.obs
prints "returns that are not recorded" 1 'the return of .*serve_end cannot be recorded: --returns never' \
	"$obsrec" -a -d 1 --returns never -u ./spanwork:serve_start..serve_end%return -o none.obs
