#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the live tests share, with tests/lib/shell.sh. Sourced from the top of the tree.
cd "$(dirname "$0")/../.." || exit 1
work_template=$PWD/.output/live.XXXXXX
. tests/lib/shell.sh
obsrec=$top/obsrec
obsanalyze=$top/obsanalyze
cleanup() {
	jobs -p >"$work/jobs" # in a pipe, another shell without jobs would list its own
	xargs -r kill <"$work/jobs" 2>/dev/null
	remove_work
	[ ! -d "${heavy:-}" ] || until_true rmdir "$heavy"
}

# skip unless this kernel and these rights can record at all
probe=$work/probe.obs
if ! why=$("$obsrec" -q -d 0.1 -a -o "$probe" 2>&1); then
	echo "ok recording is possible # SKIP $why"
	exit 0
fi
rm -f "$probe"

# how much slower this machine is than a usual one: an emulated processor has longer time limits
slow=${LIVE_SLOW:-1}

# waits until a condition holds, at most 60 s on a usual machine; prints it and returns 1 if it does not
until_true() { # command...
	tries=$((300 * slow))
	until "$@" 2>/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "# in vain: $*" && return 1; }
		sleep 0.2
	done
}

# sends SIGTERM; prints after how many ms a sentence is there, looked for every 50 ms
term_to_sentence() { # process, file, pattern
	began=$(date +%s%N) took=0
	kill -TERM "$1"
	until grep -q "$3" "$2" || [ $took -gt $((20000 * slow)) ]; do
		sleep 0.05
		took=$((($(date +%s%N) - began) / 1000000))
	done
	echo $took
}

# waits until a recording in the background has started: its programs run, and what existed is in the file
until_begun() { until_true begun "$1"; }
# waits until an event with this pattern is in the file
until_recorded() { until_true has_event "$@"; } # recording, event, pattern
# the same for one that writes nothing yet (--last): a recorder drops its capabilities shortly before it starts
until_flying() { until_true grep -q '^NoNewPrivs:.*1' "/proc/$1/status"; }
begun() { has_event "$1" info 'text="snapshot='; }
has_event() { "$obsanalyze" dump -e "$2" "$1" | grep -q "$3"; }

# Runs a command in a cgroup with a hundred times the weight of others, if one can be created: for commands that need
# a full CPU on a busy machine. (The kernel throttles real-time threads.)
weightily() { # command...
	if [ -z "${heavy:-}" ]; then
		mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
		file=cpu.shares weight=102400
		if [ -z "$mount" ]; then
			mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
			file=cpu.weight weight=10000
			[ -z "$mount" ] || echo +cpu 2>/dev/null >"$mount/cgroup.subtree_control"
		fi
		heavy=${mount:-/none}/obsweight.$$
		{ mkdir "$heavy" && echo $weight >"$heavy/$file"; } 2>/dev/null || echo "# no cgroup: others have the same weight" >&2
	fi
	# shellcheck disable=SC2016 # expanded by the inner shell
	sh -c '[ ! -w "$0/cgroup.procs" ] || echo $$ >"$0/cgroup.procs"; exec "$@"' "$heavy" "$@"
}

says() { # description, text, pattern
	if printf '%s\n' "$2" | grep -q -- "$3"; then passed "$1"; else failed "$1" "$2"; fi
}

# the last row's first column of a query
ask() { "$obsanalyze" sql --csv "$1" "$2" | tail -n 1 | tr -d '\r"'; }

# value of key in the workload's own line
printed() { sed -n "s/.*\b$2=\([0-9]*\).*/\1/p" "$1"; }

# a line per event: the names of its frames from the innermost, and its flags
frames() { # recording, sample, offcpu or sleeper, user_stack or kernel_stack
	"$obsanalyze" dump "$1" | grep -E "^[0-9]+ [0-9]+ (stack|symbol|$2) " | awk -v event="$2" -v column="$3" '
		function value(key) {
			match($0, " " key "=[0-9]+")
			return substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2)
		}
		$3 == "stack" { caller[value("id")] = value("caller"); frame[value("id")] = value("frame") }
		$3 == "symbol" { n = value("frame"); sub(/.* text="/, ""); sub(/"$/, ""); sub(/\\u0009.*/, ""); name[n] = $0 }
		$3 == event { at[++all] = value(column); flags[all] = value("flags"); pid[all] = value("pid"); seen[pid[all]]++ }
		END {
			for (p in seen) if (seen[p] > seen[most]) most = p
			for (i = 1; i <= all; i++) {
				if (pid[i] != most) continue
				for (s = at[i] + 0; s; s = caller[s] + 0)
					printf "%s<", frame[s] in name ? name[frame[s]] : "?"
				print " " flags[i]
			}
		}'
}

# how many of the first sleeps of stackwork took its thread off its CPU for the threshold of 1 ms: not one whose
# timer ended before the thread slept, as on a virtual machine whose host takes the CPU for 3 ms
slept_long() { # recording, sleeps
	ask "$1" "SELECT count(*) FROM (SELECT * FROM v_syscall WHERE syscall = 'clock_nanosleep' AND comm = 'stackwork' ORDER BY ts LIMIT $2) c
		WHERE (SELECT total(s.dur) FROM v_state s WHERE s.tid = c.tid AND s.ts BETWEEN c.ts AND c.ts + c.dur
			AND s.state IN ('timer', 'woken')) >= 1020000"
}

# does the kernel show the addresses of its symbols?
has_kernel_symbols() { [ "$(awk '$1 !~ /^0*$/ { n++ } n > 9 { print 1; exit }' /proc/kallsyms)" = 1 ]; }
