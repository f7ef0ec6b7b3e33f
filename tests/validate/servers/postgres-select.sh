# SPDX-License-Identifier: GPL-2.0-or-later
# Each connection has a server process of its own. SCRIPT: a file for pgbench instead of -S. TLS: on. ASKS: loadgen asks, not pgbench.
. "$(dirname "$0")/serving.sh"
title() { echo "PostgreSQL, pgbench -S"; }
paper() { echo "silo|.9998|.9986"; }
conns() { echo 16; }
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
probe() { echo "$bin/postgres:PortalRun"; }
# the server refuses to be root
if [ "$(id -u)" -eq 0 ]; then as="runuser -u postgres --"; else as=; fi
start() {
	mkdir -p "$DIR/data"
	[ -z "$as" ] || chown -R postgres "$DIR"
	$as "$bin/initdb" -D "$DIR/data" -A trust -U postgres --no-sync >"$DIR/log.init" 2>&1
	# the other end of the wire
	echo "host all all 192.0.2.0/24 trust" >>"$DIR/data/pg_hba.conf"
	[ -z "${TLS:-}" ] || (umask 077 && cd "$DIR/data" && $as openssl req -new -x509 -nodes -subj /CN=server -out server.crt -keyout server.key 2>/dev/null)
	# shellcheck disable=SC2086
	run "$DIR/log" $as "$bin/postgres" -D "$DIR/data" -p "$PORT" -h "$ADDR" -k "$DIR" \
		-c max_connections=200 -c shared_buffers="${SHARED_BUFFERS:-128MB}" -c fsync="${FSYNC:-on}" \
		-c autovacuum=off -c max_wal_size=4GB -c bgwriter_lru_maxpages=0 -c jit=off -c ssl="${TLS:-off}"
	wait_for psql -h "$DIR" -p "$PORT" -U postgres -c 'select 1'
	# the tables are made through the file system's socket, whichever network the server is in
	pgbench -q -i -s "${SCALE:-1}" -h "$DIR" -p "$PORT" -U postgres postgres >"$DIR/log.tables" 2>&1
	psql -q -h "$DIR" -p "$PORT" -U postgres -c checkpoint >/dev/null
	wait_for listens "$PORT"
	head -n 1 "$DIR/data/postmaster.pid" >"$DIR/pids"
	descendants "$(cat "$DIR/pids")" >"$DIR/pids.all"
	mv "$DIR/pids.all" "$DIR/pids"
}
load() {
	[ -z "${ASKS:-}" ] || {
		load_with postgres "$1" "$2" "$3" 'SELECT abalance FROM pgbench_accounts WHERE aid = %d' -k 100000
		return
	}
	rm -f "$DIR"/ticks.*
	# a thread for each connection: one after the other they would take longer to open than the test
	# lasts, on a slow network
	rate=
	[ "$1" = 0 ] || rate="-R $1"
	# shellcheck disable=SC2086
	(cd "$DIR" && $ON_CLIENT pgbench -n ${SCRIPT:--S} -M simple -c "${CONNS:-$(conns)}" -j "${CONNS:-$(conns)}" -T "$2" \
		--random-seed="$3" $rate -l --log-prefix="$DIR/ticks" -h "$ADDR" -p "$PORT" -U postgres \
		postgres >"$DIR/log.load" 2>&1) || { cat "$DIR/log.load" >&2; exit 1; }
	python3 "$here/../ticks.py" pgbench "$1" "$DIR"/ticks.*
}
stop() {
	kill -INT "$(head -n 1 "$DIR/data/postmaster.pid")" 2>/dev/null
	wait_for test ! -e "$DIR/data/postmaster.pid"
	rm -f "$DIR/started" "$DIR/pids"
}
serve "$@"
