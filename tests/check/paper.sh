#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The paper agrees with the programs: chapters of events and tables, options in help and man pages.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=.output/paper
mkdir -p $out
bad=0
result() { if [ -s "$1" ]; then echo "not ok $2"; head -n 20 "$1"; bad=1; else echo "ok $2"; fi; }

sh packaging/man.sh ./obsanalyze "$PWD/$out/man" 2>$out/diff
result $out/diff "the manual pages are written"
{
	sed -n 's/^EVENT([0-9]*, \([a-z_0-9]*\),.*/.Ss \1/p' format/events.def
	sed -n 's/^TABLE(\([a-z_0-9]*\),.*/.Ss \1/p' analyze/store/tables.def
} | while read -r name; do
	grep -qxF -- "$name" $out/man/obsrec.5 $out/man/obs-schema.5 || echo "no chapter $name"
done >$out/diff
result $out/diff "obsrec(5) has all events, obs-schema(5) all tables"

longs() { grep -oE '(^|[^-a-z])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u; }
man_longs() { grep -oE 'Fl -[a-z][a-z-]*' "$1" | sed 's/Fl -/--/' | sort -u; }
./obsrec --help | longs | grep -v -e '^--port$' -e '^--$' >$out/help
man_longs man/obsrec.8 | diff $out/help - >$out/diff
result $out/diff "obsrec --help and obsrec(8) name the same options"
{
	./obsanalyze --help
	for c in $(sed -n 's/^COMMAND(\(.*\))/\1/p' analyze/commands/commands.def); do ./obsanalyze $c --help; done
} | longs | grep -v '^--$' | { cat; echo --version; } | sort -u >$out/help
man_longs man/obsanalyze.1 | diff $out/help - >$out/diff
result $out/diff "obsanalyze --help and obsanalyze(1) name the same options"
for c in $(sed -n 's/^COMMAND(\(.*\))/\1/p' analyze/commands/commands.def); do
	./obsanalyze "$c" --help | grep -q -e '--from ' && echo "$c"
done >$out/help
sed -n '/^\.Ss Filters/{n;s/ take a part .*//;s/,//g;s/ and / /;p}' man/obsanalyze.1 | tr ' ' '\n' | diff $out/help - >$out/diff
result $out/diff "obsanalyze(1) names the commands that take filters"
for c in obsrec obsanalyze; do
	"./$c" --help | awk 'length > 80 || / $/' >$out/diff
	result $out/diff "$c --help fits into 80 columns"
	: >$out/diff
	"./$c" --version | grep -q "$c [0-9]" || echo "no version" >$out/diff
	result $out/diff "$c --version"
done
for m in $out/man/*.[1578]; do
	mandoc -Tlint -Wwarning "$m" >$out/diff 2>&1
	result $out/diff "${m##*/} has no errors"
done
./obsrec doctor --json | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["checks"]) > 4' 2>$out/diff
result $out/diff "obsrec doctor --json is JSON"
if command -v systemd-analyze >/dev/null; then
	sed "s|@sbindir@|$PWD|; /^Documentation/d" record/obsrec.service >$out/obsrec.service
	systemd-analyze verify "$PWD/$out/obsrec.service" 2>&1 | grep obsrec >$out/diff
	result $out/diff "the systemd unit is sound"
	: >$out/diff
	# shellcheck disable=SC2046 # words
	./obsrec $(sed -n '/^ExecStart/,/[^\\]$/p' record/obsrec.service | tr -d '\\\n' |
		sed 's/^[^ ]*//; s/\$OBSREC_OPTIONS//; s/\$OBSREC_TARGETS/--all/; s|/var/lib/obsrec/|'$out'/|') --dry-run --help >/dev/null 2>$out/diff
	result $out/diff "its options are obsrec's"
	# those that obsrec(8) shows for it
	eval "$(grep '^OBSREC_[A-Z]*=' man/obsrec.8)"
	eval "./obsrec ${OBSREC_TARGETS:-none} ${OBSREC_OPTIONS:-none} --dry-run --help" >/dev/null 2>$out/diff
	result $out/diff "and so are those that obsrec(8) adds"
fi
# commands that README.md shows as examples exist
grep -oE '(obsanalyze|obsanalyze\.?) (info|report|plot|verify|dump|load|sql|export|schema|[a-z]+) ' README.md |
	awk '{ print $2 }' | sort -u | while read -r c; do
	./obsanalyze "$c" --help >/dev/null 2>&1 || echo "README.md: no command $c"
done >$out/diff
result $out/diff "README.md names only commands that exist"
exit $bad
