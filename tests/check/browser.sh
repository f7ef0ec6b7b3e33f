#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# HTML reports in a real browser: Chromium without a window. Skipped without one, unless
# BROWSER_MUST=1, which continuous integration sets.
set -u
cd "$(dirname "$0")/../.." || exit 1
browser=''
for b in chromium chromium-browser google-chrome; do
	command -v $b >/dev/null 2>&1 && browser=$b && break
done
if [ -z "$browser" ]; then
	[ "${BROWSER_MUST:-0}" = 1 ] && echo "not ok there is no chromium here" && exit 1
	echo "ok browser # SKIP no chromium here (Debian: chromium)"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
for t in demo demo-fault; do # the second has flame graphs
	./obsanalyze report --html "$work/$t.html" testdata/$t.obs || exit 1
done
for t in lossy calls; do
	.output/pack testdata/$t.txt "$work/$t.obs" && ./obsanalyze report --html "$work/$t.html" "$work/$t.obs" || exit 1
done
for g in "a 1 0" "b 3 0.0004"; do
	# shellcheck disable=SC2086 # three words
	set -- $g
	awk -v seed=$2 -v n=2000 -v work=0.0002 -v lock=$3 -f testdata/server.awk >"$work/$1.txt" &&
		.output/pack "$work/$1.txt" "$work/$1.obs" || exit 1
done
./obsanalyze compare --html "$work/compare.html" "$work/a.obs" "$work/b.obs" || exit 1
# with call stacks: long waits, and a function that the second calls more often
for g in "c 1 0" "d 3 2"; do
	# shellcheck disable=SC2086 # three words
	set -- $g
	awk -v seed=$2 -v n=2000 -v work=0.0002 -v rate=400 -v lock=0.0015 -v more=$3 -f testdata/server.awk >"$work/$1.txt" &&
		.output/pack "$work/$1.txt" "$work/$1.obs" || exit 1
done
./obsanalyze report --html "$work/waits.html" "$work/d.obs" || exit 1
./obsanalyze compare --html "$work/functions.html" "$work/c.obs" "$work/d.obs" || exit 1
python3 tests/check/browser.py $browser "$work/demo-fault.html" "$work/demo.html" "$work/lossy.html" "$work/calls.html" \
	"$work/compare.html" "$work/waits.html" "$work/functions.html"
