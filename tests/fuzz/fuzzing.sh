#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzzing.sh TIME RUNS ONLY: runs the harnesses of tests/fuzz/harnesses, as many at a time as there
# are CPUs, for TIME seconds in total or, without TIME, RUNS executions in total; ONLY one harness.
# The last line is "N passed, N failed".
# COVER=1: those that make fuzz COVER=1 built, and then the lines covered.
# A time limit of libFuzzer is of the wall clock: 600 s are a minute of CPU time on a busy host.
# CORPUS=DIR keeps what was found of new inputs there, and starts with it.
# The seed is printed, and new each time; SEED=number repeats one. What crashes stays in .output/fuzz/found.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=$PWD/.output/fuzz${COVER:+/cover} found=$PWD/.output/fuzz/found

one() { # name, share, least executions, largest input
	name=$1
	dirs=$corpus/$name
	mkdir -p "$dirs"
	if [ -n "$runs" ]; then
		want=$((runs * $2 / 1000))
		[ "$want" -ge "$3" ] || want=$3
		bound=-runs=$want
	else
		want=1
		bound=-max_total_time=$seconds
	fi
	for d in "testdata/fuzz/$name" "$work/seeds/$name"; do
		[ ! -d "$d" ] || dirs="$dirs $d"
	done
	# shellcheck disable=SC2086 # a list of words
	LLVM_PROFILE_FILE=$work/$name.profraw "$bin/fuzz_$name" -seed="$seed" "$bound" -max_len="$4" -timeout=600 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$found/$name-" $dirs >"$work/$name.log" 2>&1
	status=$?
	times >"$work/$name.times"
	cpu=$(awk 'NR == 2 { split($1 "m" $2, t, "m"); printf "%d", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$work/$name.times")
	count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
	count=${count:-0}
	echo "$count" >>"$work/counts"
	if [ $status -eq 0 ] && [ "$count" -ge "$want" ]; then
		echo "ok fuzz $name: $count executions in $cpu s of CPU time"
		return 0
	fi
	echo "not ok fuzz $name: $count executions of $want, status $status"
	grep -E 'ERROR|runtime error|fuzz:|^ +#[0-9]+ |Test unit written' "$work/$name.log" | head -n 24 | sed 's/^/# /'
	return 1
}

if [ "${1:-}" = one ]; then
	shift
	one "$@"
	exit
fi

only=${3:-}
export runs="${2:-}" seconds=0 work
export seed="${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"
# stacks of allocations are cut, and little is kept of what was freed: twice as many executions
export ASAN_OPTIONS="malloc_context_size=4:quarantine_size_mb=16:max_malloc_fill_size=0"
cpus=$(nproc)
work=$(mktemp -d)
export corpus="${CORPUS:-$work/corpus}"
trap 'rm -rf "$work"' EXIT
# the slow ones first
sed '/^#/d' tests/fuzz/harnesses | grep "^${only:-.*} " | sort -n -k 2 >"$work/rows"
n=$(wc -l <"$work/rows")
if [ "$n" -eq 0 ]; then
	echo "not ok there is no harness $only"
	exit 1
fi
[ -n "$runs" ] || seconds=$(((${1:-60} * (n < cpus ? n : cpus) + n - 1) / n))

# seeds made of the texts of testdata, in addition to those of testdata/fuzz
mkdir -p "$work/seeds/file" "$work/seeds/records" "$found"
for text in testdata/*.txt; do
	name=$(basename "$text" .txt)
	.output/pack "$text" "$work/seeds/file/$name" && .output/seedgen "$work/seeds/file/$name" >"$work/seeds/records/$name"
done
# shared libraries: with symbols, stripped, of 32 bits where the compiler has them, without a table of sections
mkdir -p "$work/seeds/symbols"
library() { # name, option...
	file=$work/seeds/symbols/$1
	shift
	printf '%s\n' 'static int g(void) { return 2; }' 'int f(void) { return g(); }' 'void _ZN2ns1hEi(void) {}' |
		cc -nostdlib -shared -Wl,-z,noseparate-code "$@" -o "$file" -xc -
}
library symbols -fPIC
library stripped -fPIC -s
library narrow -m32 2>/dev/null || true
{
	head -c 40 "$work/seeds/symbols/symbols"
	head -c 8 /dev/zero
	tail -c +49 "$work/seeds/symbols/symbols"
} >"$work/seeds/symbols/headless"
# a table of Go with one function
printf '%s\n' '.section .gopclntab,"a"' '1: .4byte 0xfffffff1' '.byte 0, 0, 1, 8' '.8byte 1, 0, 0x1000, 5f-1b, 0, 0, 0, 3f-1b' \
	'3: .4byte 0, 4f-3b, 64' '4: .4byte 0, 1' '5: .byte 0' '.asciz "main.main"' |
	cc -nostdlib -shared -s -o "$work/seeds/symbols/go" -x assembler -
# a static probe, and the same cut off
mkdir -p "$work/seeds/usdt"
printf '%s\n' '.section .note.stapsdt,"","note"' '.balign 4' '.4byte 8, 2f-1f, 3' '.asciz "stapsdt"' '1: .8byte 0x1000, 0, 0' \
	'.asciz "provider"' '.asciz "probe"' '.asciz "-4@%edi 8@-16(%rbp)"' '2: .balign 4' |
	cc -nostdlib -shared -o "$work/seeds/usdt/notes" -x assembler -
head -c 700 "$work/seeds/usdt/notes" >"$work/seeds/usdt/cut"

echo "# seed $seed, $n harnesses, $cpus at a time"
xargs -L 1 -P "$cpus" sh tests/fuzz/fuzzing.sh one <"$work/rows" | tee "$work/results"
passed=$(grep -c '^ok' "$work/results")
awk '{ s += $1 } END { print "# " s + 0 " executions in total" }' "$work/counts"
if [ "${COVER:-}" ]; then
	llvm-profdata merge -o "$work/profile" "$work"/*.profraw
	objects=$(cut -d ' ' -f 1 "$work/rows" | sed "s|.*|-object $bin/fuzz_&|")
	# shellcheck disable=SC2046,SC2086 # lists of words
	llvm-cov report ${objects#-object } -instr-profile="$work/profile" $(find format analyze -name '*.c') | awk '
		function put(what) { if (all[what]) printf "# lines covered, %s: %d of %d (%.1f %%)\n", what, all[what] - missed[what], all[what], 100 - 100 * missed[what] / all[what] }
		function add(what) { all[what] += $8; missed[what] += $9 }
		$1 ~ /\.c$/ { add($1 ~ /replay\// ? "analyze/replay/" : $1 ~ /format\// ? "format/" : "analyze/ else") }
		END { put("format/"); put("analyze/replay/"); put("analyze/ else") }'
fi
echo "$passed passed, $((n - passed)) failed"
[ "$passed" -eq "$n" ]
