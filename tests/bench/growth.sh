#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# growth.sh [n...]: CPU time and peak memory of `obsanalyze report` on recordings of 10 s with n threads, files or
# connections of one process (1,000, 10,000, 100,000); the table of docs/robustness.md. tests/unit/test_growth.c
# judges steps and entries; this shows seconds. SHAPES= selects, ROUNDS= repeats (3) and prints the lowest time.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- 1000 10000 100000

text() { # shape, n
	awk -v shape="$1" -v n="$2" '
	function at(ns) { return sprintf("%.0f", t + ns) }
	function socket(i, fd) {
		return " fd pid=100 fd=" fd " mode=0140000 ino=" 500000 + i " family=2 role=2 socktype=1 sport=80 dport=" \
			2000 + i % 60000 " saddr=127.0.0.1 daddr=10." int(i / 60000) "." int(i / 250) % 240 "." i % 250
	}
	function thread(i,   p) {
		p = 1000 + i
		print at(0) " 100 fork child=" p " child_pid=100 pid=100 comm=\"worker\""
		print at(1) " 100 wakeup_new target=" p " prio=120\n" at(3) " 100 switch next=" p " prio=120 state=1"
		print at(10) " " p " syscall nr=read fd=3 ret=9 count=99 dur=2\n" at(20) " " p " switch next=0 state=1"
		print at(500) " " (i ? p - 1 : 100) " waking target=" p " prio=120\n" at(510) " 0 switch next=" p " prio=120"
		print at(520) " " p " syscall_args nr=futex arg0=" 20480 + 64 * int(i / 2) " arg1=0x80 dur=505 ret=0"
		print at(550) " " p " syscall nr=write fd=3 ret=9 count=9 dur=2\n" at(600) " " p " switch next=100 state=1 prio=120"
	}
	function file(i) {
		print at(0) " 100 file_open nr=openat ret=" 10 + i " dur=1 dir=-100 path=\"/f" i "\""
		print at(1) " 100 fd pid=100 fd=" 10 + i " mode=0100000 ino=" 5000 + i " dev=8 path=\"/f" i "\""
		print at(5) " 100 syscall nr=read fd=" 10 + i " ret=9 count=9 dur=2\n" at(6) " 100 syscall nr=write fd=" 10 + i " ret=9 count=9 dur=2"
		print at(21) " 100 file_change nr=unlink ret=0 dur=1 dir=-100 path=\"/f" i "\""
	}
	function connection(i) {
		print at(0) " 0 waking target=100 context=1 prio=120\n" at(1) " 0 switch next=100 prio=120"
		print at(4) " 100" socket(i, 10 + i)
		print at(10) " 100 syscall nr=read fd=" 10 + i " ret=9 count=99 dur=2"
		print at(15) " 100 syscall nr=write fd=" 10 + i " ret=9 count=9 dur=2\n" at(20) " 100 switch next=0 state=1"
	}
	BEGIN {
		print "@recorder\n0 0 info text=\"targets=100\"\n1 0 info text=\"groups=recorder,core,syscalls,sched,files\""
		print "2 100 thread pid=100 state=83 comm=\"server\"\n3 100 fd pid=100 fd=3 mode=0010000 ino=9 dev=9"
		print "11 0 info text=\"begin=11\"\n10000000000 0 info text=\"stopped=10000000000\"\n@cpu 0"
		for (i = 0; i < n; i++) {
			if (i % 1000 == 999) print "@cpu 0" # a new block
			t = 1000 + int(9.9e9 / n) * i
			if (shape == "threads") thread(i); else if (shape == "files") file(i); else connection(i)
		}
	}'
}

echo "| n | $(for n in "$@"; do printf '%s | ' "$n"; done)"
echo "|---|$(for n in "$@"; do printf '%s' '---|'; done)"
for shape in ${SHAPES:-threads files connections}; do
	row="| $shape of one process |"
	for n in "$@"; do
		text "$shape" "$n" >"$work/text"
		.output/pack "$work/text" "$work/obs"
		best=$(for _ in $(seq "${ROUNDS:-3}"); do
			python3 -c '
import resource, subprocess, sys
code = subprocess.run(["./obsanalyze", "report", "--no-cache", sys.argv[1]], stdout=subprocess.DEVNULL).returncode
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f s, %d MiB" % (u.ru_utime + u.ru_stime, u.ru_maxrss / 1024) if code == 0 else "status %d" % code)' "$work/obs"
		done | sort -n | head -n 1)
		row="$row $best |"
	done
	echo "$row"
done
