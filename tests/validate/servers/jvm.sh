# SPDX-License-Identifier: GPL-2.0-or-later
# A dispatcher and four workers on the JVM, service times of a heavy tail: see Jvm.java. TARGET: another path.
. "$(dirname "$0")/serving.sh"
title() { echo "HTTP on the JVM, 4 workers, lognormal"; }
paper() { echo "specjbb|.9997|.9996"; }
conns() { echo 64; }
start() {
	mkdir -p "$DIR/pages"
	# connections without a request must stay open
	run "$DIR/log" java -Xshare:auto -XX:TieredStopAtLevel=1 -Xmx256m -XX:+UseSerialGC -Dsun.net.httpserver.nodelay=true -Djava.net.preferIPv4Stack=true \
		-Dsun.net.httpserver.idleInterval=3600 -Dsun.net.httpserver.maxIdleConnections=5000 \
		"$here/Jvm.java" "$ADDR" "$PORT" "$DIR" "${WORK_US:-500}" "${SIGMA:-1.2}"
	up
}
load() { load_with http "$1" "$2" "$3" "GET ${TARGET:-/work} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" -k "${KEYS:-1000}"; }
serve "$@"
