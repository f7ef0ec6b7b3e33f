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
exit $bad
