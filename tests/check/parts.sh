#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of requests, connections and arrival in parts of a recording, in merged and in redacted ones.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
sub=${SUB:-}
if [ -n "$sub" ]; then o=$top/.output$sub/obsanalyze; else o=$top/obsanalyze; fi
pack=$top/.output$sub/pack
cd "$work" || exit 1

# Two servers of one host with a connection each; the third request of each has its name after the cut.
text() { # host, last request's time
	cat <<-PACK
		@recorder
		900 0 info text="obsrec=0.2.0"
		901 0 info text="host=$1"
		902 0 info text="groups=recorder,core,syscalls,requests"
		903 0 info text="targets=100,200"
		904 0 info text="boot_id=$1"
		906 0 clock monotonic=906 boottime=906 realtime=1700000000000000000 spread=50
		907 100 thread pid=100 parent=1 state=83 comm="alpha"
		908 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=40000 saddr=10.0.0.1 daddr=10.0.0.2
		909 200 thread pid=200 parent=1 state=83 comm="beta"
		910 200 fd pid=200 fd=6 mode=0140000 ino=88 family=2 role=2 socktype=1 sport=81 dport=40001 saddr=10.0.0.1 daddr=10.0.0.3
		911 0 file_lock ino=44 dev=5 pid=100 to=9 flags=1
		1000 0 info text="begin=1000"
		90000 0 info text="stopped=90000"
		90001 0 info text="end=signal"
		90002 0 file_lock ino=44 dev=5 pid=100 to=9 flags=5
		@cpu 0
		2000 0 connection sock=7 ino=77 conn=1 family=2 sport=80 dport=40000 side=1 saddr=10.0.0.1 daddr=10.0.0.2
		2001 0 connection sock=8 ino=88 conn=2 family=2 sport=81 dport=40001 side=1 saddr=10.0.0.1 daddr=10.0.0.3
		3000 0 segment conn=1 pos=0 len=10
		3001 0 segment conn=2 pos=0 len=10
	PACK
	for at in 4000 14000 24000 34000; do
		[ $at = 4000 ] || printf '%d 0 segment_next conn=1 len=10\n%d 0 segment_next conn=2 len=10\n' $((at - 1000)) $((at - 999))
		cat <<-PACK
			$at 100 head conn=1 pos=$((at / 1000 - 4)) len=10 name=1 requests=1
			$at 100 syscall nr=read fd=5 dur=50 ret=10
			$((at + 1)) 200 head conn=2 pos=$((at / 1000 - 4)) len=10 name=2 requests=1
			$((at + 1)) 200 syscall nr=read fd=6 dur=50 ret=10
			$((at + 500)) 100 syscall nr=write fd=5 dur=50 ret=5
			$((at + 600)) 200 syscall nr=write fd=6 dur=50 ret=5
			$((at + 600)) 200 answer_more conn=2 name=2 errors=1 status=1 protocol=4
		PACK
	done
	printf '36000 0 request_name id=1 protocol=1 name="GET /secret/:id"\n36001 0 request_name id=2 protocol=4 name="HGET"\n'
}
text one >one.txt
"$pack" one.txt one.obs || failed "pack"
named="SELECT n.name, min(arrival_is), count(*), min(queued) FROM request r JOIN request_name n ON n.id = r.name GROUP BY 1 ORDER BY 1"
ask() { $o sql --csv "$1" "$2" | tail -n +2 | tr -d '\r"' | tr '\n' ' '; }

is "the whole" "$(ask one.obs "$named")" "GET /secret/:id,1,4,1000 HGET,1,4,1000 "
$o cut --from 9us --to 30us -o part.obs one.obs 2>/dev/null
is "a part has names, connections and arrival" "$(ask part.obs "$named")" "GET /secret/:id,1,2,1000 HGET,1,2,1000 "
is "the first segment of each connection has its position" "$($o dump -e segment part.obs | grep -oE 'conn=[0-9]+ pos=[0-9]+' | tr '\n' ' ')" \
	"conn=1 pos=10 conn=2 pos=10 "
is "and both connections at its start" "$($o dump -e connection part.obs | grep -c conn=)" 2
is "a part is whole" "$($o verify part.obs | tail -n 1 | cut -d: -f1)" COMPLETE
$o cut --from 10us -o again.obs part.obs 2>/dev/null
is "so does a part of a part" "$(ask again.obs "$named")" "GET /secret/:id,1,1,1000 HGET,1,1,1000 "
$o cut --pid 200 --from 9us -o beta.obs one.obs 2>/dev/null
is "of one process only its own" "$(ask beta.obs "$named")" "HGET,1,3,1000 "
is "also its connections and segments" \
	"$($o dump beta.obs | grep -oE 'conn=[0-9]+' | sort | uniq -c | tr -s ' ')" " 10 conn=2"

$o cut --to 19us -o a.obs one.obs 2>/dev/null
$o cut --from 19us -o b.obs one.obs 2>/dev/null
locks() { $o dump -e file_lock "$1" | grep -oE 'flags=[0-9]+' | tr '\n' ' '; }
is "the list of locks is that of the start, and of the end" "$(locks one.obs)" "flags=1 flags=5 "
is "a part has the one that is of its time" "$(locks a.obs), $(locks b.obs), $(locks part.obs)" "flags=1 , flags=5 , "
$o merge -o ab.obs b.obs a.obs 2>/dev/null
is "two parts merge to the whole" "$(ask ab.obs "$named")" "GET /secret/:id,1,4,1000 HGET,1,4,1000 "

text two | sed 's/HGET/LPOP/' >two.txt
"$pack" two.txt two.obs || failed "pack"
$o merge -o hosts.obs one.obs two.obs 2>/dev/null
is "names and connections of two hosts differ" "$(ask hosts.obs "$named")" \
	"GET /secret/:id,1,8,1000 HGET,1,4,1000 LPOP,1,4,1000 "
is "so do the names of errors" \
	"$(ask hosts.obs "SELECT n.name, count(*) FROM request_error e JOIN request_name n ON n.id = e.name GROUP BY 1 ORDER BY 1")" \
	"HGET,4 LPOP,4 "

$o redact -o hidden.obs one.obs 2>/dev/null
is "redacted names have their method only" "$(ask hidden.obs "$named" | grep -c secret)" 0
is "and keep their numbers" "$(ask hidden.obs "$named" | sed 's|GET [^,]*,|GET,|')" "GET,1,4,1000 HGET,1,4,1000 "
is "no address is left" "$($o dump hidden.obs | grep -cE '10\.0\.0\.[123]|0x0a0000')" 0
exit $bad
