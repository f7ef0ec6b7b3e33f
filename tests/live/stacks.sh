#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks of a program without frame pointers: 40 paths with their shares of the CPU time, waits above the
# threshold and none below, signal frames, a thread, a deleted binary, one in another mount namespace, generated code,
# flight mode, triggers, --private. Of redis-server: complete ones.
. "$(dirname "$0")/lib.sh"
w=$top/.output/stackwork
cleanup() {
	[ -z "${pids:-}" ] || kill $pids 2>/dev/null
	remove_work
}

r=$work/work.obs
"$obsrec" -q --sample-rate 997 --stack-threshold 1ms -o "$r" -- "$w" >"$work/out" || failed "recording of stackwork"
frames "$r" sample user_stack >"$work/samples"
frames "$r" offcpu user_stack >"$work/waits"
frames "$r" offcpu kernel_stack >"$work/kernel"
holds "the recording is complete" "$obsanalyze" verify "$r"

# path N has a share of 1 + N % 4 of 100: each count is within 4.5 standard deviations, and all are found
awk '
	match($0, /leaf_[0-9]+<mid_[0-9]+<top_[0-9]+<main</) {
		split(substr($0, RSTART, RLENGTH), f, "<")
		n = substr(f[1], 6)
		if (substr(f[2], 5) == n && substr(f[3], 5) == n) { got[n + 0]++; all++ } else wrong++
	}
	END {
		for (n = 0; n < 40; n++) {
			p = (1 + n % 4) / 100
			want = all * p
			sd = sqrt(want * (1 - p))
			if (got[n] < want - 4.5 * sd || got[n] > want + 4.5 * sd)
				printf "path %d: %d samples, not %.0f +- %.0f\n", n, got[n], want, 4.5 * sd
		}
		if (all < 1000) printf "only %d samples of the paths\n", all
		if (wrong) printf "%d samples with mixed paths\n", wrong
	}' "$work/samples" >"$work/shares"
is_empty "40 call paths have their shares of the samples" "$(cat "$work/shares")"
holds "a stack ends in a handler with a stack of its own, and says so" \
	grep -q 'on_other_stack<.* \(17\|19\)$' "$work/samples"
is "stacks of this handler without the flag" "$(grep 'on_other_stack<' "$work/samples" | grep -vc ' \(17\|19\)$')" 0
grep -v 'on_other_stack<' "$work/samples" >"$work/own"
mv "$work/own" "$work/samples"
good=$(grep -c '<\(main\|thread_work\)<.* 0$' "$work/samples") all=$(wc -l <"$work/samples")
holds "at least 98 % of the stacks lead to main or the thread's function: $good of $all" [ $((good * 100)) -ge $((all * 98)) ]
holds "a signal handler was called where the signal came" grep -q 'on_alarm<.*interrupted_work<main<' "$work/samples"
sparse=$(grep -c 'sparse_work<thread_work<' "$work/samples")
holds "a thread with a buffer that is not in memory: $sparse stacks" [ "$sparse" -gt 10 ]
is "they lead to the start of the thread" "$(grep 'sparse_work<thread_work<' "$work/samples" | grep -vc ' 0$')" 0
is "waits of 3 ms with their callers" "$(grep -c 'wait_inner<wait_long<main<' "$work/waits")" "$(slept_long "$r" "$(printed "$work/out" long)")"
is "waits below the threshold" "$("$obsanalyze" sql --csv "$r" 'SELECT count(*) FROM event_offcpu WHERE dur < 980000' | tail -n 1 | tr -d '\r')" 0
# more waits than have stacks: at most 100 per second, half as many again by chance, after a burst; the others are
# counted as those with one. A nap whose timer ends before the thread sleeps is no wait.
"$obsrec" -q --sample-rate 0 -o "$work/naps.obs" -- "$w" naps || failed "recording of naps"
"$obsanalyze" load -o "$work/naps.db" "$work/naps.obs"
is "stacks of 800 waits are rationed" "$(ask "$work/naps.db" "SELECT count(*) BETWEEN 17 AND 40 + 150e-9 * (max(ts + dur) - min(ts))
	FROM offcpu")" 1
is "waits without a stack are counted as those with one" "$(ask "$work/naps.db" "SELECT total(weight) >= 0.95 * 800 * 1.2e6 FROM offcpu")" 1
"$obsrec" -q --sample-rate 0 --stack-threshold 1ms -o "$work/all.obs" -- "$w" naps || failed "recording of all naps"
is "stacks of all waits on request" "$(ask "$work/all.obs" "SELECT count(*) >= 0.9 * 800 FROM event_offcpu")" 1
if has_kernel_symbols; then
	holds "the kernel frames of a wait have names" grep -q 'hrtimer_nanosleep<' "$work/kernel"
else
	echo "ok the kernel frames of a wait have names # SKIP the kernel hides its symbols"
fi
is_empty "stacks with a missing caller, frame or module" "$("$obsanalyze" dump "$r" | awk '
	function value(key) { match($0, " " key "=[0-9]+"); return substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) + 0 }
	$3 == "module" { module[value("id")] = 1 }
	$3 == "frame" { frame[value("id")] = value("module") }
	$3 == "stack" { stack[value("id")] = value("frame"); if (value("caller") >= value("id")) print }
	END {
		for (s in stack) if (!(stack[s] in frame)) print "stack " s
		for (f in frame) if (frame[f] && !(frame[f] in module)) print "frame " f
	}')"

# Slow requests that run a planted function, or wait in one: the cause names it. Others on this machine are a cause
# too, so the server weighs more, and a round with another first cause is printed and repeated.
judge() { # mode, category of the first cause, end of its path, what it must not name
	for round in 1 2 3 4 5 6 7 8 9 10; do
		r=$work/$1$round.obs
		weightily "$obsrec" -q --sample-rate 997 -o "$r" -- "$top/.output/planted" "$1" >"$work/printed"
		"$obsanalyze" load -o "$r.db" "$r"
		found=$(ask "$r.db" "SELECT category || ': ' || path FROM cause WHERE rank=1 AND unit_kind='request'")
		case $found in "$2: "*"$3") break ;; esac
		echo "# round $round of $1: $found"
	done
	says "planted $1: the first cause names the function" "$found" "^$2: .*$3\$"
	is_empty "planted $1: causes that name $4" "$(printf '%s\n' "$found" | grep "$4")"
	says "planted $1: report -v names it" "$("$obsanalyze" report -v "$r" | tr '\n' ' ' | tr -s ' ')" "$3"
}
if [ "$slow" -eq 1 ]; then
	judge compute cpu planted_work planted_wait
	# a pair of recordings: the same server without the fault, and with it
	for round in 1 2 3; do
		weightily "$obsrec" -q --sample-rate 997 -o "$work/plain$round.obs" -- "$top/.output/planted" plain >"$work/printed"
		"$obsanalyze" compare "$work/plain$round.obs" "$r" >"$work/compared"
		tr '\n' ' ' <"$work/compared" | tr -s ' ' | grep -q 'more CPU time per request in [^(]*planted_work' && break
		echo "# round $round of compare: $(grep -A 1 '^WHY' "$work/compared" | tr -s ' \n' ' ')"
	done
	says "compare names the planted function" "$(tr '\n' ' ' <"$work/compared" | tr -s ' ')" \
		'planted: [0-9.]* [um]s (95 % CI .*) more CPU time per request in [^(]*planted_work'
	says "compare: requests are slower" "$(cat "$work/compared")" '^SLOWER'
	"$obsanalyze" compare "$work/plain$round.obs" "$work/plain$round.obs" >"$work/compared"
	is "compare of a recording with itself names no function" "$(grep -c 'CPU time per request in' "$work/compared")" 0
	judge wait timer planted_wait planted_work
else
	echo "# planted functions are not judged: an emulated processor has no times"
fi

# a deleted binary
mkfifo "$work/go"
cp "$w" "$work/gone"
"$work/gone" wait <"$work/go" >/dev/null &
gone=$! pids=$!
exec 9>"$work/go"
until_true grep -q gone "/proc/$gone/comm"
rm "$work/gone"
"$obsrec" -q -p $gone -o "$work/gone.obs" &
recorder=$!
pids="$pids $recorder"
until_begun "$work/gone.obs"
echo >&9
exec 9>&-
wait $gone
kill -INT $recorder
wait $recorder
holds "functions of a deleted binary have names" sh -c "$(command -v grep) -q 'mid_[0-9]*<top_[0-9]*<main<' <<-END
	$(frames "$work/gone.obs" sample user_stack)
END"

# symbols in the file, source lines in the one that belongs to it
(cd "$work" && printf 'static volatile long spins;\n__attribute__((noinline)) void spin(void)\n{\n\twhile (spins < 900000000)\n\t\tspins++;\n}\nint main(void)\n{\n\tspin();\n\treturn 0;\n}\n' >lines.c &&
	gcc -O1 -g lines.c -o lines && objcopy --only-keep-debug lines lines.debug &&
	objcopy --strip-debug --add-gnu-debuglink=lines.debug lines linked) || failed "a program with a debug file"
"$obsrec" -q --sample-rate 499 -o "$work/lines.obs" -- "$work/linked"
says "source lines of a debug file, next to a file with symbols" \
	"$(ask "$work/lines.obs" "SELECT group_concat(DISTINCT file || ':' || line) FROM v_frame WHERE name='spin'")" 'lines\.c:[345]'

# a binary in another mount namespace: its path is a different file here, or none
if command -v unshare >/dev/null; then
	mkdir -p "$work/box"
	# shellcheck disable=SC2016 # expanded by the inner shell
	"$obsrec" -q -o "$work/box.obs" -- unshare -m sh -c '
		mount -t tmpfs none "$1" && cp "$2" "$1/boxed" || exit
		for d in /lib /lib64 /usr; do [ ! -d $d ] || { mkdir "$1$d" && mount --bind $d "$1$d"; }; done
		exec unshare -R "$1" /boxed' sh "$work/box" "$w" >/dev/null
	frames "$work/box.obs" sample user_stack >"$work/boxed"
	holds "functions of a binary in a container have names" grep -q 'leaf_[0-9]*<mid_[0-9]*<top_[0-9]*<main<' "$work/boxed"
	says "its path is that in the container" "$(ask "$work/box.obs" "SELECT group_concat(path) FROM event_module")" '/boxed'
	# its debug file is in the container, too, and nowhere else
	mkdir -p "$work/jail/lib/.debug"
	(cd "$work" && sed -i 's/900000000/90000000000/' lines.c && gcc -O1 -g -static lines.c -o still && objcopy --only-keep-debug still jail/lib/.debug/still.debug &&
		objcopy --strip-all --add-gnu-debuglink=jail/lib/.debug/still.debug still jail/lib/still) || failed "a program in a container"
	mkdir "$work/cell"
	# shellcheck disable=SC2016 # expanded by the inner shell
	PATH=$PATH:/sbin unshare -m sh -c 'mount -t tmpfs none "$2" && cp -r "$1/lib" "$2" && rm -r "$1" && mkdir "$2/old" && cd "$2" && pivot_root . old && exec /lib/still' sh "$work/jail" "$work/cell" &
	pids=$!
	until_true grep -qx still "/proc/$pids/comm"
	"$obsrec" -q --sample-rate 499 -p "$pids" -d 1 -o "$work/jail.obs"
	says "source lines of a debug file in a container" \
		"$(ask "$work/jail.obs" "SELECT group_concat(DISTINCT file || ':' || line) FROM v_frame WHERE name='spin'")" 'lines\.c:[345]'
	kill $pids 2>/dev/null
else
	echo "ok functions of a binary in a container have names # SKIP no unshare"
fi

# generated code: names from /tmp/perf-PID.map, callers in it
generated() { # title, percent, frames from the innermost, command...
	title=$1 least=$2 want=$3
	shift 3
	rm -f "$work/jit.obs"
	(cd "$work" && "$obsrec" -q --sample-rate 499 -o "$work/jit.obs" -- "$@" 2)
	rm -f "/tmp/perf-$(ask "$work/jit.obs" "SELECT max(pid) FROM event_module WHERE kind = 5").map"
	frames "$work/jit.obs" sample user_stack >"$work/jit"
	# before the first and after the last, it starts and ends
	good=$(grep -c "$want.* 0\$" "$work/jit")
	all=$(grep -n "$want.* 0\$" "$work/jit" | sed -n '1s/:.*//p; $s/:.*//p' | paste -s | awk '{ print $2 - $1 + 1 }')
	holds "at least $least % of the stacks of $title have their path: $good of $all" [ "$all" -gt 100 -a $((good * 100)) -ge $((all * least)) ]
}
if command -v node >/dev/null; then
	generated node 97 'inner .*<.*middle .*<.*outer .*<' node --perf-basic-prof --interpreted-frames-native-stack "$top/tests/validate/node/deep.js"
	# the file has the number in the innermost pid namespace
	if unshare -pf --mount-proc true 2>/dev/null && [ ! -e /tmp/perf-1.map ]; then
		generated "node in a pid namespace" 97 'inner .*<.*middle .*<.*outer .*<' unshare -pf --mount-proc \
			node --perf-basic-prof --interpreted-frames-native-stack "$top/tests/validate/node/deep.js"
		rm -f /tmp/perf-1.map
	else
		echo "ok stacks of node in a pid namespace # SKIP no unshare, or /tmp/perf-1.map is there"
	fi
else
	echo "# stacks of node are not tested: no node"
fi
python=$(sh "$top/tests/validate/trampolines.sh")
if [ "$python" ]; then
	generated python3 95 'py::inner:.*<py::middle:.*<py::outer:' "$python" -X perf "$top/tests/validate/deep.py"
else
	echo "# stacks of python3 are not tested: no python3 has -X perf"
fi

# --private: no paths, no names of functions of programs
"$obsrec" -q --private -o "$work/private.obs" -- "$w" >/dev/null
is "--private: paths of files" "$(ask "$work/private.obs" "SELECT count(*) FROM event_module WHERE kind = 3 AND (path <> '' OR ino OR dev)")" 0
is "--private: names of functions of programs" "$(ask "$work/private.obs" "SELECT count(*) FROM event_symbol WHERE source < 6
	AND frame NOT IN (SELECT f.id FROM event_frame f JOIN event_module m ON m.id = f.module WHERE m.kind = 4)")" 0
is "--private: addresses that are no offsets in a file" "$(ask "$work/private.obs" "SELECT count(*) FROM event_frame
	WHERE address < 0 OR address >= 1 << 40")" 0
holds "--private: files have a build-id" [ "$(ask "$work/private.obs" "SELECT count(*) FROM event_module WHERE kind = 3 AND build_id0 <> 0")" -gt 0 ]

# flight mode: a snapshot has all that its stacks refer to
"$obsrec" -q --last 600s -o "$work/flight.obs" -- "$w" >/dev/null
f=$(ls "$work"/flight*.obs | tail -n 1)
frames "$f" sample user_stack >"$work/flight"
holds "flight mode: samples have their callers" grep -q 'leaf_[0-9]*<mid_[0-9]*<top_[0-9]*<main<' "$work/flight"
is "flight mode: samples without their stack" "$(ask "$f" "SELECT count(*) FROM event_sample WHERE user_stack > 0 AND
	user_stack NOT IN (SELECT id FROM event_stack)")" 0

# triggers: the same of each of their snapshots
"$obsrec" -q --last 600s --trigger 'syscall clock_nanosleep > 2ms' --after 200ms -o "$work/trig.obs" -- "$w" >/dev/null
for f in "$work"/trig-*-1.obs "$work"/trig-*-2.obs; do
	frames "$f" sample user_stack >"$work/trig"
	snapshot="triggered snapshot ${f##*-}"
	holds "$snapshot: samples have their callers" grep -q 'leaf_[0-9]*<mid_[0-9]*<top_[0-9]*<main<' "$work/trig"
	holds "$snapshot: waits have their callers" sh -c "$(command -v grep) -q 'wait_inner<wait_long<main<' <<-END
		$(frames "$f" offcpu user_stack)
	END"
	is "$snapshot: samples without their stack" "$(ask "$f" "SELECT count(*) FROM event_sample WHERE user_stack > 0 AND
		user_stack NOT IN (SELECT id FROM event_stack)")" 0
done

# options
"$obsrec" -q --sample-rate 0 --stack-threshold 0 -o "$work/none.obs" -- "$w" >/dev/null
is "no stacks if none are asked for" "$(ask "$work/none.obs" "SELECT (SELECT count(*) FROM event_sample) +
	(SELECT count(*) FROM event_offcpu)")" 0

# a server of the distribution
if command -v redis-benchmark >/dev/null; then
	redis-server --port 0 --unixsocket "$work/redis.sock" --save '' >/dev/null 2>&1 &
	pids=$!
	until_true redis-cli -s "$work/redis.sock" ping >/dev/null
	redis-benchmark -s "$work/redis.sock" -n 100000000 -t get,set -q >/dev/null 2>&1 &
	pids="$pids $!"
	"$obsrec" -q -p "${pids%% *}" --sample-rate 499 -o "$work/redis.obs" &
	recorder=$!
	pids="$pids $recorder"
	sampled() { [ "$("$obsanalyze" dump -e sample "$1" | head -n 1000 | wc -l)" -ge 1000 ]; } # of two seconds on a CPU
	until_true sampled "$work/redis.obs"
	kill -INT $recorder
	wait $recorder
	kill $pids 2>/dev/null
	frames "$work/redis.obs" sample user_stack >"$work/redis"
	good=$(grep -c ' 0$' "$work/redis") all=$(wc -l <"$work/redis")
	holds "at least 99 % of redis-server's stacks are complete: $good of $all" \
		[ "$all" -gt 100 -a $((good * 100)) -ge $((all * 99)) ]
	holds "its functions have names" grep -q '<aeMain<main<' "$work/redis"
else
	echo "# stacks of redis-server are not tested: no redis-benchmark"
fi
exit $bad
