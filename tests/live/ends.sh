#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How recordings end: signals, kill, full disk, pipe, exit status; and what is refused.
. "$(dirname "$0")/lib.sh"

flood() { # a process that makes system calls until it is killed; an emulated processor has to record them, too
	if [ "$slow" -gt 1 ]; then
		sh -c 'while :; do dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null; sleep 0.1; done' &
	else
		dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
	fi
	flood=$!
}

flood
for signal in INT TERM HUP QUIT; do
	for round in 1 2 3 4 5 6 7 8 9 10; do # a host that gives it no CPU makes it slow: such a round is printed and repeated
		rm -f "$work/$signal.obs"
		env --default-signal=HUP "$obsrec" -p $flood -o "$work/$signal.obs" 2>"$work/err" &
		rec=$!
		until_begun "$work/$signal.obs"
		sleep 1.5
		killed=$(date +%s%N)
		kill -$signal $rec
		wait $rec
		status=$?
		took=$((($(date +%s%N) - killed) / 1000000))
		[ $took -lt $((2000 * slow)) ] && break
		echo "# round $round: ended after $took ms"
	done
	is "SIG$signal: exit status" $status 0
	holds "SIG$signal: finished within $((2 * slow)) s ($took ms)" [ $took -lt $((2000 * slow)) ]
	answered=$(ask "$work/$signal.obs" "WITH r AS (SELECT max(CAST(value AS INT)) FILTER (WHERE key='start_realtime_ns') + max(CAST(value AS INT)) FILTER
		(WHERE key='stopped') - max(CAST(value AS INT)) FILTER (WHERE key='start_monotonic_ns') AS at FROM recording) SELECT (at - $killed) / 1000000 FROM r")
	holds "SIG$signal: the recording ends within $slow s ($answered ms)" [ "$answered" -ge 0 -a "$answered" -lt $((1000 * slow)) ]
	says "SIG$signal: summary names the next command" "$(cat "$work/err")" 'obsanalyze report'
	holds "SIG$signal: complete" sh -c "'$obsanalyze' verify '$work/$signal.obs' >/dev/null"
done

# a hangup that nohup has it ignore; the interrupt that ends it before it records anything
nohup "$obsrec" -q -p $flood -o "$work/nohup.obs" >/dev/null 2>&1 &
rec=$!
until_begun "$work/nohup.obs"
kill -HUP $rec
sleep 1.5
holds "nohup: SIGHUP does not end it" kill -0 $rec
kill -INT $rec
wait $rec
is "nohup: exit status" $? 0
"$obsrec" -q -p $flood -o "$work/early.obs" &
rec=$!
until_true sh -c "! grep -q '^SigIgn:.*[2367abef]$' /proc/$rec/status"
kill -INT $rec
until_true sh -c "! kill -0 $rec"
holds "SIGINT while it starts: ended" sh -c "! kill -0 $rec 2>/dev/null"
wait $rec

"$obsrec" -q -p $flood -o "$work/kill.obs" &
rec=$!
until_begun "$work/kill.obs"
sleep 4
killed=$(date +%s.%N)
kill -9 $rec
wait $rec 2>/dev/null
"$obsanalyze" verify "$work/kill.obs" >"$work/verify"
is "SIGKILL: verify's exit status" $? 3
says "SIGKILL: verify says it was cut" "$(cat "$work/verify")" 'is truncated'
"$obsanalyze" report "$work/kill.obs" >"$work/report" 2>"$work/err"
is "SIGKILL: report's exit status" $? 3
says "SIGKILL: report says TRUNCATED" "$(cat "$work/report")" 'TRUNCATED'
start=$("$obsanalyze" sql --csv "$work/kill.obs" "SELECT value FROM recording WHERE key='start'" 2>/dev/null | tail -n 1 | tr -d '\r"')
last=$("$obsanalyze" sql --csv "$work/kill.obs" "SELECT max(ts) FROM syscall" 2>/dev/null | tail -n 1 | tr -d '\r')
missing=$(awk -v k="$killed" -v s="$(date -d "$start" +%s.%N)" -v l="$last" 'BEGIN { printf "%d", (k - s - l / 1e9) * 1000 }')
holds "SIGKILL: readable up to the last second (the last $missing ms are missing)" \
	sh -c "[ $missing -lt 1000 ] && [ $missing -gt -100 ]"

mkdir "$work/small"
if mount -t tmpfs -o size=600k none "$work/small" 2>/dev/null; then
	"$obsrec" -q --min-free 1 -p $flood -d 120 -o "$work/small/full.obs" 2>"$work/err"
	is "full disk: exit status" $? 1
	says "full disk: the sentence" "$(cat "$work/err")" 'No space left'
	"$obsanalyze" verify "$work/small/full.obs" >"$work/verify"
	is "full disk: readable" $? 3
	says "full disk: records are there" "$(tail -n 1 "$work/verify")" ' [0-9]\{4,\} records'
	umount "$work/small"
	mount -t tmpfs -o size=24m none "$work/small"
	"$obsrec" -q -p $flood -d 20 -o "$work/small/least.obs" 2>"$work/err"
	is "--min-free by default: exit status" $? 1
	says "--min-free by default: the sentence" "$(cat "$work/err")" '--min-free'
	"$obsrec" --min-free 23M -p $flood -d $((600 * slow)) -o "$work/small/least.obs" 2>"$work/err"
	is "--min-free: exit status" $? 0
	says "--min-free: the reason" "$(cat "$work/err")" 'free space'
	holds "--min-free: complete" sh -c "'$obsanalyze' verify '$work/small/least.obs' >/dev/null"
	umount "$work/small"
else
	echo "not ok cannot mount a small tmpfs"
fi

# a flood that runs while the recorder gets no CPU is lost: such a round is printed and repeated
for round in 1 2 3 4 5 6 7 8 9 10; do
	"$obsrec" -q -p $flood -d 1 -o - | "$obsanalyze" verify - >"$work/verify"
	grep -q '^LOSSY' "$work/verify" || break
	echo "# round $round: $(tail -n 1 "$work/verify")"
done
says "pipe: complete on the other side" "$(tail -n 1 "$work/verify")" '^COMPLETE'
"$obsrec" -q -p $flood -d 10 -o - 2>"$work/err" | head -c 1000 >/dev/null
says "pipe: a reader that goes away ends it" "$(cat "$work/err")" 'Broken pipe'
"$obsrec" -q -p $flood -d 10 --max-size 300K -o "$work/size.obs"
holds "--max-size ends it" sh -c "[ $(stat -c %s "$work/size.obs") -lt 3000000 ] && '$obsanalyze' verify '$work/size.obs' >/dev/null"

kill $flood

"$obsrec" -q -o "$work/c1.obs" -- sh -c 'exit 7'
is "command's exit status" $? 7
is "the command is shown as it can be given again" "$("$obsanalyze" info "$work/c1.obs" | sed -n "s/.*command: .* -- //p")" "sh -c 'exit 7'"
"$obsrec" -q -o "$work/c2.obs" -- sh -c 'kill -TERM $$'
is "command's signal" $? 143
"$obsrec" -q -o "$work/c3.obs" -- /no/such/command 2>"$work/err"
is "command that does not exist: exit status" $? 1
says "command that does not exist: sentence" "$(cat "$work/err")" 'cannot execute /no/such/command'
"$obsrec" -q -o "$work/c3.obs" -- no-such-command 2>"$work/err"
is "command that is not in PATH: exit status" $? 1
says "command that is not in PATH: sentence" "$(cat "$work/err")" 'cannot execute no-such-command: No such file'
"$obsrec" -q -o "$work/c3.obs" -- /etc/passwd 2>"$work/err"
says "command that is no program: sentence" "$(cat "$work/err")" 'cannot execute /etc/passwd: Permission denied'
is "such a command leaves no recording" "$(ls "$work" | grep -c '^c3')" 0

refused() { # description, status, pattern, arguments...
	what=$1 status=$2 pattern=$3
	shift 3
	"$obsrec" -q "$@" >"$work/out" 2>"$work/err"
	is "$what: exit status" $? "$status"
	says "$what: sentence" "$(cat "$work/err")" "$pattern"
	is "$what: one line" "$(wc -l <"$work/err")" 1
}
refused "no such process" 1 'no process 999999' -p 999999 -d 1 -o "$work/x.obs"
refused "no such function" 1 'nearest names are.*probed_outer' -d 1 -a -o "$work/x.obs" \
	-u "$top/.output/workload:probed_outr"
refused "no such binary" 1 'No such file' -d 1 -a -o "$work/x.obs" -u /no/such:main
refused "no binary at all" 1 'is not an ELF' -d 1 -a -o "$work/x.obs" -u /etc/passwd:main
refused "unknown group" 1 'no event class bananas; available: syscalls' -a -e bananas -o "$work/x.obs"
refused "no duration" 1 'needs a time' -a -d 0 -o "$work/x.obs"
refused "a duration below zero" 1 'needs a time' -a -d -1 -o "$work/x.obs"
refused "no number of a process" 1 'needs process ids' -p 0 -o "$work/x.obs"
refused "no process id, as of pidof for no process" 1 "pidof and pgrep print none" -p "" -o "$work/x.obs"
refused "a name that no thread can have" 1 'keeps 15 bytes' --comm sixteen-letters- -d 1 -o "$work/x.obs"
refused "a cgroup without a name" 1 'needs a name' --cgroup '' -d 1 -o "$work/x.obs"
refused "rings too large" 1 'from 4K to 512M' -a -d 1 --ring 1G -o "$work/x.obs"
refused "more room than there is" 1 'smaller --min-free' -a -d 1 --min-free 999999G -o "$work/x.obs"
refused "a file system that takes no files" 1 'cannot create the recording' -a -d 1 -o /proc/x.obs
refused "existing output" 1 'exists already' -a -d 1 -o "$work/c1.obs"
ln -s "$work/elsewhere" "$work/link.obs"
refused "a link as output" 1 'link.obs' -a -d 1 -o "$work/link.obs"
is "nothing was left behind" "$(ls "$work" | grep -c '^x.obs\|^elsewhere')" 0
chmod 755 "$work"
cp "$obsrec" "$work/obsrec.copy"
if command -v setpriv >/dev/null; then
	setpriv --reuid 65534 --regid 65534 --clear-groups "$work/obsrec.copy" -q -a -d 1 -o /tmp/x.$$.obs 2>"$work/err"
	is "no rights: exit status" $? 2
	says "no rights: sentence names the capabilities" "$(cat "$work/err")" 'CAP_BPF and CAP_PERFMON'
fi
if unshare -p -f --mount-proc true 2>/dev/null; then
	unshare -p -f --mount-proc "$obsrec" -q -o "$work/x.obs" -- true 2>"$work/err"
	is "a container's process numbers: exit status" $? 2
	says "a container's process numbers: sentence" "$(cat "$work/err")" 'pid=host'
	unshare -p -f --mount-proc "$obsrec" doctor --json >"$work/doctor"
	is "a container's process numbers: doctor's exit status" $? 2
fi
"$obsrec" --comm no-such-name -d 0.2 -o "$work/unmatched.obs" 2>"$work/err"
is "no process has the name: exit status" $? 0
says "no process has the name: a note says so" "$(cat "$work/err")" 'no process matches yet'
is "mode of a recording" "$(stat -c %a "$work/c1.obs")" 600
