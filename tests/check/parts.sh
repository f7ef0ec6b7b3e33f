#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of requests, connections, arrival and stacks in parts of a recording, in merged and in redacted ones.
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
# Successive recordings of one host: each counts stacks, connections, names and probes from the start again.
run() { # begin in us, pid, function, name of requests, probe
	awk -v from="$1" '/^[0-9]/ { $1 += from * 1000 } { print }' >"run$1.txt" <<-PACK
		@recorder
		900 0 info text="host=row"
		901 0 info text="groups=recorder,core,syscalls,uprobe,requests,cpu"
		902 0 info text="targets=$2"
		903 0 info text="boot_id=row"
		906 0 clock monotonic=$(($1 * 1000 + 906)) boottime=906 realtime=1700000000000000000 spread=50
		907 $2 thread pid=$2 parent=1 state=83 comm="server$2"
		908 $2 fd pid=$2 fd=5 mode=0140000 ino=$2 family=2 role=2 socktype=1 sport=80 dport=40000 saddr=10.0.0.1 daddr=10.0.0.2
		909 0 site id=0 flags=3 text="/bin/$2:$5"
		910 0 site id=1 flags=3 text="/bin/x:shared"
		1000 0 info text="begin=$(($1 * 1000 + 1000))"
		50000 0 module id=1 kind=3 path="/bin/$2"
		50001 0 frame id=1 address=4096 module=1
		50002 0 frame id=2 address=8192 module=1
		50003 0 stack id=1 caller=0 frame=1
		50004 0 stack id=2 caller=1 frame=2
		50005 0 symbol frame=1 text="main"
		50006 0 symbol frame=2 text="$3"
		50007 0 request_name id=1 protocol=1 name="$4"
		50008 0 request_name id=2 protocol=1 name="GET /same"
		90000 0 info text="stopped=$(($1 * 1000 + 90000))"
		90001 0 info text="end=signal"
		@cpu 0
		2000 0 connection sock=7 ino=$2 conn=1 family=2 sport=80 dport=40000 side=1 saddr=10.0.0.1 daddr=10.0.0.2
		3000 0 segment conn=1 pos=0 len=10
		4000 $2 head conn=1 pos=0 len=10 name=1 requests=1
		4000 $2 syscall nr=read fd=5 dur=50 ret=10
		4200 $2 call site=0
		4300 $2 return site=0
		4350 $2 call site=1
		4380 $2 return site=1
		4400 $2 sample pid=$2 user_stack=2 weight=1000
		4500 $2 syscall nr=write fd=5 dur=50 ret=5
		13000 0 segment conn=1 pos=10 len=10
		14000 $2 head conn=1 pos=10 len=10 name=2 requests=1
		14000 $2 syscall nr=read fd=5 dur=50 ret=10
		14500 $2 syscall nr=write fd=5 dur=50 ret=5
	PACK
	"$pack" "run$1.txt" "run$1.obs" || failed "pack"
}
run 1 100 burn "GET /one" parse
run 1001 200 idle "GET /two" flush
run 2001 100 think "GET /three" parse
counted="SELECT pid, user_stack FROM v_sample UNION ALL SELECT r.pid, n.name || ' ' || r.queued FROM request r JOIN request_name n ON n.id = r.name UNION ALL
	SELECT c.tid, s.file || ' ' || s.function FROM call c JOIN site s ON s.id = c.site"
rows() { $o sql --csv "$1" "$counted" | tail -n +2 | sort; }
same() { # sentence, the merged recording, those that it was merged of
	what=$1 merged=$2
	shift 2
	is "$what" "$(rows "$merged")" "$(for f in "$@"; do rows "$f"; done | sort)"
}
$o merge -o both.obs run1.obs run1001.obs 2>/dev/null
same "runs of a host keep their stacks, names, connections and probes" both.obs run1.obs run1001.obs
is "what is the same has one id" "$(ask both.obs "SELECT count(*) FROM site UNION ALL SELECT count(*) FROM request_name")" "3 3 "
$o merge -o three.obs run2001.obs run1001.obs run1.obs 2>/dev/null
same "so do three" three.obs run1.obs run1001.obs run2001.obs
$o merge -o third.obs run2001.obs both.obs 2>/dev/null
same "and what was merged, merged again" third.obs run1.obs run1001.obs run2001.obs
for n in 1 2; do # snapshots of one run, in flight mode: parts of them can follow each other
	sed "s/info text=\"end=signal\"/info text=\"flight=$n\"/" run1.txt >flight$n.txt
	"$pack" flight$n.txt flight$n.obs || failed "pack"
done
$o cut --to 9us -o flight1.part.obs flight1.obs 2>/dev/null
$o cut --from 9us -o flight2.part.obs flight2.obs 2>/dev/null
$o merge -o flight.obs flight1.part.obs flight2.part.obs 2>/dev/null
same "and snapshots of one run" flight.obs flight1.part.obs flight2.part.obs
# A process that only the first of them has: of it nothing is known in the gap and after it.
for at in 1 11; do
	cat >target$at.txt <<-PACK
		@recorder
		${at}000000000 0 info text="groups=core,syscalls,sched,requests"
		${at}000000000 0 info text="boot_id=target"
		${at}000000000 0 info text="targets=${at}00"
		${at}000000001 0 info text="begin=${at}000000001"
		${at}000000002 0 info text="snapshot_begin=${at}000000002"
		${at}000000003 100 thread pid=100 state=83 comm="first"
		${at}000000003 1100 thread pid=1100 state=83 comm="second"
		${at}000000004 ${at}00 fd pid=${at}00 fd=5 mode=0140000 ino=$at family=2 role=2 socktype=1 sport=8$at dport=9
		${at}000000005 0 info text="snapshot=${at}000000005"
		${at}900000000 0 info text="stopped=${at}900000000"
		@cpu 0
		${at}100000000 0 switch next=${at}00
		${at}100100000 ${at}00 syscall nr=read fd=5 ret=20
		${at}100200000 ${at}00 syscall nr=write fd=5 ret=20
		${at}800000000 ${at}00 syscall nr=read fd=5 ret=20
		${at}800100000 ${at}00 switch next=7
		${at}800200000 7 switch next=100
	PACK
	"$pack" target$at.txt target$at.obs || failed "pack"
done
$o merge -o targets.obs target1.obs target11.obs 2>/dev/null
is "a request that nothing answered is that of the last recording" "$(ask targets.obs "SELECT pid FROM unanswered")" "1100 "
is "no state is known of what is no target" "$(ask targets.obs "SELECT t.tid, s.name, t.ts / 1000000, t.dur / 1000000 FROM
	thread_state t JOIN state s ON s.id=t.state WHERE t.ts + t.dur > 5000000000 ORDER BY t.tid, t.ts" | tr ' ' '\n' | grep '^100,')" \
	"100,unknown,800,9199
100,unknown,10000,899"
exit $bad
