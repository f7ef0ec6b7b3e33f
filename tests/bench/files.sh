# SPDX-License-Identifier: GPL-2.0-or-later
# What storing and loading cost, on a recording that bench_gen makes. Sourced by tests/bench.sh.
events=${BENCH_EVENTS:-10000000}

peak() { # command...: its time, CPU and memory
	taskset -c 0 python3 -c '
import resource, subprocess, sys, time
t = time.time()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f s, CPU %.2f s, peak memory %.0f MiB" % (time.time() - t, r.ru_utime + r.ru_stime, r.ru_maxrss / 1024))' "$@"
}

files() {
	big=$work/big.obs
	echo
	echo "**A recording of $events events, on one core**"
	echo
	taskset -c 0 .output/bench_gen "$big" "$events" | sed 's/^/- writing: /'
	echo "- report: $(peak ./obsanalyze report "$big")"
	echo "- load: $(peak ./obsanalyze load -o "$work/big.db" "$big")"
	echo "- dump: $(peak ./obsanalyze dump "$big")"
	echo "- info: $(peak ./obsanalyze info "$big")"
	taskset -c 0 .output/bench_floor "$big" "$work/floor.db" | awk '{
		printf "- floor: %s of the same records %.2f s, %.0f MB\n", $1 == "zstd" ? "zstd -1" : $1 == "sqlite" ? "one plain SQLite table of 7 columns" : $1, $2, $3 / 1e6 }'
	rm -f "$work"/big.* "$work/floor.db"
}
