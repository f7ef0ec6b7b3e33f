#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs a list of tests and counts. run.sh check | live | package | roots [SUITE...] | kernels [SUITE...] | cross
# A test prints "ok ...", "not ok ..." or "ok ... # SKIP why" lines; one that fails without
# such a line, or prints none at all, counts as one failure. LIVE_MUST=1 makes a skip a failure.
# After the name of a test come its seconds, and those of CPU time: a busy host raises only the first number.
# The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1

# the make that runs this gives its processors to tests one by one: a make in a test asks for its own
unset MAKEFLAGS MFLAGS
out=.output
mkdir -p $out

# The address sanitizer holds back 256 MiB of freed memory by default, so that allocations take new pages: the first touch
# of a page is slow in a virtual machine. 16 MiB are enough to find memory that is used after it was freed.
export ASAN_OPTIONS="${ASAN_OPTIONS-quarantine_size_mb=16:thread_local_quarantine_size_kb=256}"

# How long a test ran: in a virtual machine, what its log says.
seconds_of() { # log, seconds
	inside=$(sed -n 's/^# .* took \([0-9]*\) s$/\1 s inside/p' "$1" | tail -n 1)
	cpu=$(awk 'NR == 2 { split($1 "m" $2, t, "m"); printf "%.1f", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$1.times")
	echo "${inside:-$2 s, $cpu s of CPU time}"
	rm -f "$1.times"
}

# Runs a test, prints what became of it, and adds its counts to a line of $counts.
one() { # name, command...
	name=$1
	shift
	log=$(mktemp)
	began=$(date +%s)
	( # times(1) of this test alone
		"$@" >"$log" 2>&1
		status=$?
		times >"$log.times"
		exit $status
	)
	status=$?
	took=$(seconds_of "$log" $(($(date +%s) - began)))
	ok=$(grep -c '^ok' "$log")
	bad=$(grep -c '^not ok' "$log")
	skip=$(grep -ci '^ok.*# skip' "$log")
	ok=$((ok - skip))
	# how cmocka writes a skip
	unfit=$(grep -c '^not ok [0-9]* # SKIP' "$log")
	bad=$((bad - unfit)) skip=$((skip + unfit))
	if [ $status -eq 77 ] && [ $((ok + bad + skip)) -eq 0 ]; then
		skip=1
	elif [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	elif [ $((ok + bad + skip)) -eq 0 ]; then
		bad=1
	fi
	if [ "${LIVE_MUST:-0}" = 1 ]; then
		bad=$((bad + skip))
		skip=0
	fi
	echo "$ok $bad $skip $name" >>"$counts"
	if [ "$bad" -gt 0 ]; then # in one piece: another may be printed at the same time
		printf '  FAILED   %s (status %d), %s\n%s\n' "$name" $status "$took" \
			"$(grep -v '^ok' "$log" | head -n 60 | sed 's/^/           /')"
	else
		printf '  %-8s %s (%d%s), %s\n' passed "$name" "$ok" "$([ "$skip" -gt 0 ] && echo ", $skip skipped")" "$took"
	fi
	rm -f "$log"
}

# A machine that is shared can fail a test of time by chance, a defect fails again: what failed once must pass twice, alone.
# Both outcomes are printed.
again() { # name, command...
	twice=$1
	shift
	sed -i "/ $twice\$/d" "$counts"
	one "$twice, again" "$@"
	one "$twice, once more" "$@"
	worse=$(tail -n 2 "$counts" | sort -k 2,2nr | head -n 1)
	sed -i '$d' "$counts"
	sed -i '$d' "$counts"
	echo "$worse" >>"$counts"
	case $worse in *' 0 '[0-9]*) echo "           failed once, passed twice: $twice" ;; esac
}
twice_after_failure() { # name, command...
	one "$@"
	[ "$(tail -n 1 "$counts" | cut -d ' ' -f 2)" -eq 0 ] || again "$@"
}

# Tests that do not mind company: as often as you like, then all of them two at a time.
later() { # name, command...
	printf '%s\0' "$*" >>"$counts.later"
}
together() {
	export counts
	# no word of the commands has a space in it, a name may; one that is killed has counted nothing
	# shellcheck disable=SC2016 # the inner shell's
	xargs -0 -P 2 -I JOB sh -c 'exec sh tests/run.sh one "${1%% -- *}" ${1#* -- }' sh JOB <"$counts.later" ||
		echo 0 1 0 >>"$counts"
}

if [ "${1:-}" = one ]; then
	shift
	one "$@"
	exit 0
fi
counts=$(mktemp)
trap 'rm -f "$counts" "$counts.later"' EXIT

case ${1:-check} in
check)
	for sub in /san ''; do # the longest first: the last ones leave no processor idle
		later "golden $sub" -- env SUB=$sub sh tests/check/golden.sh
		later "bad files $sub" -- env SUB=$sub sh tests/check/bad.sh
		later "functions $sub" -- env SUB=$sub sh tests/check/elf.sh
		later "symbols $sub" -- env SUB=$sub sh tests/check/symbols.sh
		later "export $sub" -- env SUB=$sub sh tests/check/export.sh
		later "sql $sub" -- env SUB=$sub sh tests/check/sql.sh
	done
	later "verbs" -- sh tests/check/verbs.sh
	later laws -- sh tests/check/laws.sh
	later words -- python3 tests/check/words.py
	later freeze -- sh tests/check/freeze.sh
	later limits -- sh tests/check/limits.sh
	later parts -- sh tests/check/parts.sh
	later fuzz -- python3 tests/check/fuzz.py $out/san/pack $out/san/obsanalyze 260
	later "failing calls" -- python3 tests/check/failing_calls.py 108x
	later report -- sh tests/check/report.sh
	later browser -- sh tests/check/browser.sh
	later mcp -- sh tests/check/mcp.sh
	later fleet -- sh tests/check/fleet.sh
	later helpers -- sh tests/check/helpers.sh
	later readme -- sh tests/check/readme.sh
	later paper -- sh tests/check/paper.sh
	for sub in /san ''; do
		for t in "$out$sub"/unit/test_*; do
			case $t in *.o | *.d) continue ;; esac
			[ -x "$t" ] && later "unit $sub $(basename "$t")" -- env CMOCKA_MESSAGE_OUTPUT=TAP "$t"
		done
	done
	together
	;;
live)
	# those that count, or wait for most of their time; the others judge short times, or need a CPU of their own
	company='hung_fs stops hung_output arrival attach callers container_names counts datagrams fds file_locks functions groups offsets rights'
	company="$company service spans statements tls_names unix_names usdt waitv"
	for name in $company; do # the longest first
		later "live $name" -- sh "tests/live/$name.sh"
	done
	together
	for name in $(awk '$2 { print $5 }' "$counts"); do
		again "live $name" sh "tests/live/$name.sh"
	done
	for t in tests/live/*.sh; do
		name=$(basename "$t" .sh)
		case " $company lib " in *" $name "*) ;; *) twice_after_failure "live $name" sh "$t" ;; esac
	done
	;;
cross)
	# the longest first. s390x differs from x86 in all that arm64 does (char without a sign, fused multiplication, long
	# double), and in the order of bytes: obsanalyze is tested there, on arm64 what records and that it starts
	later "s390x golden" -- env SUB=/s390x EMULATED="$PWD/tests/cross/emulated.sh" sh tests/check/golden.sh
	later "arm64 golden" -- env SUB=/arm64 ONLY=report-text EMULATED="$PWD/tests/cross/emulated.sh" sh tests/check/golden.sh
	later "other systems" -- sh tests/cross/foreign.sh
	later "musl golden" -- env SUB=/musl sh tests/check/golden.sh
	for arch in arm64 s390x; do
		for t in "$out/$arch"/unit/test_*; do
			case $t in *.o | *.d) continue ;; esac
			# simulations of statistics, and counts of steps: arithmetic that no processor has another of, five minutes emulated
			case ${t##*/test_} in compare_stats | correlate | windows | shift | growth | growth_failing) continue ;; esac
			# what analyses read has no order of bytes any more: the golden tests run all of them there
			grep -qE '^(/\*|//| \*).*analyze/(analyses|causes|compare)/' "tests/unit/${t##*/}.c" && continue
			later "$arch unit $(basename "$t")" -- env CMOCKA_MESSAGE_OUTPUT=TAP sh tests/cross/emulated.sh "$t"
		done
	done
	together
	;;
kernels)
	# in a virtual machine nothing may be missing but what its kernel lacks
	LIVE_MUST=1
	shift
	suites=${*:-bullseye bookworm trixie}
	mkdir -p "$out/kernels"
	# an emulated machine keeps one processor busy: two at a time
	printf '%s\n' $suites | xargs -P 2 -I SUITE sh -c 'sh tests/kernels/boot.sh SUITE >"$1/SUITE.boot" 2>&1
		sh tests/kernels/static.sh SUITE >"$1/SUITE.static" 2>&1' sh "$out/kernels"
	for suite in $suites; do
		one "kernel of $suite" cat "$out/kernels/$suite.boot"
		sed -n 's/^ok/           &/p' "$out/kernels/$suite.boot"
		one "$suite static" cat "$out/kernels/$suite.static"
		for result in "$out/kernels/$suite/results"/*; do
			[ -f "$result" ] || continue
			one "$suite live $(basename "$result")" sh -c 'sed "\$d; /# SKIP this kernel/d" "$1"; exit "$(sed -n "\$s/^status //p" "$1")"' sh "$result"
		done
	done
	;;
roots)
	shift
	for suite in ${*:-bookworm trixie}; do
		one "root of $suite" sh tests/package/roots.sh "$suite"
	done
	;;
package)
	one package bash tests/package/package.sh
	;;
esac

read -r passed failed skipped <<-END
	$(awk '{ ok += $1; bad += $2; skip += $3 } END { print ok + 0, bad + 0, skip + 0 }' "$counts")
END
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
