# SPDX-License-Identifier: GPL-2.0-or-later
. "$(dirname "$0")/serving.sh"
title() { echo "HTTP server on Node"; }
paper() { echo "Triton HTTP|.9976|.9981"; }
# the parser that Node holds: once a request
probe() { echo "$(readlink -f "$(command -v node)"):llhttp__on_message_complete"; }
conns() { echo 64; }
start() {
	run "$DIR/log" node "$NODE/http-server.js" "$ADDR" "$PORT"
	up
}
load() { load_with http "$1" "$2" "$3" "GET ${TARGET:-/page} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"; }
serve "$@"
