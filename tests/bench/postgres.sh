# SPDX-License-Identifier: GPL-2.0-or-later
# PostgreSQL on one CPU, pgbench on another. Sourced by tests/bench/bench.sh, see micro.sh.
title_postgres='PostgreSQL under pgbench (TPC-B, scale 5, 4 clients): CPU of the server per transaction'
unit_postgres=us
pg_port=$((42000 + $$ % 20000))
pg_bin=$(find /usr/lib/postgresql -name initdb 2>/dev/null | sort -V | tail -n 1 | xargs -r dirname)

about_postgres() { comm=postgres groups=syscalls,sched,block binary='' function=''; }
needs_postgres() { [ -n "$pg_bin" ] && id postgres >/dev/null 2>&1 || echo "not installed"; }

as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$pg_dir" "$@"; }

begin_postgres() {
	pg_dir=$(mktemp -d)
	chown postgres "$pg_dir"
	as_postgres "$pg_bin/initdb" -D "$pg_dir/data" -A trust >/dev/null
	# not its child: taskset becomes it
	setpriv --reuid=postgres --regid=postgres --clear-groups taskset -c 0 "$pg_bin/postgres" -D "$pg_dir/data" \
		-p "$pg_port" -k "$pg_dir" -h '' >"$pg_dir/log" 2>&1 &
	pid=$! server=$!
	until "$pg_bin/pg_isready" -q -h "$pg_dir" -p "$pg_port"; do sleep 0.1; done
	as_postgres "$pg_bin/pgbench" -h "$pg_dir" -p "$pg_port" -i -s 5 -q postgres >/dev/null 2>&1
}

# CPU of the server and all its children, those that have ended included
pg_cpu() {
	for p in "$pid" $(pgrep -P "$pid"); do
		awk -v hz="$(getconf CLK_TCK)" -v all="$([ "$p" = "$pid" ] && echo 1)" '{ print ($14 + $15 + (all ? $16 + $17 : 0)) / hz }' "/proc/$p/stat" 2>/dev/null
	done | awk '{ n += $1 } END { printf "%.3f", n }'
}
go_postgres() { # tool
	before=$(pg_cpu)
	as_postgres taskset -c 1 "$pg_bin/pgbench" -h "$pg_dir" -p "$pg_port" -n -c 4 -T 3 postgres >"$work/pgbench" 2>/dev/null
	awk -v a="$before" -v b="$(pg_cpu)" '/transactions actually processed:/ { n = $NF } /^tps/ { tps = $3 }
		END { printf "%.1f %.0f transactions/s\n", n ? (b - a) / n * 1e6 : 0, tps }' "$work/pgbench"
}
end_postgres() {
	kill -INT "$pid"
	wait "$pid"
	rm -rf "$pg_dir"
}
