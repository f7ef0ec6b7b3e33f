#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make demo: a real redis-server under redis-benchmark is recorded and reported on. Without
# the rights or the kernel for that, a recording made the same way elsewhere is used.
# Leaves in demo/: the recording, report.md, report.html, the pictures as svg and png.
set -u
cd "$(dirname "$0")/.." || exit 1

requests=${DEMO_REQUESTS:-400000}
demo=demo
rm -rf $demo
mkdir $demo
work=$(mktemp -d)
server='' recorder='' sudo=''
# recording needs rights; a person at a terminal may have them through sudo
if [ "$(id -u)" -ne 0 ] && [ -t 0 ] && command -v sudo >/dev/null 2>&1 && sudo -v; then
	sudo=sudo
fi
clean() {
	[ -n "$recorder" ] && $sudo kill -INT "$recorder" 2>/dev/null
	# a server that ends still writes to its directory
	[ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

cannot() { # why: the bundled recording stands in
	echo
	echo "This machine cannot record: $1"
	echo "Using a recording of the same demonstration made elsewhere, testdata/demo.obs."
	cp testdata/demo.obs $demo/redis.obs
	client=$(cat testdata/demo.client)
}

record() {
	port=$((20000 + $$ % 12000)) # below those that outgoing connections take
	redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no --dir "$work" \
		--logfile "$work/log" --daemonize no >/dev/null 2>&1 &
	server=$!
	tries=0
	until redis-cli -p $port ping 2>/dev/null | grep -q PONG || [ $((tries += 1)) -gt 100 ]; do
		sleep 0.3
	done
	redis-cli -p $port ping 2>/dev/null | grep -q PONG || {
		echo "demo: redis-server does not answer: $(tail -n 1 "$work/log")" >&2
		exit 1
	}
	echo "Recording redis-server (pid $server) while redis-benchmark sends $requests requests:"
	echo "  ./obsrec -p $server -o $demo/redis.obs"
	$sudo ./obsrec -p $server -o $demo/redis.obs 2>"$work/recorder" &
	recorder=$!
	# it has started when the file exists; then leave it a moment
	tries=0
	until [ -s $demo/redis.obs ] || [ $((tries += 1)) -gt 100 ]; do
		$sudo kill -0 $recorder 2>/dev/null || return 1
		sleep 0.2
	done
	sleep 0.5
	$sudo kill -0 $recorder 2>/dev/null || return 1
	# quoted CSV: "GET","75145.59",...
	client=$(redis-benchmark -p $port -t get -n "$requests" -c 50 -q --csv | tail -n 1 | cut -d, -f 2 | tr -d '"')
	$sudo kill -INT $recorder
	wait $recorder
	recorder=''
	cat "$work/recorder"
}

client=''
if [ "${DEMO_BUNDLED:-0}" = 1 ]; then
	cannot "it was asked not to (DEMO_BUNDLED=1)"
elif ! record; then
	recorder=''
	why=$(sed -n 's/^obsrec: //p' "$work/recorder" | head -n 1)
	rm -f $demo/redis.obs
	cannot "${why:-obsrec could not start}"
fi

rate() { ./obsanalyze sql --csv $demo/redis.db "SELECT round($1, 1) FROM metric WHERE analysis='rps' AND name='turns' LIMIT 1" | tail -n 1 | tr -d '\r'; }
./obsanalyze load -o $demo/redis.db $demo/redis.obs || exit 1
estimate=$(rate value)
[ -n "$estimate" ] || { echo "demo: the recording shows no requests" >&2; exit 1; }
off=$(awk -v a="$estimate" -v b="$client" 'BEGIN { printf "%+.2f", 100 * (a - b) / b }')
line="requests a second: $estimate estimated from system calls, $client counted by the client ($off %)"

echo
./obsanalyze report $demo/redis.db
./obsanalyze report --markdown $demo/redis.db >$demo/report.md
printf '\n## Against the client\n\nRedis %s.\n\n![requests over time](rps.png)\n' "$line" >>$demo/report.md
./obsanalyze report --html $demo/report.html $demo/redis.db || echo "demo: no HTML report was made" >&2
if ! ./obsanalyze plot -o $demo --note "$line" $demo/redis.db >/dev/null ||
	! ./obsanalyze plot -o $demo --format png --note "$line" $demo/redis.db >/dev/null; then
	echo "demo: no picture was drawn" >&2
fi
rm -f $demo/redis.db

cat <<TEXT

Redis $line.

In $demo/: redis.obs (the recording), report.md (for a ticket), pictures as .svg and .png.
Next: ./obsanalyze report $demo/redis.obs, or ./obsanalyze --help.
The report with its pictures, for a browser: $demo/report.html
TEXT
