#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Positions of reads and writes against what a program knows of them; log shippers that pass content, and some that do not.
. "$(dirname "$0")/lib.sh"

# the positions of the program's process, as it prints them
positions() { # recording
	"$obsanalyze" dump -e file_io "$1" | awk -v tid="$2" '
		function value(key) {
			match($0, " " key "=[0-9]+")
			return substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2)
		}
		$2 == tid && value("nr") == "" && !/ flags=[4-7] / {
			print "io", value("flags") % 2, value("pos"), value("bytes"), value("size")
		}'
}

# a column of the sums of a file of the program
sum() { ask "$work/db" "SELECT total($1) + 0 FROM file_access a JOIN inode i ON i.id=a.inode JOIN file_path p ON p.id=i.path
	WHERE p.path='$work/dir/$2' AND a.pid=$pid" | sed 's/\.0$//'; }

# what is in the gaps of a log
gaps() { ask "$work/db" "SELECT count(*) || coalesce(max(' ' || how || ' ' || pos || ' ' || g.size || ' ' || skipped || ' ' ||
	unread || ' ' || coalesce(\"end\" > ts - 1, 0)), '') FROM file_gap g JOIN inode i ON i.id=g.inode
	JOIN file_path p ON p.id=i.path WHERE p.path='$work/dir/$1'"; }

round() { # name, options...
	name=$1
	shift
	mkdir "$work/dir"
	"$obsrec" -q "$@" -o "$work/$name.obs" -- "$top/.output/shipper" "$work/dir" >"$work/out"
	is "$name: workload's exit status" $? 0
	rm -rf "$work/dir"
	"$obsanalyze" verify "$work/$name.obs" >"$work/verify"
	is "$name: verify finds the recording complete" $? 0
	"$obsanalyze" load -o "$work/db" "$work/$name.obs"
	pid=$(ask "$work/db" "SELECT pid FROM process WHERE comm='shipper' ORDER BY start LIMIT 1")
	grep '^io ' "$work/out" >"$work/known"
	# the loader's reads of libraries come first, the program's own output last
	positions "$work/$name.obs" "$pid" | grep -n . | sed 's/^[0-9]*://' >"$work/seen"
	first=$(grep -n -m 1 -x "$(head -n 1 "$work/known")" "$work/seen" | cut -d : -f 1)
	tail -n "+${first:-1}" "$work/seen" | head -n "$(grep -c . "$work/known")" >"$work/own"
	holds "$name: $(grep -c . "$work/known") positions, bytes and sizes are exact" [ "$(cat "$work/known")" = "$(cat "$work/own")" ]
	is "$name: each has a position" "$(ask "$work/db" "SELECT total(unknown) + 0 FROM file_access" | sed 's/\.0$//')" 0
	block=$(printed "$work/out" block)
	is "$name: sequential reads" "$(sum read_sequential space)" "$(printed "$work/out" sequential)"
	is "$name: strided reads" "$(sum read_strided space)" "$(printed "$work/out" strided)"
	is "$name: random reads" "$(sum read_random space)" $(($(printed "$work/out" random) + 1))
	# the write that made the file is none: its size before was not known
	is "$name: appends" "$(sum appends space)" "$(printed "$work/out" appends)"
	is "$name: overwrites" "$(sum overwrites space)" "$(printed "$work/out" overwrites)"
	is "$name: overwritten bytes" "$(sum overwrite_bytes space)" $(($(printed "$work/out" overwrites) * block))
	is "$name: reads past the end" "$(sum read_past_end calls)" 1
	is "$name: holes" "$(sum holes calls)" 1
	first=$(printed "$work/out" first) second=$(printed "$work/out" second) unread=$(printed "$work/out" unread)
	is "$name: replaced log: how, position, size, skipped bytes" "$(gaps lost)" "1 replaced $first $second $second 0 0"
	is "$name: truncated log, the reader goes on" "$(gaps passed)" "1 truncated $block $second $second 0 0"
	is "$name: truncated log with unread content" "$(gaps cut)" "1 truncated 0 $second 0 $unread 1"
	is "$name: looked at again from the start: replaced, truncated, rotated, patterns" \
		"$(gaps found) $(gaps again) $(gaps rotated) $(gaps space) $(gaps calls)" "0 0 0 0 0"
	is "$name: the truncating process is named" "$(ask "$work/db" "SELECT count(*) FROM file_gap g JOIN process p ON p.pid=g.changer
		WHERE how='truncated' AND p.pid<>$pid AND p.comm='shipper'")" 2
	"$obsanalyze" report -a offsets "$work/$name.obs" >"$work/report"
	says "$name: the report names the bytes that were not read" "$(tr -s '\n ' ' ' <"$work/report")" \
		"did not read $second B of [^ ]*/lost: the file was replaced by shipper\[[0-9]*\], and reads went on at position $first"
	rm -f "$work/db"
}
round tp_btf -e +offsets
round raw_tp -e +offsets --force raw_tp

# without group offsets there are no positions, and the report says so
"$obsrec" -q -o "$work/without.obs" -- cat /dev/null
says "without the group" "$("$obsanalyze" report -v "$work/without.obs" | tr -s '\n ' ' ')" 'offsets (group offsets)'

# Debian's rsyslog reads a log every 2 s. It is truncated and grows past the old position in between: the shipper goes on
# there, and loses what is below, as far as its own output shows.
if command -v rsyslogd >/dev/null 2>&1; then
	mkdir "$work/state"
	shipped=$work/shipped log=$work/app.log
	cat >"$work/ship.conf" <<-CONF
		global(workDirectory="$work/state")
		module(load="imfile" mode="polling" pollingInterval="2")
		input(type="imfile" File="$log" Tag="app:")
		template(name="plain" type="string" string="%msg%\n")
		action(type="omfile" file="$shipped" template="plain")
	CONF
	seq 10 | sed 's/^/line /' >"$log"
	rsyslogd -n -f "$work/ship.conf" -i "$work/ship.pid" >/dev/null 2>&1 &
	shipper=$!
	until_true grep -qs 'line 10$' "$shipped"
	"$obsrec" -q -e +offsets -a -o "$work/ship.obs" &
	recorder=$!
	until_begun "$work/ship.obs"
	seq 11 20 | sed 's/^/line /' >>"$log"
	until_true grep -q 'line 20$' "$shipped"
	size=$(wc -c <"$log")
	: >"$log"
	seq 100 140 | sed 's/^/line /' >>"$log"
	until_true grep -q 'line 140$' "$shipped"
	kill -INT "$recorder"
	wait "$recorder"
	kill "$shipper"
	wait "$shipper"
	lost=$((61 - $(grep -c '^line [0-9]' "$shipped")))
	holds "rsyslog: lines are lost: $lost" [ $lost -gt 0 ]
	is "rsyslog: bytes that it passed, and how" "$(ask "$work/ship.obs" "SELECT group_concat(how || ' ' || skipped) FROM file_gap g
		JOIN inode i ON i.id=g.inode JOIN file_path p ON p.id=i.path WHERE p.path='$log' AND pid=$shipper")" "truncated $size"
	says "rsyslog: the report says so" "$("$obsanalyze" report -a offsets "$work/ship.obs" | tr -s '\n ' ' ')" \
		"rsyslogd\[$shipper\] did not read $size B of $log: the file was truncated by"
	says "rsyslog: analysis files refers to it" "$("$obsanalyze" report -a files "$work/ship.obs" | tr -s '\n ' ' ')" \
		'Content of 1 file was not read after a truncation'
else
	echo "# no rsyslogd: not tried"
fi

# one that loses nothing: tail -F follows a log that is rotated by rename, then truncated
log=$work/real.log
lines() { seq "$1" "$2" | sed 's/^/line /' >>"$log"; }
got() { [ "$(grep -c '^line ' "$work/tailed")" = "$1" ]; }
lines 1 7
tail -F -n +1 "$log" >"$work/tailed" 2>"$work/tail.err" &
tailer=$!
until_true got 7
"$obsrec" -q -e +offsets -a -o "$work/tail.obs" &
recorder=$!
until_begun "$work/tail.obs"
lines 8 20
until_true got 20
mv "$log" "$log.1"
lines 21 31
until_true got 31
: >"$log"
until_true grep -q 'file truncated' "$work/tail.err"
lines 32 33
until_true got 33
kill -INT "$recorder"
wait "$recorder"
kill "$tailer"
is "tail -F has read each line" "$(grep -c '^line ' "$work/tailed")" 33
is "tail -F has passed nothing" "$(ask "$work/tail.obs" "SELECT count(*) FROM file_gap WHERE pid=$tailer")" 0
is "tail -F has read what was written to both files, at positions without gap" \
	"$(ask "$work/tail.obs" "SELECT count(DISTINCT inode) || ' ' || sum(bytes) FROM file_io a
		JOIN inode i ON i.id=a.inode JOIN file_path p ON p.id=i.path WHERE pid=$tailer AND bytes > 0 AND p.path='$log'")" \
	"2 $(seq 8 33 | sed 's/^/line /' | wc -c)"
