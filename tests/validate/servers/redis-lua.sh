# SPDX-License-Identifier: GPL-2.0-or-later
# A request that takes long on the CPU: WORK requests of a loop in Lua
. "$(dirname "$0")/serving.sh"
title() { echo "redis, Lua loop"; }
paper() { echo "img-dnn|.9997|.9998"; }
conns() { echo 64; }
start() {
	run "$DIR/log" redis-server --port "$PORT" --bind "$ADDR" --protected-mode no --save '' \
		--appendonly no --dir "$DIR" --daemonize no
	up
}
load() {
	load_with redis "$1" "$2" "$3" \
		"EVAL 'local x = 0; for i = 1, ${WORK:-5000} do x = x + i % 7 end; return x' 0\r\n"
}
serve "$@"
