#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Answers in datagrams belong to the request of the client that they go to, whatever the order.
. "$(dirname "$0")/lib.sh"

port=$((20000 + $$ % 10000))
python3 "$top/tests/live/datagrams.py" serve $port 7>&- &
server=$!
bound() { grep -q "$(printf ':%04X ' $port)" /proc/net/udp; }
until_true bound

for way in '' raw_tp; do
	file=$work/datagrams${way:-btf}.obs
	# shellcheck disable=SC2086
	"$obsrec" -q ${way:+--force $way} -p $server -o "$file" &
	recorder=$!
	until_begun "$file"
	python3 "$top/tests/live/datagrams.py" ask $port || failed "client"
	kill -INT $recorder
	wait $recorder
	# the second client's take 20 ms, the first one's 50 ms: not less, and not as long as both rounds
	is "${way:-tp_btf}: client, requests, not shorter than the server waits, the most of them not much longer" \
		"$("$obsanalyze" sql --csv "$file" "SELECT c.address, count(*), sum(q.dur >= w * 1e6), sum(q.dur < (w + 25 * $slow) * 1e6) > 5
			FROM (SELECT *, iif(client=(SELECT id FROM client WHERE address='127.0.0.1'), 50, 20) AS w FROM request) q
			JOIN client c ON c.id=q.client GROUP BY 1 ORDER BY 1" | tail -n +2 | tr -d '\r"' | tr '\n' ' ')" \
		'127.0.0.1,10,10,1 127.0.0.2,10,10,1 '
done
kill $server

# Answers of DNS that report an error: not that a name does not exist. named uses recvmmsg and sendmmsg.
answers_of() { # title, server, way, expected
	until_true python3 "$top/tests/live/datagrams.py" dns $port
	file=$work/dns$1${3:-}.obs
	# shellcheck disable=SC2086
	"$obsrec" -q ${3:+--force $3} -p "$2" -o "$file" &
	recorder=$!
	until_begun "$file"
	python3 "$top/tests/live/datagrams.py" dns $port || failed "client of $1"
	kill -INT $recorder
	wait $recorder
	is "$1 ${3:-tp_btf}: requests with the name of DNS, errors" \
		"$("$obsanalyze" sql --csv "$file" "SELECT (SELECT count(*) FROM request WHERE requests=1 AND name IN (SELECT id FROM request_name WHERE name='DNS query')),
			k.code, count(*) FROM request_error e JOIN request_code k ON k.id=e.code GROUP BY 2" | tail -n +2 | tr -d '\r"')" "$4"
}

if command -v dnsmasq >/dev/null; then
	dnsmasq -k -p $port -a 127.0.0.1 -z -R -h -x '' -C /dev/null --host-record=ok.test,127.0.0.1 --local=/ok.test/ 2>/dev/null &
	server=$!
	answers_of dnsmasq $server '' 30,REFUSED,10
	answers_of dnsmasq $server raw_tp 30,REFUSED,10
	kill $server
	wait $server
else
	echo "ok errors of dnsmasq # SKIP it is not installed"
fi
if command -v named >/dev/null; then
	cat >"$work/named.conf" <<-CONF
		options { directory "$work"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none;
			session-keyfile none; };
		controls { };
		zone "ok.test" { type primary; file "ok.zone"; };
		zone "lost.test" { type primary; file "lost.zone"; };
	CONF
	printf '@ 60 SOA ok.test. ok.test. 1 60 60 60 60\n@ 60 NS ok.test.\n@ 60 A 127.0.0.1\n' >"$work/ok.zone"
	named -f -c "$work/named.conf" -p $port 2>/dev/null &
	server=$!
	answers_of named $server '' 30,SERVFAIL,10
	kill $server
else
	echo "ok errors of named # SKIP it is not installed"
fi
exit $bad
