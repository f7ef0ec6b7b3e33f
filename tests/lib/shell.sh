#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests in sh share. Sourced from the top of the tree; sets $top, $work (a directory that is removed
# at the end) and $bad (1 after a failure). A test prints "ok ..." or "not ok ..." lines, and ends with `exit $bad`.
top=$PWD
work=$(mktemp -d "${work_template:-${TMPDIR:-/tmp}/obstest.XXXXXX}")
trap 'cleanup' EXIT
# a shell that a signal kills runs no trap of EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 141' PIPE
# Tests that start processes or create cgroups define their own, which calls remove_work at its end.
cleanup() { remove_work; }
remove_work() { rm -rf "$work"; }
bad=0

passed() { printf 'ok %s\n' "$*"; }
failed() { # what; more on the next lines, as comments
	printf 'not ok %s\n' "$1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | cut -c1-1500 | head -n 20 | sed 's/^/# /'
	bad=1
}

is() { # description, got, wanted: equal. An empty result is a failure: see is_empty
	if [ -n "$2" ] && [ "$2" = "$3" ]; then passed "$1"; else failed "$1" "got:    $2" "wanted: $3"; fi
}

is_empty() { # description, got
	if [ -z "$2" ]; then passed "$1"; else failed "$1" "$2"; fi
}

holds() { # description, command...: exits with 0
	what=$1
	shift
	if "$@" >"$work/holds.log" 2>&1; then passed "$what"; else failed "$what" "$(cat "$work/holds.log")"; fi
}

prints() { # description, status, pattern, command...: exits with the status, and prints a line with the pattern
	what=$1 want=$2 pattern=$3
	shift 3
	"$@" >"$work/prints.log" 2>&1
	got=$?
	if [ $got -eq "$want" ] && grep -q -e "$pattern" "$work/prints.log"; then
		passed "$what"
	else
		failed "$what: status $got, not $want, or no '$pattern'" "$(cat "$work/prints.log")"
	fi
}
