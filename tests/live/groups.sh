#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the groups files, net, process, pagecache and io_uring say of a program that counts.
. "$(dirname "$0")/lib.sh"
w=$top/.output/groupwork

# lines of the dump that have the event and all patterns
n() {
	event=$1
	shift
	out=$(grep " $event " "$work/dump")
	for p; do out=$(printf '%s\n' "$out" | grep -- "$p"); done
	printf '%s\n' "$out" | grep -c .
}

round() { # name, options...
	name=$1
	shift
	mkdir "$work/dir"
	"$obsrec" -q "$@" -e +pagecache -o "$work/$name.obs" -- "$w" "$work/dir" >"$work/printed"
	is "$name: workload's exit status" $? 0
	rm -rf "$work/dir"
	"$obsanalyze" verify "$work/$name.obs" >"$work/verify"
	is "$name: verify finds the recording complete" $? 0
	"$obsanalyze" dump "$work/$name.obs" >"$work/dump"
	made=$(printed "$work/printed" made) port=$(printed "$work/printed" port)
	is "$name: files made, with their paths" "$(n file_open 'path="file[0-9]*"' 'flags=524354')" "$made"
	is "$name: opened again" "$(n file_open 'path="file[0-9]*"' 'flags=0 ')" "$made"
	is "$name: removed" "$(n file_change 'nr=unlink\(at\)* ' 'path="file' 'ret=0')" "$(printed "$work/printed" removed)"
	is "$name: renamed, old names" "$(n file_change 'nr=rename\(at\)* ' 'which=0' 'path="file')" "$(printed "$work/printed" renamed)"
	is "$name: renamed, new names" "$(n file_change 'nr=rename\(at\)* ' 'which=1' 'path="moved')" "$(printed "$work/printed" renamed)"
	is "$name: cut by path, with size" "$(n file_change 'nr=truncate ' 'size=1[01][0-9] ' 'path="file')" "$(printed "$work/printed" cut)"
	is "$name: cut by descriptor, with size" "$(n file_change 'nr=ftruncate ' 'size=4[01][0-9][0-9] ')" "$(printed "$work/printed" cut)"
	is "$name: directories made" "$(n file_change 'nr=mkdir\(at\)* ' 'path="directory"')" "$(printed "$work/printed" directories)"
	is "$name: connections opened" "$(n tcp_state "dport=$port " 'from=2 to=1 ')" "$(printed "$work/printed" connections)"
	is "$name: connections accepted" "$(n tcp_state "sport=$port " 'from=3 to=1 ')" "$(printed "$work/printed" connections)"
	# the end of a stream counts as a byte
	is "$name: bytes received by the server" \
		"$(n tcp_state "sport=$port " 'from=1 to=8 ' "received=$(($(printed "$work/printed" sent) + 1)) ")" \
		"$(printed "$work/printed" connections)"
	is "$name: programs spawned, with arguments" "$(n spawn 'args="true first word SECOND"')" "$(printed "$work/printed" spawned)"
	is "$name: processes ended" "$(n ended 'code=0 ')" $(($(printed "$work/printed" spawned) + 1))
	is "$name: io_uring requests submitted" "$(n uring_submit 'user_data=0x1[0-9a-f]* ' 'opcode=22 ')" "$(printed "$work/printed" uring)"
	is "$name: io_uring requests completed" "$(n uring_complete 'ret=512')" "$(printed "$work/printed" uring)"
	# written once, dropped, read again; the inode may have been another file's before
	is "$name: pages added" "$(awk '$3 == "fd" && /path="pages"/ && !ino { ino = $4 } $3 == "page_add" && $4 == ino { n++ }
		END { print n }' "$work/dump")" $((2 * $(printed "$work/printed" pages)))
	"$obsanalyze" load -o "$work/db" "$work/$name.obs"
	is "$name: descriptors have absolute paths" \
		"$(ask "$work/db" "SELECT count(*) FROM fd WHERE path LIKE '$work/dir/file__'")" $((2 * made))
	is "$name: sockets of the server are accepted ones" \
		"$(ask "$work/db" "SELECT count(*) FROM fd WHERE role='accepted' AND local LIKE '%:$port'")" \
		"$(printed "$work/printed" connections)"
	# SYN and FIN are no bytes
	is "$name: bytes sent by clients, and received by the server" \
		"$(ask "$work/db" "SELECT sum(remote LIKE '%:$port' AND sent=$(printed "$work/printed" sent) AND received=0) || ' ' ||
			sum(local LIKE '%:$port' AND received=$(printed "$work/printed" sent) AND sent=0) FROM connection")" \
		"$(printed "$work/printed" connections) $(printed "$work/printed" connections)"
	is "$name: replayed: files opened" \
		"$(ask "$work/db" "SELECT count(*) FROM file_open o JOIN file_path p ON p.id=o.path WHERE o.ret >= 0 AND p.path LIKE '$work/dir/file__'")" \
		$((2 * made))
	is "$name: replayed: files removed" \
		"$(ask "$work/db" "SELECT count(*) FROM file_change f JOIN syscall_name n USING(abi, nr) JOIN file_path p ON p.id=f.path WHERE n.name IN ('unlink', 'unlinkat') AND f.ret=0 AND p.path LIKE '$work/dir/file__'")" \
		"$(printed "$work/printed" removed)"
	pages=$(printed "$work/printed" pages)
	is "$name: replayed: writes of a file" \
		"$(ask "$work/db" "SELECT writes || ' of ' || write_bytes FROM file_use u JOIN file_path p ON p.id=u.path WHERE p.path='$work/dir/pages'")" \
		"$pages of $((4096 * pages))"
	is "$name: replayed: io_uring requests with a duration" \
		"$(ask "$work/db" "SELECT count(*) FROM uring_io WHERE dur > 0 AND ret=512 AND opcode=22")" \
		"$(printed "$work/printed" uring)"
	if [ "$(n uring_submit 'request=0x0 ')" = 0 ]; then
		is "$name: replayed: io_uring requests know their file, registered or not" \
			"$(ask "$work/db" "SELECT count(*) FROM uring_io u WHERE opcode=22 AND EXISTS(SELECT 1 FROM fd
				WHERE fd.dev=u.dev AND fd.ino=u.ino AND fd.path='$work/dir/pages')")" \
			"$(printed "$work/printed" uring)"
	else
		echo "ok $name: files of io_uring requests # SKIP this kernel reports none"
	fi
	is "$name: replayed: processes ended well" \
		"$(ask "$work/db" "SELECT count(*) FROM process_exit WHERE code=0 AND life > 0")" \
		$(($(printed "$work/printed" spawned) + 1))
	is "$name: replayed: connections with both ends, connected and accepted" \
		"$(ask "$work/db" "SELECT sum(handshake > 0 AND remote LIKE '%:$port') || ' ' || sum(accept_delay >= 0 AND local LIKE '%:$port') FROM connection")" \
		"$(printed "$work/printed" connections) $(printed "$work/printed" connections)"
	if [ "$(ask "$work/db" "SELECT total(lookups) > 0 FROM page_use")" = 1 ]; then
		# each page was dropped before it was read; io_uring then found what was there
		is "$name: replayed: pages missed" \
			"$(ask "$work/db" "SELECT sum(missed) FROM page_use u WHERE EXISTS(SELECT 1 FROM fd WHERE fd.dev=u.dev AND fd.ino=u.ino AND fd.path='$work/dir/pages')")" \
			"$pages"
	else
		echo "ok $name: pages missed # SKIP this kernel reports no lookups"
	fi
	rm -f "$work/db"
}
round tp_btf
round raw_tp --force raw_tp

# ---- signals: of another process, and of its own ----
signals() { # name, option...
	name=$1
	shift
	"$obsrec" "$@" -e process -o "$work/signals.obs" -- sh -c \
		'sleep 3600 & kill -TERM $!; wait $!; sh -c "kill -KILL \$\$"; true' >/dev/null 2>&1
	is "$name: signals have a number and a sender" \
		"$(ask "$work/signals.obs" "SELECT group_concat(signal || ':' || code || ':' || (tid=target), ' ') FROM signal_sent")" \
		"15:0:0 9:0:1"
	rm -f "$work/signals.obs"
}
signals tp_btf
signals raw_tp --force raw_tp

# A connection that is not answered: its SYN is sent again, as often as the kernel counts. That happens in
# timer interrupts, which a host may hide (see balance.sh): such a round is printed and repeated.
for round in 1 2 3 4 5 6 7 8 9 10; do
	rm -f "$work/vain.obs"
	"$obsrec" -q -e net,syscalls -o "$work/vain.obs" -- "$w" connect >"$work/printed"
	"$obsanalyze" dump "$work/vain.obs" >"$work/dump"
	port=$(printed "$work/printed" port)
	again=$(n tcp_retransmit "sport=$port " 'state=2 ')
	counted=$(grep ' tcp_state ' "$work/dump" | grep "dport=$(grep -m 1 "sport=$port " "$work/dump" |
		sed 's/.*dport=\([0-9]*\) .*/\1/') " | grep 'to=7 ' | sed 's/.*retransmits=\([0-9]*\) .*/\1/' | sort -n | tail -n 1)
	[ "$again" = "$counted" ] && break
	echo "# round $round: of ${counted:-no} segments sent again, $again were seen"
done
holds "segments sent again to where nobody answers ($again)" [ "$again" -ge 2 ]
is "as many as the kernel counts" "$counted" "$again"

# sockets that the target had before: a connection, and one on which others come; all change in interrupts
mkfifo "$work/go"
"$w" serve <"$work/go" >"$work/printed" &
server=$!
exec 9>"$work/go"
until_true [ -s "$work/printed" ] # it has its sockets
"$obsrec" -q -e net,syscalls -p "$server" -o "$work/serve.obs" &
recorder=$!
until_begun "$work/serve.obs"
echo >&9
exec 9>&-
wait "$server"
kill -INT "$recorder"
wait "$recorder"
"$obsanalyze" dump "$work/serve.obs" >"$work/dump"
port=$(printed "$work/printed" port)
is "connections that come to a socket of before" "$(n tcp_state "sport=$port " 'from=3 to=1 ')" "$(printed "$work/printed" connections)"
is "ends of these, and of the one of before" "$(n tcp_state "sport=$port " 'from=1 to=4 ')" $(($(printed "$work/printed" connections) + 1))

# --private
mkdir "$work/SECRETDIR"
"$obsrec" -q --private --label ticket=OPS-1 -o "$work/private.obs" -- \
	sh -c "cd $work/SECRETDIR; echo > SECRETFILE; cat SECRETFILE; exec env true SECRETARG"
"$obsanalyze" dump "$work/private.obs" >"$work/dump"
is "--private: nothing of paths and arguments" "$(grep -c SECRET "$work/dump")" 0
is "--private: the file says so" "$(ask "$work/private.obs" "SELECT value FROM recording WHERE key='private'")" 1
is "labels are stored" "$(ask "$work/private.obs" "SELECT value FROM recording WHERE key='label.ticket'")" OPS-1

# --syscalls
"$obsrec" -q -e syscalls --syscalls 'file,!open*' -o "$work/some.obs" -- sh -c 'cat /dev/null; stat / >/dev/null'
"$obsanalyze" load -o "$work/some.db" "$work/some.obs"
is "--syscalls: classes without what is taken away" "$(ask "$work/some.db" "SELECT count(*) FROM syscall_name WHERE name
	IN ('openat', 'read', 'mmap')")" 0
holds "--syscalls: what is in the set" sh -c "[ $(ask "$work/some.db" "SELECT count(*) FROM syscall_name WHERE name
	LIKE '%stat%' OR name LIKE '%access%'") -gt 0 ]"
