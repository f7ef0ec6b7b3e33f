# SPDX-License-Identifier: GPL-2.0-or-later
# Small works of bench_work: one thing over and over. Sourced by tests/bench.sh.
#
# A work WORK has: title_WORK; unit_WORK, of its cost; about_WORK, which sets groups, binary, function
# and comm; begin_WORK, which starts it and sets pid; go_WORK, which prints its cost once it is
# traced, and a second number that is shown next to it; end_WORK.
seconds=${BENCH_SECONDS:-1}

micro_about() { comm=bench_work groups=$1 binary=${2:-} function=${3:-}; }
micro_begin() {
	rm -f "$work/go"
	mkfifo "$work/go"
	.output/bench_work "$1" "$seconds" "$work" <"$work/go" >"$work/cost" &
	pid=$!
	exec 8>"$work/go"
	sleep 0.1
}
micro_go() {
	echo >&8
	wait "$pid"
	cut -d' ' -f1 "$work/cost"
}
micro_end() { exec 8>&-; }

for micro in getppid pingpong disk call call_endbr; do
	eval "begin_$micro() { micro_begin $micro; }; go_$micro() { micro_go; }; end_$micro() { micro_end; }; unit_$micro=ns"
done
title_getppid='getppid(): one system call, entry and exit'
about_getppid() { micro_about syscalls; }
title_pingpong='pipe ping-pong of two threads on one CPU: 4 system calls, 2 switches, 2 wake-ups'
about_pingpong() { micro_about syscalls,sched; }
title_disk='4 KiB write with O_DIRECT: a system call, a request to the disk'
about_disk() { micro_about syscalls,block; }
title_call='a function, entry and return'
about_call() { micro_about uprobe .output/bench_work bench_call; }
title_call_endbr='the same, starting with endbr64 (obsrec probes the instruction after it)'
about_call_endbr() { micro_about uprobe .output/bench_work bench_call_endbr; }
