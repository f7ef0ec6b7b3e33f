# SPDX-License-Identifier: GPL-2.0-or-later
. "$(dirname "$0")/serving.sh"
title() { echo "memcached, get of 100 bytes, 2 threads"; }
paper() { echo "data caching|.9995|.9989"; }
conns() { echo 512; }
start() {
	run "$DIR/log" memcached -u "$(id -un)" -l "$ADDR" -p "$PORT" -t 2 -c 4096 -m 64
	up
	CONNS=1 load_with memcached 20000 0.2 1 "set key:%d 0 0 100\\r\\n$(printf %0100d 7)\\r\\n" -k 100 >/dev/null
}
load() { load_with memcached "$1" "$2" "$3" 'get key:%d\r\n' -k 100; }
serve "$@"
