# SPDX-License-Identifier: GPL-2.0-or-later
# What the servers share; each servers/NAME.sh sources it first and ends with `serve "$@"`.
# A server's file defines: title (its name in the table), paper (the nearest row of the paper:
# name, R2 on loopback, R2 with delay and loss), start (leaves the pids to record in $DIR/pids),
# load RATE SECONDS SEED (0: as fast as it goes; prints a line of JSON, see loadgen.c), and may
# define probe (FILE:FUNCTION that returns once a request) and conns (connections of the client).
#
# Environment: DIR of this server alone, ADDR and PORT to listen on, ON_SERVER and ON_CLIENT
# (words before a command: CPU, network namespace), LOAD (the load generator), NODE (directory
# of the Node programs with their modules), CONNS (connections, instead of the server's own).
set -u
PATH=$PATH:/usr/sbin:/sbin
: "${DIR:?}" "${ADDR:=127.0.0.1}" "${PORT:?}" "${ON_SERVER:=}" "${ON_CLIENT:=}" "${LOAD:=}" "${NODE:=}"
here=$(cd "$(dirname "$0")" && pwd)

probe() { :; }
conns() { echo 64; }

# run in background in its own session, so that it outlives this script: run LOG command...
run() {
	log=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	setsid sh -c 'echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"' sh $ON_SERVER "$@" \
		>"$log" 2>&1 </dev/null &
	echo $! >>"$DIR/started"
}

wait_for() { # command...: until it succeeds, 20 s at most
	for _ in $(seq 100); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.2
	done
	echo "$(basename "$0"): does not answer: $*" >&2
	cat "$DIR"/log* >&2
	exit 1
}

listens() { # PORT: a process does, where the server runs
	# shellcheck disable=SC2086
	$ON_SERVER sh -c "grep -qsE ':$(printf %04X "$1") 0+:0000 0A' /proc/net/tcp /proc/net/tcp6"
}

descendants() { # PID: it and its children
	echo "$1"
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		descendants "$child"
	done
}

# waits until what run started last runs its program, and records it and its children
up() {
	wait_for listens "$PORT"
	pid=$(tail -n 1 "$DIR/started")
	descendants "$pid" >"$DIR/pids"
}

stop() {
	for p in $(tac "$DIR/started" 2>/dev/null); do
		kill "$p" 2>/dev/null
	done
	for p in $(cat "$DIR/started" 2>/dev/null); do
		for _ in $(seq 50); do
			kill -0 "$p" 2>/dev/null || break
			sleep 0.1
		done
		kill -9 "$p" 2>/dev/null
	done
	rm -f "$DIR/started" "$DIR/pids"
}

load_with() { # PROTOCOL RATE SECONDS SEED REQUEST [options]
	protocol=$1 rate=$2 seconds=$3 seed=$4 request=$5
	shift 5
	# shellcheck disable=SC2086
	$ON_CLIENT "$LOAD" -P "$protocol" -c "${CONNS:-$(conns)}" -r "$rate" -d "$seconds" -s "$seed" \
		"$@" "$ADDR" "$PORT" "$request"
}

serve() {
	mkdir -p "$DIR"
	"$@"
}
