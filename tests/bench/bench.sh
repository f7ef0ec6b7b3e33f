#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make bench: the same work, untraced and under each tracer, in interleaved rounds, as one table;
# then what storing and loading cost. Root.
#   bench.sh run [WORK...]      measures (all works by default) and prints
#   bench.sh update [WORK...]   the same, and puts the table into docs/bench.md
#   bench.sh counted            what call stacks cost, counted
#   bench.sh run|update stack_memory  what they add to the recorder's memory and to the recording
#   bench.sh files              only what storing and loading cost
#   bench.sh run|update requests  what names and arrival of requests cost
#   bench.sh run|update files   what storing and loading cost, or its table in docs/bench.md
#   bench.sh run|update thesis  the programs of a thesis in obsrec, bpftrace and bcc, under a load like YCSB's
#   bench.sh table | page       prints the last measurement | puts it into docs/bench.md
set -u
cd "$(dirname "$0")/../.." || exit 1
rounds=${BENCH_ROUNDS:-5}
results=.output/bench
works='getppid pingpong disk call call_endbr redis stacks postgres'
mkdir -p "$results"
work=$(mktemp -d .output/bench.XXXXXX)
server=''
cleanup() {
	[ -n "$server" ] && kill $server 2>/dev/null
	jobs -p >"$work/jobs"
	xargs -r kill <"$work/jobs" 2>/dev/null
	command -v perf >/dev/null && perf probe -q -d 'probe_obsbench:*' >/dev/null 2>&1
	[ -z "${stats:-}" ] || echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
for part in tools micro redis stack_costs counted stack_memory request_costs postgres table files; do . "tests/bench/$part.sh"; done

# What one tool costs the present work, once.
measure() { # tool
	tool_start "$1"
	tool_go "$1" >"$work/cost.$1"
	# a tracer that saw nothing had not attached: no measurement
	if tool_stop "$1"; then cat "$work/cost.$1"; fi >>"$results/$present.$1.cost"
}
tool_go() { "go_$present" "$1"; }

# Servers run through; small works start again for each tool.
runs_through() { case $1 in redis | stacks | postgres) return 0 ;; *) return 1 ;; esac }

bench() { # work
	present=$1
	rm -f "$results/$1".*
	echo "$rounds" >"$results/$1.rounds"
	date -u +%Y-%m-%d >"$results/$1.date"
	about_"$1"
	why=$(command -v "needs_$1" >/dev/null && "needs_$1")
	if [ -n "$why" ]; then
		echo "$why" >"$results/$1.why"
		return
	fi
	able=
	for t in $(tools_of "$1"); do
		why=$(tool_does can "$t")
		if [ -n "$why" ]; then echo "$why" >"$results/$1.$t.why"; else able="$able $t"; fi
	done
	runs_through "$1" && begin_"$1"
	i=0
	while [ $i -lt "$rounds" ]; do
		i=$((i + 1))
		for t in $able; do
			[ -t 2 ] && printf '\r\033[K%s: round %d of %d, %s' "$1" $i "$rounds" "$t" >&2
			runs_through "$1" || begin_"$1"
			measure "$t"
			runs_through "$1" || end_"$1"
		done
	done
	runs_through "$1" && end_"$1"
	[ -t 2 ] && printf '\r\033[K' >&2
}

say_where() {
	date -u +%Y-%m-%d >"$results/date"
	echo "$rounds" >"$results/rounds"
	echo "$(nproc) CPUs ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)), $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo) of memory, Linux $(uname -r)" >"$results/machine"
	{
		./obsrec --version | cut -d' ' -f1,2
		perf --version 2>/dev/null | sed 's/ version//'
		bpftrace --version 2>/dev/null
		strace --version 2>/dev/null | sed -n '1s/ -- version//p'
	} | paste -sd, | sed 's/,/, /g' >"$results/versions"
}

what=${1:-run}
[ $# -gt 0 ] && shift
case $what in
table) table ;;
page) table | update_page ;;
counted | files | stack_memory) $what >"$results/$what" ;;
run | update)
	[ -d /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing # for the other tracers
	say_where
	for w in ${*:-$works requests}; do
		case $w in
		counted | files | stack_memory) $w >"$work/$w" && mv "$work/$w" "$results/$w" ;;
		thesis) python3 tests/bench/thesis.py >"$work/thesis" && mv "$work/thesis" "$results/thesis" ;;
		requests) request_costs >"$work/requests" && mv "$work/requests" "$results/requests" ;;
		*) bench "$w" ;;
		esac
	done
	[ $# -gt 0 ] || for part in counted stack_memory files; do $part >"$results/$part"; done
	table
	if [ "$what" = update ]; then table | update_page; fi
	;;
esac
