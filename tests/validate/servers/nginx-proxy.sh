# SPDX-License-Identifier: GPL-2.0-or-later
# The proxy is recorded; what it asks is another nginx on the next port, on the client's CPU
# unless UPSTREAM names another port (of UPSTREAM_ADDR).
. "$(dirname "$0")/serving.sh"
title() { echo "nginx as proxy of another nginx"; }
paper() { echo "web search|.8642|.8573"; }
conns() { echo 256; }
behind=$((PORT + 1))
common() {
	cat <<-CONF
		daemon off; worker_processes 1; pid $DIR/$1.pid; error_log $DIR/log.$1; user root;
		worker_rlimit_nofile 8192; events { worker_connections 4096; }
		http { access_log off; keepalive_requests 100000000; client_body_temp_path $DIR/$1.t1;
			proxy_temp_path $DIR/$1.t2; fastcgi_temp_path $DIR/$1.t3;
			uwsgi_temp_path $DIR/$1.t4; scgi_temp_path $DIR/$1.t5;
	CONF
}
start() {
	mkdir -p "$DIR/files"
	head -c 1024 /dev/zero >"$DIR/files/page"
	{
		common behind
		echo "server { listen 127.0.0.1:$behind; root $DIR/files; } }"
	} >"$DIR/behind.conf"
	{
		common front
		cat <<-CONF
			upstream up { server ${UPSTREAM_ADDR:-127.0.0.1}:${UPSTREAM:-$behind}; keepalive 64; keepalive_requests 100000000; }
			server { listen $ADDR:$PORT backlog=4096; location / { proxy_pass http://up;
			proxy_http_version 1.1; proxy_set_header Connection ''; } } }
		CONF
	} >"$DIR/front.conf"
	if [ -z "${UPSTREAM:-}" ]; then
		run "$DIR/log" taskset -c "${CLIENT_CPU:-1}" nginx -c "$DIR/behind.conf" -e "$DIR/log.behind"
		wait_for listens $behind
	fi
	run "$DIR/log" nginx -c "$DIR/front.conf" -e "$DIR/log.front"
	up
}
load() { load_with http "$1" "$2" "$3" 'GET /page HTTP/1.1\r\nHost: x\r\n\r\n'; }
serve "$@"
