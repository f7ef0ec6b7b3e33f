#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# One-page rings of both kinds under a flood: what was generated was emitted or lost, exactly.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload

# Without loss: it makes exactly the same calls. A recorder that gets no CPU for a while loses some even so: it
# weighs more than others on this machine, and such a round is printed and repeated.
for round in 1 2 3 4 5 6 7 8 9 10; do
	rm -f "$work/whole.obs" "$work/whole.db"
	weightily "$obsrec" -q -e syscalls -o "$work/whole.obs" -- "$w" flood
	"$obsanalyze" load -o "$work/whole.db" "$work/whole.obs"
	lost=$(ask "$work/whole.db" "SELECT sum(lost) FROM coverage")
	[ "$lost" = 0 ] && break
	echo "# round $round: $lost events were lost"
done
is "events lost with rings of the usual size" "$lost" 0
is "getppid calls then" "$(ask "$work/whole.db" "SELECT sum(n) FROM syscall_stat JOIN syscall_name USING(abi, nr) \
	WHERE name='getppid'")" 400009
for way in own ringbuf; do
	# our own kind needs an atomic swap, which programs have since 5.12
	case $way-$(uname -r) in
	own-5.[0-9].* | own-5.1[01].*) continue ;;
	esac
	rm -f "$work/loss.obs" "$work/loss.db"
	# shellcheck disable=SC2046 # two words or none
	"$obsrec" -q --ring 4K $([ $way = own ] || echo "--force $way") -e syscalls -o "$work/loss.obs" -- "$w" flood
	"$obsanalyze" verify "$work/loss.obs" >"$work/verify"
	is "$way: verify accepts a lossy recording" $? 0
	is "$way: the rings are of this kind" "$(ask "$work/loss.obs" "SELECT value FROM recording WHERE key='ring_kind'")" $way
	says "$way: and calls it so" "$(tail -n 1 "$work/verify")" '^LOSSY'
	"$obsanalyze" load -o "$work/loss.db" "$work/loss.obs"
	cov() { ask "$work/loss.db" "SELECT $1 FROM coverage WHERE grp='syscalls'"; }
	holds "$way: events were lost" sh -c "[ $(cov lost) -gt 1000 ]"
	is "$way: emitted are in the file" "$(cov records)" "$(cov emitted)"
	is "$way: seen = emitted + lost + suppressed" "$(cov 'seen - emitted - lost - own - filtered - counted')" 0
	is "$way: emitted + lost are the calls made" "$(cov 'emitted + lost')" \
		"$(ask "$work/whole.db" "SELECT emitted FROM coverage WHERE grp='syscalls'")"
	is "$way: every loss is located" "$(ask "$work/loss.db" "SELECT sum(n) FROM loss WHERE grp='syscalls'")" "$(cov lost)"
done
"$obsanalyze" verify --fail-on-loss 1 "$work/loss.obs" >/dev/null
is "--fail-on-loss" $? 4
says "report says so at its head" "$("$obsanalyze" report -v "$work/loss.db" | head -n 30)" 'LOSSY'
