# SPDX-License-Identifier: GPL-2.0-or-later
# An asynchronous server in C++ (Grpc.cc) with Debian's library.
. "$(dirname "$0")/serving.sh"
title() { echo "gRPC server in C++, asynchronous"; }
paper() { echo "Triton gRPC|.9711|.9703"; }
conns() { echo "${CHANNELS:-8}"; }
start() {
	# shellcheck disable=SC2046 # a list of words
	[ -x "$DIR/../grpc" ] || g++ -O1 -o "$DIR/../grpc" "$here/Grpc.cc" $(pkg-config --cflags --libs grpc++) || exit 1
	run "$DIR/log" "$DIR/../grpc" "$ADDR" "$PORT" "${THREADS:-3}"
	up
}
load() {
	# shellcheck disable=SC2086
	$ON_CLIENT node "$NODE/grpc-client.js" "$ADDR" "$PORT" "$1" "$2" "$3" "${CONNS:-$(conns)}" "${CALLS:-}"
}
serve "$@"
