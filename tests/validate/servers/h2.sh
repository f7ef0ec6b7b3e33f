# SPDX-License-Identifier: GPL-2.0-or-later
. "$(dirname "$0")/serving.sh"
title() { echo "HTTP/2 server on Node"; }
paper() { echo "-|-|-"; }
start() {
	run "$DIR/log" node "$NODE/h2-server.js" "$ADDR" "$PORT"
	up
}
serve "$@"
