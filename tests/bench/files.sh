# SPDX-License-Identifier: GPL-2.0-or-later
# What storing and loading cost, on a recording that bench_gen makes. Sourced by tests/bench.sh.
events=${BENCH_EVENTS:-10000000}

files() {
	big=$work/big.obs
	echo
	echo "**A recording of $events events**"
	echo
	.output/bench_gen "$work/other.obs" $((events - events / 1000)) >/dev/null
	taskset -c 0 .output/bench_gen "$big" "$events" | sed 's/^/- writing, on one core: /'
	taskset -c 0 .output/bench_floor "$big" "$work/floor.db" | awk '{
		printf "- floor, on one core: %s of the same records %.2f s, %.0f MB\n", $1 == "zstd" ? "zstd -1" : $1 == "sqlite" ? "one plain SQLite table of 7 columns" : $1, $2, $3 / 1e6 }'
	rm -f "$work/floor.db"
	echo
	python3 tests/bench/replay_times.py "$rounds" ./obsanalyze "$big" "$work/other.obs" "$work" || return 1
	echo
	echo "Measured $(date -u +%Y-%m-%d), $rounds interleaved rounds: medians, with min and max. --no-cache."
	echo
	rm -f "$work"/big.* "$work"/other.*
}
