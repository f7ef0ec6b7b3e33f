# SPDX-License-Identifier: GPL-2.0-or-later
# A server of one thread, as a recording written as text: Poisson arrivals, exponential work, one queue.
# -v seed= n= work= (s, mean), and if wanted rate= (1/s), lock= (s: every 4th request waits so long for a
# futex), fail= (share of the openat of every 10th request that fail), groups=
function u() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
function at(t) { return sprintf("%.0f", t * 1e9 + 1000) }
BEGIN {
	if (!groups) groups = "recorder,core,syscalls,sched"
	if (!rate) rate = 1000
	print "@recorder\n900 0 info text=\"groups=" groups "\"\n901 0 info text=\"targets=100\"\n902 0 info text=\"cpus=2\""
	print "903 0 clock monotonic=903 realtime=1700000000000000000\n904 100 thread pid=100 state=83 comm=\"server\""
	print "905 100 fd pid=100 fd=5 mode=0140000 ino=75 dev=8 family=2 role=2 socktype=1 sport=80 dport=990 saddr=127.0.0.1 daddr=10.0.0.7"
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
		if (i % 10 == 0) print at(start + 0.000003) " 100 syscall nr=openat ret=" (u() < fail ? -2 : 9) " dur=1000"
		if (lock && i % 4 == 0) {
			print at(start + 0.000005) " 100 switch next=0 state=1"
			print at(start + 0.000005 + lock) " 0 waking target=100 cpu=0 context=0\n" at(start + 0.000006 + lock) " 0 switch next=100"
			print at(start + 0.000007 + lock) " 100 syscall_args nr=futex arg0=0x5000 arg1=0x80 ret=0 dur=" sprintf("%.0f", lock * 1e9 + 3000)
			end += lock
		}
		print at(end) " 100 syscall nr=write fd=5 count=7 ret=7 dur=800"
		free = end + 0.000001
	}
	print "@recorder\n" at(free + 0.001) " 0 info text=\"stopped=" at(free + 0.001) "\"\n" at(free + 0.001) " 0 info text=\"end=signal\""
}
