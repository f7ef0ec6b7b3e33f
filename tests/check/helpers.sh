#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of benchmarks, on results that are made up.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh

# ---- the table of what stacks cost ----
results=$work requests=100
name_of() { echo "$1"; }
nproc() { echo 1; }
. tests/bench/table.sh
. tests/bench/counted.sh
# Two rounds of 10 s each. Programs that take samples run for 10 ms of it.
table_of() { # ms at the end of obsrec-bare, of the others
	for tool in obsrec-bare obsrec bpftrace-profile; do
		last=$2 taking=10000000
		[ $tool = obsrec-bare ] && last=$1 taking=0
		for _ in 1 2; do
			echo "5000000000 10000000 100000000 ${last}000000 1024 1000 10000000000 5 0 $taking 1000000 100 1000000 100"
		done >"$results/counted.$tool"
	done
	counted_table
}
all_of() { echo "$2" | awk -F ' *[|] *' -v tool="$1" '$2 == tool { print $13 }'; }
one=$(table_of 600 900) # of 60 s: 0.5 % more than obsrec-bare at the end, and 0.1 % of samples
is "stacks: the end of obsrec without them is no part" "$(all_of obsrec "$one")" "0.60 %"
is "stacks: the end of another tracer is one" "$(all_of bpftrace-profile "$one")" "2.60 %"
is "stacks: an end that takes no longer is none" "$(all_of obsrec "$(table_of 900 900)")" "0.10 %"
exit $bad
