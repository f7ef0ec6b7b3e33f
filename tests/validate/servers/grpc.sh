# SPDX-License-Identifier: GPL-2.0-or-later
# Calls share connections (HTTP/2), so a receive or a send carries several of them. CALLS: at most so
# many at a time on each of CHANNELS connections, then HOW says so.
. "$(dirname "$0")/serving.sh"
title() { echo "gRPC server on Node, ${HOW:-calls multiplexed}"; }
paper() { echo "Triton gRPC|.9711|.9703"; }
# each response is submitted once to the HTTP/2 library that Node holds
probe() { echo "$(readlink -f "$(command -v node)"):nghttp2_submit_response"; }
conns() { echo "${CHANNELS:-8}"; }
start() {
	run "$DIR/log" node "$NODE/grpc-server.js" "$ADDR" "$PORT"
	up
}
load() {
	# shellcheck disable=SC2086
	$ON_CLIENT node "$NODE/grpc-client.js" "$ADDR" "$PORT" "$1" "$2" "$3" "${CONNS:-$(conns)}" "${CALLS:-}"
}
serve "$@"
