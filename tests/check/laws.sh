#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The laws of the house that a machine can check (CONTRIBUTING.md). Each prints what breaks it.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0
law() { # sentence; what breaks it on standard input
	broken=$(cat)
	if [ -n "$broken" ]; then
		echo "not ok $1"
		printf '%s\n' "$broken" | head -n 20
		bad=1
	else
		echo "ok $1"
	fi
}
sources=$(find format bpf record analyze tests \( -name '*.c' -o -name '*.h' \) | sort)
includes() { grep -nE '^#include "' "$@" /dev/null; }

# bpf/ knows the format's plain headers and its own
includes bpf/* | grep -vE '"(format/(event|shapes)\.h|kernel\.h|[a-z]+\.bpf\.[ch])"' |
	law "bpf/ includes format/event.h, format/shapes.h and its own"
includes $(find record -name "*.[ch]") | grep -E '"(analyze|tests)/' | law "record/ does not include analyze/"
includes $(find analyze -name "*.[ch]") | grep -E '"(record|bpf|tests)/' |
	law "analyze/ does not include record/ or bpf/"
includes format/* | grep -E '"(record|analyze|bpf|tests)/' | law "format/ includes no other room"
# the rooms of record/, and what each may include of the others and of record/ itself
{
	while read -r room may; do
		includes $(find "record/$room" -name '*.[ch]') | grep '"record/' |
			grep -vE "\"record/(${may:+$may|}$room/)"
	done <<-ROOMS
		requests
		files
		process files/|options/options\.h
		pump requests/batch\.h
		options functions/usdt_wish\.h|requests/heads\.h
		functions files/|options/options\.h|probes/uprobe_legacy\.h
		probes files/|functions/|host/targets\.h|options/|process/|pump/|stacks/
		stacks files/|functions/|options/options\.h|pump/
		host files/|options/options\.h|probes/(probes|shape_table)\.h|pump/
	ROOMS
} | law "the rooms of record/ include one way"
# the rooms of analyze/, from above to below: what each may include of the others
{
	while read -r room may; do
		includes $(find "analyze/$room" -name '*.[ch]') | grep '"analyze/' |
			grep -vE "\"analyze/($room${may:+|$may})/"
	done <<-ROOMS
		commands render|export|compare|causes|analyses|transform|replay|store|stats|base
		render compare|causes|analyses|store|stats|base
		export store|base
		compare causes|analyses|stats|store|base
		causes analyses|stats|store|base
		analyses stats|store|base
		transform base
		replay stats|store|base
		store base
		stats
		base
	ROOMS
	find analyze -maxdepth 1 -type f
} | law "the rooms of analyze/ include one way"
# rooms in a hall of analyze/: what each may include of the hall's others
{
	while read -r room may; do
		hall=${room%/*}
		includes $(find "analyze/$room" -name '*.[ch]') | grep -E "\"analyze/$hall/[a-z]+/" |
			grep -vE "\"analyze/$hall/(${room#*/}${may:+|$may})/"
	done <<-ROOMS
		analyses/waits
		analyses/metrics
		analyses/load
		analyses/pauses verdict|waits
		analyses/failing verdict
		analyses/queues verdict
		analyses/verdict failing|queues|waits
		causes/units
		causes/request units
		causes/kinds
		store/columns
		store/events columns
		store/sql
		store/stacks
	ROOMS
} | law "the rooms of the halls include one way"
for tree in analyze record; do
	if [ -d .output/$tree ]; then
		python3 tests/check/circles.py .output $tree 2>&1 | law "no circle of files in $tree/"
	else
		echo "ok no circle of files in $tree/ # SKIP not built"
	fi
done
grep -rnE '#include <(linux|bpf|asm|gelf|libelf|sys/(signalfd|sysmacros|epoll))' format analyze |
	law "format/ and analyze/ need no Linux headers, libbpf or libelf"

# findings are columns: a display name is never parsed, and states and series have names in SQL
# two exceptions: the plot of causes and tables of numbers split the subject of a metric from its part
grep -rnE '"[^"]*\b(instr|substr|rtrim|ltrim)\(([a-z]\.)?(subject|title|label|says|name)\b' analyze plots |
	grep -vE 'substr\([a-z.]+, 1, [0-9]+\)|analyze/render/pictures\.def:.*(begin|analysis=.causes.)' |
	law "SQL does not parse display names"
grep -rnE '\bstr(r?chr|str|pbrk|cspn|spn)\((subject|title|sentence|display|comm)\b' analyze |
	grep -v '^analyze/render/render_table\.c:' | law "C does not parse display names"
grep -rnE '"[^"]*\b(s|m|a|series|thread_state)?\.?(kind|state)( ?(=|<>|<|<=|>=) ?| (NOT )?IN ?\()[0-9]' analyze plots |
	law "SQL names states and series, never their numbers"

# db_open keeps statements with the connection; those of mcp and of the benchmark are not of db_open
grep -rnE '\bsqlite3_close(_v2)?\(' analyze tests --include='*.c' |
	grep -vE '^(analyze/(store/db|commands/mcp)|tests/bench/bench_floor)\.c:' | law "databases are closed by db_close"

# where the libraries of macOS and FreeBSD have another name or need it
{
	grep -rnE 'struct wait\b|\bqsort_r\b|#include <(error|endian|byteswap|argp|features)\.h>' format analyze
	grep -rlE 'st_[mac]tim\b' format analyze | xargs grep -L __APPLE__
	grep -rlF '#include <malloc.h>' format analyze | xargs grep -L __GLIBC__
	grep -rlE '__builtin_shuffle\b' format analyze | xargs grep -L __has_builtin
} | law "format/ and analyze/ compile for macOS and FreeBSD"

# shellcheck disable=SC2086 # lists of words
{
	wc -l $sources | awk '$2 != "total" && $1 > 500 { print $2 ": " $1 " lines" }' |
		law "files have at most 500 lines"
	awk 'FNR == 1 { start = 0 }
	     /^\{/ { start = FNR }
	     /^\}/ { if (start && FNR - start > 60) print FILENAME ":" start ": " FNR - start " lines"
		     start = 0 }' $sources | law "functions have at most 60 lines"
	find . \( -path ./.git -o -path ./.output -o -path ./tests/golden -o -path ./demo \) -prune -o -type f \
		\( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.gp' \) -print |
		sed 's|.*/||' | sort | uniq -d | law "base names are unique"
	grep -nE '(^|[^a-z_])(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|system|popen|strtok)\(' $sources |
		law "no banned functions"
	grep -niE 'keep in sync|\b(TODO|FIXME|XXX|HACK)\b' $sources Makefile README.md CONTRIBUTING.md man/* |
		law "nothing is left for later, nothing is kept in sync by hand"
	{
		printf '%s\n' $sources
		find . -path ./.output -prune -o \( -name '*.def' -o -name '*.sh' \) -print
	} | xargs awk 'function last() { if (file != "" && !named) print file; file = FILENAME; named = 0 }
		FNR == 1 { last() }
		FNR <= 3 && /SPDX-License-Identifier: GPL-2.0-or-later/ { named = 1 }
		END { last() }' | law "every source names its licence"
	clang-format --dry-run -Werror $sources 2>&1 | head -n 20 | law "clang-format agrees"
}
for h in $(find format record analyze -name "*.h"); do
	# a file that includes its header before all else has shown it when it was compiled
	[ "$(grep -sm 1 '^#' "${h%.h}.c")" = "#include \"${h##*/}\"" ] && continue
	${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -I. -fsyntax-only -include "$h" -x c /dev/null 2>&1
done | law "every header compiles alone"

# files of other users and processes are opened by record/files/safe_worker.c; these open only what the
# kernel or root provides, or the output
own='record/([a-z]+/)?(safe_worker|procfs|fdinfo|cgroups|host|programs|uprobe_legacy|targets|sockets|output)\.c'
opens='l?stat(64)?|fstatat|statx|f?open(64)?|openat2?|creat|freopen|fts_open|opendir|scandir|n?ftw|glob|realpath'
opens="$opens|canonicalize_file_name|e?access|faccessat|euidaccess|statv?fs|l?getxattr|chdir|dlopen"
grep -nE "(^|[^a-z_>.])($opens)\(" $(find record -name "*.c") |
	grep -vE "^($own):" | grep -vE 'fopen\("/etc/passwd"|/\* of (/proc itself|/sys itself|a cgroup file system|root alone) \*/' |
	law "record/ opens files of others only in safe_worker.c"
# links are read, never followed; a process that is stuck in its memory map blocks who reads that, or its arguments
awk 'function judge() { if (at && !good) print file ":" at ": " line; at = 0 }
     FNR == 1 { judge() }
     /"\/proc\/%[^"]*\/(fd\/|root|cwd|exe|maps|map_files|cmdline|environ|mem)/ && !/sscanf/ {
	judge(); at = FNR; file = FILENAME; line = $0; good = 0 }
     at && /(safe_[a-z_]*|copy_symbols|readlink)\(/ { good = 1 }
     at && FNR - at == 3 { judge() }
     END { judge() }' $(find record -name "*.c") | law "record/ does not follow links of other processes"
# pump.c waits for its own threads
forever='pthread_join|pthread_cond_wait|sem_wait|sigwait(info)?|pause|flock|lockf|p?select|epoll_p?wait|wait[34]?|waitid'
grep -nE "(^|[^a-z_>.])($forever)\(|poll\([^;]*, (-1|NULL, NULL)\)|waitpid\([^;]*, 0\)|F_SETLKW" $(find record -name "*.c") |
	grep -v '^record/pump/pump\.c:' | law "record/ waits with a limit"

# the rooms in README.md are the rooms there are
{
	sed -n 's/^| `\([a-z]*\)\/` .*/\1/p' README.md | sort >.output/rooms.readme
	for d in */; do
		case $d in demo/) ;; *) echo "${d%/}" ;; esac
	done | sort | diff .output/rooms.readme -
} | law "README.md names every room, and no other"
exit $bad
