#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests that a server reads from Unix sockets have names, errors and counts as on TCP: of connections that were
# there before the recording, several in one send, in parts. What a client reads from one is no request.
. "$(dirname "$0")/lib.sh"
cleanup() {
	[ -z "${pids:-}" ] || kill $pids 2>/dev/null
	remove_work
}

cat >"$work/client.py" <<-'END'
	import socket, sys, time
	def command(*words):
	    return b"".join([b"*%d\r\n" % len(words)] + [b"$%d\r\n%s\r\n" % (len(w), w) for w in words])
	def ask(s, data, lines):
	    s.sendall(data)
	    answer = b""
	    while answer.count(b"\r\n") < lines:
	        answer += s.recv(65536)
	def connected():
	    s = socket.socket(socket.AF_UNIX)
	    s.connect(sys.argv[1])
	    return s
	old = connected()
	ask(old, command(b"PING"), 1)
	print("ready", flush=True)
	sys.stdin.readline()
	for s in (old, connected()):
	    for i in range(10):
	        ask(s, command(b"SET", b"key", b"value"), 1)
	    for i in range(3):
	        ask(s, 5 * command(b"INCR", b"counter"), 5)
	    ask(s, command(b"LPUSH", b"key", b"value"), 1) # not of a list
	    for part in (b"*2\r\n$3\r\nG", b"ET\r\n$3\r\n"):
	        s.sendall(part)
	        time.sleep(.05)
	    ask(s, b"key\r\n", 2)
END
redis-server --port 0 --unixsocket "$work/socket" --save '' >/dev/null 2>&1 &
server=$!
pids=$server
until_true redis-cli -s "$work/socket" ping >/dev/null

names() { # file, process
	ask "$1" "SELECT group_concat(name || ' ' || requests || ' ' || errors, ', ') FROM (SELECT n.name, sum(s.requests) AS requests,
		sum(s.errors) AS errors FROM request_stat s JOIN service v ON v.id=s.service JOIN request_name n ON n.id=s.name
		WHERE v.pid=$2 GROUP BY 1 ORDER BY 1)"
}
want='GET 2 0, INCR 30 0, LPUSH 2 2, SET 20 0' # on TCP, too
for way in '' raw_tp; do
	file=$work/unix$way.obs
	mkfifo "$work/go$way"
	python3 "$work/client.py" "$work/socket" <"$work/go$way" >"$work/said$way" &
	client=$!
	pids="$pids $client"
	exec 7>"$work/go$way"
	until_true grep -q ready "$work/said$way"
	# shellcheck disable=SC2086
	"$obsrec" -q ${way:+--force $way} -p $server -p $client -o "$file" 7>&- &
	recorder=$!
	until_begun "$file"
	echo >&7
	exec 7>&-
	wait $client
	kill -INT $recorder
	wait $recorder
	holds "${way:-tp_btf}: the recording is complete" "$obsanalyze" verify "$file"
	is "${way:-tp_btf}: names of requests, with errors" "$(names "$file" $server)" "$want"
	is_empty "${way:-tp_btf}: answers are no requests" "$(names "$file" $client)"
	is "${way:-tp_btf}: the code of the errors" "$(ask "$file" "SELECT group_concat(DISTINCT c.code) FROM request_error e JOIN request_code c ON c.id=e.code")" WRONGTYPE
	if grep -q ' unix_diag_' /proc/kallsyms; then
		is "${way:-tp_btf}: both connections of the client, that of before as well" "$(ask "$file" "SELECT group_concat(role)
			FROM fd WHERE pid=$client AND kind='socket'")" connected,connected
		is "${way:-tp_btf}: their remote address is the path" "$(ask "$file" "SELECT DISTINCT remote FROM fd
			WHERE pid=$client AND kind='socket'")" "$work/socket"
	else
		echo "ok ${way:-tp_btf}: connections of before # SKIP this kernel has no unix_diag"
	fi
done
exit $bad
