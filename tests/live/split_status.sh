#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The status of an answer of HTTP/1 is read, however many buffers its words are in (varnish has one for each), and that of
# varnish itself.
. "$(dirname "$0")/lib.sh"
cleanup() {
	[ -z "${pids:-}" ] || kill $pids 2>/dev/null
	remove_work
}

# "/2/503": after the version, the status line has so many buffers. Each answer is sent by writev or, in turns, by sendmsg.
cat >"$work/server.py" <<-'END'
	import os, socket, sys
	s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
	turn = 0
	while True:
	    c = s.accept()[0]
	    while asked := c.recv(1000):
	        kind, status = asked.split()[1].split(b"/")[1:]
	        words = {b"0": [b"HTTP/1.1 " + status + b" Fine"], b"1": [b"HTTP/1.1", b" " + status + b" Fine"],
	            b"2": [b"HTTP/1.1 ", status, b" ", b"Fine"], b"3": [b"HTTP/1.1", b" ", status, b" ", b"Fine"],
	            b"4": [b"HTTP/1.1", b" ", status, b" 503"]}[kind]
	        turn += 1
	        buffers = words + [b"\r\n", b"Content-Length: ", b"2", b"\r\n", b"\r\n", b"ok"]
	        if turn % 2:
	            os.writev(c.fileno(), buffers)
	        else:
	            c.sendmsg(buffers)
END
cat >"$work/client.py" <<-'END'
	import socket, sys
	c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
	for path, n in (a.split(":") for a in sys.argv[2:]):
	    for i in range(int(n)):
	        c.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode())
	        answer = b""
	        while b"\r\n\r\n" not in answer:
	            answer += c.recv(65536)
	        c.setblocking(False)
	        try:
	            c.recv(65536)
	        except BlockingIOError:
	            pass
	        c.setblocking(True)
END

errors() { # file: how many of which status
	ask "$1" "SELECT group_concat(status || ' ' || n, ', ') FROM (SELECT e.status, count(*) AS n FROM request_error e GROUP BY 1 ORDER BY 1)"
}

round() { # name, way, process, port, wanted errors, paths...
	name=$1 file=$work/$1$2.obs way=$2 recorded=$3 to=$4 want=$5
	shift 5
	# shellcheck disable=SC2086
	"$obsrec" -q ${way:+--force $way} -p "$recorded" -o "$file" &
	recorder=$!
	until_begun "$file"
	python3 "$work/client.py" "$to" "$@"
	kill -INT $recorder
	wait $recorder
	holds "$name, ${way:-tp_btf}: the recording is complete" "$obsanalyze" verify "$file"
	is "$name, ${way:-tp_btf}: errors" "$(errors "$file")" "$want"
}

listens() { python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", sys.argv[1]))' "$1"; }
port=$((20000 + $$ % 10000))
python3 "$work/server.py" $port &
server=$!
pids=$server
until_true listens $port
for way in '' raw_tp; do
	round split "$way" $server $port '404 26, 500 13, 502 17, 503 19' /0/404:7 /1/404:19 /2/500:13 /3/502:17 /4/503:19 /3/200:23 /4/200:29
done

if ! command -v varnishd >/dev/null; then
	echo "ok errors of varnish # SKIP it is not installed"
	exit $bad
fi
# its backend is not there
varnishd -F -n "$work/varnish" -b 127.0.0.1:1 -a 127.0.0.1:$((port + 1)) -j none >"$work/log" 2>&1 &
varnish=$!
pids="$pids $varnish"
until_true listens $((port + 1))
for way in '' raw_tp; do
	round varnish "$way" $varnish $((port + 1)) '503 11' /a:11
done
exit $bad
