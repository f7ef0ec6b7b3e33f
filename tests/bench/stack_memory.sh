# SPDX-License-Identifier: GPL-2.0-or-later
# What call stacks add to the memory of the recorder and to the size of its recording, all default groups on: PostgreSQL
# under pgbench, a fixed number of transactions, and generated code of node with a perf map, a fixed time. Peak memory
# is that of the whole life of the recorder, the search for names at its end included, and that of its BPF maps, some of
# which grow with the number of threads that the kernel allows. Sourced by tests/bench/bench.sh.
memory_tools='obsrec-unstacked obsrec-default'
memory_works='postgres node'

work_of_postgres='PostgreSQL under pgbench' unit_of_postgres=transaction
work_of_node='node, generated code with a perf map' unit_of_node='second'
needs_node() { missing node; }

begin_node() {
	program=$PWD/tests/validate/node/deep.js
	# it leaves a log where it starts
	(cd "$work" && exec taskset -c 0 node --perf-basic-prof --interpreted-frames-native-stack "$program" 1000000 >/dev/null 2>&1) &
	pid=$! server=$!
	sleep 2 # its code is generated
}
end_node() {
	kill "$pid"
	wait "$pid"
	rm -f "/tmp/perf-$pid.map"
}

# The load of a round; prints how much it was.
load_node() {
	sleep "${BENCH_SECONDS:-20}"
	echo "${BENCH_SECONDS:-20}"
}
load_postgres() {
	as_postgres taskset -c 1 "$pg_bin/pgbench" -h "$pg_dir" -p "$pg_port" -n -c 4 -t "${BENCH_TRANSACTIONS:-5000}" postgres 2>/dev/null |
		sed -n 's|^number of transactions actually processed: \([0-9]*\).*|\1|p'
}

# Adds: KiB at the peak, bytes, load, samples, waits with stacks.
memory_round() { # work, tool
	tool_start "$2"
	load=$("load_$1")
	maps=$(maps_of "$(pgrep -P $tracer)")
	tool_end
	read -r _ kib _ <"$work/used"
	echo "$((kib + maps)) $(stat -c %s "$trace") ${load:-0} $(./obsanalyze sql --csv "$trace" "SELECT (SELECT count(*) FROM event_sample),
		(SELECT count(*) FROM event_offcpu)" | tail -n 1 | tr -d '\r' | tr , ' ')" >>"$results/memory.$1.$2"
	rm -f "$trace" "$trace".*
}

# The first file is that without stacks.
memory_rows() { # work
	eval "name=\$work_of_$1 unit=\$unit_of_$1"
	for t in $memory_tools; do
		# shellcheck disable=SC2046 # none or one
		awk -v name="$name" -v unit="$unit" -v tool="$(name_of "$t")" "$digits"'
			{
				kib = FNR == 1 ? $1 : kib + $1; bytes = (FNR == 1 ? 0 : bytes) + $2; load = (FNR == 1 ? 0 : load) + $3
				most = FNR == 1 || $1 > most ? $1 : most
				samples = (FNR == 1 ? 0 : samples) + $4; waits = (FNR == 1 ? 0 : waits) + $5
				if (FILENAME == ARGV[1]) { own_most = most; own = load ? bytes / load : 0 }
			}
			END {
				each = load ? bytes / load : 0
				printf("| %s | %s | %d | %d | %d | %s | %s | %s | %s per %s | %s |\n", name, tool, FNR, samples / FNR, waits / FNR,
					digits(kib / FNR / 1024), digits(most / 1024), ARGC > 2 ? sprintf("%+.1f", (most - own_most) / 1024) : "",
					digits(each), unit, ARGC > 2 && own ? sprintf("%+.1f %%", 100 * (each / own - 1)) : "")
			}' "$results/memory.$1.${memory_tools%% *}" $([ "$t" = "${memory_tools%% *}" ] || echo "$results/memory.$1.$t")
	done
}

stack_memory() {
	rm -f "$results"/memory.*
	echo
	echo '**Call stacks: memory of the recorder and size of the recording, default groups**'
	echo
	echo '| program | tracer | rounds | samples per round | waits with stacks per round | peak memory with BPF maps, MiB, mean | largest | added, MiB | bytes | added |'
	echo '|---|---|---|---|---|---|---|---|---|---|'
	for m in $memory_works; do # w is of the caller
		groups='' binary='' function='' comm=$m
		why=$("needs_$m")
		if [ -n "$why" ]; then
			eval "echo \"| \$work_of_$m | $why | | | | | | | | |\""
			continue
		fi
		"begin_$m"
		i=0
		while [ $i -lt "$rounds" ]; do
			i=$((i + 1))
			for t in $memory_tools; do memory_round "$m" "$t"; done
		done
		"end_$m"
		memory_rows "$m"
	done
	echo
	echo "Measured $(date -u +%Y-%m-%d), for $(cat /proc/sys/kernel/pid_max) threads at most. Targets: at most 64 MiB more, and a recording that is at most 20 % larger."
}
