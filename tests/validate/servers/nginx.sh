# SPDX-License-Identifier: GPL-2.0-or-later
. "$(dirname "$0")/serving.sh"
title() { echo "nginx, file of 4 KiB"; }
paper() { echo "Triton HTTP|.9976|.9981"; }
probe() { echo "$(command -v nginx):ngx_http_finalize_request"; }
conns() { echo 256; }
start() {
	mkdir -p "$DIR/files"
	head -c 4096 /dev/zero >"$DIR/files/page"
	cat >"$DIR/conf" <<-CONF
		daemon off; worker_processes ${WORKERS:-1}; pid $DIR/nginx.pid; error_log $DIR/log.error;
		user root; worker_rlimit_nofile 8192;
		events { worker_connections 4096; }
		http { access_log off; sendfile ${SENDFILE:-on}; keepalive_requests 100000000;
			client_body_temp_path $DIR/t1; proxy_temp_path $DIR/t2; fastcgi_temp_path $DIR/t3;
			uwsgi_temp_path $DIR/t4; scgi_temp_path $DIR/t5;
			server { listen $ADDR:$PORT backlog=4096; root $DIR/files; } }
	CONF
	run "$DIR/log" nginx -c "$DIR/conf" -e "$DIR/log.error"
	up
}
load() { load_with http "$1" "$2" "$3" "GET ${TARGET:-/page} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" -k "${KEYS:-1000}"; }
serve "$@"
