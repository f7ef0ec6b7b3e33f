#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Statements of SQL in known numbers: of SQLite by function.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

library=$(ls /usr/lib/*/libsqlite3.so.0 2>/dev/null | head -n 1)
if command -v sqlite3 >/dev/null 2>&1 && [ -n "$library" ]; then
	{
		echo "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);"
		echo "SELECT a AS [it's], 'secret1', b FROM t WHERE b='secret2';"
		i=0
		while [ $i -lt 37 ]; do
			echo "INSERT INTO t VALUES($i, 'secret$i');"
			i=$((i + 1))
		done
		while [ $i -gt 6 ]; do # 31
			echo "SELECT count(b) FROM t WHERE a IN ($i, 2, 3) AND b<>'secret' /* user $i */;"
			i=$((i - 1))
		done
	} >input.sql
	: >new.db
	for force in "" no_cookie; do
		rm -f new.db lite.obs
		"$obsrec" -q -e uprobe,sched ${force:+--force "$force"} -u "$library:sqlite3_prepare_v2" --args 1,s2:128 -o lite.obs -- sqlite3 new.db <input.sql >out
		is "SQLite: inserts${force:+ ($force)}" "$(ask lite.obs "SELECT n FROM v_statement WHERE text='INSERT INTO t VALUES(?)'")" 37
		is "SQLite: selects${force:+ ($force)}" "$(ask lite.obs "SELECT n FROM v_statement WHERE text='SELECT count(b) FROM t WHERE a IN (?) AND b<>?'")" 31
		is "SQLite: one table${force:+ ($force)}" "$(ask lite.obs "SELECT sum(n) FROM v_statement WHERE text LIKE 'CREATE%'")" 1
		is "SQLite: arguments, too${force:+ ($force)}" "$(ask lite.obs "SELECT count(*) FROM call WHERE arg0 = 0 OR arg0 IS NULL")" 0
	done
	is "no value is in the file" "$("$obsanalyze" dump lite.obs | grep -c 'secret[0-9]\|user [0-9]')" 0
	says "the report has them" "$("$obsanalyze" report -a queries lite.obs)" 'INSERT INTO t VALUES(?)  *37 '
	rm -f new.db
	"$obsrec" -q -e uprobe -u "$library:sqlite3_prepare_v2" --args s2:10 -o cut.obs -- sqlite3 new.db <input.sql >out
	is "cut texts end in ..." "$(ask cut.obs "SELECT sum(n) FROM v_statement WHERE text='INSERT INT ...'")" 37
	is "and are counted" "$(ask cut.obs "SELECT cut = (SELECT count(*) FROM call) FROM call_defect")" 1
	rm -f new.db
	"$obsrec" -q -e uprobe -u "$library:sqlite3_prepare_v2" --args s3 -o wrong.obs -- sqlite3 new.db <input.sql >out
	says "a number is no pointer: counted" "$(ask wrong.obs "SELECT unreadable FROM call_defect")" '^[6-9][0-9]$'
	is "and located" "$(ask wrong.obs "SELECT count(*) - (SELECT unreadable FROM call_defect) FROM span_defect WHERE defect = 'no text'")" 0
	says "and said" "$("$obsanalyze" report -a queries wrong.obs)" 'not readable, the first at [0-9]'
	rm -f new.db
	says "without a function it is refused" "$("$obsrec" -q -e sched --args s1 -o none.obs -- sqlite3 new.db 2>&1 <input.sql)" 'use PROBE(1:sql)'
	rm -f new.db
	"$obsrec" -q --private -e uprobe -u "$library:sqlite3_prepare_v2" --args s2 -o private.obs -- sqlite3 new.db <input.sql >out
	is "--private: no texts" "$(ask private.obs "SELECT count(text) FROM call")" 0
else
	echo "ok SQLite # SKIP no sqlite3"
fi
