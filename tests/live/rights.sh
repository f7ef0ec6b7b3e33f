#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Rights: CAP_BPF and CAP_PERFMON are enough, and what is not needed any more is given back.
. "$(dirname "$0")/lib.sh"
caps() { sed -n 's/^CapEff:[^0-9a-f]*\([0-9a-f]*\).*/\1/p' "/proc/$1/task/$2/status"; }

"$obsrec" -q -a -o "$work/root.obs" &
rec=$!
until_begun "$work/root.obs"
# CAP_DAC_READ_SEARCH is bit 2, CAP_SYS_PTRACE bit 19, CAP_CHECKPOINT_RESTORE bit 40; before 5.19 three more stay
major=$(uname -r | cut -d. -f1) minor=$(uname -r | cut -d. -f2)
may=$((1 << 2 | 1 << 19 | 1 << 40))
if [ "$major" -lt 5 ] || { [ "$major" -eq 5 ] && [ "$minor" -lt 19 ]; }; then
	may=$((may | 1 << 21 | 1 << 38 | 1 << 39))
fi
for task in "/proc/$rec/task"/*; do
	left=$((0x$(caps $rec "${task##*/}") & ~may))
	is "thread of the recorder: rights that are not needed" $left 0
	is "thread of the recorder: a filter of system calls" "$(sed -n 's/^Seccomp:[^0-9]*//p' "$task/status")" 2
done
holds "no new rights" grep -q '^NoNewPrivs:.*1' "/proc/$rec/status"
sleep 1
kill -INT $rec
wait $rec
is "recording goes on without them" $? 0
holds "and is complete" "$obsanalyze" verify "$work/root.obs"

"$obsrec" -q -o "$work/child.obs" -- sh -c 'grep CapEff /proc/self/status >'"$work/caps"'; grep Seccomp: /proc/self/status >'"$work/seccomp"
is "and is not filtered" "$(sed -n 's/^Seccomp:\t//p' "$work/seccomp")" "$(sed -n 's/^Seccomp:\t//p' /proc/self/status)"
is "a command keeps its rights" "$(sed 's/.*\t//' "$work/caps")" "$(caps self self 2>/dev/null || sed -n 's/^CapEff:\t//p' /proc/self/status)"

if setpriv --help 2>/dev/null | grep -q ambient-caps; then
	chmod 755 "$work"
	mkdir "$work/user"
	chown 65534 "$work/user"
	cp "$obsrec" "$work/user/obsrec"
	ulimit -l unlimited # before 5.11, rings and maps count as locked memory
	few() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+bpf,+perfmon \
		--ambient-caps=-all,+bpf,+perfmon "$@"; }
	(cd "$work/user" && few ./obsrec -q -o few.obs -- sh -c 'cat /dev/null; cat /dev/null') 2>"$work/err"
	is "CAP_BPF and CAP_PERFMON: exit status $(cat "$work/err")" $? 0
	holds "CAP_BPF and CAP_PERFMON: complete" "$obsanalyze" verify "$work/user/few.obs"
	is "CAP_BPF and CAP_PERFMON: programs recorded" "$(ask "$work/user/few.obs" "SELECT count(*) FROM thread WHERE wall IS NOT NULL AND comm='cat'")" 2
	is "CAP_BPF and CAP_PERFMON: the file is the user's" "$(stat -c %u "$work/user/few.obs")" 65534
	(cd "$work/user" && few ./obsrec doctor --json) >"$work/doctor"
	is "doctor: exit status" $? 0
	says "doctor: what is missing" "$(cat "$work/doctor")" '"rights","level":"degraded","why":"without CAP_SYS_PTRACE'
	# Debian's kernels refuse clocks to CAP_PERFMON with kernel.perf_event_paranoid=3, their default
	refused=$(grep -c 'CPU samples are not recorded: kernel.perf_event_paranoid forbids them' "$work/doctor")
	is "CPU samples are recorded, or doctor says why not" \
		"$("$obsanalyze" info "$work/user/few.obs" | sed -n 's/^sample_rate: //p')" $((99 * (1 - refused)))
	(cd "$work/user" && few ./obsrec -q -d 1 --sample-rate 50 -a -o rate.obs) 2>"$work/err"
	is "a rate that was asked for is kept or refused: exit status $(cat "$work/err")" $? $((2 * refused))
	(cd "$work/user" && few ./obsrec -q -d 1 -u ./obsrec:main -a -o u.obs) 2>"$work/err"
	is "functions need more: exit status" $? 2
	says "functions need more: sentence" "$(cat "$work/err")" CAP_SYS_ADMIN
	setpriv --reuid 65534 --clear-groups --inh-caps=-all "$work/user/obsrec" doctor >"$work/doctor"
	is "doctor without rights: exit status" $? 2
else
	echo "ok few rights # SKIP setpriv knows no ambient capabilities"
fi

"$obsrec" doctor --json >"$work/doctor"
is "doctor as root: exit status" $? 0
says "doctor: JSON names the groups" "$(cat "$work/doctor")" '{"name":"pagecache","level":"'
"$obsrec" --dry-run -a -u "$top/.output/workload:probed_outer" >"$work/plan"
is "--dry-run: exit status" $? 0
says "--dry-run: hooks" "$(cat "$work/plan")" 'sched *\(tp_btf\|raw_tp\) *sched_switch'
says "--dry-run: functions" "$(cat "$work/plan")" 'probed_outer at offset 0x'
says "--dry-run: memory" "$(cat "$work/plan")" 'memory .* rings of 8192 KB, [1-9][0-9]*[.][0-9] MB of maps'
is "--dry-run: nothing is written" "$(cd "$work" && ls | grep -c '^obs-.*\.obs$')" 0

# under sudo the recording belongs to who called it
SUDO_UID=65534 SUDO_GID=65534 "$obsrec" -q -a -d 0.2 -o "$work/sudo.obs"
is "the owner under sudo" "$(stat -c '%u %a' "$work/sudo.obs")" '65534 600'

# the cost of each program, on request
"$obsrec" -q --stats -e syscalls -o "$work/stats.obs" -- "$top/.output/workload" flood
runs=$("$obsanalyze" info "$work/stats.obs" | sed -n 's/^program.syscalls__exit[_raw]*: \([0-9]*\) runs.*/\1/p')
seen=$(ask "$work/stats.obs" "SELECT seen FROM coverage WHERE grp='syscalls'")
holds "--stats: the program ran for every event that was seen ($runs, $seen)" [ "$runs" -ge "$seen" ]
says "info: computation and communication" "$("$obsanalyze" info "$work/stats.obs")" '^recorder_compressor_cpu_ns: [1-9]'
