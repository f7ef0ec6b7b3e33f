#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Who has never seen the tool: from a fresh copy of the source, by `make demo`, the first command of README.md, to a
# page for a ticket, in under five minutes.
. "$(dirname "$0")/lib.sh"

# what git knows, without anything that was built; without git, all but what make clean removes
mkdir "$work/fresh"
{ git ls-files -z 2>/dev/null || true; } >"$work/files"
[ -s "$work/files" ] || find . \( -path ./.output -o -path ./.git -o -path ./demo -o -path ./obsrec -o -path ./obsanalyze \) \
	-prune -o -type f -print0 >"$work/files"
tar --null --files-from="$work/files" -cf - | tar -C "$work/fresh" -xf -
holds "nothing is built in it" sh -c "! ls '$work/fresh/obsrec' '$work/fresh/.output' 2>/dev/null | grep -q ."
holds "README begins with make demo" sh -c "grep -m 1 -o '^    make [a-z]*' README.md | grep -qx '    make demo'"

cd "$work/fresh" || exit 1
# of this shell's children, in s
cpu_time() { awk 'NR == 2 { split($1 "m" $2, t, "m"); printf "%d", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$work/times"; }
begun=$(date +%s)
# a server that gets no CPU makes pauses, which the report finds in the healthy recording: such a round is printed
# and repeated
for round in 1 2 3 4 5; do
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make demo >"$work/said" 2>&1 </dev/null
	status=$?
	[ $round -gt 1 ] || { took=$(($(date +%s) - begun)) && times >"$work/times"; }
	grep -q '^planted: nothing; found: something' "$work/said" || break
	echo "# round $round: pauses in the healthy recording"
done
[ $status -eq 0 ] || tail -n 20 "$work/said"
is "make demo: exit status" $status 0
# a busy host makes it slow: half a minute of it is no work
holds "in under five minutes: $took s, $(cpu_time) s on CPUs" [ $took -lt $((300 * slow)) -o $(($(cpu_time) + 30)) -lt 300 ]
holds "it was this machine that was recorded" sh -c "! grep -q 'cannot record' '$work/said'"
holds "the page is whole, well-formed and fetches nothing" sh -c \
	"tail -n 1 demo/report.html | grep -qx '</html>' && python3 tests/check/html_rules.py demo/report.html >&2"
holds "it has pictures" [ "$(grep -c '<figure ' demo/report.html)" -ge 5 ]
holds "it begins with what happened" sh -c \
	"sed -n '/id=\"verdict\"/,/<figure/p' demo/report.html | grep -q 'nothing was answered for'"
holds "the ticket, and the pictures that it shows" sh -c "sed -n 's/^!.*(\(.*\))/\1/p' demo/report.md | grep -q . &&
	for p in \$(sed -n 's/^!.*(\(.*\))/\1/p' demo/report.md); do [ -s demo/\$p ] || exit 1; done"
off=$(sed -n 's/^Redis requests per second.*(\(.*\) %)\.$/\1/p' "$work/said")
holds "requests per second are the client's: $off %" awk -v o="${off:-100}" 'BEGIN { exit !(o > -2 && o < 2) }'
holds "what it names is there" sh -c "for f in \$(grep -o 'demo/[a-z.]*[a-z]' '$work/said' | sort -u); do [ -e \$f ] || exit 1; done"
exit 0
