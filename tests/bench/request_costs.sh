# SPDX-License-Identifier: GPL-2.0-or-later
# What names and arrival of requests cost. Sourced by tests/bench/bench.sh. Each round: redis-server untraced and with all
# default groups; then, counted by the kernel (kernel.bpf_stats_enabled), without group requests, with it but without names,
# and with both; and an empty program where segments are recorded. Each cost is the difference of two of these in the same
# round: so the kernel's timing is in none.

# ns of an empty program, per run
empty_ns() { awk '/^run_time_ns/ { ns += $2 } /^run_cnt/ { n += $2 } END { print n ? ns / n : 0 }' /proc/"$(pgrep -P $tracer)"/fdinfo/*; }
# ns and runs of the program at segments, ns of those at system calls, segments recorded
programs_ran() {
	./obsanalyze sql --csv "$trace" "SELECT (SELECT total(time) || ' ' || total(runs) FROM program WHERE name LIKE 'requests\_\_segment%' ESCAPE '\'),
		(SELECT total(time) FROM program WHERE name LIKE 'syscalls\_\_e%' ESCAPE '\'),
		(SELECT count(*) FROM event_segment) + (SELECT count(*) FROM event_segment_next)" | tail -n 1 | tr -d '\r"' | tr , ' '
}

request_round() { # tool, counted by the kernel?
	[ -z "$2" ] || echo 1 >/proc/sys/kernel/bpf_stats_enabled
	tool_start "$1"
	rate=$(taskset -c 1 redis-benchmark -p "$redis_port" -t get -n "$requests" -c 50 -q --csv 2>/dev/null | tail -n 1 | cut -d, -f2 | tr -d '"')
	[ "$1" != empty ] || empty_ns >>"$results/requests.empty"
	[ -z "$tracer" ] || tool_end
	[ -z "$2" ] || echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	case $1 in
	empty) return ;;
	untraced) echo "$rate" ;;
	*) echo "$rate $(stat -c %s "$trace") $([ -z "$2" ] || programs_ran)" ;;
	esac >>"$results/requests.$1${2:+.counted}"
	rm -f "$trace"
}

# median (min-max) of the rounds
rounds_of() { sort -n | awk -v f="$1" '{ v[NR] = $1 } END { printf f " (" f "-" f ")", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'; }

request_table() {
	echo
	echo '**Names and arrival of requests: redis-server under redis-benchmark, GET, 50 connections**'
	echo
	echo '| cost | measured | target |'
	echo '|---|---|---|'
	paste "$results/requests.obsrec-others.counted" "$results/requests.obsrec-unnamed.counted" "$results/requests.obsrec-default.counted" \
		"$results/requests.empty" >"$work/counted"
	# of each: rate, bytes, ns and runs of segments, ns of system calls, segments; then ns of an empty program
	echo "| arrival: BPF per segment | $(awk '{ print $9 / $10 - $19 }' "$work/counted" | rounds_of %.0f) ns | 80 ns |"
	echo "| arrival: bytes per segment | $(awk '{ print ($8 - $2) / $12 }' "$work/counted" | rounds_of %.2f) | 1.5 |"
	echo "| names: BPF per request | $(awk -v n="$requests" '{ print ($17 - $11) / n }' "$work/counted" | rounds_of %.0f) ns | 60 ns |"
	echo "| names: bytes per request | $(awk -v n="$requests" '{ print ($14 - $8) / n }' "$work/counted" | rounds_of %.2f) | 2 |"
	echo "| all default groups: requests per second, of untraced | $(paste "$results/requests.untraced" "$results/requests.obsrec-default" | awk '{ print 100 * ($2 / $1 - 1) }' | rounds_of %+.1f) % | -9.9 %: a third of what Prism's tracer cost it |"
	echo
	echo "Measured $(date -u +%Y-%m-%d), $rounds interleaved rounds of $requests requests, untraced $(rounds_of %.0f <"$results/requests.untraced") requests per second."
}

request_costs() {
	present=redis requests=${BENCH_REQUESTS:-200000}
	about_redis
	groups=requests # of the empty program
	rm -f "$results"/requests.*
	stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
	begin_redis
	i=0
	while [ $i -lt "$rounds" ]; do
		i=$((i + 1))
		for t in untraced obsrec-default; do request_round $t ''; done
		for t in obsrec-others obsrec-unnamed obsrec-default empty; do request_round $t counted; done
	done
	end_redis
	request_table
}
