# SPDX-License-Identifier: GPL-2.0-or-later
# A server of one thread, as a recording written as text: Poisson arrivals, exponential work, one queue.
# -v seed= n= work= (s, mean), and if wanted rate= (1/s), lock= (s: every 4th request waits so long for a
# futex), fail= (share of the openat of every 10th request that fail), groups=, more= (samples and waits have call stacks:
# a request calls parse or work for three ticks of 50 us, then grow for so many; it waits for the futex in parse)
function u() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
function at(t) { return sprintf("%.0f", t * 1e9 + 1000) }
function tick(t, stack) { print at(t) " 100 sample pid=100 user_stack=" stack " kernel_stack=" (u() < 0.25 ? 6 : 0) " weight=50000" }
BEGIN {
	if (!groups) groups = "recorder,core,syscalls,sched" (more != "" ? ",cpu" : "")
	if (!rate) rate = 1000
	print "@recorder\n900 0 info text=\"groups=" groups "\"\n901 0 info text=\"targets=100\"\n902 0 info text=\"cpus=2\""
	print "903 0 clock monotonic=903 realtime=1700000000000000000\n904 100 thread pid=100 state=83 comm=\"server\""
	print "905 100 fd pid=100 fd=5 mode=0140000 ino=75 dev=8 family=2 role=2 socktype=1 sport=80 dport=990 saddr=127.0.0.1 daddr=10.0.0.7"
	if (more != "") {
		print "906 0 module id=1 kind=3 path=\"/srv/app\"\n906 0 module id=2 kind=1 path=\"[kernel]\""
		n_names = split("main serve parse work grow vfs_write", names, " ")
		split("0 1 2 2 4 0", callers, " ")
		for (i = 1; i <= n_names; i++)
			print "907 0 frame id=" i " module=" (i == 6 ? 2 : 1) " address=" i "\n907 0 stack id=" i " caller=" callers[i] \
				" frame=" i "\n908 0 symbol frame=" i " line=" (i == 5 ? 42 : 0) " text=\"" names[i] (i == 5 ? "\t/src/grow.c" : "") "\""
	}
	print "1000 0 info text=\"begin=1000\"\n@cpu 0"
	for (i = 0; i < 20; i++) u()
	due = 0.001
	for (i = 0; i < n; i++) {
		due -= log(u()) / rate
		start = free
		if (i == 0 || due > free + 0.000002) {
			if (i) print at(free) " 100 switch next=0 state=1"
			print at(due) " 0 waking target=100 cpu=0 context=1\n" at(due + 0.000001) " 0 switch next=100"
			print at(due + 0.000002) " 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 ret=1 dur=" sprintf("%.0f", (due - free) * 1e9)
			start = due + 0.000002
		}
		print at(start + 0.000001) " 100 syscall nr=read fd=5 ret=36 dur=500"
		end = start + 0.00002 - log(u()) * work
		taken = 0
		if (more != "") {
			for (k = 0; k < 3 + more; k++) tick(start + 0.000004 + (taken += 0.00005), k < 3 ? (u() < 0.5 ? 3 : 4) : 5)
			end += taken
			start += taken
		}
		if (i % 10 == 0) print at(start + 0.000003) " 100 syscall nr=openat ret=" (u() < fail ? -2 : 9) " dur=1000"
		if (lock && i % 4 == 0) {
			print at(start + 0.000005) " 100 switch next=0 state=1"
			print at(start + 0.000005 + lock) " 0 waking target=100 cpu=0 context=0\n" at(start + 0.000006 + lock) " 0 switch next=100"
			if (more != "") print at(start + 0.000006 + lock) " 100 offcpu pid=100 dur=" sprintf("%.0f", lock * 1e9 + 1000) " user_stack=3 state=1"
			print at(start + 0.000007 + lock) " 100 syscall_args nr=futex arg0=0x5000 arg1=0x80 ret=0 dur=" sprintf("%.0f", lock * 1e9 + 3000)
			end += lock
		}
		print at(end) " 100 syscall nr=write fd=5 count=7 ret=7 dur=800"
		free = end + 0.000001
	}
	print "@recorder\n" at(free + 0.001) " 0 info text=\"stopped=" at(free + 0.001) "\"\n" at(free + 0.001) " 0 info text=\"end=signal\""
}
