#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks of one small program, for kernels on emulated processors, where stacks.sh takes too long: user and
# kernel stacks of samples and of waits, complete, with names.
. "$(dirname "$0")/lib.sh"
r=$work/few.obs
# the time for a stack is longer on an emulated processor, and so is that between two samples
rate=$((499 / slow))
# before it, more threads are killed in their sleep than stacks can be kept for
# shellcheck disable=SC2016 # expanded by the inner shell
"$obsrec" -q --sample-rate $rate --stack-threshold 1ms -o "$r" -- sh -c 'i=0
	while [ $i -lt 16 ]; do "$0" hang 9 & all="$all $!" i=$((i + 1)); done
	for p in $all; do
		n=0
		until [ "$(ls /proc/$p/task | wc -l)" -eq 10 ] || [ $n -eq 100 ]; do sleep 0.1; n=$((n + 1)); done
	done
	for p in $all; do kill $p; sleep 0.01; done # stacks are rationed
	wait
	exec "$0" few' "$top/.output/stackwork" >"$work/out" || failed "recording of stackwork"
holds "the recording is complete" "$obsanalyze" verify "$r"
frames "$r" sample user_stack >"$work/samples"
frames "$r" sample kernel_stack >"$work/sampled"
frames "$r" offcpu user_stack >"$work/waits"
frames "$r" offcpu kernel_stack >"$work/waited"
good=$(grep -c 'leaf_\([0-9]*\)<mid_\1<top_\1<main<.* 0$' "$work/samples")
holds "samples have their callers: $good of $(wc -l <"$work/samples")" [ "$good" -gt 0 ]
is_empty "samples with mixed paths" "$(grep 'leaf_.*<mid_.*<top_' "$work/samples" | grep -v 'leaf_\([0-9]*\)<mid_\1<top_\1<main<')"
holds "a signal handler was called where the signal came" grep -q 'on_alarm<.*interrupted_work<main<' "$work/samples"
# its clock is read in the vdso; the file of the C library calls it by the same name
is "a frame of the vdso has its name" "$(ask "$r" "SELECT count(*) > 0 FROM v_frame WHERE module = '[vdso]' AND name IN ('clock_gettime', '__kernel_clock_gettime')")" 1
holds "and its callers" grep -q '^\(__kernel_\)\?clock_gettime<clock_gettime<interrupted_work<main<' "$work/samples"
is "waits of 3 ms with their callers" "$(grep -c 'wait_inner<wait_long<main<' "$work/waits")" "$(slept_long "$r" "$(printed "$work/out" long)")"
# the stop comes after sys_exit: what calls next is not what was stopped
is "a wait after the end of a call does not have the next one's callers" "$(grep -c 'after_stop' "$work/waits")" 0
is "it has the callers of what was stopped" "$(grep -c '^kill<stopped<.*main<.* 8$' "$work/waits")" 1
faults=$(grep -c '^faulting<.*main<.* 8$' "$work/waits")
if [ "$(printed "$work/out" faults)" = 0 ]; then
	echo "ok a wait in a page fault has its callers, and says so # SKIP the kernel refuses userfaultfd"
else
	is "a wait in a page fault has its callers, and says so" "$faults" 1
fi
# these stacks were copied from main on, with the word that it holds
is "what stacks hold is in no record" "$("$obsanalyze" dump "$r" | grep -c 'kept-secret')" 0
if has_kernel_symbols; then
	# in the kernel's notes: that of 20 bytes which GNU owns
	id=$(od -An -v -tx1 /sys/kernel/notes | tr -d ' \n' | sed -n 's/.*040000001400000003000000474e5500\(.\{40\}\).*/\1/p')
	holds "the kernel shows its build-id" [ -n "$id" ]
	is "it is recorded" "$(ask "$r" "SELECT build_id FROM module WHERE path='[kernel]'")" "$id"
	holds "the kernel frames of a sample have names" grep -q 'clock_gettime' "$work/sampled"
	holds "the kernel frames of a wait have names" grep -q 'hrtimer_nanosleep<' "$work/waited"
else
	echo "ok the kernel frames have names # SKIP the kernel hides its symbols"
fi
# they wait elsewhere when they are looked at, shortly after the end
"$top/.output/stackwork" turns &
turns=$!
until_true sh -c "[ \$(ls /proc/$turns/task | wc -l) -eq 40 ]"
"$obsrec" -q -p $turns -d 1 -o "$work/turns.obs"
kill $turns
holds "the recording is complete" "$obsanalyze" verify "$work/turns.obs"
holds "waits have the stack of their call" [ "$(ask "$work/turns.obs" "SELECT count(*) FROM v_offcpu WHERE user_stack LIKE '%poll_turn%'
	AND syscall LIKE '%poll%'")" -gt 100 ]
is "no thread that waits at the end waits since before the recording" "$("$obsanalyze" dump -e sleeper "$work/turns.obs" | grep -c ' dur=0 ')" 0
is "no wait that lasts until the end has the stack of a later one" "$(ask "$work/turns.obs" "SELECT count(*) FROM v_offcpu v
	JOIN offcpu o USING(tid, ts) WHERE o.flags & 32 AND (v.user_stack LIKE '%poll_turn%') <> (v.syscall LIKE '%poll%')")" 0
# what hangs since before the recording does not run in it
"$top/.output/stackwork" hang &
hung=$!
until_true sh -c "[ \$(ls /proc/$hung/task | wc -l) -eq 2 ]"
"$obsrec" -q -p $hung -d 1 -o "$work/hung.obs"
kill $hung
if grep -q 'btf_bpf_copy_from_user_task' /sys/kernel/btf/vmlinux; then
	frames "$work/hung.obs" sleeper user_stack >"$work/hung"
	# there is 0.3 s for callers after the end: the slowest emulated processor has found those of one thread by then
	last='lock_never<stuck<'
	[ "$slow" -le 3 ] || last='main<'
	is "a thread that waits when the recording ends has its callers" "$(grep -c "$last" "$work/hung")" 1
	is "for all of the recording" "$(ask "$work/hung.obs" "SELECT count(*) FROM offcpu WHERE ts=0 AND flags & 32 AND dur > 900000000 AND waited=dur")" 2
	holds "the recording is complete" "$obsanalyze" verify "$work/hung.obs"
	says "the first screen has them" "$("$obsanalyze" report "$work/hung.obs" | tr -s ' \n' ' ')" "waiting for a futex.*> ${last%%<*}"
else
	is "before Linux 5.18 it has no stack" "$(ask "$work/hung.obs" "SELECT count(*) FROM offcpu")" 0
fi
# a plugin that is loaded in place of another one
"$obsrec" -q --sample-rate $rate -o "$work/plugins.obs" -- "$top/.output/plugins" "$top/.output/plugin_old.so" "$top/.output/plugin_new.so"
is "both plugins were at the same address" $? 0
frames "$work/plugins.obs" sample user_stack >"$work/plugged"
old=$(grep -c 'spin_old<work<' "$work/plugged") new=$(grep -c 'spin_new<work<' "$work/plugged") all=$(grep -c . "$work/plugged")
# three seconds, of which the first is without them
holds "each plugin has its own second on a CPU: $old and $new of $all samples" [ $((old * 4)) -gt $((new * 3)) -a \
	$((new * 4)) -gt $((old * 3)) -a $(((old + new) * 100)) -gt $((all * 50)) ]
[ "$slow" -ne 1 ] || holds "of some 499 samples each" [ "$old" -gt 400 -a "$old" -lt 600 -a "$new" -gt 400 -a "$new" -lt 600 ]
[ $bad -eq 0 ] || for f in samples sampled waits waited; do sort "$work/$f" | uniq -c | sort -rn | head -n 4 | sed "s/^/# $f: /"; done
exit $bad
