#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel counts and only the kernel knows: CPU time by its own clock, switches that a CPU quota caused,
# softirqs, PSI, limits of memory and the reclaim that they cause, holders of locks.
. "$(dirname "$0")/lib.sh"

# a cgroup of ours below the mount of a controller, version 1 or 2; prints its directory
made=
our_cgroup() { # controller name
	mount=$(awk -v c="$1" '$3 == "cgroup" && $4 ~ "(^|,)" c "(,|$)" { print $2; exit }' /proc/mounts)
	if [ -z "$mount" ]; then
		mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		[ -n "$mount" ] && echo "+$1" >"$mount/cgroup.subtree_control"
	fi 2>/dev/null
	[ -n "$mount" ] && mkdir "$mount/$2" 2>/dev/null && echo "$mount/$2"
}
trap 'cleanup; for d in $made; do until_true rmdir "$d"; done' EXIT

load() { # name of a recording: makes a database of it
	rm -f "$work/$1.db"
	"$obsanalyze" load -o "$work/$1.db" "$work/$1.obs"
}

# spins in the shell, then prints the kernel's own count of its CPU time
spin='i=0; while [ $i -lt '$((600000 / slow))' ]; do i=$((i + 1)); done; read -r t rest </proc/self/schedstat; echo "cpu_ns=$t"'

# The kernel's clock of a thread. A round in which the host hid a switch is repeated.
for round in 1 2 3 4 5 6 7 8 9 10; do
	rm -f "$work/a.obs"
	"$obsrec" -q -e sched -o "$work/a.obs" -- sh -c "$spin" >"$work/printed"
	load a
	exec=$(ask "$work/a.db" "SELECT exec FROM thread ORDER BY run DESC LIMIT 1")
	run=$(ask "$work/a.db" "SELECT run FROM thread ORDER BY run DESC LIMIT 1")
	cpu=$(printed "$work/printed" cpu_ns)
	[ $((exec * 100)) -gt $((cpu * 99)) ] && [ $((exec * 100)) -lt $((cpu * 101)) ] && break
	echo "# round $round: exec $exec ns, $cpu by the kernel, run $run"
done
holds "CPU time $exec ns is the kernel's $cpu ns within 1 % (run: $run ns)" \
	sh -c "[ $((exec * 100)) -gt $((cpu * 99)) ] && [ $((exec * 100)) -lt $((cpu * 101)) ]"

# a quota of 20 of 100 ms: each period that it ends is one switch with the bit, where the kernel has it
quota=$(our_cgroup cpu "obsquota.$$")
if [ -n "$quota" ] && { echo 20000 >"$quota/cpu.cfs_quota_us" || echo '20000 100000' >"$quota/cpu.max"; } 2>/dev/null; then
	made="$made $quota"
	# among others who use the CPUs, too, it gets as much as the quota
	{ echo 102400 >"$quota/cpu.shares" || echo 10000 >"$quota/cpu.weight"; } 2>/dev/null
	nr() { sed -n 's/^nr_throttled //p' "$quota/cpu.stat"; }
	for round in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$work/q.obs"
		before=$(nr)
		"$obsrec" -q -o "$work/q.obs" -- sh -c "echo \$\$ >$quota/cgroup.procs; $spin" >"$work/printed"
		sleep 0.3
		times=$(($(nr) - before))
		load q
		bits=$(ask "$work/q.db" "SELECT coalesce(sum(throttled), 'none') FROM thread")
		[ "$bits" = "$times" ] && break
		[ "$bits" = none ] && break
		echo "# round $round: throttled in $times periods, $bits switches"
	done
	holds "the quota stopped it ($times periods)" [ "$times" -gt 2 ]
	if ! ask "$work/q.db" "SELECT value FROM recording WHERE key='switch_parts'" | grep -q throttled; then
		echo "ok as many switches have the bit # SKIP this kernel does not report throttled threads"
	else
		is "as many switches have the bit" "$bits" "$times"
	fi
	{ echo -1 >"$quota/cpu.cfs_quota_us" || echo 'max 100000' >"$quota/cpu.max"; } 2>/dev/null
	sh -c 'while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.02; done' &
	neighbour=$!
	rm -f "$work/n.obs"
	# the recorder starts in the cgroup: one that is entered later is found at the next search
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$quota" "$obsrec" -q -o "$work/n.obs" -- sh -c "$spin" >"$work/printed"
	kill $neighbour
	load n
	is "a periodic neighbour without a quota: no bits" "$(ask "$work/n.db" "SELECT total(throttled) FROM thread")" 0.0
	is "that there is no quota is a fact" "$(ask "$work/n.db" "SELECT count(*) > 0 AND max(quota) = 0 FROM throttle t
		JOIN cgroup g ON g.id=t.cgroup WHERE g.path='/obsquota.$$'")" 1
else
	echo "ok quotas # SKIP no cgroup for CPU time can be made"
fi

# softirqs: what arrives over loopback is handled in them, inside the sender's call
mkdir "$work/dir"
"$obsrec" -q -o "$work/s.obs" -- "$top/.output/groupwork" "$work/dir" >"$work/printed" 2>&1
load s
is "softirqs took time of threads over loopback, not more than they had" "$(ask "$work/s.db" "SELECT sum(softirq) > 0 AND
	max(softirq + irq + coalesce(stolen, 0) > run + 1000) = 0 FROM thread")" 1

# once per second
"$obsrec" -q -a -e pressure -o "$work/p.obs" &
recorder=$!
read_twice() { [ "$("$obsanalyze" dump -e cpu_time "$1" | grep -c ' cpu=0 ')" -ge 2 ]; }
until_true read_twice "$work/p.obs"
kill -INT $recorder
wait $recorder
load p
is "times of each CPU" "$(ask "$work/p.db" "SELECT count(DISTINCT cpu) FROM cpu_time")" "$(grep -c '^cpu[0-9]' /proc/stat)"
is "memory of the host" "$(ask "$work/p.db" "SELECT max(max) / 1024 FROM memory WHERE cgroup IS NULL")" \
	"$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
if [ -r /proc/pressure/cpu ] && read -r _ 2>/dev/null </proc/pressure/cpu; then
	is "PSI of the host" "$(ask "$work/p.db" "SELECT count(DISTINCT resource) FROM psi WHERE cgroup IS NULL")" 3
else
	echo "ok PSI of the host # SKIP this kernel has none"
fi

# a cgroup of 16 MiB that writes 96 MiB into the page cache reclaims
memory=$(our_cgroup memory "obsmemory.$$")
if [ -n "$memory" ] && { echo 16M >"$memory/memory.limit_in_bytes" || echo 16M >"$memory/memory.high"; } 2>/dev/null; then
	made="$made $memory"
	# it writes when the limit has been read, and ends when it has been read that the limit was met
	ours="path=\"/obsmemory.$$\""
	"$obsrec" -q -o "$work/m.obs" -- sh -c "echo \$\$ >$memory/cgroup.procs; until [ -e $work/limited ]; do sleep 0.1; done
		dd if=/dev/zero of=$work/big bs=1M count=96 2>/dev/null; until [ -e $work/met ]; do sleep 0.1; done" &
	recorder=$!
	until_recorded "$work/m.obs" cgroup_memory " \(max\|high\)=$((16 << 20)) .*$ours"
	touch "$work/limited"
	until_recorded "$work/m.obs" cgroup_memory " \(hit_high\|hit_max\)=[1-9].*$ours"
	touch "$work/met"
	wait $recorder
	load m
	is "reclaim for the limit, by the thread that writes" "$(ask "$work/m.db" "SELECT count(*) > 0 AND min(dur) > 0 AND
		sum(pages) > 0 FROM reclaim r JOIN thread t ON t.tid=r.tid WHERE kind=1 AND comm='dd'")" 1
	is "the limit and how often it was met" "$(ask "$work/m.db" "SELECT max(coalesce(high, max)) || ' ' ||
		(total(hit_high) + total(hit_max) > 0) FROM memory WHERE path='/obsmemory.$$'")" "$((16 << 20)) 1"
	rm -f "$work/big"
else
	echo "ok reclaim # SKIP no cgroup for memory can be made"
fi
