# SPDX-License-Identifier: GPL-2.0-or-later
# One process, a thread for each connection. TEST: another of sysbench's tests or a Lua file.
. "$(dirname "$0")/serving.sh"
title() { echo "MariaDB, sysbench oltp_point_select"; }
paper() { echo "silo|.9998|.9986"; }
conns() { echo 16; }
probe() { echo "$(command -v mariadbd):_Z16dispatch_command19enum_server_commandP3THDPcjb"; }
options() {
	echo "--db-driver=mysql --mysql-user=bench --mysql-db=bench --tables=1 --table-size=${ROWS:-10000}"
}
query() { mariadb --no-defaults -S "$DIR/socket" -u root "$@"; }
start() {
	mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$DIR/data" --skip-test-db \
		--auth-root-authentication-method=normal >"$DIR/log.init" 2>&1
	run "$DIR/log" mariadbd --no-defaults --user="$(id -un)" --datadir="$DIR/data" \
		--socket="$DIR/socket" --bind-address="$ADDR" --port="$PORT" --skip-name-resolve \
		--innodb-buffer-pool-size="${BUFFER_POOL:-128M}" --max-connections=200 \
		--performance-schema=off
	wait_for query -e 'select 1'
	query -e "create database bench; create user bench; grant all on bench.* to bench; flush privileges"
	# shellcheck disable=SC2046
	sysbench oltp_common $(options) --mysql-socket="$DIR/socket" prepare >"$DIR/log.tables" 2>&1 ||
		sysbench oltp_point_select $(options) --mysql-socket="$DIR/socket" prepare >"$DIR/log.tables" 2>&1
	up
}
load() {
	# shellcheck disable=SC2046,SC2086
	$ON_CLIENT sysbench "${TEST:-oltp_point_select}" $(options) --mysql-host="$ADDR" --mysql-port="$PORT" \
		--threads="${CONNS:-$(conns)}" --time="$2" --rate="$1" --rand-seed="$3" --histogram=on \
		--mysql-ignore-errors=1205,1213,1020 --events=0 --report-interval=1 run 2>&1 |
		python3 "$here/../ticks.py" sysbench "$1"
}
serve "$@"
