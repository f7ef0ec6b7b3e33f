#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# -p: a process that runs already is recorded, with its children, and nothing else.
# The shell waits at a pipe until the recording has started; the workload is its child.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload
mkfifo "$work/go"
# shellcheck disable=SC2016 # expanded by the inner shell
sh -c 'read -r _ <"$1"; "$2" "$3" >"$4"; exit 0' sh "$work/go" "$w" "$work" "$work/printed" &
parent=$!
"$obsrec" -q -p $parent -o "$work/attach.obs" &
rec=$!
until_begun "$work/attach.obs"
"$w" flood # not its child: must not be recorded
echo go >"$work/go"
wait $parent
kill -INT $rec
wait $rec
is "exit status" $? 0
db=$work/attach.db
"$obsanalyze" load -o "$db" "$work/attach.obs"
holds "verify finds the recording complete" sh -c "'$obsanalyze' verify '$work/attach.obs' | grep -q '^COMPLETE'"
pid=$(printed "$work/printed" pid)
by_name() { ask "$db" "SELECT count(*) FROM syscall JOIN syscall_name USING(abi, nr) WHERE name='$1' \
	AND tid IN (SELECT tid FROM thread WHERE pid=$pid) $2"; }
is "getppid calls of the child" "$(by_name getppid '')" "$(printed "$work/printed" getppid)"
is "fsync calls of the child" "$(by_name fsync '')" "$(printed "$work/printed" fsync)"
is "pwrite64 calls of the child" "$(by_name pwrite64 'AND ret=4096')" "$(printed "$work/printed" writes)"
is "the child's parent" "$(ask "$db" "SELECT parent FROM process WHERE pid=$pid")" "$parent"
is "getppid calls of anybody else" "$(ask "$db" "SELECT count(*) FROM syscall JOIN syscall_name USING(abi, nr) \
	WHERE name='getppid' AND tid NOT IN (SELECT tid FROM thread WHERE pid=$pid)")" 0
is "the shell existed before the recording" "$(ask "$db" "SELECT start FROM process WHERE pid=$parent")" 0
