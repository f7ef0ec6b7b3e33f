#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The file verbs, the filters and the cache of obsanalyze, on a real recording: a part equals the
# same interval of the whole, parts merge to the whole again, redacting changes no number.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
sub=${SUB:-}
if [ -n "$sub" ]; then o=$top/.output$sub/obsanalyze; else o=$top/obsanalyze; fi
pack=$top/.output$sub/pack
whole=$top/testdata/demo.obs
export XDG_CACHE_HOME="$work/cache"
cd "$work" || exit 1
# what was measured and found, without what a file is called and how large it is
numbers() { $o report --json --no-cache "$@" | grep -E '"(analysis|subject|value|sentence)"'; }
all="SELECT tid, state.name, sum(min(ts + dur, 1200000000) - max(ts, 800000000)) FROM thread_state"
all="$all JOIN state ON state.id = state WHERE ts < 1200000000 AND ts + dur > 800000000 GROUP BY 1, 2"

numbers "$whole" >numbers
lines=$(wc -l <numbers)
is "the whole has numbers" "$([ "$lines" -gt 100 ] && echo yes)" yes

is "a command that does not exist is printed escaped" "$($o "$(printf 're\033[1m')" 2>&1)" \
	'obsanalyze: there is no command re\x1b[1m; obsanalyze --help lists them'

# cut
$o cut -o all.obs "$whole" 2>/dev/null
is_empty "a part without limits is the whole" "$(numbers all.obs | cmp - numbers 2>&1)"
is "cut makes a file for its owner only" "$(stat -c %a all.obs)" 600
$o cut --from 800ms --to +1.2s -o part.obs "$whole" 2>/dev/null
is "a part is whole" "$($o verify part.obs | tail -n 1 | cut -d: -f1)" COMPLETE
is "states in a part are those of the interval, to the ns" \
	"$($o sql --csv part.obs "SELECT tid, state.name, sum(dur) FROM thread_state JOIN state ON state.id = state GROUP BY 1, 2" | tail -n +2)" \
	"$($o sql --csv "$whole" "$all" | tail -n +2)"
is "calls in a part are those that return in the interval" \
	"$($o sql --csv part.obs "SELECT nr, count(*) FROM syscall WHERE ts + dur < 400000000 GROUP BY 1" | tail -n +2)" \
	"$($o dump --json --from 800ms --to 1.2s "$whole" | grep -E '"event": "syscall(_args)?"' |
		grep -oE '"nr": [0-9]+' | sort | uniq -c | awk '{ printf "%d,%d\r\n", $3, $1 }' | sort -n)"
is "report --from --to is the report of the part" "$(numbers --from 0.8 --to 1.2 "$whole" | md5sum)" \
	"$(numbers part.obs | md5sum)"
is "the head says that it is a part" "$($o report -v part.obs | grep -c '^Only a part of the recording: from 0.8 s, to 1.2 s$')" 1
is "who is there is known at the begin of a part" \
	"$($o sql --csv part.obs "SELECT pid, cmdline FROM process WHERE pid = 6395" | tail -n 1)" \
	"$($o sql --csv "$whole" "SELECT pid, cmdline FROM process WHERE pid = 6395" | tail -n 1)"

# the same filters for the other verbs
is "a part is redacted, migrated or repaired as if it was cut first" \
	"$(for v in redact migrate repair; do
		$o $v --from 800ms --to +1.2s -o some.obs "$whole" 2>/dev/null
		numbers some.obs | md5sum
		rm -f some.obs
	done | sort -u)" "$(numbers part.obs | md5sum)"
is "and described and checked" \
	"$($o info --from 800ms --to +1.2s "$whole" | sed 1,2d | md5sum; $o verify --from 800ms --to +1.2s "$whole" | md5sum)" \
	"$($o info part.obs | sed 1,2d | md5sum; $o verify part.obs | md5sum)"

# losses stay where they were, and who is there is known, whatever happened before
cat >loss.txt <<-'END'
	@recorder
	900 0 info text="targets=all"
	902 0 info text="begin=1000"
	@cpu 0
	@lost 4
	1000 7 syscall nr=read fd=3 ret=1 dur=10
	1500 0 counters group=syscalls seen=5 emitted=1 lost_full=4
	@block
	2000 7 syscall nr=read fd=3 ret=1 dur=10
	2500 0 counters group=syscalls seen=6 emitted=2 lost_full=4
	@block
	@lost 9
	3000 7 syscall nr=read fd=3 ret=1 dur=10
	3200 7 syscall nr=read fd=3 ret=1 dur=10
	3500 0 counters group=syscalls seen=13 emitted=4 lost_full=9
	@block
	4000 7 syscall nr=read fd=3 ret=1 dur=10
	5000 0 counters group=syscalls seen=14 emitted=5 lost_full=9
END
"$pack" loss.txt loss.obs
is "losses stay where they were" "$(for t in '--to 500ns' '--from 900ns --to 1800ns' '--from 900ns' '--from 2100ns --to 2500ns' '--from 2700ns'; do
	# shellcheck disable=SC2086 # two words each
	$o cut --force $t -o loss-cut.obs loss.obs 2>/dev/null
	$o verify loss-cut.obs | sed -n 's/.*: \([0-9]* records\) in .*, \([0-9]* events lost\).*/\2/p'
done)" "4 events lost
0 events lost
5 events lost
5 events lost
0 events lost"
cat >who.txt <<-'END'
	@recorder
	900 0 info text="targets=100"
	900 0 info text="follow=1"
	901 100 thread pid=100 state=83 uid=33 comm="parent" cmdline="parent -x"
	901 100 fd pid=100 fd=3 mode=0100000 ino=5 path="/a"
	902 0 info text="begin=1000"
	@cpu 0
	2000 100 fork child=101 child_pid=101 pid=100 uid=33 comm="parent"
	2100 101 exec pid=101 old_tid=101 comm="child" filename="/bin/child"
	2200 100 syscall nr=close fd=3 ret=0
	2300 101 rename comm="renamed"
	2400 100 fork child=102 child_pid=100 pid=100 comm="short"
	2500 102 exit pid=100
	2600 101 fd pid=101 fd=4 mode=0100000 ino=6 path="/b"
	3000 101 syscall nr=read fd=4 ret=1 dur=10
	3100 100 syscall nr=read fd=0 ret=1 dur=10
END
"$pack" who.txt who.obs
$o cut --from 1900ns -o who-cut.obs who.obs 2>/dev/null
is "threads and descriptors at the begin of a part" \
	"$($o dump who-cut.obs | sed -n 's/^2802 \([0-9]* thread\) .* pid=\([0-9]*\) parent=\([0-9]*\) uid=\([0-9]*\) .*\(comm="[^"]*"\).* \(target=.\).* \(cmdline=.*\)/\1 \2 \3 \4 \5 \6 \7/p; s/^2802 [0-9]* fd .* \(pid=[0-9]* fd=[0-9]*\) .* \(path=.*\)/\1 \2/p')" \
'100 thread 100 0 33 comm="parent" target=1 cmdline="parent -x"
101 thread 101 100 33 comm="renamed" target=1 cmdline="/bin/child"
pid=101 fd=3 path="/a"
pid=101 fd=4 path="/b"'
is "children come with their parent" "$($o dump --pid 100 -e syscall --from 1900ns who.obs | cut -d' ' -f2 | tr '\n' ' ')" "101 100 "
is "and stay away with --no-follow" "$($o dump --pid 100 --no-follow -e syscall --from 1900ns who.obs | cut -d' ' -f2)" 100
is "a filtered report has them, too" "$($o sql --csv --pid 100 who.obs 'SELECT pid, sum(n) FROM syscall_stat GROUP BY 1' 2>&1 | tail -n +2 | tr -d '\r')" "100,2
101,1"

# stacks are in the recorder's stream, late; the counters of their CPU have them, those of ended threads too
cat >stacks.txt <<-'END'
	@recorder
	900 0 info text="targets=100"
	901 100 thread pid=100 state=83 comm="parent"
	902 0 info text="begin=1000"
	903 0 stack id=1 frame=1
	903 0 frame id=1 address=16
	@cpu 0
	1100 100 syscall nr=read fd=3 ret=1 dur=10
	3100 100 exit pid=100
	3500 0 counters group=cpu seen=5 emitted=4 lost_full=1
	@recorder
	3600 0 self
	1500 100 sample pid=100 user_stack=1 weight=10
	2000 7 sample pid=7 user_stack=1 weight=10
	2500 100 offcpu pid=100 user_stack=1 dur=1000
	3000 100 sample pid=100 user_stack=1 weight=10
END
"$pack" stacks.txt stacks.obs
is "stacks of a part are those of its time and threads" "$(for t in '' '--from 1us --to 1.6us' '--pid 100' '--pid 100 --from 900ns'; do
	# shellcheck disable=SC2086 # two words each
	$o cut --force $t -o stacks-cut.obs stacks.obs 2>/dev/null
	$o verify stacks-cut.obs | sed -n 's/^DAMAGED.*/&/p; s/^cpu *\([A-Z]*\) *\([0-9]*\) *\([0-9]*\).*/\1 \2 \3/p'
	for e in sample offcpu; do $o dump -e $e stacks-cut.obs | cut -d' ' -f1-3; done
done)" "LOSSY 4 1
1500 100 sample
2000 7 sample
3000 100 sample
2500 100 offcpu
LOSSY 2 1
2000 7 sample
2500 100 offcpu
LOSSY 3 1
1500 100 sample
3000 100 sample
2500 100 offcpu
LOSSY 2 1
3000 100 sample
2500 100 offcpu"

cat >groups.txt <<-'END'
	@recorder
	900 0 info text="targets=all"
	901 0 cgroup id=5 path="/system.slice/web.service"
	901 0 cgroup id=6 path="/system.slice/web.service/worker"
	901 0 cgroup id=7 path="/system.slice/webmail.service"
	902 100 thread pid=100 state=83 comm="a" cgroup=5 target=1
	902 200 thread pid=200 state=83 comm="b" cgroup=7 target=1
	902 300 thread pid=300 state=83 comm="c" cgroup=6 target=1
	902 400 thread pid=400 state=83 comm="d" cgroup=7 target=1
	@cpu 0
	1000 100 syscall nr=read fd=3 ret=1 dur=10
	1100 200 syscall nr=read fd=3 ret=1 dur=10
	1200 300 syscall nr=read fd=3 ret=1 dur=10
	1300 1 cgroup_move cgroup=6 target=400
	1400 400 syscall nr=read fd=3 ret=1 dur=10
END
"$pack" groups.txt groups.obs
for g in /system.slice/web.service /sys/fs/cgroup/system.slice/web.service/; do
	is "threads of a control group and those below: $g" \
		"$($o dump --cgroup $g -e syscall groups.obs | cut -d' ' -f2 | tr '\n' ' ')" "100 300 400 "
done
printf '@recorder\n900 0 info text="targets=chosen"\n901 100 thread pid=100 comm="a"\n@cpu 0\n1000 100 rename comm="b" target=1\n1100 100 syscall nr=read fd=3 ret=1\n' >late.txt
"$pack" late.txt late.obs
is "who becomes a target later can be chosen from then on" "$($o dump --comm b late.obs | cut -d' ' -f1,3 | tr '\n' ' ')" "1000 rename 1100 syscall "
is "a control group that is not there" "$($o cut --cgroup /x -o x.obs groups.obs 2>&1; echo $?)" \
	"obsanalyze: the recording knows no cgroup /x
1"

# cut and merge
$o cut --to 0.9 -o a.obs "$whole" 2>/dev/null
$o cut --from 0.9 -o b.obs "$whole" 2>/dev/null
$o merge -o ab.obs b.obs a.obs 2>/dev/null
is_empty "two parts merge to the whole" "$(numbers ab.obs | cmp - numbers 2>&1)"
is "and hold" "$($o verify ab.obs >/dev/null; echo $?)" 0
$o merge --thread 6402 -o thread.obs a.obs b.obs 2>/dev/null
is "of each of those merged only the thread that is meant" \
	"$($o dump -e syscall_args thread.obs | md5sum)" "$($o dump --thread 6402 -e syscall_args "$whole" | md5sum)"
is "recordings of one time and host are not merged" \
	"$($o merge -o x.obs "$whole" part.obs 2>&1 | grep -c 'on one host at the same time'; ls x.obs* 2>&1 | grep -c cannot)" "1
1"

# two hosts: the same, redacted (another boot id), with an offset of one second by the wall clock
cat >host.txt <<-'END'
	@recorder
	900 0 info text="targets=all"
	900 0 info text="boot_id=one"
	900 0 clock monotonic=900 realtime=5000000900 spread=10
	@cpu 0
	1000 7 rename comm="seven"
	2000 7 syscall nr=read fd=3 ret=1 dur=10
	@recorder
	1100 0 psi some=1000
	1200 0 host_memory stalls=5
	1900 0 psi some=1070
	1910 0 host_memory stalls=8
END
sed 's/boot_id=one/boot_id=two/; s/realtime=5000000900/realtime=6000000900/; s/cpu 0/cpu 3/' host.txt >host2.txt
"$pack" host.txt h1.obs && "$pack" host2.txt h2.obs
$o merge -o hh.obs h1.obs h2.obs 2>offsets
is "hosts are told apart, on one clock" "$($o dump -e syscall hh.obs | cut -d' ' -f1,2)" "2000 7
1000002000 10000007"
is "readings of each host stay separate" "$($o sql --csv hh.obs "SELECT
	(SELECT group_concat(some || ' ' || first_cpu) FROM psi WHERE cgroup IS NULL) || ' ' ||
	(SELECT group_concat(hit_max || ' ' || first_cpu) FROM memory) AS t" | tail -n 1 | tr -d '\r"')" "70 0,70 1000 3 0,3 1000"
is "the offset is printed" "$(grep -c '^h2.obs: host unknown, process ids +10000000, CPUs +1000, clock +1.000000000 s' offsets)" 1
is "the offset is stored" "$($o info hh.obs | grep clock_shift)" "1.clock_shift_ns: 0
2.clock_shift_ns: 1000000000"

# one host, twice, with a gap of ten seconds: its content is unknown
for begin in 1 11; do
	cat >row$begin.txt <<-END
		@recorder
		${begin}000000000 0 info text="targets=all"
		${begin}000000000 0 info text="groups=core,sched,syscalls"
		${begin}000000000 0 info text="boot_id=row"
		${begin}000000000 0 info text="begin=${begin}000000000"
		${begin}000000000 0 clock monotonic=${begin}000000000 realtime=5000000900 spread=10
		${begin}000000001 7 thread pid=7 state=83 comm="seven"
		${begin}000000002 7 fd pid=7 fd=5 mode=0140000 ino=1 family=2 role=2 socktype=1 sport=80 dport=9
		${begin}900000000 0 info text="stopped=${begin}900000000"
		@cpu 0
		${begin}000000000 0 switch next=7
		$(for i in $(seq -w 0 5 899); do
			echo "${begin}${i}000000 7 syscall nr=read fd=5 ret=20"
			echo "${begin}${i}500000 7 syscall nr=write fd=5 ret=20"
		done)
		${begin}899000000 7 switch next=0 state=1
	END
	"$pack" row$begin.txt row$begin.obs
done
$o merge -o row.obs row1.obs row11.obs 2>/dev/null
is "the time between recordings in a row is told" \
	"$($o sql --csv row.obs "SELECT DISTINCT ts / 100000000, dur / 100000000 FROM loss WHERE reason='gap'" | tail -n 1 | tr -d '\r')" "9,91"
is "it has no known state" "$($o sql --csv row.obs "SELECT sum(t.dur) >= 9100000000 FROM thread_state t JOIN state s ON s.id=t.state
	WHERE s.name='unknown' AND t.tid=7" | tail -n 1 | tr -d '\r')" 1
is "rates are of the time that was recorded" "$($o sql --csv row.obs "SELECT CAST(round(value) AS INTEGER) FROM metric
	WHERE analysis='rps' AND name IN ('requests','exchanges')" | tail -n 1 | tr -d '\r')" 200
is "the report says so" "$($o report row.obs | tr -s ' \n' ' ' | grep -c 'nothing was recorded for 9.10 s, between merged recordings')" 1
$o redact -o hidden.obs row.obs 2>/dev/null
is "also when it was redacted" "$($o report hidden.obs | tr -s ' \n' ' ' | grep -c 'between merged recordings')" 1

is "what was merged of several hosts is not merged again" "$($o merge -o x.obs hh.obs "$whole" 2>&1; echo $?)" \
	"obsanalyze: hh.obs was merged of several hosts: merge the recordings that it was made of, all at once
1"

for h in 1 2; do
	sed "0,/^@recorder/s//@recorder\n899 0 info text=\"boot_id=b$h\"\n899 0 clock monotonic=899 realtime=1700000000000 spread=3/" \
		"$top/testdata/calls.txt" >calls$h.txt
	"$pack" calls$h.txt calls$h.obs
done
$o merge -o calls.obs calls1.obs calls2.obs 2>/dev/null
calls="FROM call JOIN site ON site = id GROUP BY tid, function ORDER BY tid, function"
is "functions of each host are timed apart" \
	"$($o sql --csv calls.obs "SELECT tid % 10000000, function, count(*), sum(dur), sum(run), sum(futex) $calls")" \
	"$($o sql --csv calls1.obs "SELECT tid, function, count(*), sum(dur), sum(run), sum(futex) $calls" |
		awk 'NR == 1 { sub("\"tid\"", "\"tid % 10000000\"") } { print } NR > 1 { all = all $0 "\n" } END { printf "%s", all }')"

# redact
$o redact -o r.obs "$whole" 2>/dev/null
is_empty "redacting changes no number" "$(numbers r.obs | cmp - numbers 2>&1)"
is "redacted words are gone" "$($o dump r.obs | grep -cE 'demo/redis|redis-server 127|/proc|"host=vm"')" 0
is "the report says so" "$($o report -v r.obs | grep -c '^Redacted: command lines, paths, addresses, host name$')" 1
is "what was one file is one file" \
	"$($o sql --csv r.obs "SELECT count(DISTINCT path) FROM fd")" "$($o sql --csv "$whole" "SELECT count(DISTINCT path) FROM fd")"
head -c 32 /dev/urandom >key
$o redact --names --key key -o k1.obs "$whole" 2>/dev/null
$o redact --names --key key -o k2.obs "$whole" 2>/dev/null
is "one key, the same words" "$($o dump k1.obs | md5sum)" "$($o dump k2.obs | md5sum)"
is "names go with --names" "$($o dump k1.obs | grep -c '"redis-server"')" 0

# bounded memory: with six hosts at once, less than two thirds of what their records take
peak() { # command...: KiB
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
if [ -z "$sub" ]; then
	for i in 1 2 3 4 5; do $o redact -o "host$i.obs" "$whole" 2>/dev/null; done
	used=$(peak $o merge -o six.obs "$whole" host?.obs)
	limit=$(($($o info six.obs | sed -n 's/^record_bytes: //p') / 1536))
	for verb in merge info verify dump "cut -o some.obs" "redact -o some.obs" "migrate -o some.obs" "repair -o some.obs"; do
		# shellcheck disable=SC2086 # a verb and its options
		[ "$verb" = merge ] || used=$(peak $o $verb six.obs)
		is "memory of ${verb%% *}: ${used:-?} KiB, of $limit" "$([ "${used:-$limit}" -lt "$limit" ] && echo bounded)" bounded
		rm -f some.obs
	done
	rm -f six.obs host?.obs
fi

# migrate
$o migrate -o m.obs "$whole" 2>/dev/null
is_empty "migrating changes no number" "$(numbers m.obs | cmp - numbers 2>&1)"

# repair: wherever it is cut, all that could be read is in the repaired one
size=$(stat -c %s "$whole")
lost=0
for i in 1 2 3 4 5 6; do
	head -c $((size * i / 7 + i)) "$whole" >cut.obs
	$o dump cut.obs 2>/dev/null | grep -v ' info text="repaired=' >before
	$o repair --force -o repaired.obs cut.obs 2>/dev/null || lost=1
	$o dump repaired.obs 2>/dev/null | grep -v ' info text="repaired=' | cmp -s - before || lost=1
	[ -s before ] || lost=1
	$o report -v repaired.obs >report || lost=1
	grep -q '^TRUNCATED' report || lost=1
done
for verb in redact migrate merge; do
	other=
	[ $verb = merge ] && other=r.obs
	# shellcheck disable=SC2086 # none or one
	is "$verb takes what can be read of a cut recording, and says so" \
		"$($o $verb --force -o taken.obs cut.obs $other 2>&1 | grep -c '^obsanalyze: cut.obs is truncated or damaged')
$($o $verb --force -o taken.obs cut.obs $other >/dev/null 2>&1; echo $?) $($o verify taken.obs | tail -n 1 | cut -d: -f1)" "1
3 TRUNCATED"
done
is "repairing loses nothing and hides nothing" $lost 0
python3 -c "import sys; d = bytearray(open('$whole', 'rb').read()); d[300000] ^= 255; sys.stdout.buffer.write(d)" >damaged.obs
is "redacting a damaged recording asks to repair it" "$($o redact -o x.obs damaged.obs 2>&1; echo $?)" \
	"obsanalyze: block 10 of the recording is damaged: obsanalyze repair makes a recording without it
3"
$o repair -o x.obs damaged.obs 2>/dev/null
is "a damaged block is left out and missed" "$($o verify x.obs | grep -c 'are not contiguous')" 1

# files
is "nothing is replaced" "$($o cut -o part.obs "$whole" 2>&1; echo $?)" \
	"obsanalyze: part.obs exists already; name another file with -o, or use --force
1"
$o cut --to 1 --force -o part.obs "$whole" 2>/dev/null
is "unless that was asked for" "$($o info part.obs | grep -c '^excerpt: to 1 s$')" 1
$o cut --to 1 -o - "$whole" 2>/dev/null >pipe.obs
is "standard output is a file like others" "$($o dump pipe.obs | md5sum)" "$($o dump part.obs | md5sum)"
$o load -o whole.db "$whole"
for form in --json -vm; do
	is "a full disk leaves no half report ($form)" "$( (trap '' XFSZ; ulimit -f 1; $o report $form -o half whole.db) 2>&1; echo $?; ls half 2>&1)" \
		"obsanalyze: cannot write half: File too large
1
ls: cannot access 'half': No such file or directory"
done
is "a full disk leaves no tables, and no directory that was made for them" \
	"$( (trap '' XFSZ; ulimit -f 64; $o export -f csv -o tables whole.db) 2>&1 | grep -c 'cannot write tables/.*csv: File too large'; ls -d tables 2>&1)" \
	"1
ls: cannot access 'tables': No such file or directory"
mkdir mine && : >mine/thread.csv
is "what was there stays" "$($o export -f csv -o mine whole.db 2>&1 | grep -c 'exists already'; ls mine)" "1
thread.csv"
for p in 999999998 999999999 $$; do echo half >"killed.db.part-$p"; done
touch -d '10 minutes ago' killed.db.part-99999999[89] killed.db.part-$$ && touch killed.db.part-999999998
$o load -o killed.db part.obs
is "what a killed program left is swept by the next, but nothing of another's" "$(echo killed.db*)" \
	"killed.db killed.db.part-$$ killed.db.part-999999998"
rm -f killed.db*
is "names of files in errors are safe on a terminal" "$($o report "$(printf 'no\n\033[31m')" 2>&1)" \
	'obsanalyze: cannot open the recording no\x0a\x1b[31m: No such file or directory'
ln -s part.obs link.obs
is "a link is not followed" "$($o cut -o link.obs "$whole" 2>&1 | grep -c 'exists already')" 1
is "nothing half is left" "$(find . -name '*.part-*' | wc -l)" 0
is "a pipe with a name is a recording like others" \
	"$(mkfifo fifo && { cat part.obs >fifo & } && numbers fifo | md5sum)" "$(numbers part.obs | md5sum)"
is "a directory is none, and errors name the file" \
	"$($o info . 2>&1; echo $?; : >nothing; $o compare part.obs nothing 2>&1; echo $?)" \
	"obsanalyze: . is a directory, not a recording
1
obsanalyze: nothing: the file is empty
3"
$o load -o part.db part.obs 2>/dev/null
is "a database is no recording" "$($o redact -o x2.obs part.db 2>&1; echo $?)" \
	"obsanalyze: part.db: this is a database; the command needs the recording itself
3"
is "printing nothing is explained" "$($o dump --tid 4000000 "$whole" 2>&1; echo $?)" \
	"obsanalyze: no record matches
0"

# filters
is "threads by name" "$($o dump --comm 'jemalloc*' -e syscall_args "$whole" | cut -d' ' -f2 | sort -u)" 6402
is "threads by number" "$($o dump --thread 6402 --json "$whole" | grep -c '"tid": 6402, "event": "syscall')" \
	"$($o dump --tid 6402 --json "$whole" | grep -c '"event": "syscall')"
is "a name that is nobody's is refused" "$($o report --comm nobody "$whole" 2>&1; echo $?)" \
	"obsanalyze: the filter means no process or thread of which the recording has events
1"
for f in "--comm nobody" "--pid 4000000" "--thread 4000000" "--from 1h" "--from 1s --to 1s"; do
	# shellcheck disable=SC2086 # an option and its argument
	is "every command answers $f alike" \
		"$(for v in info report dump verify load 'plot -o none' export repair cut redact migrate symbols; do
			case $v in repair | cut | redact | migrate | symbols) v="$v -o x3.obs" ;; load) v="load -o x3.db" ;; esac
			$o $v $f "$whole" 2>&1 >/dev/null; echo $?
		done | sort | uniq -c | sed 's/^ *//; s/recording lasts [0-9.]* s/recording lasts/'; ls x3.* 2>&1)" \
		"12 1
12 obsanalyze: $(case $f in
			--from*) echo 'nothing lies between --from and --to: the recording lasts' ;;
			*) echo 'the filter means no process or thread of which the recording has events' ;;
		esac)
ls: cannot access 'x3.*': No such file or directory"
done
# shellcheck disable=SC2046 # two numbers
set -- $($o dump -e clock "$whole" | head -n 1 | sed 's/.* monotonic=\([0-9]*\).* realtime=\([0-9]*\).*/\1 \2/')
begin=$($o info "$whole" | sed -n 's/^begin: //p')
from=$((1795244406500000000 - $2 + $1)) # 2026-11-21T07:00:06.5Z
$o dump --from 07:00:06.5 --to 2026-11-21T08:00:07+01:00 "$whole" >by-wall
is "a time of day" "$($o dump "$whole" | awk -v f=$from '$1 >= f && $1 < f + 500000000' | cmp - by-wall 2>&1; [ -s by-wall ] && echo some)" some
is_empty "a time after the start" "$($o dump --from $((from - begin))ns --to $((from - begin + 500000000))ns "$whole" | cmp - by-wall 2>&1)"

# the cache: only of recordings of 1 MiB and more
$o redact -o other.obs "$whole" 2>/dev/null # another boot id: another host
$o merge -o large.obs "$whole" other.obs 2>/dev/null
rm -rf cache
$o report "$whole" >/dev/null
is "small recordings are not kept" "$(find cache -name '*.db' 2>/dev/null | wc -l)" 0
$o report large.obs >first
is "a database is kept" "$(find cache -name '*.db' -perm 600 | wc -l)" 1
db=$(find cache -name '*.db')
python3 -c "import sqlite3; d = sqlite3.connect('$db'); d.execute(\"UPDATE recording SET value = 'from the cache' WHERE key = 'host'\"); d.commit()"
is "and used" "$($o report large.obs | grep -q 'from the cache' && echo yes)" yes
is_empty "unless it must not be" "$($o report --no-cache large.obs | cmp - first 2>&1)"
touch -d '2020-01-01' large.obs
is_empty "or the recording changed" "$($o report large.obs | cmp - first 2>&1)"
# damage in the middle of a block, with size and time of modification as they were
rm -rf cache
$o report large.obs >/dev/null
cp -p large.obs kept.obs
at=$(($(stat -c %s large.obs) / 2))
old=$(od -An -tu1 -j $at -N 1 large.obs | tr -d ' ')
printf "$(printf '\\%03o' $((old ^ 255)))" | dd of=large.obs bs=1 seek=$at conv=notrunc 2>/dev/null
touch -r kept.obs large.obs
is "damage after a report is noticed" "$($o report large.obs >out 2>err; echo $?)" 3
is "and said" "$(grep -c 'damaged blocks skipped: 1' out)" 1
is "again, from the cache" "$($o report large.obs >again 2>err; echo $?; cmp out again 2>&1)" 3
is "which has a database of both" "$(find cache -name '*.db' | wc -l)" 2
# a database that cannot be kept once it is made
rm -rf cache
cp -p kept.obs large.obs
$o report large.obs >/dev/null
db=$(find cache -name '*.db')
rm "$db" && mkdir "$db" && : >"$db/full"
is_empty "a recording is read from its start again" "$($o report large.obs | cmp - first 2>&1)"
is_empty "and nothing is left of the first time" "$(find cache -name '*.part-*')"
rm -rf cache
: >cache # no directory: no user, not even root, can write there
is_empty "where nothing can be written, nothing is kept" "$($o report large.obs | cmp - first 2>&1)"
rm cache
is_empty "without a home, too" "$(env -u XDG_CACHE_HOME -u HOME "$o" report large.obs | cmp - first 2>&1)"
rm -rf cache
$o report large.obs >/dev/null 2>err
is_empty "no progress where no terminal is" "$(cat err)"
umask 022
cp large.obs open.obs && chmod 600 large.obs && chmod 644 open.obs
for f in large open; do
	$o report -o $f.txt $f.obs && $o export -o $f.json $f.obs && $o compare -o $f.cmp $f.obs $f.obs
	$o report --html $f.html $f.obs && $o plot -o $f.plots $f.obs
done >/dev/null 2>&1
is "what is made of a private recording is private" "$(find large.txt large.json large.cmp large.html -perm 600 | wc -l)" 4
is_empty "and its plots" "$(find large.plots -type f ! -perm 600)"
# all other writers: each format, each command that makes a file
$o cut --from 800ms --to 830ms -o tiny.obs "$whole" 2>/dev/null
mkdir made
for f in $(sed -n 's/^EXPORT("\([a-z-]*\)".*/\1/p' "$top/analyze/export/exports.def") csv; do $o export -f "$f" -o "made/$f" tiny.obs; done 2>/dev/null
for v in cut redact migrate repair symbols load; do $o $v -o made/$v tiny.obs; done 2>/dev/null
{
	$o request --html made/request slowest tiny.obs
	$o export --parquet made/parquet tiny.obs
	$o redact -o tiny-other.obs tiny.obs
	$o merge -o made/merge tiny.obs tiny-other.obs
	for f in json markdown; do $o report --$f -o made/report-$f tiny.obs; done
	$o compare --force --html made/compare tiny.obs tiny.obs
	$o compare --force --plot made/plots tiny.obs tiny.obs
} >/dev/null 2>&1
is "what each writer makes of it: some need samples or calls of functions" "$(ls -x -w 300 made | tr -s ' ')" \
	"compare csv cut folded json load merge migrate openmetrics otlp parquet perfetto plots redact repair report-json report-markdown request symbols"
is_empty "is private" "$(find made -type f ! -perm 600)"
$o report -o input.txt - <large.obs && cat open.obs | $o report -o pipe.txt - && $o report -o from.txt - <open.obs
is "of standard input that is private, or a pipe, too" "$(stat -c %a input.txt pipe.txt from.txt | tr '\n' ' ')" "600 600 644 "
is "of an open one it is open" "$(find open.txt open.json open.cmp open.html -perm 644 | wc -l)" 4
mkdir alone && cp large.obs alone
$o report alone/large.obs >/dev/null
is "nothing is written beside a recording" "$(ls alone)" large.obs

# patience: at a terminal progress is shown; a signal leaves nothing
python3 "$top/tests/check/terminal.py" "$o" "$pack" "$work" >terminal 2>&1
cat terminal
grep -q '^ok' terminal && ! grep -q '^not ok' terminal || bad=1
exit $bad
