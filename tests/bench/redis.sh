# SPDX-License-Identifier: GPL-2.0-or-later
# redis-server on one CPU, redis-benchmark on another. Sourced by tests/bench/bench.sh, see micro.sh.
title_redis="redis-server under redis-benchmark, GET, 50 connections: CPU of the server per request"
unit_redis=us
redis_port=$((21000 + $$ % 20000))

cpu_of() { # pid...: seconds of CPU
	for p in "$@"; do
		awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$p/stat" 2>/dev/null
	done | awk '{ n += $1 } END { printf "%.3f", n }'
}

about_redis() { comm=redis-server groups=syscalls,sched binary='' function=''; }
needs_redis() { missing redis-server; }
begin_redis() {
	taskset -c 0 redis-server --port "$redis_port" --bind 127.0.0.1 --save '' --appendonly no >/dev/null 2>&1 &
	pid=$! server=$!
	sleep 0.5
	taskset -c 1 redis-benchmark -p "$redis_port" -t get -n 20000 -c 50 -q >/dev/null 2>&1 # warm
}
go_redis() { # tool
	n=200000
	case $1 in strace | perf-trace | bpftrace) n=20000 ;; esac
	before=$(cpu_of "$pid")
	rate=$(taskset -c 1 redis-benchmark -p "$redis_port" -t get -n $n -c 50 -q --csv 2>/dev/null | tail -n 1 |
		cut -d, -f2 | tr -d '"')
	awk -v a="$before" -v b="$(cpu_of "$pid")" -v n=$n -v rate="$rate" 'BEGIN { printf "%.3f %.0f requests/s\n", (b - a) / n * 1e6, rate }'
}
end_redis() {
	kill "$pid"
	wait "$pid"
}
