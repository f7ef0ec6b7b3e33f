#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports as JSON (against the schema that the program prints) and as HTML (whole, small, safe).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
pack=$PWD/.output/pack oa=$PWD/obsanalyze tests=$PWD/tests
no() { ! "$@"; }
small() { [ "$(wc -c <"$1")" -lt 2000000 ]; }

for t in redis-requests lossy killed calls two-cpus; do
	"$pack" testdata/$t.txt "$work/$t.obs" || exit 1
done
cp testdata/demo.obs testdata/demo-fault.obs "$work"
"$oa" report -o "$work/before.txt" "$work/calls.obs"
holds "options may follow the recording" "$oa" report "$work/calls.obs" -o "$work/after.txt"
holds "and have the same effect" cmp "$work/before.txt" "$work/after.txt"
holds "arguments after -- are not options" no "$oa" report -- "$work/calls.obs" -o "$work/ended.txt"
# names that try to leave their place
sed 's|comm="server"|comm="<script>x()"|; s|cmdline="server --port 80"|cmdline="</title><img src=x onerror=alert(1)>"|
	s|host=testhost|host=</dd><script>alert(1)</script>|' testdata/redis-requests.txt >"$work/hostile.txt"
"$pack" "$work/hostile.txt" "$work/hostile.obs" || exit 1

$oa report --json-schema >"$work/schema.json" || exit 1
for t in redis-requests lossy killed calls two-cpus demo demo-fault hostile; do
	$oa report --json "$work/$t.obs" >"$work/$t.json" 2>/dev/null
	holds "report --json of $t follows --json-schema" python3 tests/check/json_schema.py "$work/schema.json" "$work/$t.json"
	rm -f "$work/$t.html"
	$oa report --html "$work/$t.html" "$work/$t.obs" 2>/dev/null
	holds "report --html of $t is whole" sh -c "tail -n 1 '$work/$t.html' | grep -qx '</html>'"
	holds "report --html of $t is below 2 MB" small "$work/$t.html"
	holds "report --html of $t is well-formed, has what readers need and fetches nothing" \
		python3 "$tests/check/html_rules.py" "$work/$t.html"
done
# the validator and the rules must be able to fail
for change in 's/"metrics"/"metricz"/' 's/"severity": 0/"severity": "0"/' 's/"evidence": "OBSERVED"/"evidence": "SURE"/' \
	's/"completeness": "COMPLETE"/"completeness": "FINE"/'; do
	sed "$change" "$work/demo.json" >"$work/broken.json"
	holds "a report changed by $change does not" no python3 tests/check/json_schema.py "$work/schema.json" "$work/broken.json"
done
for change in 's|<h2 id="verdict-h" class="skip">|&<script>1</script>|' 's|<main>|<main><img src="http://example.org/x.png">|' \
	's|href="#limits"|href="#nowhere"|' 's|<th scope="row">|<th>|' 's|<caption>|<p>|' 's|</figcaption>||' "s|default-src 'none'|default-src *|"; do
	sed "$change" "$work/demo.html" >"$work/broken.html"
	holds "a page changed by $change breaks the rules" no python3 tests/check/html_rules.py "$work/broken.html"
done

# comparisons: of a server that became slower, of names that try to leave their place, of losses
for g in "before 1 0" "after 3 0.0004"; do
	# shellcheck disable=SC2086 # three words
	set -- $g
	awk -v seed=$2 -v n=2000 -v work=0.0002 -v lock=$3 -f testdata/server.awk >"$work/$1.txt" && "$pack" "$work/$1.txt" "$work/$1.obs" || exit 1
	sed 's|comm="server"|comm="<script>x()"|' "$work/$1.txt" >"$work/evil.txt" && "$pack" "$work/evil.txt" "$work/<b>$1.obs" || exit 1
done
$oa compare --html "$work/compare.html" "$work/before.obs" "$work/after.obs"
$oa compare --html "$work/evil.html" "$work/<b>before.obs" "$work/<b>after.obs"
$oa compare --html "$work/several.html" --before "$work/before.obs" "$work/before.obs" --after "$work/after.obs" "$work/after.obs"
$oa compare --force --html "$work/losses.html" "$work/lossy.obs" "$work/lossy.obs"
for t in compare evil several losses; do
	holds "compare --html ($t) is whole" sh -c "tail -n 1 '$work/$t.html' | grep -qx '</html>'"
	holds "compare --html ($t) is well-formed, has what readers need and fetches nothing" \
		python3 "$tests/check/html_rules.py" "$work/$t.html"
done
for p in ratios excess compare; do
	holds "compare --html has picture $p" grep -q "figure id=\"picture-$p\"" "$work/compare.html"
done
for form in svg png; do
	$oa compare --plot "$work/both" --format $form --keep-data --note 'ticket 7' "$work/before.obs" "$work/after.obs" >"$work/text"
	for p in ratios excess compare; do
		holds "compare --plot draws $p as $form" sh -c "head -c 100 '$work/both/$p.$form' | grep -qa 'PNG\|<svg\|<?xml'"
		holds "and keeps its rows" test "$(wc -l <"$work/both/$p.tsv")" -ge 2
	done
	holds "and prints the comparison" grep -q SLOWER "$work/text"
done
holds "the picture of durations shows both sides" sh -c "grep -q 'before, n = ' '$work/both/compare.svg' && grep -q 'after, n = ' '$work/both/compare.svg'"
holds "the note stands in it" grep -q 'ticket 7' "$work/both/ratios.svg"
holds "no texts in them touch each other" python3 tests/check/overlaps.py "$work"/both/*.svg

# flame graphs
for g in "c 1 0" "d 3 2"; do # with call stacks: long waits, and a function that the second calls more often
	# shellcheck disable=SC2086 # three words
	set -- $g
	awk -v seed=$2 -v n=2000 -v work=0.0002 -v rate=400 -v lock=0.0015 -v more=$3 -f testdata/server.awk >"$work/$1.txt" &&
		"$pack" "$work/$1.txt" "$work/$1.obs" || exit 1
done
$oa compare --html "$work/functions.html" "$work/c.obs" "$work/d.obs"
$oa report --html "$work/waits.html" "$work/d.obs"
for t in functions waits; do
	holds "a page with flame graphs ($t) is well-formed, has what readers need and fetches nothing" \
		python3 "$tests/check/html_rules.py" "$work/$t.html"
done
$oa plot -o "$work/planted" "$work/demo-fault.obs" >/dev/null
$oa plot -o "$work/locked" "$work/d.obs" >/dev/null
frames_in() { grep '<svg[^>]* x="' "$@"; } # file, or options of grep
framed() { sed -n 's|.*<svg class="m".*<text[^>]*>\([^<]*\)</text>.*|\1|p' "$1"; }
for p in planted/flame-cpu planted/flame-slow locked/flame-cpu locked/flame-offcpu locked/flame-slow locked/flame-slow-offcpu; do
	holds "$p is drawn" test "$(frames_in -c "$work/$p.svg")" -ge 4
	is "$p: frames without a title" "$(frames_in "$work/$p.svg" | grep -vc '<title>[^<]*: [^<]*</title><rect')" 0
	holds "$p has no script" no grep -qi '<script\|onclick\|onmouse\|href' "$work/$p.svg"
	holds "$p is XML" python3 -c 'import sys, xml.etree.ElementTree as x; x.parse(sys.argv[1])' "$work/$p.svg"
done
is "the frame of the planted fault" "$(framed "$work/planted/flame-slow.svg" | sed 's/: 9[0-9] % of slow, 0 % of baseline//')" keysCommand
is "what all slow requests do is not framed" "$(framed "$work/planted/flame-cpu.svg" | wc -l)" 0
holds "a function has its place in the source" grep -q '<title>grow (grow.c:42): ' "$work/locked/flame-cpu.svg"
holds "and there, too, after against before" grep -q '<title>grow (grow.c:42): ' "$work/functions.html"
holds "waits stand below how they waited" grep -q '<title>futex: 100.0 %' "$work/locked/flame-offcpu.svg"
is "the frame after against before" "$(framed "$work/functions.html" | sed 's/[0-9]* % of after/N % of after/')" 'grow: N % of after, 0 % of before'
holds "compare --html begins with the verdict" sh -c "sed '/<nav/q' '$work/compare.html' | grep -q 'tag bad\">SLOWER<'"
holds "and says which recordings are lossy" grep -q 'tag bad">LOSSY' "$work/losses.html"
holds "names cannot become elements" no grep -q '<script>x\|<b>before' "$work/evil.html"

# losses show in every picture: hatched where time is an axis, else in the head
awk '{ print } NR == 3000 { print "+1 0 counters group=syscalls seen=1 emitted=1\n+1 0 counters group=sched seen=1 emitted=1" }
	NR == 5000 { print "@block\n@lost 50\n+1 0 counters group=syscalls seen=41 emitted=1 lost_full=40"
		print "+1 0 counters group=sched seen=11 emitted=1 lost_full=10" }' "$work/after.txt" >"$work/gaps.txt" &&
	"$pack" "$work/gaps.txt" "$work/gaps.obs" || exit 1
for t in gaps after; do
	$oa plot -o "$work/$t" "$work/$t.obs" >/dev/null 2>&1
done
holds "pictures of a lossy recording are drawn" test "$(find "$work/gaps" -name '*.svg' | wc -l)" -ge 6
for p in "$work"/gaps/*.svg; do
	holds "$(basename "$p") of a lossy recording shows losses" grep -q -e 'LOSSY: 50 events were lost' -e 'events lost' "$p"
	holds "$(basename "$p") of a whole one shows none" no grep -q -e LOSSY -e 'events lost' "$work/after/$(basename "$p")"
done

for t in gaps after; do
	holds "no texts in pictures touch each other ($t)" python3 tests/check/overlaps.py "$work/$t"/*.svg
done
$oa plot -o "$work/demo" "$work/demo.obs" >/dev/null 2>&1
$oa plot --keep-data -o "$work/rows" "$work/demo.obs" >/dev/null 2>&1
for p in waits runq disk; do # time, two more columns of which the third is the window's length
	[ ! -e "$work/rows/$p.tsv" ] || holds "the last window of $p ends with the recording" awk -F '\t' \
		-v whole="$($oa sql --csv "$work/demo.obs" "SELECT value / 1e9 FROM recording WHERE key='duration_ns'" | tail -n 1 | tr -d '\r')" \
		'{ end = $1 + $3 } END { exit !(end < whole + 1e-6 && end > whole - 0.03) }' "$work/rows/$p.tsv"
done
holds "nor in those of a real server" python3 tests/check/overlaps.py "$work"/demo/*.svg
sed 's/height 1$//' plots/style.gp >"$work/style.gp" && cp plots/rps.gp "$work"
OBS_PLOTS=$work $oa plot -a rps -o "$work/close" "$work/demo.obs" >/dev/null 2>&1
holds "a key that touches is found" no python3 tests/check/overlaps.py "$work/close/rps.svg"
# no wait ended in any window: no mean to draw
"$oa" load -o "$work/idle.db" "$work/demo.obs" && python3 - "$work/idle.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE series SET n = 0 WHERE kind IN (18, 19)")
db.commit()
END
holds "waits of which none ended are drawn" "$oa" plot -a slack -o "$work/idle" "$work/idle.db"
# a knee that all windows are beyond, and one that none is
for k in 10 900000000; do
	"$oa" load -o "$work/knee.$k.db" "$work/demo.obs" && python3 - "$work/knee.$k.db" $k <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("INSERT INTO metric (analysis, subject, subject_kind, subject_id, name, value) SELECT 'saturation', name, 'server', id, 'recv knee', ? FROM server", (float(sys.argv[2]),))
db.commit()
END
	"$oa" plot -a slack -o "$work/knee.$k" "$work/knee.$k.db" >/dev/null
done
holds "slack beyond the knee is shaded" grep -q 'beyond the knee of 10 receives/s' "$work/knee.10/slack.svg"
holds "where it is not, nothing is" no grep -q 'beyond the knee' "$work/knee.900000000/slack.svg"
holds "and the picture is there" grep -q 'idle share' "$work/knee.900000000/slack.svg"
# names that gnuplot, or the shell that it asks for cells, would take for commands
for d in "it's" '-v' '<x' '| touch made' 'a b' "$(printf 'two\nlines')" 'grün'; do
	holds "pictures in a directory called $d" sh -c 'cd "$1" && "$2" plot -a latency -o "./$3" demo.obs &&
		"$2" plot -a latency --keep-data -f png "--output=$3" demo.obs && cd "./$3" && ls -A >../names && rm -r ../"$3" &&
		[ "$(cat ../names)" = "$(printf "latency.png\nlatency.svg\nlatency.tsv")" ]' sh "$work" "$oa" "$d"
done
mkdir "$work/own"
echo mine >"$work/own/latency.tsv"
$oa plot -a latency -o "$work/own" "$work/demo.obs" >/dev/null
holds "a file of the user's stays" grep -qx mine "$work/own/latency.tsv"
printf '#!/bin/sh\n: >"$4"; exit 1\n' >"$work/gnuplot" && chmod 755 "$work/gnuplot"
PATH=$work:$PATH $oa plot -a latency -o "$work/none" "$work/demo.obs" >/dev/null 2>&1
holds "what gnuplot could not draw is not left" test -z "$(ls -A "$work/none")"

mkdir "$work/bin"
PATH=$work/bin $oa report --html "$work/plain.html" "$work/demo.obs" 2>"$work/err"
holds "without gnuplot the page is made" sh -c "tail -n 1 '$work/plain.html' | grep -qx '</html>'"
holds "and says what is missing" grep -q 'pictures are missing: pictures need gnuplot' "$work/plain.html"
PATH=$work/bin $oa compare --html "$work/bare.html" "$work/before.obs" "$work/after.obs" 2>"$work/err"
holds "so does a comparison" grep -q '3 pictures are missing: pictures need gnuplot' "$work/bare.html"
holds "with gnuplot nothing is missing" no grep -q 'pictures are missing' "$work/demo.html"
holds "and all that the recording has are drawn" test "$(grep -c '<figure ' "$work/demo.html")" -ge 6
# labels of the time axis of so many days, from 1970-01-02 12:00 on: up to its end, with dates above a day
axis() {
	printf '0\n%s\n' "$(awk "BEGIN { print $1 * 86400 }")" >"$work/axis.tsv"
	gnuplot -e "data = '$work/axis.tsv'; start = 129600.0; load 'plots/clock.gp'; show xtics" 2>&1 |
		sed -n '/explicit list/{s/.*(//; s/" [-0-9.e+]*//g; s/[")]//g; p}'
}
if command -v gnuplot >/dev/null; then
	is "labels of half an hour" "$(axis 0.02)" '12:00:00, 12:10:00, 12:20:00'
	is "labels of two days" "$(axis 2)" '01-02 12:00, 01-03 00:00, 01-03 12:00, 01-04 00:00'
	is "labels of five days" "$(axis 5)" '1970-01-03, 1970-01-05, 1970-01-07'
	is "labels of ten days" "$(axis 10)" '1970-01-04, 1970-01-07, 1970-01-10'
	is "labels of a year" "$(axis 366)" '1970-04-03, 1970-07-04, 1970-10-04'
else
	echo "ok labels of the time axis # SKIP no gnuplot"
fi
# the first screen: what it is, and nothing else unless it is asked for
$oa report "$work/demo.obs" >"$work/first" 2>/dev/null
holds "the text begins with the server" sh -c "head -n 1 '$work/first' | grep -q '^redis-server\[.* on vm '"
holds "the first screen fits a terminal" awk 'length > 80 { exit 1 } END { exit NR > 24 }' "$work/first"
holds "-v prints more" sh -c "'$oa' report -v '$work/demo.obs' | grep -q '(overview)'"
holds "so does --all" sh -c "'$oa' report --all '$work/demo.obs' | grep -q '(overview)'"
holds "Markdown fits a ticket" sh -c "'$oa' report -m '$work/demo.obs' | awk 'END { exit NR > 40 }'"
holds "limits decide" sh -c "'$oa' report --no-cache --limit-pause 1ms --limit-factor 1.01 --json '$work/demo.obs' |
	python3 -c 'import json, sys; v = json.load(sys.stdin)[\"verdict\"]; sys.exit(v[\"status\"] != \"problem\")'"
holds "a recording of obsrec 0.1.0 is read" sh -c "'$oa' report --no-cache testdata/old-fault.obs | grep -q 'PROBLEM  2 pauses'"
holds "a limit that is none is refused" no "$oa" report --limit-factor 0.5 "$work/demo.obs"
holds "one analysis judges nothing" sh -c "'$oa' report -a rps --json '$work/demo.obs' |
	python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)[\"verdict\"][\"status\"] is not None)'"
exit $bad
