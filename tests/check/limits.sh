#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Limits of resources that are too small for obsanalyze: one sentence, status 1, no file is left. Its own limit of memory
# has room for many threads. Clocks that are set during a recording change no duration.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
obsanalyze=$top/obsanalyze
export XDG_CACHE_HOME="$work/cache"

limited() { # what, option of ulimit, value, pattern, command...
	what=$1 limit=$2 value=$3 pattern=$4
	shift 4
	mkdir "$work/out"
	# shellcheck disable=SC2016 # expanded by the inner shell
	prints "$what" 1 "^obsanalyze: .*$pattern" sh -c 'cd "$1" || exit; ulimit "$0" "$2"; shift 2; exec "$@"' \
		"$limit" "$work/out" "$value" "$obsanalyze" "$@"
	is_empty "$what: no file is left" "$(ls "$work/out")"
	rm -rf "$work/out"
}
demo=$top/testdata/demo-fault.obs
# what a report has of these does not fit the memory that is kept for it: some goes to a temporary file
"$top/.output/bench_gen" "$work/many.obs" 300000 >/dev/null
limited "report, files of 512 bytes" -f 1 'File too large' report "$work/many.obs"
limited "load, files of 10 KiB" -f 20 'disk I/O error' load -o out.db "$demo"
limited "export, files of 10 KiB" -f 20 'File too large' export -o out.json "$demo"
limited "html, files of 10 KiB" -f 20 'File too large' report --html out.html "$demo"
limited "report, 4 open files" -n 4 'Too many open files' report "$work/many.obs"
limited "load, 4 open files" -n 4 'Too many open files' load -o out.db "$demo"
# the first failure is printed, not what it did to a database without a journal; enough memory is no failure
for kib in 56000 60000 64000 68000; do
	sh -c 'ulimit -v "$0"; exec "$@"' $kib "$obsanalyze" report --no-cache "$top/testdata/demo.obs" >"$work/out" 2>&1 ||
		holds "report, $kib KiB of memory" grep -q '^obsanalyze: .*out of memory' "$work/out"
done

# what a thread that wakes others takes of the memory that one recording may have
{
	printf '@recorder\n0 0 info text="targets=all"\n1 0 info text="groups=core,syscalls,sched"\n@cpu 0\n'
	for n in 1 2 3 4; do printf '@block\n@times 18500 1 1\n%d %d rename comm="x"\n' $((n * 100000)) $((n * 18500)); done
	for n in 5 6 7 8; do printf '@block\n@times 18500 1 1\n%d %d waking target=7\n' $((n * 100000)) $(((n - 4) * 18500)); done
} >"$work/wakers.txt"
"$top/.output/pack" "$work/wakers.txt" "$work/wakers.obs"
prints "74,000 processes that wake others are within the limit of memory" 0 '^COMPLETE' "$obsanalyze" report --no-cache -v "$work/wakers.obs"

# the wall clock is set back by an hour, then forward by a day; the host sleeps for a minute
stepped() { # realtime of four readings, boottime of four
	printf '%s\n' '@recorder' '0 0 info text="targets=all"' '1 0 info text="groups=core,syscalls,sched"' \
		'4 100 thread pid=100 state=83 comm="server"' '10 0 info text="snapshot=10"' '11 0 info text="begin=11"' \
		"20 0 clock monotonic=20 realtime=$1 boottime=$5" "1000000020 0 clock monotonic=1000000020 realtime=$2 boottime=$6" \
		"2000000020 0 clock monotonic=2000000020 realtime=$3 boottime=$7" "3000000020 0 clock monotonic=3000000020 realtime=$4 boottime=$8" \
		'@cpu 0' '1000 0 switch next=100 prio=120' '1500000000 100 syscall nr=read fd=3 ret=9 count=9 dur=1000000' \
		'1600000000 100 switch next=0 state=1' '2900000000 0 waking target=100 prio=120' '2900001000 0 switch next=100 prio=120' \
		'2950000000 100 switch next=0 state=1'
}
s=1000000000
stepped $((1700000000 * s)) $((1700000001 * s)) $((1700000002 * s)) $((1700000003 * s)) 20 1000000020 2000000020 3000000020 >"$work/steady.txt"
stepped $((1700000000 * s)) $((1699996401 * s)) $((1700086402 * s)) 1 20 1000000020 62000000020 63000000020 >"$work/stepped.txt"
for one in steady stepped; do
	"$top/.output/pack" "$work/$one.txt" "$work/$one.obs"
	cp "$work/$one.obs" "$work/clock.obs"
	for what in "report -v" "report --json" info "verify" "dump -e syscall,switch"; do
		# shellcheck disable=SC2086 # a command and its options
		"$obsanalyze" $what "$work/clock.obs" >"$work/out" 2>&1
		echo "status $?" >>"$work/out"
		grep -v 'uuid\|clock\|file_bytes' "$work/out" >"$work/$one.$(echo "$what" | tr -c 'a-z\n' _)"
	done
done
for what in report__v report___json info verify dump__e_syscall_switch; do
	holds "clock steps: $what is as without" diff "$work/steady.$what" "$work/stepped.$what"
done
prints "clock steps: compare" 0 'server, idle share .* x1.00 ' "$obsanalyze" compare --force "$work/steady.obs" "$work/stepped.obs"

exit $bad
