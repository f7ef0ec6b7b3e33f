# SPDX-License-Identifier: GPL-2.0-or-later
. "$(dirname "$0")/serving.sh"
title() { echo "redis, GET of 100 bytes"; }
paper() { echo "data caching|.9995|.9989"; }
probe() { echo "$(command -v redis-server):processCommand"; }
conns() { echo 512; }
start() {
	run "$DIR/log" redis-server --port "$PORT" --bind "$ADDR" --protected-mode no --save '' \
		--appendonly no --dir "$DIR" --daemonize no
	wait_for listens "$PORT"
	# shellcheck disable=SC2086
	$ON_SERVER sh -c "i=0; while [ \$i -lt 1000 ]; do printf 'SET key:%d %0100d\r\n' \$i \$i; i=\$((i + 1)); done |
		redis-cli -h $ADDR -p $PORT --pipe" >/dev/null
	up
}
load() { load_with redis "$1" "$2" "$3" "${REQUEST:-GET key:%d\\r\\n}"; }
serve "$@"
