#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two loops on one CPU, in control groups of which one weighs three times as much: both have what is fair,
# though one has half of what its nice value alone would give it. A weight that changes during it is recorded.
. "$(dirname "$0")/lib.sh"

mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
file=cpu.shares light=1024 heavy=3072 later=2048
if [ -z "$mount" ]; then
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	file=cpu.weight light=100 heavy=300 later=200
	echo +cpu >"$mount/cgroup.subtree_control" 2>/dev/null
fi
l=$mount/obslight.$$ h=$mount/obsheavy.$$
mkdir "$l" "$h" 2>/dev/null
if [ ! -w "$h/$file" ]; then
	rmdir "$l" "$h" 2>/dev/null
	echo "ok shares of control groups # SKIP no controller cpu, or no right to make groups"
	exit 0
fi
echo $light >"$l/$file"
echo $heavy >"$h/$file"

loop() { # group: its shell joins it, goes to CPU 0 and becomes the loop
	sh -c "echo \$\$ >$1/cgroup.procs && exec taskset -c 0 sh -c 'while :; do :; done'" &
}
loop "$l"
a=$!
loop "$h"
b=$!
for loop in $a $b; do until_true grep -q '^Cpus_allowed_list:[^0-9]*0$' /proc/$loop/status; done
"$obsrec" -q -a -e core,sched -d $((4 * slow)) -o "$work/fair.obs"
"$obsrec" -q -a -e core,sched -o "$work/changed.obs" &
recorder=$!
until_begun "$work/changed.obs"
echo $later >"$h/$file"
until_recorded "$work/changed.obs" cgroup_weight " weight=2048"
kill -INT $recorder
wait $recorder
kill $a $b
wait $a $b 2>/dev/null
rmdir "$l" "$h"

"$obsanalyze" load -o "$work/db" "$work/fair.obs"
q() { ask "$work/db" "SELECT $1 FROM sched_stat s JOIN thread t ON t.tid=s.tid AND t.start=s.start WHERE s.tid=$2"; }
is "weights of the two groups" "$(ask "$work/db" "SELECT group_concat(weight, ' ') FROM (SELECT w.weight FROM cgroup_weight w
	JOIN cgroup g ON g.id=w.cgroup WHERE g.path LIKE '/obs%.$$' GROUP BY g.id ORDER BY w.weight)")" "1024 3072"
is "shares follow a group" "$(q "(SELECT path FROM cgroup WHERE id=s.cgroup)" $a)" "/obslight.$$"
holds "the light loop has its fair share ($(q "printf('%.3f', 1.0 * t.run / s.fair)" $a))" \
	[ "$(q "t.run BETWEEN 0.85 * s.fair AND 1.15 * s.fair" $a)" = 1 ]
holds "the heavy loop has its fair share ($(q "printf('%.3f', 1.0 * t.run / s.fair)" $b))" \
	[ "$(q "t.run BETWEEN 0.85 * s.fair AND 1.15 * s.fair" $b)" = 1 ]
holds "which is three times as much" [ "$(ask "$work/db" "SELECT (SELECT run FROM thread WHERE tid=$b) /
	(SELECT 1.0 * run FROM thread WHERE tid=$a) BETWEEN 2.5 AND 3.5")" = 1 ]
# with equal shares, as nice values alone would have it, it would end with half of the difference
flat=$(ask "$work/db" "SELECT ((SELECT run FROM thread WHERE tid=$b) - (SELECT run FROM thread WHERE tid=$a)) / 2")
lag=$(q "s.lag" $a)
holds "the light loop is never far behind its share ($lag ns; by nice values alone: $flat)" [ $((10 * lag)) -lt "$flat" ]
says "the report says what fair shares follow" "$("$obsanalyze" report -v "$work/fair.obs" | tr -s ' \n' ' ')" \
	'weights of [0-9]* cgroups\? (0 changed'
is "a weight that changes is recorded" "$(ask "$work/changed.obs" "SELECT group_concat(weight, ' ') FROM (SELECT w.weight FROM
	cgroup_weight w JOIN cgroup g ON g.id=w.cgroup WHERE g.path='/obsheavy.$$' ORDER BY w.ts)")" "3072 2048"
