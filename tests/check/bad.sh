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
pack_text() { # the text that a program writes, as a recording
	cat >"$work/text" && "$pack" "$work/text" "$work/packed" && cat "$work/packed"
}
targets='@recorder\n0 0 info text="targets=all"\n1 0 info text="groups=core,syscalls,net"\n'
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
	blocks-in-falling-order)
		(printf '%b@cpu 0\n' "$targets" && seq 40 -1 1 |
			awk '{ printf "@block\n@times 90000 10 0\n%d 7 exit pid=7\n", $1 * 1000000 }') | pack_text ;;
	time-after-36-years) python3 tests/check/mkbad.py time "$good" ;;
	decompression-bomb)
		(printf '%b@cpu 0\n' "$targets" && seq 100 |
			awk '{ printf "@block\n@times 90000 10 0\n%d 7 exit pid=7\n", $1 * 1000000 }') | pack_text ;;
	streams-that-are-idle)
		(printf '%b' "$targets" && seq 60 | awk '{ printf "@cpu %d\n@times 27000 10 0\n%d 7 tcp_state sock=1\n@block\n" \
			"9000000000 0 counters cpu=%d group=net seen=27000 emitted=27000\n", $1, $1 * 1000000, $1 }') | pack_text ;;
	a-million-threads)
		(printf '%b@cpu 0\n' "$targets" && seq 25 | awk '{ printf "@block\n@times 40000 1 1\n%d %d rename comm=\"x\"\n",
			$1 * 100000, $1 * 40000 }') | pack_text ;;
	a-block-twice)
		sed 's/^@cpu 0$/@again\n@cpu 0/' testdata/two-cpus.txt | pack_text ;;
	records-are-missing)
		sed '/^3500 /d' testdata/two-cpus.txt >"$work/text" && "$pack" "$work/text" "$work/packed" && cat "$work/packed" ;;
	esac
}

bad=0
brief() { # command: so many seconds on a CPU, however busy the machine is
	(ulimit -t "${sub:+1}20"
	timeout 900 "$@")
}
limited() { # KiB of memory, command: the sanitizers need more for themselves
	([ -n "$sub" ] || ulimit -v "$1"
	shift
	brief "$@")
}
while IFS='|' read -r name status sentence report kib; do
	case $name in '#'* | '') continue ;; esac
	make_bad "$name" >"$work/$name.obs"
	# half a gigabyte is enough for any of them
	limited "${kib:-524288}" "$analyze" verify "$work/$name.obs" >"$work/out" 2>&1
	got=$?
	if [ -n "$report" ]; then
		limited 524288 "$analyze" report --no-cache "$work/$name.obs" >"$work/report" 2>&1
		reported=$?
		[ $reported = 3 ] && grep -q -- "$report" "$work/report" ||
			got="$got, and report ends with $reported: $(tail -n 1 "$work/report")"
	fi
	# repairing ends well if there is any block, and else refuses in the same way
	limited 524288 "$analyze" repair --force -o "$work/repaired" "$work/$name.obs" >"$work/repair" 2>&1
	repaired=$?
	case $repaired in
	0) # what report refuses in the file itself, it refuses in the repaired one
		brief "$analyze" report --no-cache "$work/repaired" >"$work/repair" 2>&1
		reported=$?
		[ $reported = 0 ] || [ "$reported${report:+named}" = 3named ] ||
			got="$got, and the repaired one does not report" ;;
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
