#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make bench: cost, speed and size on this machine, in interleaved rounds; medians, and the spread
# of the rounds. Root.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${BENCH_ROUNDS:-9}
events=${BENCH_EVENTS:-10000000}
work=$(mktemp -d .output/bench.XXXXXX)
trap 'rm -rf "$work"; [ -n "${server:-}" ] && kill $server 2>/dev/null' EXIT
g=.output/bench_getppid

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.1f", NR ? (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 : 0 }'; }
spread() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.1f..%.1f", v[1], v[NR] }'; }

echo "machine: $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), kernel $(uname -r), $(date -u +%Y-%m-%d)"
echo
echo "One recorded system call (getppid, ns a call, $rounds interleaved rounds, each the best of 7 runs of 200,000):"
perf=''
command -v perf >/dev/null && perf record -z -q -o "$work/perf.test" -e raw_syscalls:sys_enter true >/dev/null 2>&1 && perf=yes
i=0
while [ $i -lt "$rounds" ]; do
	$g 200000 >>"$work/untraced"
	mkfifo "$work/pipe"
	: >"$work/said"
	.output/bench_empty .output/tests/bench_empty.bpf.o <"$work/pipe" >"$work/said" &
	exec 9>"$work/pipe"
	until grep -q attached "$work/said"; do sleep 0.05; done
	$g 200000 >>"$work/empty"
	exec 9>&-
	wait $!
	rm "$work/pipe" "$work/said"
	./obsrec -q -e syscalls -o "$work/r.obs" -- $g 200000 >>"$work/obsrec"
	./obsanalyze info "$work/r.obs" | sed -n 's/^recorder_cpu_ns: //p' >"$work/cpu"
	./obsanalyze info "$work/r.obs" | sed -n 's/^lost: //p' >>"$work/lost"
	calls=$(./obsanalyze info "$work/r.obs" | sed -n 's/^records: //p')
	# both ends of the recording (loading, snapshot) are in it too
	awk -v n="$calls" '{ printf "%.1f\n", $1 / n }' "$work/cpu" >>"$work/recorder"
	rm "$work/r.obs"
	[ -n "$perf" ] && perf record -z -q -o "$work/p.data" -e raw_syscalls:sys_enter,raw_syscalls:sys_exit \
		-- $g 200000 >>"$work/perf" 2>/dev/null
	rm -f "$work/p.data"
	i=$((i + 1))
done
base=$(median "$work/untraced")
empty=$(median "$work/empty")
for what in untraced empty obsrec ${perf:+perf}; do
	awk -v w="$what" -v v="$(median "$work/$what")" -v s="$(spread "$work/$what")" -v b="$base" -v e="$empty" 'BEGIN {
		printf "  %-22s %8.1f  (%s)  added %7.1f", w == "empty" ? "empty hooks" : w == "perf" ? "perf record -z" : w, v, s, v - b
		if (w != "untraced" && w != "empty") printf "  %.1f x empty hooks", (v - b) / (e - b)
		printf "\n" }'
done
echo "  obsrec's own CPU: $(median "$work/recorder") ns a record, start and end included; lost: $(sort -n "$work/lost" | tail -n 1)"
echo
echo "A recording of $events events, on one core:"
.output/bench_gen "$work/big.obs" "$events" | sed 's/^/  /'
cat >"$work/peak.py" <<'PY'
import resource, subprocess, sys, time
t = time.time()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print('%.2f s, CPU %.2f s, peak memory %.0f MiB' % (time.time() - t, r.ru_utime + r.ru_stime, r.ru_maxrss / 1024))
PY
echo "  report: $(taskset -c 0 python3 "$work/peak.py" ./obsanalyze report "$work/big.obs")"
echo "  load:   $(taskset -c 0 python3 "$work/peak.py" ./obsanalyze load -o "$work/big.db" "$work/big.obs")"
echo "  dump:   $(taskset -c 0 python3 "$work/peak.py" ./obsanalyze dump "$work/big.obs")"
echo "  info:   $(taskset -c 0 python3 "$work/peak.py" ./obsanalyze info "$work/big.obs")"
taskset -c 0 .output/bench_floor "$work/big.obs" "$work/floor.db" | awk '{
	printf "  floor:  %s of the same records %.2f s, %.0f MB\n", $1 == "zstd" ? "zstd -1" : $1 == "sqlite" ? "one plain SQLite table of 7 columns" : $1, $2, $3 / 1e6 }'
rm -f "$work"/big.* "$work/floor.db"
echo
echo "redis-server under redis-benchmark (GET, 50 connections, 200,000 requests), system calls and switches:"
port=$((21000 + $$ % 20000))
redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no >/dev/null 2>&1 &
server=$!
sleep 1
i=0
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' /proc/$server/stat; }
load() {
	a=$(cpu)
	redis-benchmark -p $port -t get -n 200000 -c 50 -q --csv | tail -n 1 | cut -d, -f2 | tr -d '"' >>"$work/rps.$1"
	awk -v a="$a" -v b="$(cpu)" 'BEGIN { printf "%.3f\n", (b - a) / 200000 * 1e6 }' >>"$work/us.$1"
}
while [ $i -lt 3 ]; do
	load untraced
	./obsrec -q -p $server -e syscalls,sched -o "$work/redis.obs" &
	rec=$!
	sleep 0.7
	load obsrec
	kill -INT $rec
	wait $rec
	i=$((i + 1))
	[ $i -lt 3 ] && rm "$work/redis.obs"
done
for what in untraced obsrec; do
	echo "  $what: $(median "$work/rps.$what") requests/s ($(spread "$work/rps.$what")), server CPU $(median "$work/us.$what") us a request"
done
./obsanalyze sql --csv "$work/redis.obs" "SELECT total(records), total(lost), (SELECT value FROM recording WHERE key='file_bytes'),
	(SELECT records FROM coverage WHERE grp='syscalls') FROM coverage" | tail -n 1 | tr -d '\r"' |
	awk -F, '{ printf "  recording: %d records, %d lost, %.2f bytes a record; %.2f bytes a kernel event (a system call is two: entry and exit)\n", $1, $2, $3 / $1, $3 / ($1 + $4) }'
