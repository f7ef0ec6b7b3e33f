#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Real servers and clients that count: each request has a name and is counted once, each segment has arrived, errors are seen.
. "$(dirname "$0")/lib.sh"
ask_with() { python3 "$top/tests/live/askers.py" "$@" || failed "client of $1"; }
pids=
port=$((20000 + $$ % 10000))
serve() { # command...
	"$@" >"$work/log.$port" 2>&1 &
	pids=${pids:+$pids,}$!
}
listens() { python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", sys.argv[1]))' "$1"; }

have() { command -v "$1" >/dev/null 2>&1; }
servers=
if have redis-server; then
	servers="$servers redis:$((port + 1))"
	serve redis-server --port $((port + 1)) --save '' --appendonly no
fi
if have memcached; then
	servers="$servers memcached:$((port + 2))"
	serve memcached -u "$(id -un)" -l 127.0.0.1 -p $((port + 2)) -t 2
fi
if have nginx; then
	servers="$servers http:$((port + 3))"
	cat >"$work/nginx.conf" <<-CONF
		daemon off; worker_processes 1; pid $work/nginx.pid; error_log $work/nginx.log; user root;
		events { worker_connections 256; }
		http { access_log off; client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
			uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
			server { listen 127.0.0.1:$((port + 3)); client_max_body_size 100m;
				location / { return 200 "fine"; } location /missing { return 404; }
				location /upload { proxy_pass http://127.0.0.1:$((port + 3))/sink; }
				location /many { return 200 "many"; } } }
	CONF
	serve nginx -c "$work/nginx.conf" -e "$work/nginx.log"
fi
for s in redis-server memcached nginx; do
	have $s || echo "ok names of requests to $s # SKIP it is not installed"
done
[ -n "$servers" ] || { echo "ok names of requests # SKIP no server is installed"; exit 0; }
for s in $servers; do
	until_true listens "${s#*:}" || failed "${s%:*} does not start"
done

# name, number, in receives of many pieces: what the clients send
cat >"$work/redis" <<'LIST'
SET 103
GET 230 3027
HSET 11
HGET 22
INCR 11
LPUSH 69
APPEND 5
STRLEN 5
EXISTS 17
PING 20
HMGET 5
unknown command 17
LIST
cat >"$work/memcached" <<'LIST'
set 76
get 166 3027
incr 88
LIST
cat >"$work/http" <<'LIST'
GET /report/:id 67
GET /missing/:id 71
POST /upload 73
GET /many 7
LIST

number_of() { awk -F '\t' -v key="$1" '$1 == key { print $2; found = 1 } END { if (!found) print 0 }' "$work/found"; }

for way in '' raw_tp; do
	file=$work/names${way:-btf}.obs
	# shellcheck disable=SC2086
	"$obsrec" -q ${way:+--force $way} -p "$pids" -o "$file" &
	recorder=$!
	until_begun "$file"
	for s in $servers; do
		# older kernels read of a long receive both ends
		ask_with "${s%:*}" 127.0.0.1 "${s#*:}" ${way:-deep}
	done
	kill -INT $recorder
	wait $recorder
	"$obsanalyze" verify "$file" >"$work/verify" || { cat "$work/verify"; failed "verify"; }
	"$obsanalyze" dump "$file" | python3 tests/lib/named.py >"$work/found"
	for s in $servers; do
		all=0
		while read -r line; do
			name=$(echo "$line" | sed 's/[ 0-9]*$//')
			# shellcheck disable=SC2046 # numbers
			set -- $(echo "${line#"$name"}") 0
			number=$(($1 + ${way:+0 *} $2))
			is "${way:-tp_btf}: ${s%:*}: $name" "$(number_of "${s#*:} $name")" "$number"
			all=$((all + number))
		done <"$work/${s%:*}"
		[ "${s%:*}" = http ] || is "${way:-tp_btf}: ${s%:*}: all names" "$(number_of "${s#*:} all")" $all
		is "${way:-tp_btf}: ${s%:*}: bytes arrived are bytes read" "$(number_of "${s#*:} bytes")" "$(number_of "${s#*:} read")"
	done
	case $servers in *redis*)
		is "${way:-tp_btf}: errors of redis" "$(number_of "$((port + 1)) error 1 WRONGTYPE")" 69
		is "${way:-tp_btf}: unknown commands of redis" "$(number_of "$((port + 1)) error 1 ERR")" 17
	esac
	case $way$servers in
	raw_tp*) ;; # older kernels read the first buffer of a send
	*memcached*) is "tp_btf: errors of memcached" "$(number_of "$((port + 2)) error 1 CLIENT_ERROR")" $((19 + 69)) ;;
	esac
	case $servers in *http*) is "${way:-tp_btf}: errors of nginx" "$(number_of "$((port + 3)) error 404 ")" 71 ;; esac
done
exit $bad
