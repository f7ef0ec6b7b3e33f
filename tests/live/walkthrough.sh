#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every obsrec command of README.md, run as it stands there. Names of other hosts are replaced: a process, its cgroup,
# a server with functions.
. "$(dirname "$0")/lib.sh"
PATH=$top:$PATH
cd "$work" || exit 1

cp "$(command -v sleep)" nginxtest
./nginxtest 36000 &
target=$!
cp "$top/.output/workload" server
for mount in $(awk '$3 == "cgroup2" { print $2 } $3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2 }' /proc/mounts); do
	id=$(printf '%064d' $$ | tr 0-4 a-e)
	group=obsreadme.$$/docker-$id.scope
	mkdir -p "$mount/$group" 2>/dev/null && echo $target >"$mount/$group/cgroup.procs" && break
	group=
done

sed -n 's/^    \(obsrec .*\)/\1/p' "$top/README.md" | sed 's/  *# .*//' >commands
grep -v -e --last commands >plain
while read -r command; do
	case $command in *--cgroup* | *--container*)
		[ -n "$group" ] || { echo "ok README: $command # SKIP no control group can be made here" && continue; } ;;
	esac
	limit='-d 1'
	case $command in *' -- '*) limit='' ;; esac # that ends with its command
	now=$(echo "$command" | sed "s/ -d [0-9]*//; s/^obsrec/obsrec -q $limit/; s/\$(pidof redis-server)\|123/$target/
		s/--container web/--container $(echo "$id" | cut -c 1-12)/; s|system.slice/nginx.service|$group|
		s|-- ./server .*|-- ./server flood|; s/server:db::\*/server:probed_*/; s/server:begin..end@1/server:probed_outer..probed_inner@1/")
	rm -f ./*.obs
	sh -c "$now" >out 2>&1 </dev/null
	status=$?
	made=$(find . -name '*.obs' | head -n 1)
	if [ $status -eq 0 ] && [ -n "$made" ] && obsanalyze verify "$made" >verified 2>&1; then
		echo "ok README: $command"
	else
		echo "not ok README: $command: status $status: $(tail -n 1 out) $(tail -n 1 verified)"
	fi
done <plain
holds "README: $(wc -l <plain) commands were found" [ "$(wc -l <plain)" -ge 8 ]

# the one that flies, and its snapshot
rm -f ./*.obs
sh -c "exec $(grep -e --last commands | sed "s/^obsrec/obsrec -q/; s/--after 5s/--after 1s/; s/123/$target/")" &
flying=$!
until_flying $flying
sleep $((2 * slow))
kill -USR2 $flying
snapshot() { made=$(find . -name 'slow*.obs' | head -n 1) && [ -n "$made" ]; }
until_true snapshot
kill -INT $flying
wait $flying
is "README: obsrec --last ... --trigger: exit status" $? 0
holds "README: SIGUSR2 leaves a snapshot" sh -c "obsanalyze verify '$made' >/dev/null 2>&1"
kill $target
wait $target 2>/dev/null
[ -n "$group" ] && rmdir "$mount/$group" "$mount/obsreadme.$$"
exit 0
