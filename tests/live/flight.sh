#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Flight mode: memory stays bounded, signals and triggers write whole recordings with what was before.
. "$(dirname "$0")/lib.sh"
w=$top/.output/workload
cd "$work" || exit 1

whole() { # description, file
	"$obsanalyze" verify "$2" >verify
	is "$1: a whole recording" $? 0
	says "$1: COMPLETE" "$(tail -n 1 verify)" '^COMPLETE'
	"$obsanalyze" report "$2" >report 2>err
	is "$1: report" $? 0
}
anonymous() { sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; } # without the rings

# a flood for some seconds, far more than is kept
dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
flood=$!
"$obsrec" --last 1M --ring 64M -p $flood -o size.obs 2>errors & # has room for all while it gets no CPU
rec=$!
until_flying $rec
sleep 2
late=$(anonymous $rec)
# what waits for a compressor without a CPU is in memory too, 32 MB at most, which is kept for later: 11 rounds at most
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	early=$late
	sleep 4
	late=$(anonymous $rec)
	[ $((late - early)) -lt 3000 ] && break
	echo "# round $round: $early KB, then $late KB"
done
holds "memory is bounded ($early KB, then $late KB)" [ $((late - early)) -lt 3000 ]
is "nothing is written before it is asked for" "$(ls | grep -c 'size-')" 0
kill -USR2 $rec
until_true grep -q 'wrote size-' errors
is "SIGUSR2 writes a snapshot" "$(ls | grep -c 'size-.*-1.obs')" 1
holds "and goes on" kill -0 $rec
whole "SIGUSR2" size-*-1.obs
# facts and the host's state come on top of what is kept
holds "it is about as large as what is kept" [ "$(stat -c %s size-*-1.obs)" -lt 2000000 ]
is "the process has its name" "$(ask size-*-1.obs "SELECT comm FROM process WHERE pid=$flood")" dd
is "its descriptors are known" "$(ask size-*-1.obs "SELECT path FROM fd WHERE pid=$flood AND fd=1")" /dev/null
"$obsanalyze" load -o size.db size-*-1.obs
is "nothing is lost inside" "$(ask size.db "SELECT sum(lost) FROM coverage")" 0
is "calls join without a gap" "$(ask size.db "SELECT count(*) FROM syscall WHERE dur IS NULL")" 0
kill -INT $rec
wait $rec
is "the end: exit status" $? 0
is "the end writes the last snapshot" "$(ls | grep -c 'size-.*-2.obs')" 1
whole "end" size-*-2.obs
kill $flood

# its other threads get no CPU for 7 s, as on a host that starves: the snapshot comes when they go on
has_threads() { [ "$(ls "/proc/$1/task" | wc -l)" -ge "$2" ]; } # pid, number
cat >starve.py <<'PY'
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
pid = int(sys.argv[1])
others = [t for t in map(int, os.listdir("/proc/%d/task" % pid)) if t != pid]
for tid in others:
    assert libc.ptrace(SEIZE, tid, None, None) == 0, os.strerror(ctypes.get_errno())
    assert libc.ptrace(INTERRUPT, tid, None, None) == 0
    os.waitpid(tid, 0x40000000)
print("stopped", len(others), flush=True)
time.sleep(7)
for tid in others:
    libc.ptrace(DETACH, tid, None, None)
PY
"$obsrec" --last 60s -a -e process -o starved.obs 2>errors &
rec=$!
until_flying $rec
until_true has_threads $rec 3
python3 starve.py $rec >stopped &
starver=$!
until_true grep -q . stopped
holds "threads without a CPU: the others are stopped" grep -q 'stopped [1-9]' stopped
kill -USR2 $rec
wait $starver
until_true grep -q 'wrote starved-' errors
is "threads without a CPU: the snapshot comes later" "$(ls | grep -c 'starved-.*-1.obs')" 1
is "threads without a CPU: nothing failed" "$(grep -c 'cannot\|not enough\|late' errors)" 0
whole "threads without a CPU" starved-*-1.obs
kill -INT $rec
wait $rec

# one that is asked for right before the end
"$obsrec" -q --last 60s -a -e process -o both.obs &
rec=$!
until_flying $rec
kill -STOP $rec # so that both signals come at once
until_true grep -q '^State:.T' /proc/$rec/status
kill -USR2 $rec
kill -INT $rec
kill -CONT $rec
wait $rec
reason() { "$obsanalyze" info "$1" | sed -n 's/^end: //p'; }
is "right before the end: both snapshots are written" "$(ls | grep -c 'both-')" 2
is "right before the end: each says its own reason" "$(reason both-*-1.obs), $(reason both-*-2.obs)" "SIGUSR2, signal"

# of a size that is not reached, all is kept
"$obsrec" -q --last 16M -o all.obs -- sh -c 'true; sleep 3; true'
is "--last SIZE keeps what fits" "$(ask all-*-1.obs "SELECT max(ts + dur) - min(ts) >= 3e9 FROM thread_state")" 1

# a connection that is older than what is kept: its requests have name, arrival and client
cat >asked.py <<'PY'
import socket, sys, threading, time
server = socket.create_server(("127.0.0.1", 0))
def ask():
    s = socket.create_connection(server.getsockname())
    while True:
        s.sendall(b"GET /item/7 HTTP/1.1\r\n\r\n")
        s.recv(100)
        time.sleep(.01)
threading.Thread(target=ask, daemon=True).start()
peer = server.accept()[0]
open("connected", "w").close()
while peer.recv(100):
    time.sleep(.002)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
PY
python3 asked.py &
asked=$!
until_true [ -e connected ] # who asked whom of one that is made during the start of a recording is not known
"$obsrec" --last 1s -p $asked -o old.obs 2>errors &
rec=$!
until_flying $rec
sleep 5
kill -USR2 $rec
until_true grep -q 'wrote old-' errors
kill -INT $rec
wait $rec
kill $asked
"$obsanalyze" load -o old.db old-*-1.obs
"$obsanalyze" verify old-*-1.obs >verify
says "an old connection: COMPLETE" "$(tail -n 1 verify)" '^COMPLETE'
holds "an old connection: its event is kept" sh -c "'$obsanalyze' dump old-*-1.obs | grep -q ' connection .*side=1'"
is "an old connection: its requests have a name" "$(ask old.db "SELECT count(*) > 0 FROM request JOIN request_name ON
	request_name.id = request.name WHERE request_name.name = 'GET /item/:id'")" 1
is "an old connection: arrival" "$(ask old.db "SELECT count(*) > 0 FROM request WHERE arrival_is = 1 AND name IS NOT NULL")" 1
is "an old connection: client" "$(ask old.db "SELECT count(*) > 0 FROM request WHERE client <> 0 AND name IS NOT NULL")" 1
is "an old connection: no estimate" "$(ask old.db "SELECT sum(arrival_is = 0) < 10 FROM request WHERE name IS NOT NULL")" 1

# triggers: the history before, some time after, and a pause
"$obsrec" -q --last 600s --trigger 'syscall clock_nanosleep > 700ms' --after 500ms -o trig.obs -- \
	sh -c 'true; sleep 1; sleep 1; for i in $(seq 600); do ls trig-* && exit; sleep 0.1; done' >/dev/null 2>errors
slept() { ask "$1" "SELECT $2 FROM syscall JOIN syscall_name USING(abi, nr) WHERE name='clock_nanosleep' AND dur > 7e8"; }
is "a trigger writes one snapshot, the end another" "$(ls | grep -c 'trig-')" 2
whole "trigger" trig-*-1.obs
is "what came before is in it" "$(ask trig-*-1.obs "SELECT count(*) > 0 FROM syscall JOIN syscall_name USING(abi, nr)
	WHERE name='execve'")" 1
first=$(slept trig-*-1.obs 'min(ts + dur)') took=$(slept trig-*-1.obs 'dur / 1000000, min(ts)' | cut -d , -f 1)
holds "so is the call that was slow ($took ms)" [ "$took" -ge 1000 ]
after=$(ask trig-*-1.obs "SELECT CAST((max(ts + dur) - $first) / 1e6 AS INT) FROM thread_state")
holds "and what came in the time after ($after ms)" [ "$after" -ge 300 ]
is "what the pause kept back is said" "$(ask trig-*-2.obs "SELECT value FROM recording WHERE key='triggers_suppressed'")" $(($(slept trig-*-2.obs 'count(*)') - 1))
says "why is said" "$(ask trig-*-1.obs "SELECT value FROM recording WHERE key='end'")" "syscall clock_nanosleep of thread [0-9]* took $took[.]"
said=$(ask trig-*-1.obs "SELECT value FROM recording WHERE key='end'" | sed -n 's/.*, until \([0-9:.]*\) UTC$/\1/p')
is "when is said" "$(ask trig-*-1.obs "SELECT abs((julianday(date(value) || ' ${said:-none}') - julianday(value)) * 86400e9 -
	$first) < 5e6 FROM recording WHERE key='start'")" 1
is "so that --from takes it" "$("$obsanalyze" sql --csv --from "${said:-none}" trig-*-1.obs \
	'SELECT min(ts) FROM thread_state' | tail -n 1 | tr -d '\r')" 0

# the command ends before the time after the trigger has passed
"$obsrec" -q --last 30s --trigger 'syscall clock_nanosleep > 50ms' --after 600s -o early.obs -- sleep 0.2
says "the last snapshot is that of the trigger" "$(ask early-*-1.obs "SELECT value FROM recording WHERE key='end'")" '^syscall clock_nanosleep of thread'
is "and the only one" "$(ls | grep -c 'early-')" 1

# a function that takes its time, and a wait for the CPU
"$obsrec" -q --last 30s -u "$w:probed_outer" --trigger 'call probed_outer > 1us' --after 100ms -e uprobe -o call.obs -- \
	"$w" "$work" >/dev/null
says "a slow function triggers" "$(ask call-*-1.obs "SELECT value FROM recording WHERE key='end'")" '^call probed_outer of thread'
for i in 1 2; do
	taskset -c 0 sh -c 'while :; do :; done' &
	burners="${burners:-} $!"
done
taskset -c 0 "$obsrec" -q --last 30s --trigger 'runq > 2ms' --after 100ms -e sched -d 8 -o runq.obs -- \
	sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
# shellcheck disable=SC2086 # a list
kill $burners
says "a wait in the run queue triggers" "$(ask runq-*-1.obs "SELECT value FROM recording WHERE key='end'")" '^runq of thread'

# what cannot be written is printed, and recording continues
mkdir small
if mount -t tmpfs -o size=200k none small 2>/dev/null; then
	"$obsrec" --last 10s -a -o small/full.obs 2>errors &
	rec=$!
	until_flying $rec
	sleep 1
	kill -USR2 $rec
	until_true grep -q 'not enough free space' errors
	holds "a full disk does not end it" kill -0 $rec
	kill -INT $rec
	wait $rec
	says "it is said" "$(cat errors)" 'not enough free space'
	is "nothing half written is left" "$(ls small | wc -l)" 0
	umount small
else
	echo "not ok cannot mount a small tmpfs"
fi
"$obsrec" -q --trigger 'runq > 1ms' -a 2>err
is "--trigger without --last: exit status" $? 1
"$obsrec" -q --last 5s --trigger 'nonsense > 1ms' -a 2>err
says "a trigger that means nothing" "$(cat err)" 'needs .syscall NAME > 100ms'
"$obsrec" -q --last 5s --trigger 'call nowhere > 1ms' -u "$w:probed_outer" -a 2>err
says "a trigger on what is not probed" "$(cat err)" 'names the function nowhere, which no -u or -U records'
for name in workload:probed_outer "$w:probed_outer" malloc libc.so.6:malloc; do
	"$obsrec" -q --last 5s --trigger "call $name > 1m" -u "$w:probed_outer" -u libc.so.6:malloc -o "named$((n += 1)).obs" -- \
		true 2>err
	is "a trigger on $name: exit status" $? 0
done
"$obsrec" -q --last 5s --trigger 'call probed_outer > 1ms' -u "$w:probed_outer" --returns never -a 2>err
is "a trigger on a function without returns: exit status" $? 1
says "a trigger on a function without returns" "$(cat err)" 'returns are not recorded: --returns never'
