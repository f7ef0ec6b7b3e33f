#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every obsanalyze command of README.md, run as it stands there on a real recording. Only the times that
# are meant for a longer one, and the name of its process, are put in their place.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
work=$(mktemp -d .output/readme.XXXXXX)
trap 'rm -rf "$top/$work"' EXIT
export XDG_CACHE_HOME=$top/$work/cache PATH="$top:$PATH" LC_ALL=C
cd "$work" || exit 1

# make, where nothing is installed yet, names no compiler that it misses
mkdir tools
for t in sh sed expand; do ln -s "$(command -v $t)" tools/; done
if (PATH=$PWD/tools && export PATH && exec "$(command -v make)" -C "$top" help) 2>&1 | grep -q 'cc: No such'; then
	echo "not ok make without a compiler: says that there is none"
else
	echo "ok make without a compiler"
fi

# the files that the commands name
cp "$top/testdata/demo.obs" incident.obs
obsanalyze cut --from 0 --to 0.8 -o last-week.obs incident.obs 2>/dev/null
for side in a b; do
	cp last-week.obs ${side}1.obs
	obsanalyze cut --from 0.8 -o ${side}2.obs incident.obs 2>/dev/null
done
cp incident.obs web.obs
obsanalyze redact -o database.obs incident.obs 2>/dev/null
head -c 500000 incident.obs >cut-off.obs
begun=$(obsanalyze report -v incident.obs 2>/dev/null | sed -n 's/^Begin \([^,.]*\).*/\1/p' | head -n 1)
second() { date -u -d "$(echo "$begun" | tr T ' ') UTC + $1 second" +%H:%M:%S; }

sed -n 's/^    \(obsanalyze .*\)/\1/p' "$top/README.md" | sed 's/  *# .*//' >commands
while read -r command; do
	now=$(echo "$command" | sed "s/--from 14:03:00 --to 14:03:30/--from $(second 0) --to $(second 1)/; s/nginx\*/redis*/
		s/--from 10s --to 20s/--from 100ms --to 900ms/; s/--baseline 0..10/--baseline 0..0.8/")
	sh -c "$now" >out 2>err </dev/null
	status=$?
	made=$(echo "$now" | sed -n 's/.* \(-o\|--html\) \([^ ]*\).*/\2/p')
	if [ $status -ne 0 ]; then
		echo "not ok README: $command: status $status: $(tail -n 1 err)"
	elif [ -n "$made" ] && [ ! -s "$made" ]; then
		echo "not ok README: $command: no $made"
	elif [ -z "$made" ] && [ ! -s out ]; then
		echo "not ok README: $command: nothing is printed"
	else
		echo "ok README: $command"
	fi
done <commands
if [ "$(wc -l <commands)" -ge 10 ]; then
	echo "ok README: $(wc -l <commands) commands were found"
else
	echo "not ok README: only $(wc -l <commands) commands were found"
fi
