# SPDX-License-Identifier: GPL-2.0-or-later
# The tracers that make bench compares. Sourced by tests/bench.sh.
#
# A tool TOOL has: can_TOOL, which says why it cannot do the present work, or nothing; run_TOOL, which
# becomes the tracer of the processes that $pid began; count_TOOL, which prints the events that
# its output holds and the events that it says it has lost. Its output is $trace, what it says is in
# $work/said. The present work has set: groups (obsrec's), binary and function (of group uprobe),
# comm (of its processes).
tools='untraced empty obsrec perf perf-z perf-trace bpftrace strace'

# Those that the work WORK is compared under: tools_WORK, or all.
tools_of() { eval "echo \"\${tools_$1:-\$tools}\""; }

name_of() {
	case $1 in
	obsrec-unstacked) echo 'obsrec without group cpu' ;;
	obsrec-default) echo obsrec ;;
	obsrec-bare) echo 'obsrec without stacks' ;;
	obsrec-waits) echo 'obsrec, stacks of waits only' ;;
	obsrec-all-waits) echo 'obsrec, stacks of all waits from 1 ms on' ;;
	obsrec-samples) echo 'obsrec, samples only' ;;
	perf-dwarf) echo 'perf record --call-graph dwarf' ;;
	bpftrace-profile) echo 'bpftrace profile:hz:99' ;;
	empty) echo 'empty hooks' ;;
	perf) echo 'perf record' ;;
	perf-z) echo 'perf record -z' ;;
	perf-trace) echo 'perf trace' ;;
	*) echo "$1" ;;
	esac
}

has() { case ",$groups," in *,$1,*) return 0 ;; *) return 1 ;; esac }
missing() { command -v "$1" >/dev/null || echo "not installed"; }

can_untraced() { :; }
count_untraced() { :; }

can_empty() { :; }
run_empty() {
	exec .output/bench_empty .output/tests/bench/bench_empty.bpf.o "$groups" ${binary:+"$binary" "$function"}
}
count_empty() { :; }

can_obsrec() { :; }
run_obsrec() {
	exec ./obsrec -p "$pid" -e "$groups" ${binary:+--hot 0 -u "$binary:$function"} -o "$trace"
}
count_obsrec() {
	sed -n 's/^obsrec: \([0-9]*\) events .* \([0-9]*\) records lost.*/\1 \2/p' "$work/said"
}

# What perf and bpftrace are asked for: the tracepoints of the same groups.
tracepoints() {
	has syscalls && echo raw_syscalls:sys_enter raw_syscalls:sys_exit
	has sched && echo sched:sched_switch sched:sched_waking
	has block && echo block:block_rq_issue block:block_rq_complete
	[ -z "$binary" ] || echo probe_obsbench:entry probe_obsbench:leave__return
}

can_perf() {
	missing perf
	[ -z "$binary" ] && return
	perf -v probe >/dev/null 2>&1
	perf probe -q -d 'probe_obsbench:*' >/dev/null 2>&1
	perf probe -q -x "$binary" "probe_obsbench:entry=$function" >/dev/null 2>&1 &&
		perf probe -q -x "$binary" "probe_obsbench:leave=$function%return" >/dev/null 2>&1 ||
		echo "perf probe fails"
}
run_perf() {
	# shellcheck disable=SC2046 # words
	exec perf record $1 -q -B -o "$trace" -e "$(echo $(tracepoints) | tr ' ' ,)" -p "$pid"
}
count_perf() {
	perf report --stats -i "$trace" 2>/dev/null >"$work/perf.stats"
	lost=0
	grep -q ' LOST' "$work/perf.stats" &&
		lost=$(perf script -i "$trace" --show-lost-events -F comm,event 2>/dev/null |
			awk '/PERF_RECORD_LOST/ { n += $NF } END { print n + 0 }')
	awk -v lost="$lost" '/SAMPLE events:/ { print $3 + 0, lost; exit }' "$work/perf.stats"
}
can_perf_z() { can_perf; }
run_perf_z() { run_perf -z; }
count_perf_z() { count_perf; }

can_perf_trace() {
	missing perf
	has syscalls || echo "traces system calls only"
	[ "$comm" = postgres ] && echo "with -p it does not follow new processes of the server"
}
run_perf_trace() { exec perf trace -o "$trace" -p "$pid"; }
count_perf_trace() {
	awk '/^LOST/ { lost += $2; next } / = / { n += 2 } END { print n + 0, lost + 0 }' "$trace"
}

can_bpftrace() { missing bpftrace; }
plain() { printf '%s\n' "$@"; } # echo would request \n into line ends
run_bpftrace() {
	mine="/comm == \"$comm\"/"
	{
		plain 'BEGIN { printf("ready\n"); }'
		has syscalls && plain "tracepoint:raw_syscalls:sys_enter $mine { printf(\"%llu %d e %d\n\", nsecs, tid, args->id); }" \
			"tracepoint:raw_syscalls:sys_exit $mine { printf(\"%llu %d x %d %d\n\", nsecs, tid, args->id, args->ret); }"
		has sched && plain "tracepoint:sched:sched_switch /args->prev_comm == \"$comm\" || args->next_comm == \"$comm\"/ { printf(\"%llu %d s %d %d\n\", nsecs, args->prev_pid, args->next_pid, args->prev_state); }" \
			"tracepoint:sched:sched_waking /comm == \"$comm\" || args->comm == \"$comm\"/ { printf(\"%llu %d w %d\n\", nsecs, tid, args->pid); }"
		has block && plain "tracepoint:block:block_rq_issue { printf(\"%llu %d i %llu %d\n\", nsecs, tid, args->sector, args->bytes); }" \
			"tracepoint:block:block_rq_complete { printf(\"%llu %d c %llu\n\", nsecs, tid, args->sector); }"
		[ -z "$binary" ] || plain "uprobe:$binary:$function { printf(\"%llu %d e\n\", nsecs, tid); }" \
			"uretprobe:$binary:$function { printf(\"%llu %d x %d\n\", nsecs, tid, retval); }"
	} >"$work/program.bt"
	exec bpftrace -o "$trace" "$work/program.bt"
}
count_bpftrace() {
	lost=$(awk '/^Lost/ { n += $2 } END { print n + 0 }' "$work/said" "$trace")
	awk -v lost="$lost" '/^[0-9]/ { n++ } END { print n + 0, lost }' "$trace"
}

can_strace() {
	missing strace
	has syscalls || echo "traces system calls only"
}
run_strace() { exec strace -f -ttt -T -o "$trace" -p "$pid"; }
count_strace() { awk '/ = / { n += 2 } END { print n + 0, 0 }' "$trace"; }

# Those that work stacks is compared under.
can_obsrec_bare() { :; }
run_obsrec_bare() { exec ./obsrec -p "$pid" -e syscalls,sched -o "$trace"; }
count_obsrec_bare() { count_obsrec; }
can_obsrec_waits() { :; }
run_obsrec_waits() { exec ./obsrec -p "$pid" -e "$groups" --sample-rate 0 -o "$trace"; }
count_obsrec_waits() { count_obsrec; }
can_obsrec_all_waits() { :; }
run_obsrec_all_waits() { exec ./obsrec -p "$pid" -e "$groups" --sample-rate 0 --stack-threshold 1ms -o "$trace"; }
count_obsrec_all_waits() { count_obsrec; }
can_obsrec_samples() { :; }
run_obsrec_samples() { exec ./obsrec -p "$pid" -e "$groups" --stack-threshold 0 -o "$trace"; }
count_obsrec_samples() { count_obsrec; }

# That of stack_memory.sh: the default groups without cpu.
run_obsrec_unstacked() { exec ./obsrec -q -p "$pid" -e syscalls,sched,block,net,files,process,pressure,requests -o "$trace"; }

# Those of request_costs.sh: the default groups, without names, without group requests.
run_obsrec_default() { exec ./obsrec -q -p "$pid" -o "$trace"; }
run_obsrec_unnamed() { exec ./obsrec -q -p "$pid" --no-names -o "$trace"; }
run_obsrec_others() { exec ./obsrec -q -p "$pid" -e syscalls,sched,block,net,files,process,pressure,cpu -o "$trace"; }

can_perf_dwarf() { missing perf; }
run_perf_dwarf() { exec perf record -q -g --call-graph dwarf -F 99 -o "$trace" -p "$pid"; }
count_perf_dwarf() { count_perf; }

# callers by frame pointers
can_bpftrace_profile() { missing bpftrace; }
run_bpftrace_profile() {
	plain 'BEGIN { printf("ready\n"); }' "profile:hz:99 /pid == $pid/ { @[ustack] = count(); }" >"$work/program.bt"
	exec bpftrace -o "$trace" "$work/program.bt"
}
count_bpftrace_profile() { awk '/\]: [0-9]+$/ { n += $NF } END { print n + 0, 0 }' "$trace"; }

# A function of a tool: names of functions have no hyphens.
tool_does() { what=$1; tool=$2; shift 2; "${what}_$(echo "$tool" | tr - _)" "$@"; }

# Starts a tracer of $pid and returns when it has attached.
tool_start() { # tool
	trace=$work/trace.$1
	rm -f "$trace" "$trace".* "$work/used"
	: >"$work/said"
	tracer=
	[ "$1" = untraced ] && return
	export pid groups binary function comm work trace
	# shellcheck disable=SC2016 # expanded by the inner shell
	.output/bench_watch "$work/used" sh -c '. tests/bench/tools.sh; tool_does run "$1"' sh "$1" \
		>"$work/said" 2>&1 </dev/null &
	tracer=$!
	tries=0
	case $1 in
	empty) until grep -qs ready "$work/said" || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done ;;
	bpftrace) until grep -qs ready "$trace" || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done ;;
	obsrec*) until [ -s "$trace" ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done ;;
	*) sleep 0.7 ;; # they do not say
	esac
	sleep 0.3
	kill -USR1 $tracer
}

tool_end() {
	kill -INT $tracer 2>/dev/null
	wait $tracer
}

# Ends it; adds what it did to the results: events, lost, bytes, CPU ns, KiB. Fails if it saw nothing.
tool_stop() { # tool
	[ -n "$tracer" ] || return 0
	tool_end
	[ "$1" = empty ] && return 0
	# shellcheck disable=SC2046 # words
	set -- "$1" $(tool_does count "$1") 0 0
	[ "$2" -gt 0 ] && echo "$2 $3 $(stat -c %s "$trace" 2>/dev/null || echo 0) $(cut -d' ' -f1,2 "$work/used")" >>"$results/$present.$1.did"
	rm -f "$trace" "$trace".*
	[ "$2" -gt 0 ]
}
