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

# the first screen that README.md shows is that of this recording
sed -n '/^    redis-server\[8151\]/,/Evidence: observed/s/^    //p' "$top/README.md" >shown
obsanalyze report "$top/testdata/demo-fault.obs" 2>/dev/null | sed -n '/^redis-server/,/Evidence: observed/p' | grep . >screen
if [ -s shown ] && diff shown screen >changes; then
	echo "ok the screen in README.md"
else
	echo "not ok the screen in README.md: $(head -n 4 changes)"
fi

# the demo fails after its server has started; the server still writes files when it gets SIGTERM
mkdir fakes tmp
printf '%s\n' '#!/bin/sh' 'while [ "$1" != --dir ]; do shift; done' 'cd "$2" || exit' \
	'trap "for i in 1 2 3 4 5 6; do mkdir \$i; echo >\$i/late; sleep 0.1; done; exit" TERM' 'echo $$ >../server' \
	'while :; do sleep 0.1; done' >fakes/redis-server
printf '%s\n' '#!/bin/sh' 'case $3 in ping) [ ! -s "$TMPDIR/server" ] || echo PONG ;; *) exit 1 ;; esac' >fakes/redis-cli
chmod 755 fakes/*
PATH="$PWD/fakes:$PATH" TMPDIR="$PWD/tmp" DEMO_DIR="$PWD/demo" DEMO_BUNDLED=0 sh "$top/tests/demo.sh" >out 2>err
if ! grep -q '^demo: redis-server does not answer' err || [ ! -s tmp/server ]; then
	echo "not ok demo: the server does not start: $(tail -n 1 err)"
elif grep -q '^rm:' err || [ "$(ls tmp)" != server ] || kill -0 "$(cat tmp/server)" 2>/dev/null; then
	echo "not ok demo: no temporary file and no server are left: $(ls tmp) $(grep '^rm:' err)"
else
	echo "ok demo: no temporary file and no server are left"
fi
# a directory with a blank in its name, next to one that has the first half of it
mkdir a && touch a/fault.obs
DEMO_DIR="$PWD/a demo" DEMO_BUNDLED=1 sh "$top/tests/demo.sh" >out 2>err
status=$?
if [ $status -eq 0 ] && [ -s "a demo/report.html" ] && [ -s "a demo/planted" ] && [ "$(ls a)" = fault.obs ]; then
	echo "ok demo: a directory with a blank in its name"
else
	echo "not ok demo: a directory with a blank in its name: status $status: $(tail -n 1 err)"
fi
rm -rf fakes tmp demo a "a demo"

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
