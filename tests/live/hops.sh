#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Segments at network devices: two namespaces with a bridge between, whose port sends slowly. The hop is named, with its
# time; so is the address of a server that was translated on the way. IPv4 and IPv6.
. "$(dirname "$0")/lib.sh"
net=obshops$$
cleanup() {
	jobs -p >"$work/jobs"
	xargs -r kill <"$work/jobs" 2>/dev/null
	for n in near middle far; do ip netns del $net.$n 2>/dev/null; done
	remove_work
}
build() {
	for n in near middle far; do ip netns add $net.$n && ip -n $net.$n link set dev lo up || return 1; done
	ip link add eth0 netns $net.near type veth peer name pn netns $net.middle &&
		ip link add eth0 netns $net.far type veth peer name pf netns $net.middle &&
		ip -n $net.middle link add br0 type bridge && ip -n $net.middle link set dev br0 up &&
		ip -n $net.middle link set dev pn master br0 up && ip -n $net.middle link set dev pf master br0 up &&
		ip -n $net.near addr add 10.78.0.1/24 dev eth0 && ip -n $net.near link set dev eth0 up &&
		ip -n $net.far addr add 10.78.0.2/24 dev eth0 && ip -n $net.far link set dev eth0 up &&
		ip -n $net.near addr add fd00:78::1/64 dev eth0 nodad && ip -n $net.far addr add fd00:78::2/64 dev eth0 nodad
}
if ! build 2>/dev/null; then
	echo "ok hops # SKIP no network namespaces with veth and bridge"
	exit 0
fi

# address of the near server, of the far one, the same as the near one knows it, options
record() {
	near=$1 far=$2 asked=$3
	shift 3
	rm -f "$work"/*.obs
	mkfifo "$work/go"
	ip netns exec $net.far python3 tests/live/hop.py serve "$far" 8001 far &
	back=$!
	ip netns exec $net.near python3 tests/live/hop.py serve "$near" 8000 near "$asked" 8001 &
	front=$!
	ip netns exec $net.near timeout $((300 * slow)) python3 tests/live/hop.py ask "$near" 8000 <"$work/go" >"$work/asking" &
	asking=$!
	exec 3>"$work/go"
	until_true grep -q connected "$work/asking"
	"$obsrec" -q -e +hops "$@" -p $front,$back -o "$work/hops.obs" 3>&- &
	recorder=$!
	until_begun "$work/hops.obs"
	for i in $(seq 20); do echo "/none/fast 0"; done >&3
	echo "/near/slow 0" >&3
	exec 3>&-
	wait $asking
	kill -INT $recorder
	wait $recorder
	kill $front $back
	wait $front $back 2>/dev/null
	rm "$work/go"
	"$obsanalyze" request slowest --name "GET /near/slow" "$work/hops.obs" >"$work/said"
}

there='there: eth0 sends [^,]*, pn receives [^,]*, pf sends [^,]*, eth0 receives [^,]*, arrival '
back='back: eth0 sends [^,]*, pf receives [^,]*, pn sends [^,]*, eth0 receives [^,]*, receive '
passes() { # description, address of the far server
	says "$1: the question is seen at each device" "$(cat "$work/said")" "$there"
	says "$1: so is the answer" "$(cat "$work/said")" "$back"
	"$obsanalyze" verify "$work/hops.obs" >/dev/null
	is "$1: the recording is complete" $? 0
	# Four devices send or receive 21 answers and, as the connection has a number from its first receive on, 20 questions
	segments "$1" "e.remote='$2:8001' OR e.local='$2:8001'" "20,20,20,20,21,21,21,21"
}
# Each device has each segment. Its sender's device has it as often as TCP sent it: another time for each retransmission
# that the kernel reported, the other ones at most as often.
segments() { # description, ends of the connection, segments by direction, device and whether it sends
	seen="WITH s AS (SELECT iif(h.from_peer, e.remote, e.local) AS sender, d.name, d.netns, h.sends, h.seq, count(*) AS n,
		min(h.ts) AS ts FROM hop h JOIN hop_end e USING(conn) JOIN net_device d ON d.id=h.device WHERE ($2) AND d.name LIKE '${4:-}%'
		GROUP BY 1, 2, 3, 4, 5), first AS (SELECT sender, seq, n, min(ts) AS ts FROM s GROUP BY sender, seq)"
	is "$1: no segment is missed at a device" "$(ask "$work/hops.obs" "$seen SELECT group_concat(n) FROM
		(SELECT count(*) AS n FROM s GROUP BY sender, name, netns, sends ORDER BY n)")" "$3"
	port=$(echo "$2" | sed 's/.*:\([0-9]*\).*/\1/')
	is "$1: none is seen twice, other than those that were sent twice" "$(ask "$work/hops.obs" "$seen SELECT (SELECT sum(n - 1) FROM first)
		|| ', ' || (SELECT count(*) FROM s JOIN first f USING(sender, seq) WHERE s.n > f.n)")" \
		"$(ask "$work/hops.obs" "$seen SELECT count(*) FROM event_tcp_retransmit WHERE $port IN (sport, dport) AND ts >=
		(SELECT min(ts) FROM first)"), 0"
}
record 10.78.0.1 10.78.0.2 10.78.0.2
passes tp_btf 10.78.0.2
record 10.78.0.1 10.78.0.2 10.78.0.2 --force raw_tp
passes raw_tp 10.78.0.2
record ::1 fd00:78::2 fd00:78::2
passes IPv6 '[fd00:78::2]'
# lo sends and receives, 20 requests and 21 answers
segments "IPv6, loopback" "e.local='[::1]:8000'" "20,20,21,21" lo

# The port to the far server sends 1 byte per ms after the first 1600: each question waits there, for 150 ms and more.
if tc -n $net.middle qdisc add dev pf root tbf rate 8kbit burst 1600 latency 60s 2>/dev/null; then
	record 10.78.0.1 10.78.0.2 10.78.0.2
	tc -n $net.middle qdisc del dev pf root
	says "the slow device has the time: $(grep there: "$work/said")" "$(cat "$work/said")" "pf sends \([1-9][0-9][0-9] ms\|[1-9][0-9.]* s\), "
	is "no other device has" "$(grep -c -e 'pn [^,]* [1-9][0-9][0-9] ms' -e 'eth0 [^,]* [1-9][0-9][0-9] ms' "$work/said")" 0
	says "the table has the same device first" "$("$obsanalyze" report -a hops "$work/hops.obs" | grep -m 1 -e ' sends' -e ' receives')" \
		'pf .* sends'
	# segments that wait for that long are sent again
	segments "the slow device, $(ask "$work/hops.obs" "SELECT count(*) FROM event_tcp_retransmit WHERE 8001 IN (sport, dport)") retransmissions" \
		"e.remote='10.78.0.2:8001' OR e.local='10.78.0.2:8001'" "20,20,20,20,21,21,21,21"
else
	echo "ok the slow hop # SKIP no tbf"
fi

# The near server asks a service address, which the kernel translates
if ip -n $net.near route add 10.96.0.7 dev eth0 && ip netns exec $net.near nft -f - 2>/dev/null <<-RULES; then
	add table ip services
	add chain ip services output { type nat hook output priority -100; }
	add rule ip services output ip daddr 10.96.0.7 dnat to 10.78.0.2
RULES
	record 10.78.0.1 10.78.0.2 10.96.0.7
	says "a translated address is named" "$(cat "$work/said")" \
		'asked 10.96.0.7:8001, network .*; address translated: there 10.78.0.2:8001'
	says "the way is seen after the translation" "$(cat "$work/said")" "$there"
else
	echo "ok translated addresses # SKIP no nft"
fi
[ $bad -eq 0 ] || sed "s/^/# /" "$work/said"
exit $bad
