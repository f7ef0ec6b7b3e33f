#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# fleet: directories of export --parquet, the statements of schema, and the questions of obs-fleet(7) in DuckDB and in
# SQLite. DUCKDB_MUST=1: without DuckDB the test fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
analyze=$top/obsanalyze pack=$top/.output/pack
export XDG_CACHE_HOME="$work/cache"
cd "$work" || exit 1
cp "$top"/testdata/*.obs .
for obs in *.obs; do "$analyze" load -o "${obs%.obs}.db" "$obs" 2>/dev/null || bad=1; done

# ---- the directory ----
prints "recordings and databases are exported" 0 '^4 recordings exported (.* rows, 0 of them not COMPLETE.* 0 failed$' \
	"$analyze" export --parquet fleet demo.obs demo-fault.obs demo-healthy.db old-fault.db
find fleet -type f | xargs ls -i --full-time >before
prints "a second time nothing is written" 0 '^0 recordings exported .*, 4 present before, 0 failed$' \
	"$analyze" export --parquet fleet demo.obs demo-fault.obs demo-healthy.obs old-fault.obs
find fleet -type f | xargs ls -i --full-time >after
is_empty "its files are the same" "$(diff before after)"
is "only complete files" "$(find fleet -type f ! -name part.parquet)" fleet/tables-version
is "each table has a file without rows" "$(ls -d fleet/*/host=none/recording=none/part.parquet | wc -l)" \
	"$("$analyze" schema --duckdb fleet | grep -c read_parquet)"
is "for their owner only" "$(stat -c %a fleet/syscall/host=vm/recording=*/part.parquet | sort -u)" 600
# of a machine with one CPU the second is always later
prints "one that is named twice is exported once" 0 '^2 recordings exported .*, 4 present before, 0 failed$' \
	"$analyze" export --parquet twice demo.db demo.db demo-fault.db demo-fault.db demo.obs demo-fault.obs
mkdir other && touch other/file
prints "a directory of another kind is refused" 1 'neither empty nor made by' "$analyze" export --parquet other demo.obs
mkdir old && echo 3 >old/tables-version
prints "other tables are not mixed" 5 'tables of another version' "$analyze" export --parquet old demo.obs
mkdir piped && mkfifo piped/tables-version
prints "a FIFO in a shared directory blocks nothing" 5 'tables of another version' timeout -s KILL 60 "$analyze" export --parquet piped demo.obs
prints "parts are refused" 1 'complete recordings' "$analyze" export --parquet fleet --pid 1 demo.obs
prints "formats are refused" 1 'files only' "$analyze" export --parquet fleet -f csv demo.obs
prints "several files need it" 1 'only --parquet' "$analyze" export -o x demo.obs demo-fault.obs

# names of hosts are parts of paths
sed '1a\	901 0 info text="host=../a\/b=%41 c"' "$top/testdata/calls.txt" >named.txt
holds "a host with a name like a path is packed" "$pack" named.txt named.obs
"$analyze" export --parquet hosts named.obs 2>/dev/null
is "it stays in the directory" "$(ls hosts/recording)" "$(printf 'host=_2e_2e_2fa_2fb_3d_2541_20c\nhost=none')"

# one of several fails: the others are exported, the failure is named
head -c 100 demo.obs >cut.obs && echo none >none.obs
prints "a failure is named" 1 'none.obs' "$analyze" export --parquet some none.obs demo-fault.obs
is "and the others are exported" "$(ls some/recording | wc -l)" 2
"$pack" "$top/testdata/killed.txt" killed.obs
prints "a damaged one is exported, with exit 3" 3 'killed.obs' "$analyze" export --parquet some killed.obs
is "next to the others" "$(ls -d some/recording/host=*/recording=* | wc -l)" 3

# nothing stands still
prints "SIGCHLD is ignored: the ends of its processes are noticed" 0 '^2 recordings exported' \
	timeout -s KILL 120 env --ignore-signal=CHLD "$analyze" export --parquet ignored demo.db demo-fault.db
mkfifo pipe.obs
"$analyze" export --parquet ended demo.db pipe.obs pipe.obs 2>errors &
exporter=$!
for i in $(seq 300); do
	ls ended/recording/host=vm/*/part.parquet >/dev/null 2>&1 && break
	sleep 0.2
done
kill $exporter
wait $exporter
is "a signal ends it" $? 1
is "and what it has exported is said" "$(sed 's/exporting: [01]/exporting: n/' errors)" \
	'obsanalyze: interrupted while exporting: n recordings were exported, 0 present before'
prints "what was exported stays" 0 '^0 recordings exported .* 1 present before' "$analyze" export --parquet ended demo.db

# a full disk
holds "a full disk is an error" sh -c "trap '' XFSZ; ulimit -f 400; '$analyze' export --parquet full demo.db 2>errors; [ \$? -eq 1 ]"
holds "which is named" grep -q 'cannot write' errors
is "and the recording is not there" "$(ls full/recording)" host=none
prints "the next time it is" 0 '^1 recordings exported' "$analyze" export --parquet full demo.obs
is "without remains" "$(find full -type f ! -name part.parquet)" full/tables-version

# ---- statements ----
for engine in duckdb clickhouse trino spark; do
	is "schema --$engine has every table" "$("$analyze" schema --$engine /data | grep -c '/data/[a-z_]*[/'\'']')" \
		"$(ls fleet | grep -vc tables-version)"
done
is "schema --clickhouse-cluster has two tables for each" \
	"$("$analyze" schema --clickhouse-cluster c | grep -c "^CREATE TABLE.*\(_local.*MergeTree\|Distributed('c',\)")" \
	$((2 * $(ls fleet | grep -vc tables-version)))
prints "statements are for one engine" 1 '^obsanalyze: --duckdb and --trino: ' "$analyze" schema --duckdb --trino /data
prints "the same engine twice is one" 0 read_parquet "$analyze" schema --duckdb --duckdb /data
prints "names that are patterns are refused" 1 'must not have' "$analyze" schema --duckdb '/data*'
prints "quotes stay quotes" 0 "/o''x/syscall/" "$analyze" schema --duckdb "/o'x"
python3 - "$top" >errors <<-'P'
	import pathlib, re, sys
	top = pathlib.Path(sys.argv[1])
	page = (top / "man/obs-fleet.7").read_text()
	for f in sorted((top / "tests/fleet").glob("*.sql")):
	    lines = f.read_text().split("\n")
	    if lines[1].removeprefix("-- ") not in page:
	        print(f"{f.name}: the question is not in obs-fleet(7)")
	    if "\n".join(lines[2:]).strip() not in page.replace("\\(aq", "'").replace("\\e", "\\"):
	        print(f"{f.name}: the query is not that of obs-fleet(7)")
P
is_empty "obs-fleet(7) has the questions that are tested" "$(cat errors)"

# ---- DuckDB ----
tools=$top/.output/duckdb
if sh "$top/tests/check/duckdb.sh" "$tools" >/dev/null 2>&1 && command -v node >/dev/null 2>&1; then
	python3 "$top/tests/check/parquet.py" "$tools" "$analyze" fleet \
		+demo.db +demo-fault.db demo-healthy.db old-fault.db || bad=1
	python3 "$top/tests/check/hard_values.py" demo.db hard.db
	holds "hard values are exported" "$analyze" export --parquet hard hard.db
	python3 "$top/tests/check/parquet.py" --tables "$tools" "$analyze" hard hard.db || bad=1
	python3 "$top/tests/check/hard_values.py" --text "$tools" "$analyze" demo-fault.db || bad=1
elif [ "${DUCKDB_MUST:-0}" = 1 ]; then
	failed "DuckDB is not at hand (npm: @duckdb/node-api)"
else
	echo "ok DuckDB reads exports # SKIP npm or @duckdb/node-api is not at hand"
fi
exit $bad
