#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that does not respond (FUSE) stops neither a recording nor its end.
. "$(dirname "$0")/lib.sh"
mkdir "$work/fs"
if [ ! -c /dev/fuse ] && ! modprobe fuse 2>/dev/null; then
	echo "ok a file system that does not respond # SKIP no /dev/fuse"
	exit 0
fi
"$top/.output/fuse_hang" "$work/fs" >"$work/holder" &
server=$!
trap 'kill $server 2>/dev/null; umount -l "$work/fs" 2>/dev/null; rm -rf "$work"' EXIT
until_true [ -s "$work/holder" ]
holder=$(cat "$work/holder")

# runs a command that ends within 20 s, however the file system does; prints what it says
bounded() { timeout -s KILL $((20 * slow)) "$@" 2>&1; }
alive() { kill -0 "$1" 2>/dev/null; }
gone() { ! alive "$1"; }

bounded "$obsrec" -q -p "$holder" -d 1 -o "$work/pid.obs" >"$work/out"
is "-p a process with such a file: exit status" $? 0
is "its file is recorded with its type" "$("$obsanalyze" dump -e fd "$work/pid.obs" | grep -c ' fd=9 .* ino=2 \| ino=2 .* fd=9 mode=32768 ')" 1
is "its working directory is recorded" "$("$obsanalyze" dump -e fd "$work/pid.obs" | grep -c " fd=-100 .*$work/fs")" 1
bounded "$obsrec" -q -a -d 1 -o "$work/all.obs" >"$work/out"
is "-a: exit status" $? 0
says "-u on it: sentence" "$(bounded "$obsrec" -q -p "$holder" -d 1 -u "$work/fs/file:main" -o "$work/u.obs")" 'does not respond'
says "a command on it: sentence" "$(bounded "$obsrec" -q -d 1 -o "$work/c.obs" -- "$work/fs/file")" 'cannot execute'

# a signal ends it at any time
"$obsrec" -q -p "$holder" -o "$work/signal.obs" &
recorder=$!
until_begun "$work/signal.obs"
kill -TERM $recorder
holds "SIGTERM ends it" until_true gone $recorder
wait $recorder
is "SIGTERM: exit status" $? 0
