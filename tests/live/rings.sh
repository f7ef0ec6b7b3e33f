#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Both kinds of rings, tiny and hammered from contexts that interrupt each other: what the programs
# made was received or lost, exactly, and every record is whole.
. "$(dirname "$0")/lib.sh"
for kind in own stock; do
	# our own kind needs an atomic swap, which programs have since 5.12
	case $kind-$(uname -r) in
	own-5.[0-9].* | own-5.1[01].*) continue ;;
	esac
	for size in 4096 65536; do
		# an emulated processor does not fill so much faster than it is emptied
		[ $slow -gt 1 ] && [ $size -gt 4096 ] && continue
		# a run in which nothing was lost or nothing nested would prove nothing: printed and repeated; not one that fails
		for round in 1 2 3 4 5 6 7 8 9 10; do
			"$top/.output/ringstress" $kind $size 2 >"$work/printed" 2>"$work/why"
			status=$?
			[ $status -ne 0 ] && break
			[ "$(printed "$work/printed" lost)" -gt 1000 ] && [ "$(printed "$work/printed" nested)" -gt 10 ] && break
			echo "# round $round: $(cat "$work/printed")"
		done
		if [ $status -eq 77 ]; then
			echo "ok $kind rings # SKIP $(head -n 1 "$work/why")"
			continue
		fi
		is "$kind rings of $size bytes: the stress test passes" $status 0
		is "$kind rings of $size bytes: wrong records" "$(printed "$work/printed" wrong)" 0
		is "$kind rings of $size bytes: received + lost" \
			$(($(printed "$work/printed" received) + $(printed "$work/printed" lost))) "$(printed "$work/printed" generated)"
		holds "$kind rings of $size bytes: many were lost" [ "$(printed "$work/printed" lost)" -gt 1000 ]
		holds "$kind rings of $size bytes: and many nested" [ "$(printed "$work/printed" nested)" -gt 10 ]
	done
done
