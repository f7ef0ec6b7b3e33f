#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# sql: raw events without copying, reading only, and only what is needed. SUB=/san: sanitizers.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
sub=${SUB:-}
pack=$top/.output$sub/pack
if [ -n "$sub" ]; then analyze=$top/.output$sub/obsanalyze; else analyze=$top/obsanalyze; fi
cd "$work" || exit 1
fail() { failed "$@"; }
blocks() { # "at most" number, file, query: how many blocks it read
	n=$("$analyze" sql --stats "$2" "$3" 2>&1 >rows | sed -n 's/.*scans read \([0-9]*\) of.*/\1/p')
	all=$("$analyze" sql --stats "$2" "SELECT count(*) FROM event" 2>&1 >all |
		sed -n 's/.*scans read \([0-9]*\) of.*/\1/p')
	if [ -n "$n" ] && [ "$n" -le "$1" ]; then
		echo "ok $n of $all blocks, $(tail -n 1 rows) rows: $3"
	else
		fail "$n of $all blocks, not $1: $3"
	fi
}
"$pack" "$top/testdata/shop.txt" shop.obs
"$analyze" load -o plain.db shop.obs 2>/dev/null
"$analyze" load --raw -o raw.db shop.obs 2>/dev/null

"$analyze" load -o again.db shop.obs 2>/dev/null
holds "databases of one recording are equal byte for byte" cmp plain.db again.db

# ---- the same rows ----
"$analyze" sql --csv shop.obs "SELECT * FROM event ORDER BY ts, event" >vtab
"$analyze" sql --csv raw.db "SELECT * FROM event ORDER BY ts, event" >copy
[ "$(wc -l <vtab)" -gt 40 ] && cmp vtab copy && echo "ok event is the same in a recording and in a database" ||
	fail "event is the same in a recording and in a database"
same=0
for e in $("$analyze" sql --csv shop.obs "SELECT DISTINCT event FROM event" | tail -n +2 | tr -d '"\r'); do
	"$analyze" sql --csv shop.obs "SELECT * FROM event_$e" >vtab
	"$analyze" sql --csv raw.db "SELECT * FROM event_$e" >copy
	cmp vtab copy && same=$((same + 1)) || fail "event_$e is the same in recording and database"
done
[ $same -gt 10 ] && echo "ok $same tables of events are the same in a recording and in a database"
"$analyze" dump --json shop.obs | python3 -c '
import json, sqlite3, sys
copied = sqlite3.connect("raw.db").execute("SELECT ts, cpu, tid, event, args FROM event").fetchall()
copied = sorted((t, c, i, e, json.loads(a).get("dur")) for t, c, i, e, a in copied)
dumped = [json.loads(line) for line in sys.stdin]
dumped = sorted((d["ts"] - 1000, d["ring"], d["tid"], d["event"], d.get("dur")) for d in dumped)
key = lambda r: tuple(str(x) for x in r)
sys.exit(sorted(copied, key=key) != sorted(dumped, key=key))' && echo "ok they are what dump prints" ||
	fail "they are what dump prints"

# ---- few blocks ----
if [ -z "$sub" ]; then
	"$top/.output/bench_gen" large.obs 600000 >/dev/null
	"$analyze" load --raw -o large.db large.obs
	for time in first second; do
		prints "large tables of a cached recording, the $time time" 0 '= 1$' env XDG_CACHE_HOME="$PWD/kept" \
			"$analyze" sql -l large.obs "SELECT count(*) > 1000 FROM syscall"
	done
	"$top/.output/bench_gen" larger.obs 700000 >/dev/null
	mkdir two
	XDG_CACHE_HOME="$PWD/two" "$analyze" compare --force large.obs larger.obs >two.1 2>&1
	"$analyze" compare --no-cache --force large.obs larger.obs >two.2 2>&1
	holds "compare with and without the cache" cmp two.1 two.2
	"$analyze" compare --jobs 1 --no-cache --force large.obs larger.obs >two.3 2>&1
	holds "compare with one CPU" cmp two.1 two.3
	holds "an export with one CPU" "$analyze" export --jobs 1 --no-cache -o one.pb large.obs
	holds "an export with two CPUs" "$analyze" export --jobs 2 --no-cache -o both.pb large.obs
	holds "they are equal" cmp one.pb both.pb
	prints "no CPU" 1 'needs a number from 1' "$analyze" verify --jobs 0 large.obs
	holds "both are in the cache, and nothing else" [ "$(find two -name '*.db') $(find two -type f | wc -l)" = "$(find two -type f) 2" ]
	blocks 3 large.obs "SELECT count(*) FROM event WHERE ts BETWEEN 100000000 AND 100100000"
	blocks 3 large.obs "SELECT count(*) FROM event_syscall WHERE ts >= 500000000 AND ts < 500100000 AND tid = 1000"
	blocks 0 large.obs "SELECT count(*) FROM event WHERE event = 'block_start'"
	blocks 1 large.obs "SELECT count(*) FROM event_fd"
	blocks 1 large.obs "SELECT count(*) FROM event WHERE event IN ('fd', 'thread', 'info')"
	blocks 20 large.obs "SELECT count(*) FROM event WHERE cpu = 1"
	blocks 0 large.obs "SELECT count(*) FROM event WHERE cpu = 77"
	blocks 3 large.obs "SELECT count(*) FROM (SELECT 1 FROM event_switch LIMIT 5)"
	prints "tables are not made for that" 0 'tables not needed' "$analyze" sql --stats large.obs \
		"SELECT count(*) FROM event WHERE ts < 1000"
	prints "but where they are read" 0 'tables made' "$analyze" sql --stats large.obs \
		"SELECT count(*) FROM event e JOIN thread t USING (tid) WHERE e.ts < 1000"
	python3 "$top/tests/check/pushdown.py" "$analyze" large.obs large.db 40 || bad=1
fi
python3 "$top/tests/check/pushdown.py" "$analyze" shop.obs raw.db 150 || bad=1

# ---- forms ----
prints "a value a line" 0 '^comm = shop;io 7$' "$analyze" sql -l shop.obs "SELECT tid, comm FROM thread"
prints "JSON of what JSON cannot say" 0 '"a": null, "b": "x.00ff.", "c": 0.5' "$analyze" sql -j shop.obs \
	"SELECT 9e999 AS a, x'00ff' AS b, 0.5 AS c"
prints "the query from standard input" 0 '3$' sh -c "echo 'SELECT count(*) FROM thread' | '$analyze' sql shop.obs"
prints "a recording from standard input" 0 '15$' sh -c \
	"'$analyze' sql - \"SELECT count(*) FROM event WHERE event IN ('switch','waking')\" <shop.obs"
prints "answers are made where they are asked for" 0 '[1-9]' "$analyze" sql shop.obs \
	"SELECT count(*) FROM metric WHERE analysis = 'overview' HAVING count(*) > 5"

# ---- for people ----
prints "percentile interpolates" 0 '1.75  *3.0$' "$analyze" sql shop.obs \
	"SELECT percentile(x, 25), median(x) FROM (SELECT 1 AS x UNION SELECT 2 UNION SELECT 4 UNION SELECT 10 UNION SELECT NULL)"
prints "of nothing it is NULL" 0 'n = 1$' "$analyze" sql -l shop.obs "SELECT median(1) IS NULL AS m, median(x) IS NULL AS n FROM (SELECT NULL AS x)"
prints "one percentile for all rows" 1 '0 to 100' "$analyze" sql shop.obs "SELECT percentile(tid, tid) FROM thread"
prints "durations are readable" 0 '= 1.50 ms$' "$analyze" sql -l shop.obs "SELECT human(1500000)"
cp "$top/testdata/demo.obs" .
"$pack" "$top/testdata/calls.txt" calls.obs
at=$("$analyze" sql -l demo.obs "SELECT clock(0) FROM thread LIMIT 1" | sed -n 's/.* = //p')
is "instants are those of the wall clock" "$(echo "$at" | cut -c1-23)Z" \
	"$("$analyze" sql -l demo.obs "SELECT value FROM recording WHERE key = 'start'" | sed -n 's/.* = //p')"
prints "without a clock there is none" 0 'x = 1$' "$analyze" sql -l calls.obs "SELECT clock(5) IS NULL AS x FROM thread"
prints "system calls have the path of their fd" 0 '^path = ' "$analyze" sql -l shop.obs \
	"SELECT path FROM v_syscall WHERE path <> '' LIMIT 1"
prints "pauses are made where they are asked for" 0 '= 1$' "$analyze" sql -l demo.obs "SELECT count(*) > 0 FROM pause"
guess() { prints "$1 is guessed" 1 "did you mean $1?" "$analyze" $2; }
guess thread "sql shop.obs SELECT*FROM/**/thred"
guess switches "sql shop.obs SELECT/**/swiches/**/FROM/**/thread"
guess percentile "sql shop.obs SELECT/**/precentile(1,2)"
guess causes "report -a cuases shop.obs"
guess perfetto "export -f perfeto shop.obs"
guess --markdown "report --markdwn shop.obs"
guess report "reprot shop.obs"
guess depth "sql shop.obs SELECT/**/dpth/**/FROM/**/request_path"
# in a query of other tables, a column of that name is none of theirs
holds "a word is not guessed to be itself" sh -c "! '$analyze' sql shop.obs 'SELECT name FROM request_path' 2>&1 | grep 'did you'"
holds "a column is guessed of the tables of the query" sh -c \
	"! '$analyze' sql shop.obs 'SELECT nme FROM request_path' 2>&1 | grep 'did you'"
holds "nothing is guessed for what is far" sh -c "! '$analyze' sql shop.obs 'SELECT * FROM x' 2>&1 | grep 'did you'"
python3 "$top/tests/check/prompt.py" "$analyze" demo.obs || bad=1

# ---- only reading ----
cp raw.db kept.db
for file in shop.obs raw.db; do
	for query in "DELETE FROM thread" "UPDATE thread SET tid = 1" "DROP TABLE thread" "CREATE TABLE x(a)" \
		"CREATE TEMP TABLE x(a)" "ATTACH 'x' AS y" "VACUUM" "VACUUM INTO 'x'" "BEGIN" "SAVEPOINT s" \
		"PRAGMA query_only=0" "PRAGMA writable_schema=1" "PRAGMA journal_mode=wal" "REINDEX" "ANALYZE" \
		"SELECT load_extension('x')" "SELECT 1; SELECT 2" ""; do
		"$analyze" sql $file "$query" >said 2>&1 </dev/null
		[ $? -eq 1 ] || fail "refuses $query"
		[ -e x ] && fail "no file comes of $query"
	done
done
cmp raw.db kept.db && echo "ok 18 queries that do not read are refused, and nothing changes" || fail "a database changed"
prints "what PRAGMA tells is let through" 0 'woken' "$analyze" sql shop.obs "SELECT name FROM pragma_table_info('thread')"
prints "JSON can be taken apart" 0 'shop --port 80' "$analyze" sql shop.obs \
	"SELECT j.value FROM event e, json_each(e.args) j WHERE j.key = 'cmdline'"
prints "a table that only a join names is made" 0 '^ *[1-9]' "$analyze" sql shop.obs \
	"SELECT count(*) FROM event e JOIN thread t USING (tid) WHERE e.ts > 1000"
prints "a database without raw events says so" 1 'load --raw' "$analyze" sql plain.db "SELECT * FROM event"
prints "values have a limit" 1 'too big' "$analyze" sql shop.obs "SELECT zeroblob(100000000)"
if [ -z "$sub" ]; then
	blob='randomblob(60000000)'
	prints "memory has a limit" 1 'out of memory' "$analyze" sql shop.obs \
		"SELECT max($blob, $blob, $blob, $blob, $blob, $blob, $blob, $blob, $blob, $blob) IS NULL"
fi
timeout --preserve-status -k 5 -s INT 1 "$analyze" sql shop.obs \
	"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
[ $? -eq 130 ] && echo "ok Ctrl-C ends a query" || fail "Ctrl-C ends a query"
cp plain.db evil.db
python3 - <<'P'
import sqlite3
db = sqlite3.connect('evil.db')
db.executescript("""DROP TABLE site; CREATE VIEW site AS SELECT load_extension('./evil') AS id;
	CREATE TABLE "event_x'; DROP" (ts, cpu, tid); CREATE TABLE event_bad (a);""")
P
prints "a database that lays a trap" 1 'unsafe use\|not authorized' "$analyze" sql evil.db "SELECT * FROM site"
prints "is not reported" 1 'its table site is not one of obsanalyze' "$analyze" report evil.db
prints "is asked all the same" 0 'shop' "$analyze" sql evil.db "SELECT comm FROM thread"
prints "somebody's database is not ours" 1 'not a database' sh -c \
	"python3 -c 'import sqlite3; sqlite3.connect(\"other.db\").execute(\"CREATE TABLE a(b)\")'; '$analyze' sql other.db 'SELECT 1'"
"$pack" "$top/testdata/killed.txt" killed.obs
prints "a cut recording ends with status 3" 3 'truncated' "$analyze" sql killed.obs "SELECT count(*) FROM event"
filtered=$("$analyze" sql --csv --pid 100 --to 1ms shop.obs "SELECT count(*), count(DISTINCT event) FROM event" | tail -n 1)
"$analyze" cut --pid 100 --to 1ms -o part.obs shop.obs 2>/dev/null
part=$("$analyze" sql --csv part.obs "SELECT count(*), count(DISTINCT event) FROM event" | tail -n 1)
all=$("$analyze" sql --csv shop.obs "SELECT count(*), count(DISTINCT event) FROM event" | tail -n 1)
if [ "$filtered" = "$part" ] && [ "$filtered" != "$all" ]; then
	echo "ok filters choose raw events"
else
	fail "filters choose raw events: $filtered, cut: $part, all: $all"
fi
"$analyze" load --raw --pid 100 --to 1ms -o part.db shop.obs 2>/dev/null
copied=$("$analyze" sql --csv part.db "SELECT count(*), count(DISTINCT event) FROM event" | tail -n 1)
[ "$copied" = "$part" ] && echo "ok also those that are copied" || fail "also those that are copied: $copied, cut: $part"
python3 -c 'd = bytearray(open("'"$top"'/testdata/demo.obs", "rb").read()); d[300000] ^= 255; open("damaged.obs", "wb").write(d)'
"$analyze" load -o damaged.db damaged.obs 2>/dev/null
prints "so does a database of a damaged one" 3 'damaged' "$analyze" sql damaged.db "SELECT count(*) FROM thread"
exit $bad
