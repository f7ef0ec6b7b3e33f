#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make demo: a redis-server under a steady load is recorded twice, healthy and with a planted fault: KEYS * on
# a million keys, twice. Prints the first screen of both, and whether the report found what was planted (by
# columns, not by words). Without the rights or the kernel for that, recordings made the same way are used.
# Leaves in demo/: both recordings, report.md, report.html, the pictures as svg and png.
set -u
cd "$(dirname "$0")/.." || exit 1

rate=${DEMO_RATE:-4000} keys=${DEMO_KEYS:-1000000}
demo=${DEMO_DIR:-demo}
rm -rf "$demo"
mkdir "$demo"
work=$(mktemp -d)
server='' recorder='' client='' asking='' sudo='' client_rate=0
# recording needs rights; a person at a terminal may have them through sudo
if [ "$(id -u)" -ne 0 ] && [ -t 0 ] && command -v sudo >/dev/null 2>&1 && sudo -v; then
	sudo=sudo
fi
clean() {
	[ -n "$recorder" ] && $sudo kill -INT "$recorder" 2>/dev/null
	for p in $client $asking $server; do
		kill "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	[ -n "$recorder" ] && wait "$recorder" 2>/dev/null
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

cannot() { # why: the bundled recordings stand in
	echo "This machine cannot record: $1"
	echo "Using recordings made elsewhere: testdata/demo-fault.obs, testdata/demo-healthy.obs."
	cp testdata/demo-fault.obs "$demo/fault.obs"
	cp testdata/demo-healthy.obs "$demo/healthy.obs"
	cp testdata/demo-fault.planted "$demo/planted"
	client_rate=$(cat testdata/demo-healthy.client)
}

up() {
	port=$((20000 + $$ % 12000)) # below those that outgoing connections take
	redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no --dir "$work" \
		--logfile "$work/log" --daemonize no >/dev/null 2>&1 &
	server=$!
	tries=0
	until redis-cli -p $port ping 2>/dev/null | grep -q PONG || [ $((tries += 1)) -gt 100 ]; do
		sleep 0.3
	done
	redis-cli -p $port eval "for i = 1, tonumber(ARGV[1]) do redis.call('set', 'key:' .. i, string.rep('x', 100)) end" \
		0 "$keys" >/dev/null 2>&1 || {
		echo "demo: redis-server does not answer: $(tail -n 1 "$work/log")" >&2
		exit 1
	}
}

# file seconds fault: records while the client sends; fault 1: plants it
record() {
	# shellcheck disable=SC2024 # the file is ours
	$sudo ./obsrec -p $server -o "$1" 2>"$work/recorder" &
	recorder=$!
	tries=0
	until [ -s "$1" ] || [ $((tries += 1)) -gt 100 ]; do
		$sudo kill -0 $recorder 2>/dev/null || return 1
		sleep 0.2
	done
	$sudo kill -0 $recorder 2>/dev/null || return 1
	.output/loadgen -c 20 -r "$rate" -k "$keys" -d "$2" 127.0.0.1 $port 'GET key:%d\r\n' >"$work/client" &
	client=$!
	if [ "$3" = 1 ]; then
		for after in 1.5 1.8; do # from the last one: redis-cli still prints the keys, and may take longer than the load
			sleep $after
			date +%s.%N >>"$demo/planted"
			redis-cli -p $port keys '*' >/dev/null &
			asking="$asking $!"
		done
	fi
	wait $client $asking
	client='' asking=''
	$sudo kill -INT $recorder
	wait $recorder
	recorder=''
	client_rate=$(sed -n 's/.*"seconds": [0-9.]*, "rate": \([0-9.]*\).*/\1/p' "$work/client")
}

ask() { ./obsanalyze sql --csv "$work/$1.db" "$2" | tail -n +2 | tr -d '\r"'; }

# times that were planted, times that were found: as many, each within 0.3 s, with 50 ms on CPU, in a request KEYS
compare() {
	# ms since 1970
	ask fault "SELECT printf('%d', (SELECT 1000 * strftime('%s', value) + substr(strftime('%f', value), 4) FROM
		recording WHERE key='start') + ts / 1000000), run > 50000000, (SELECT n.name FROM request r
		JOIN request_name n ON n.id=r.name WHERE r.rowid=pause.request) FROM pause JOIN verdict ON verdict.rank=1 WHERE counts AND status='problem' AND kind='pauses' ORDER BY ts" | tr , ' ' >"$work/found"
	awk 'NR == FNR { planted[n++] = 1000 * $1; next }
		{ d = $1 - planted[m++]; good += d < 300 && d > -300 && $2 == 1 && $3 == "KEYS" }
		END { exit !(n > 0 && m == n && good == n) }' "$demo/planted" "$work/found"
}

if [ "${DEMO_BUNDLED:-0}" = 1 ]; then
	cannot "DEMO_BUNDLED=1"
else
	up
	echo "Recording redis-server (pid $server, $keys keys) under $rate requests/s: 5 s with a"
	echo "planted fault, the command KEYS * twice, then 5 s without."
	# the faulty one first: what the client counts is compared with the healthy one
	if ! record "$demo/fault.obs" 5 1 || ! record "$demo/healthy.obs" 5 0; then
		recorder=''
		why=$(sed -n 's/^obsrec: //p' "$work/recorder" | head -n 1)
		rm -f "$demo"/*.obs
		cannot "${why:-obsrec could not start}"
	fi
fi

echo
for r in fault healthy; do ./obsanalyze load -o "$work/$r.db" "$demo"/$r.obs || exit 1; done
./obsanalyze report "$demo/fault.obs" || exit 1
echo
n=$(wc -l <"$demo/planted")
if compare; then
	echo "planted: $((n)) times KEYS *; found: $(wc -l <"$work/found") pauses, in requests KEYS"
	status=0
else
	echo "planted: $((n)) times KEYS *; found: something else"
	status=1
fi
echo
./obsanalyze report "$demo/healthy.obs"
[ "$(ask healthy "SELECT status FROM verdict WHERE rank=1")" = none ] || {
	other=$(ask healthy "SELECT p.comm FROM cause c JOIN process p ON p.pid = c.offender
		WHERE c.rank = 1 AND c.kind = 'cpu_contender' ORDER BY p.start DESC LIMIT 1")
	echo "planted: nothing; found: something${other:+ that $other did. Other programs use this machine: repeat when it is idle}"
	status=1
}
# between the first answer and the last: the recording is longer than the load
estimate=$(ask healthy "SELECT round((requests - 1) * 1e9 / (last_request - first_request), 1) FROM service ORDER BY requests DESC LIMIT 1")
off=$(awk -v a="$estimate" -v b="$client_rate" 'BEGIN { printf "%+.2f", 100 * (a - b) / b }')
line="requests per second: $estimate estimated from system calls, $client_rate counted by the client ($off %)"
echo
echo "Redis $line."
./obsanalyze report --markdown "$demo/fault.obs" >"$demo/report.md"
printf '\n![requests over time](rps.png)\n' >>"$demo/report.md"
./obsanalyze report --html "$demo/report.html" "$demo/fault.obs" || echo "demo: no HTML report was made" >&2
if ! ./obsanalyze plot -o "$demo" "$demo/fault.obs" >/dev/null ||
	! ./obsanalyze plot -o "$demo" --format png "$demo/fault.obs" >/dev/null; then
	echo "demo: no picture was drawn" >&2
fi
cat <<TEXT

In $demo/: fault.obs and healthy.obs (the recordings), planted (when), report.md (for a ticket), report.html (for a browser),
pictures as .svg and .png.
TEXT
exit $status
