#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad files, each by its name: `obsanalyze verify` must refuse it or tell what is wrong with it,
# in the words and with the exit status that testdata/bad/expected names.
set -u
cd "$(dirname "$0")/../.." || exit 1
sub=${SUB:-}
pack=$PWD/.output$sub/pack
if [ -n "$sub" ]; then analyze=$PWD/.output$sub/obsanalyze; else analyze=$PWD/obsanalyze; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
good=$work/good
"$pack" testdata/two-cpus.txt "$good" || exit 1
size=$(stat -c %s "$good")

cut_at() { head -c "$1" "$good"; }
patch() { # offset, printf's bytes: changed at that place
	cp "$good" "$work/patched"
	printf "$2" | dd of="$work/patched" bs=1 seek="$1" conv=notrunc 2>/dev/null
	cat "$work/patched"
}
make_bad() {
	case $1 in
	empty) ;;
	text) echo "this is no recording, but a text that is long enough to hold a header of one hundred and four bytes, or more" ;;
	short) printf 'short' ;;
	gzip) cut_at 200 | gzip -n | cat - "$good" ;;
	cut-in-file-frame) cut_at 60 ;;
	cut-in-schema-header) cut_at 150 ;;
	cut-in-schema) cut_at 400 ;;
	cut-in-last-block) cut_at $((size - 900)) ;;
	cut-in-index) cut_at $((size - 150)) ;;
	cut-in-end) cut_at $((size - 1)) ;;
	garbage-behind-the-end) cat "$good" && echo garbage ;;
	file-frame-damaged) patch 40 'x' ;;
	newer-version) python3 tests/check/mkbad.py major "$good" ;;
	unknown-feature) python3 tests/check/mkbad.py feature "$good" ;;
	block-damaged) python3 tests/check/mkbad.py data "$good" ;;
	block-header-damaged) python3 tests/check/mkbad.py header "$good" ;;
	content-size-lies) python3 tests/check/mkbad.py content "$good" ;;
	sizes-absurd) python3 tests/check/mkbad.py absurd "$good" ;;
	ring-positions-have-a-gap)
		sed 's/^@cpu 0$/@cpu 0\n@gap 640/' testdata/two-cpus.txt >"$work/text" && "$pack" "$work/text" "$work/packed" && cat "$work/packed" ;;
	counters-do-not-add-up)
		sed 's/seen=3 emitted=3/seen=9 emitted=3/' testdata/two-cpus.txt >"$work/text" && "$pack" "$work/text" "$work/packed" && cat "$work/packed" ;;
	records-are-missing)
		sed '/^3500 /d' testdata/two-cpus.txt >"$work/text" && "$pack" "$work/text" "$work/packed" && cat "$work/packed" ;;
	esac
}

bad=0
while IFS='|' read -r name status sentence; do
	case $name in '#'* | '') continue ;; esac
	make_bad "$name" >"$work/$name.obs"
	# half a gigabyte is enough for any of them (the sanitizers need more for themselves)
	([ -n "$sub" ] || ulimit -v 524288
	timeout 20 "$analyze" verify "$work/$name.obs") >"$work/out" 2>&1
	got=$?
	# repairing ends well if there is any block, and else refuses in the same way
	([ -n "$sub" ] || ulimit -v 524288
	timeout 20 "$analyze" repair --force -o "$work/repaired" "$work/$name.obs") >"$work/repair" 2>&1
	repaired=$?
	case $repaired in
	0) timeout 20 "$analyze" report "$work/repaired" >"$work/repair" 2>&1 || got="$got, and the repaired one does not report" ;;
	"$status") [ "$(wc -l <"$work/repair")" -eq 1 ] || got="$got, and repair does not say why in one sentence" ;;
	*) got="$got, and repair ends with $repaired" ;;
	esac
	if [ "$got" = "$status" ] && grep -q -- "$sentence" "$work/out"; then
		echo "ok bad file $name"
	else
		echo "not ok bad file $name: status $got, not $status, or not said: $sentence"
		sed 's/^/# /' "$work/out" | head -n 5
		bad=1
	fi
done <testdata/bad/expected
exit $bad
