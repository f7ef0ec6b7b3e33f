# SPDX-License-Identifier: GPL-2.0-or-later
# What call stacks cost, in CPU time that is counted, which other load does not change as it changes throughput:
# run time of BPF programs (kernel.bpf_stats_enabled), CPU time of the tracer and of redis-server. The load is MSET of
# ten keys: its server works longer than its client; a column says how busy it was. COUNTED names some of the tracers;
# obsrec-bare must be one. Sourced by tests/bench/bench.sh.
counted_tools=${COUNTED:-obsrec-bare obsrec-all-waits obsrec-waits obsrec-samples obsrec perf-dwarf bpftrace-profile}
counted_length=60 # seconds of a recording in which the end of the tracer counts

cpu_ns() { awk '{ n += $1 } END { printf "%.0f", n }' /proc/"$1"/task/*/schedstat; }
bpf_ns() { awk '/^run_time_ns/ { n += $2 } END { printf "%.0f", n }' /proc/"$1"/fdinfo/*; }
# KiB of its BPF maps
maps_of() {
	awk '/^memlock/ { bytes = $2 } /^map_id/ && !seen[$2]++ { n += bytes / 1024 } END { printf "%.0f", n }' /proc/"$1"/fdinfo/*
}
# KiB at the peak, with its BPF maps
memory_of() { echo $(($(awk '/^VmHWM/ { print $2 }' "/proc/$1/status") + $(maps_of "$1"))); }
# samples, waits, ns of the programs that take samples
stacks_in() { # tool
	case $1 in
	obsrec*) ./obsanalyze sql --csv "$trace" "SELECT (SELECT count(*) FROM event_sample), (SELECT count(*) FROM event_offcpu),
		(SELECT CAST(total(time) AS INTEGER) FROM program WHERE name LIKE 'cpu\_\_%' ESCAPE '\'),
		(SELECT sum(time) || ' ' || sum(runs) FROM program WHERE name LIKE 'sched\_\_switch%' ESCAPE '\'),
		(SELECT sum(time) || ' ' || sum(runs) FROM program WHERE name LIKE 'syscalls\_\_exit%' ESCAPE '\')" | tail -n 1 | tr -d '\r"' | tr , ' ' ;;
	*) echo "$(tool_does count "$1" | cut -d' ' -f1) 0 0 0 0 0 0" ;;
	esac
}

# Adds: ns of the server, of BPF, of the tracer, of it at its end; KiB, bytes, ns that it took; samples, waits, ns of
# the programs that take samples and of those at switches, runs of these; the same of those at exits of system calls.
counted_round() { # tool
	tool_start "$1"
	own=$(pgrep -P $tracer)
	server=$(cpu_ns "$pid") mine=$(cpu_ns "$own") bpf=$(bpf_ns "$own") began=$(date +%s%N)
	nice -n -19 taskset -c 1 redis-benchmark -p "$redis_port" -t mset -n "$requests" -c 50 -q >/dev/null 2>&1
	mine=$(($(cpu_ns "$own") - mine)) kib=$(memory_of "$own") took=$(($(date +%s%N) - began))
	line="$(($(cpu_ns "$pid") - server)) $(($(bpf_ns "$own") - bpf)) $mine"
	tool_end
	read -r all rest <"$work/used"
	echo "$line $((all > mine ? all - mine : 0)) $kib $(stat -c %s "$trace") $took $(stacks_in "$1")" >>"$results/counted.$1"
}

# Programs at switches and exits are in all recordings: of stacks is what they take longer than without; so is the
# CPU time of obsrec, also that of its end. The last column is all of it, of the machine: BPF, tracer, and the end of it.
counted_table() {
	read -r at_switch at_exit own_bare end_bare <<-END
		$(awk '{ ns += $11; runs += $12; out += $13; outs += $14; own += $3; last += $4; took += $7 }
			END { print runs ? ns / runs : 0, outs ? out / outs : 0, took ? own / took : 0, last / NR }' "$results/counted.obsrec-bare")
	END
	echo
	echo '**redis-server under redis-benchmark, MSET of 10 keys, with call stacks: CPU time, counted**'
	echo
	echo '| tracer | rounds | server busy | samples | BPF per sample, us | waits | BPF of stacks, of the CPU time of the server | tracer, of the machine | tracer at its end, ms | peak memory with BPF maps, MiB | bytes per request | all of stacks in '"$counted_length"' s, of the machine |'
	echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
	for t in $counted_tools; do
		[ -s "$results/counted.$t" ] || continue
		awk -v name="$(name_of "$t")" -v tool="$t" -v requests="$requests" -v at_switch="$at_switch" -v at_exit="$at_exit" -v own_bare="$own_bare" -v end_bare="$end_bare" -v cpus="$(nproc)" -v len="$counted_length" "$digits"'
			{
				server += $1; bpf += $2; own += $3; last += $4; kib = $5 > kib ? $5 : kib; bytes += $6; took += $7
				samples += $8; waits += $9; taking += $10; switching += $11 - $12 * at_switch + $13 - $14 * at_exit
			}
			END {
				stacks = tool ~ /^obsrec/ ? taking + switching : bpf
				running = own / took - (tool ~ /^obsrec/ ? own_bare : 0)
				ending = last / NR - (tool ~ /^obsrec/ ? end_bare : 0)
				all = tool ~ /bare/ ? "" : sprintf("%.2f %%", 100 * (stacks / took + running + ending / len / 1e9) / cpus)
				printf "| %s | %d | %.0f %% | %d | %s | %d | %s | %.2f %% | %s | %.0f | %.2f | %s |\n", name, NR, 100 * server / took, samples,
					samples && stacks && tool !~ /waits/ ? digits((tool ~ /^obsrec/ ? taking : bpf) / samples / 1e3) : "",
					waits, stacks ? sprintf("%.2f %%", 100 * stacks / server) : "", 100 * own / took / cpus,
					digits(last / NR / 1e6), kib / 1024, bytes / NR / requests, all
			}' "$results/counted.$t"
	done
	echo
	echo "Measured $(date -u +%Y-%m-%d), rounds of $requests requests. perf takes samples without BPF."
}

counted() {
	present=stacks requests=${BENCH_REQUESTS:-200000}
	about_stacks
	rm -f "$results"/counted.*
	stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	begin_redis
	renice -n -19 -p "$pid" >/dev/null
	i=0
	while [ $i -lt "$rounds" ]; do
		i=$((i + 1))
		for t in $counted_tools; do
			[ -n "$(tool_does can "$t")" ] || counted_round "$t"
		done
	done
	end_redis
	echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	counted_table
}
