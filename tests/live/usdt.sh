#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Static probes: spans and marks in known numbers, with arguments, texts and semaphores.
. "$(dirname "$0")/lib.sh"
cp "$top/.output/usdtwork" "$work/usdtwork" && cd "$work" || exit 1
./usdtwork >plain
if grep -q 'no sys/sdt.h' plain; then
	echo "ok static probes # SKIP no sys/sdt.h when it was built"
	exit 0
fi
is "without obsrec no semaphore is raised" "$(printed plain allowed)" 0
orders=$(printed plain orders) thread=$(printed plain thread) sold=$(printed plain sold) packed=$(printed plain packed)
no_start=$(printed plain no_start) no_end=$(printed plain no_end)
all=$((2 * (orders + thread) + sold + 2 * packed + no_start + no_end))

sums() { # orders: the sum of 0 to n-1
	echo $(($1 * ($1 - 1) / 2))
}
check() { # title, recording, output of the program
	"$obsanalyze" load --force -o shop.db "$2"
	is "$1: semaphores" "$(printed "$3" allowed)" $all
	is "$1: spans" "$(ask shop.db "SELECT count(*) FROM v_call WHERE function='shop:order__start..order__done'")" $((orders + thread))
	is "$1: their first arguments" "$(ask shop.db "SELECT sum(arg0) FROM call WHERE site=0")" $(($(sums "$orders") + $(sums "$thread")))
	is "$1: a signed byte" "$(ask shop.db "SELECT count(arg2) || ' ' || min(arg1) || ' ' || max(arg1) FROM call WHERE site=0")" "0 -1 -1"
	is "$1: arguments of their ends" "$(ask shop.db "SELECT sum(value) FROM call WHERE site=0")" $((1000 * ($(sums "$orders") + $(sums "$thread"))))
	is "$1: start and end are of one span" "$(ask shop.db "SELECT count(*) FROM call WHERE site=0 AND value <> 1000 * arg0")" 0
	is "$1: texts" "$(ask shop.db "SELECT count(*) FROM v_call c JOIN call a USING (ts, tid) WHERE a.site=0 AND c.text = 'order ' || (a.arg0 % 10)")" $((orders + thread))
	is "$1: spans that overlap others" "$(ask shop.db "SELECT count(*) FROM call WHERE site=1")" "$packed"
	is "$1: ends without start, starts without end" \
		"$(ask shop.db "SELECT unmatched || ' ' || open || ' ' || abandoned FROM call_defect WHERE site=0")" "$no_start $no_end 0"
	is "$1: marks" "$(ask shop.db "SELECT count(*) || ' ' || min(mark) FROM v_mark")" "$sold shop:sold"
	is "$1: their arguments" "$(ask shop.db "SELECT sum(arg1) || ' ' || sum(arg2) || ' ' || min(arg0) || ' ' || max(arg0) FROM mark")" \
		"$((65530 * sold + $(sums "$sold") - 65536 * (sold - 6))) $(sums "$sold") -1000000000000 2000000000000"
	is "$1: text of a mark" "$(ask shop.db "SELECT count(*) FROM v_mark WHERE text = 'all'")" "$sold"
}
all_three="-U './usdtwork:shop:order__start(1,3,2:str)..order__done(1)' -U ./usdtwork:pack__start..pack__done -U './usdtwork:so*(1,2,3,4:str)'"
record() { # obsrec's options
	eval "\"\$obsrec\" -e uprobe,sched $all_three $*"
}
record -o shop.obs -- ./usdtwork '>out 2>said'
is "exit status" $? 0
says "costs are printed for each" "$(grep -c 'us per probe\|cost not known' said)" '^3$'
check "as they are" shop.obs out
says "the report names spans" "$("$obsanalyze" report -a functions shop.obs)" "^shop:order__start..order__done  *$((orders + thread)) "
says "the report names marks" "$("$obsanalyze" report -a functions shop.obs)" "^shop:sold  *$sold "
says "the report counts ends without start" \
	"$("$obsanalyze" report -a functions --json shop.obs | tr -d ' \n' | grep -o "\"name\":\"unmatched\"[^}]*")" "\"value\":$no_start,"
"$obsanalyze" export -f json -o shop.json shop.obs
is "marks in a trace" "$(grep -c '"name":"shop:sold"' shop.json)" "$sold"

record --force no_cookie -o legacy.obs -- ./usdtwork '>out 2>said'
check "on kernels without cookies" legacy.obs out

record --private -q -o private.obs -- ./usdtwork '>out'
is "--private: no texts" "$("$obsanalyze" dump -e usdt private.obs | grep -c 'text="[^"]')" 0
is "--private: the numbers stay" "$(ask private.obs "SELECT sum(arg0) FROM call WHERE site=0")" $(($(sums "$orders") + $(sums "$thread")))

"$obsrec" -q -e uprobe -U './usdtwork:sold' --args 2 -o plain.obs -- ./usdtwork >out
is "--args" "$(ask plain.obs "SELECT count(arg0) || ' ' || count(arg1) || ' ' || count(arg2) || ' ' || count(text) FROM mark")" "$sold $sold 0 0"
is "other semaphores stay low" "$(printed out allowed)" "$sold"

# a program that runs already, by its name, after its file was replaced
cp usdtwork old && mkfifo go
./old wait <go >out &
old=$!
exec 3>go
until_true grep -qx old /proc/$old/comm
rm old && cp /bin/true old
"$obsrec" -q -e uprobe -p $old -U old:shop:order__start..order__done -o old.obs &
rec=$!
until_begun old.obs
echo >&3
exec 3>&-
wait $old
kill -INT $rec
wait $rec
is "a deleted program that runs already" "$(ask old.obs "SELECT count(*) FROM call")" $((orders + thread))
is "its semaphores" "$(printed out allowed)" $((2 * (orders + thread) + no_start + no_end))

listed=$("$obsrec" list -U ./usdtwork:'shop:*')
says "the list has probe, semaphore and types" "$listed" '^ *[0-9a-f]* *[0-9a-f][0-9a-f]* *shop:order__start  *s32 u64 s8$'
is "the list has all probes" "$(echo "$listed" | grep -o 'shop:[a-z_]*' | sort -u | wc -l)" 5
prints "other arguments of the same probe are refused" 1 'two --usdt name .*usdtwork:shop:sold, with different arguments' \
	"$obsrec" -a -d 1 -U './usdtwork:sold(1)' -U './usdtwork:sold(1,2)' -o none.obs
prints "or of one end of a span" 1 'two --usdt name .*usdtwork:shop:order__start..order__done, with different arguments' \
	"$obsrec" -a -d 1 -U './usdtwork:order__start(1)..order__done' -U './usdtwork:order__start(1)..order__done(1)' -o none.obs
holds "the same arguments are not" "$obsrec" -q -a -d 0.1 -U './usdtwork:sold(1)' -U './usdtwork:so*(1)' -o same.obs
if "$obsrec" -a -d 1 -U ./usdtwork:order__stort -o none.obs 2>said; then failed "a wrong name"; fi
says "the nearest name" "$(cat said)" 'has no static probe order__stort; the nearest is order__start'
