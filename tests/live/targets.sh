#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Whom --comm, --cgroup, --container and -p record, and whom not; what of others is kept.
. "$(dirname "$0")/lib.sh"
cp "$(command -v sleep)" "$work/tgtAsleep"
cp "$(command -v sleep)" "$work/tgtBsleep"

# threads that were recorded, by name; their wall time is known
recorded() { ask "$1" "SELECT count(*) FROM thread WHERE wall IS NOT NULL AND comm LIKE '$2'"; }
others() { ask "$1" "SELECT count(*) FROM thread WHERE wall IS NOT NULL AND comm NOT LIKE '$2'"; }

# --comm: those that exist, one that comes, one that takes such a name by exec
"$work/tgtAsleep" 3600 &
one=$!
"$work/tgtBsleep" 3600 &
two=$!
until_true grep -q tgtAsleep /proc/$one/comm
until_true grep -q tgtBsleep /proc/$two/comm
"$obsrec" -q --comm 'tgt?sleep' -o "$work/comm.obs" &
rec=$!
until_begun "$work/comm.obs"
"$work/tgtAsleep" 0.1
kill -INT $rec
wait $rec
is "--comm: processes that match" "$(recorded "$work/comm.obs" 'tgt_sleep')" 3
is "--comm: others" "$(others "$work/comm.obs" 'tgt_sleep')" 0
is "--comm: descriptors that were open before" "$(ask "$work/comm.obs" "SELECT count(DISTINCT pid) FROM fd WHERE pid IN ($one, $two)
	AND fd=1 AND ts=0")" 2
kill $one $two

# -p: children that exist, and those that are made; with --no-follow neither
sh -c "$work/tgtAsleep 3600 & while [ ! -e $work/go ]; do sleep 0.2; done; $work/tgtBsleep 0.2; touch $work/went; wait" &
parent=$!
until_true pgrep -x -P $parent tgtAsleep >/dev/null
"$obsrec" -q -p $parent -o "$work/follow.obs" &
rec=$!
"$obsrec" -q -p $parent --no-follow -o "$work/alone.obs" &
alone=$!
until_begun "$work/follow.obs"
until_begun "$work/alone.obs"
touch "$work/go"
until_true [ -e "$work/went" ]
kill -INT $rec $alone
wait $rec
wait $alone
is "-p: a child that exists" "$(recorded "$work/follow.obs" tgtAsleep)" 1
is "-p: a child that is made" "$(recorded "$work/follow.obs" tgtBsleep)" 1
is "--no-follow: the process alone" "$(ask "$work/alone.obs" "SELECT count(*) FROM thread WHERE wall IS NOT NULL")" 1
pkill -P $parent
kill $parent 2>/dev/null

# --cgroup and --container, in whichever versions are mounted
# also its first 12 digits are of this run alone: a test that was killed leaves its group
id=$(printf '%df%064d' $$ 0 | tr 0-4 a-e | cut -c 1-64)
for mount in $(awk '$3 == "cgroup2" { print $2 } $3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2 }' /proc/mounts); do
	group=$mount/obstest.$$/docker-$id.scope
	mkdir -p "$group" 2>/dev/null || continue
	what=$(awk -v m="$mount" '$2 == m { print $3 }' /proc/mounts)
	sh -c "echo \$\$ >$group/cgroup.procs && exec $work/tgtAsleep 3600" &
	inside=$!
	"$work/tgtBsleep" 3600 &
	outside=$!
	until_true grep -q tgtAsleep "/proc/$inside/comm"
	until_true grep -q tgtBsleep "/proc/$outside/comm"
	"$obsrec" -q --container "$(echo "$id" | cut -c 1-12)" -o "$work/container.obs" &
	alone=$!
	"$obsrec" -q --cgroup "$mount/obstest.$$" -o "$work/cgroup.obs" &
	rec=$!
	until_begun "$work/container.obs"
	until_begun "$work/cgroup.obs"
	kill -INT $alone
	wait $alone
	echo $outside >"$group/cgroup.procs"
	until_recorded "$work/cgroup.obs" cgroup_move " target=$outside "
	kill -INT $rec
	wait $rec
	is "$what: --cgroup: who is in a group below it" "$(recorded "$work/cgroup.obs" tgtAsleep)" 1
	is "$what: --cgroup: who enters it" "$(recorded "$work/cgroup.obs" tgtBsleep)" 1
	is "$what: --cgroup: others" "$(others "$work/cgroup.obs" 'tgt_sleep')" 0
	is "$what: --container by the begin of its id" "$(recorded "$work/container.obs" tgtAsleep)" 1
	is "$what: --container: others" "$(others "$work/container.obs" tgtAsleep)" 0
	kill $inside $outside 2>/dev/null
	wait $inside $outside 2>/dev/null
	rm -f "$work/cgroup.obs" "$work/container.obs"
	rmdir "$group" "$mount/obstest.$$"
	done_one=1
done
[ "${done_one:-0}" = 1 ] || echo "ok control groups # SKIP none can be made here"

# Who had the CPU while the target waited for it: all of them, though they are no targets. A host can
# hide threads of its own, whose switches are then missing: a round with many is printed and repeated. (With
# real-time priority they would get the share of a CPU that the kernel keeps for all others.)
cp "$(command -v sh)" "$work/tgtworker"
for i in 1 2 3; do
	cp "$(command -v sh)" "$work/burner$i"
done
for round in 1 2 3 4 5 6 7 8 9 10; do
	burners=
	for i in 1 2 3; do
		taskset -c 0 "$work/burner$i" -c 'while :; do :; done' &
		burners="$burners $!"
	done
	taskset -c 0 "$work/tgtworker" -c 'while :; do :; done' &
	worker=$!
	"$obsrec" -q -p $worker -d $((2 * slow)) -o "$work/wait$round.obs"
	# shellcheck disable=SC2086 # a list
	kill $burners $worker 2>/dev/null
	"$obsanalyze" load -o "$work/wait.db" "$work/wait$round.obs"
	share=$(ask "$work/wait.db" "SELECT CAST(100 * sum(a.woken + a.preempted) / (SELECT sum(woken + preempted)
		FROM thread WHERE pid=$worker) AS INT) FROM cpu_contender a WHERE a.pid=$worker")
	ran=$(ask "$work/wait.db" "SELECT count(DISTINCT a.tid) FROM cpu_contender a JOIN thread t USING(tid)
		WHERE t.comm LIKE 'burner_'")
	[ "$share" -ge 95 ] && [ "$ran" = 3 ] && break
	echo "# round $round: $ran of 3 loops explain $share % of the waits"
	rm -f "$work/wait.db"
done
is "who ran instead of the target" "$ran" 3
is "that it is bound to one CPU" "$(ask "$work/wait$round.obs" "SELECT DISTINCT bound FROM event_thread WHERE tid=$worker")" 1
holds "that explains at least 95 % of its waits in the run queue ($share %, round $round)" [ "$share" -ge 95 ]

"$obsrec" -q --container no-such-thing -d 1 -o "$work/x.obs" 2>"$work/err"
is "no such container: exit status" $? 1
says "no such container: sentence" "$(cat "$work/err")" 'no running container has the id or name no-such-thing'
"$obsrec" -q --cgroup /no/such/group -d 1 -o "$work/x.obs" 2>"$work/err"
is "no such control group: exit status" $? 1
