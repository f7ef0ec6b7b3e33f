#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A request through servers on two hosts: network namespaces with names, boot ids and wall clocks of their own, each with a
# recorder. The offset of the clocks is found from the messages, and the request is followed through both.
. "$(dirname "$0")/lib.sh"
net=obshosts$$
cleanup() {
	jobs -p >"$work/jobs"
	xargs -r kill <"$work/jobs" 2>/dev/null
	ip netns del $net.a 2>/dev/null
	ip netns del $net.b 2>/dev/null
	remove_work
}
if ! ip netns add $net.a 2>/dev/null || ! ip netns add $net.b || ! ip link add oa$$ netns $net.a type veth peer name ob$$ netns $net.b; then
	echo "ok two hosts # SKIP no network namespaces"
	exit 0
fi
ip -n $net.a addr add 10.77.0.1/24 dev oa$$ && ip -n $net.a link set oa$$ up && ip -n $net.a link set lo up
ip -n $net.b addr add 10.77.0.2/24 dev ob$$ && ip -n $net.b link set ob$$ up && ip -n $net.b link set lo up

# host, pid, ns: a recorder that believes to be on another host, with a wall clock that is wrong by so much
record() {
	tr -d '\n' </proc/sys/kernel/random/uuid >"$work/boot.$1"
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -m -u sh -c 'hostname "$1" && mount --bind "$2/boot.$1" /proc/sys/kernel/random/boot_id && shift &&
		exec env LD_PRELOAD="$6" WALL_CLOCK_ADD="$2" "$3" -q --at "$7" -p "$4" -o "$5"' \
		sh "$1" "$work" "$3" "$obsrec" "$2" "$work/$1.obs" "$top/.output/wallclock.so" "$at" 3>&- &
}

# the slow server (1 s: longer than a busy host gives no CPU to another), the wrong ns of the far clock
two_hosts() {
	rm -f "$work"/*.obs
	mkfifo "$work/go"
	ip netns exec $net.b python3 tests/live/hop.py serve 10.77.0.2 8001 far &
	back=$!
	ip netns exec $net.a python3 tests/live/hop.py serve 10.77.0.1 8000 near 10.77.0.2 8001 &
	front=$!
	ip netns exec $net.a python3 tests/live/hop.py ask 10.77.0.1 8000 <"$work/go" >"$work/asking" &
	asking=$!
	exec 3>"$work/go"
	until_true grep -q connected "$work/asking"
	at=$(date -u -d "+$((3 * slow)) seconds" +%Y-%m-%dT%H:%M:%SZ)
	record near $front 0
	near=$!
	record far $back "$2"
	far=$!
	until_begun "$work/near.obs"
	until_begun "$work/far.obs"
	for i in $(seq 61); do
		if [ "$i" -eq 31 ]; then echo "/$1/sleep 1"; else echo "/none/fast 0"; fi
	done >&3
	exec 3>&-
	wait $asking
	kill -INT $near $far
	wait $near $far
	kill $front $back
	wait $front $back 2>/dev/null
	rm "$work/go"
	"$obsanalyze" request slowest --name "GET /$1/sleep" "$work/near.obs" "$work/far.obs" >"$work/said"
}

# The clock of the events is the same for both recorders: together, merging and messages have to find no difference.
clock_is_right() { # slow server, description
	"$obsanalyze" merge --force -o "$work/both.obs" "$work/near.obs" "$work/far.obs" 2>"$work/merged"
	"$obsanalyze" request slowest --name "GET /$1/sleep" "$work/both.obs" >"$work/said.both"
	is "$2: a merged recording has the same answer" "$(cat "$work/said.both")" "$(cat "$work/said")"
	shifts=$(ask "$work/both.obs" "SELECT max(value) FILTER (WHERE key='2.clock_shift_ns') - max(value) FILTER (WHERE
		key='1.clock_shift_ns') FROM recording")
	# "Clock of far: corrected by -0.007000123 s +-6.49 us (n = 122 messages)"
	says "$2: the clocks agree within the error" "$(awk -v shift="$shifts" '/^Clock of far: corrected by/ {
		unit["ns"] = 1; unit["us"] = 1e3; unit["ms"] = 1e6; unit["s"] = 1e9
		error = substr($8, 3) * unit[$9] * 1.005; off = $6 * 1e9 + shift
		print (off <= error && -off <= error ? "agree" : "differ"), "by", off, "+-", error, "ns, corrected by", $6 }' \
		"$work/said")" '^agree '
	for host in near far; do
		late=$(($(ask "$work/$host.obs" "SELECT start_realtime FROM v_recording") - $(date -d "$at" +%s) * 1000000000))
		holds "$2: $host starts at the time that --at names, not before: $late ns after it" [ $late -ge 0 ]
	done
}

for wrong in 7000000 -35000000; do
	two_hosts far $wrong
	says "clock wrong by $wrong ns, far server slow: the request is followed to it" "$(cat "$work/said")" \
		'asked 10.77.0.2:8001, network '
	says "clock wrong by $wrong ns, far server slow: it is named" "$(tail -n 1 "$work/said")" \
		"^Longest part: timer, .*\[$((10000000 + back))\]:8001: [1-9][0-9.]* s, "
	clock_is_right far "clock wrong by $wrong ns"
	[ $bad -eq 0 ] || sed "s/^/# /" "$work/said" "$work/merged"
done
two_hosts near 0
says "near server slow: it is named" "$(tail -n 1 "$work/said")" "^Longest part: timer, .*\[$front\]:8000: [1-9][0-9.]* s, "
"$obsanalyze" request slowest --name "GET /near/sleep" --html "$work/page.html" "$work/near.obs" "$work/far.obs"
is "the diagram has a lane of each host" "$(grep -c 'class="lane".*\(near\|far\): ' "$work/page.html")" 2
is "the diagram has an arrow there and one back" "$(grep -c 'class="message"' "$work/page.html")" 2
is_empty "the page keeps its rules" "$(python3 tests/check/html_rules.py "$work/page.html" 2>&1)"
exit $bad
