#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions are found in binaries of every sort: C++, versions, namesakes, stripped, packed.
set -u
cd "$(dirname "$0")/../.." || exit 1
sub=${SUB:-}
if [ -n "$sub" ]; then obsrec=$PWD/.output$sub/obsrec; else obsrec=$PWD/obsrec; fi
fuzz=$PWD/.output$sub/fuzz_elf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh tests/check/elf_fixtures.sh "$work" >"$work/log" 2>&1 || {
	echo "not ok fixtures are built"
	sed 's/^/# /' "$work/log"
	exit 1
}
cd "$work" || exit 1
bad=0
not_ok() { # what, then lines
	echo "not ok $1"
	sed 's/^/# /' out | head -n 12
	bad=1
}

# names that a pattern means, in one line; the columns before them are cut off
finds() { # file:pattern, names
	"$obsrec" list -u "$1" >out 2>&1
	got=$(grep -v '^#' out | cut -c 66- | sort | paste -sd '|')
	if [ "$got" = "$2" ]; then echo "ok $1"; else not_ok "$1: $got"; fi
}
source() { # file:pattern, where its name must come from, what
	"$obsrec" list -u "$1" >out 2>&1
	if grep -v '^#' out | cut -c 43-63 | sed 's/ *$//' | grep -qxF "$2"; then echo "ok $3"; else not_ok "$3"; fi
}
refuses() { # file:pattern, sentence: recording refuses it before it needs any rights
	"$obsrec" -o none.obs -u "$1" -- true >all 2>&1
	status=$?
	grep -v '^obsrec: low priority' all >out # what nice(1) adds
	if [ $status -eq 1 ] && grep -q -- "$2" out && [ "$(wc -l <out)" -eq 1 ]; then
		echo "ok $1 is refused"
	else
		not_ok "$1 is refused: status $status, or not said: $2"
	fi
}
refused() { # status, sentence, words of the command line
	wanted=$1 sentence=$2
	shift 2
	"$obsrec" "$@" >out 2>&1
	status=$?
	if [ $status -eq "$wanted" ] && [ "$(cat out)" = "obsrec: $sentence" ]; then
		echo "ok obsrec $* is refused"
	else
		not_ok "obsrec $* is refused: status $status, or not said: $sentence"
	fi
}
offset() { "$obsrec" list -u "$1" 2>/dev/null | grep -v '^#' | awk '{ print $1 }' | sort -u | paste -sd ' '; }
same_offsets() { # what, file:pattern, file:pattern
	a=$(offset "$2") b=$(offset "$3")
	if [ -n "$a" ] && [ "$a" = "$b" ]; then echo "ok $1 ($a)"; else not_ok "$1: $a, not $b"; fi
}

finds ./cxx:ns::f 'ns::f(double)|ns::f(int)'
finds './cxx:ns::f(int)' 'ns::f(int)'
finds './cxx:ns::f(*' 'ns::f(double)|ns::f(int)'
finds './cxx:_ZN2ns1fEi' 'ns::f(int)'
finds './cxx:ns::g<int>' 'int ns::g<int>(int)'
finds './cxx:ns::g*' 'int ns::g<char>(char)|int ns::g<int>(int)'
finds './cxx:ns::S::S' 'ns::S::S(int)'
finds './cxx:ns::S::operator()' 'ns::S::operator()(int) const'
finds './cxx:ns::S::operator*' 'ns::S::operator*(int) const'
finds './cxx:*hidden' '(anonymous namespace)::hidden(int)  cxx.cc'
finds './cxx:cxx.cc:*hid*' '(anonymous namespace)::hidden(int)  cxx.cc'
refuses './cxx:ns::ff' 'nearest names are ns::f'
finds './libstripped.so:*' 'foo@@V2|foo@V1|plain@@V2|twin@@V2'
finds './libstripped.so:foo@V1' 'foo@V1'
finds './libstripped.so:foo@@' 'foo@@V2'
finds './libstripped.so:foo@@V2' 'foo@@V2'
finds './libstripped.so:foo@V*' 'foo@@V2|foo@V1'
finds './libheadless.so:*' 'foo|foo|plain|twin'
[ ! -e lib32.so ] || finds './lib32.so:foo@*' 'foo@@V2|foo@V1'
refuses './libstripped.so:foo@V3' 'foo@V3 is not in .*libstripped.so, but @.*V. is a version'
refuses './libstripped.so:foo@@V1' '@@V1 is not in'
same_offsets "aliases are one place" ./libstripped.so:plain ./libstripped.so:twin
same_offsets "sections and segments agree" './libstripped.so:*' './libheadless.so:*'
finds ./same:same 'same  one.c|same  two.c'
finds ./same:two.c:same 'same  two.c'
finds './same:o*.c:same' 'same  one.c'
refuses ./same:pick 'is an indirect function'
refuses ./same:apart.cold 'cold part of a function'
refuses ./same:three.c:same 'has no function three.c:same'
refuses ./same.stripped:apart 'has no names of functions\|it is stripped'
finds ./same:apart 'apart'
for p in same.linked moved/same.linked; do
	same_offsets "a debug file is found by link: $p" ./same:apart ./$p:apart
	source ./$p:apart 'debug file by link' "and $p says so"
done
same_offsets "a debug file without build-id is known by its checksum" ./same.noid:apart ./same.noid.linked:apart
refuses ./wrong/same.noid.linked:apart 'has no'
refused 1 "unexpected argument 'li\\x1b[31mst' (several pids: -p 1,2; a command: put it after --)" "$(printf 'li\033[31mst')"
refused 1 "--uprobe needs FILE or FILE:FUNC, not ''" list -u ''
refused 1 "--uprobe needs FILE or FILE:FUNC, not ':'" list -u :
refused 1 "--usdt needs FILE or FILE:PROBE, not ''" list -U ''
if "$obsrec" --version | grep -q xz; then
	same_offsets "a packed table is read" ./same:apart ./same.mini:apart
	source ./same.mini:apart .gnu_debugdata "and it is said"
	refuses ./same.half:apart 'has no'
else
	echo "ok packed tables # SKIP built without lzma"
fi
"$obsrec" list -u ./same:apart | grep -q ' endbr  ' && echo "ok endbr64 is seen" || not_ok "endbr64 is seen"
"$obsrec" list -u ./gone:apart | grep -q 'Go: entries only' && echo "ok Go is known" || not_ok "Go is known"
"$obsrec" list -u ./throws | grep -q 'throws exceptions' && echo "ok a program that throws" || not_ok "a program that throws"
"$obsrec" list -u ./cxx | tail -n 1 | grep -q 'names$' && echo "ok one that does not" || not_ok "one that does not"
id=$(readelf -n same | sed -n 's/.*Build ID: //p')
"$obsrec" list -u ./same | head -n 1 | grep -q "build-id $id" && echo "ok build-id" || not_ok "build-id"
nm --defined-only same | awk '$2 ~ /^[tTi]$/ { print $3 }' | sort -u >wanted
"$obsrec" list -u ./same | grep -v '^#' | cut -c 66- | sed 's/ .*//' | sort -u >out
if [ -s wanted ] && ! comm -23 out wanted | grep -q . && ! comm -13 out wanted | grep -vE '^(_fini|_init|_start|.*tm_clones|__do_global_dtors_aux|frame_dummy)$' | grep -q .; then
	echo "ok the functions are those of nm ($(wc -l <out))"
else
	not_ok "the functions are those of nm"
fi

# hostile files: an end within a minute on a CPU, with less than 1 GiB (the sanitizers need more for themselves)
bounded() { # sentence, what, obsrec's options
	sentence=$1 what=$2
	shift 2
	([ -n "$sub" ] || ulimit -v 1048576
	ulimit -t 60
	timeout -s KILL 900 "$obsrec" -o none.obs "$@") >out 2>&1
	status=$?
	if [ $status -eq 1 ] && grep -q -- "$sentence" out; then
		echo "ok $what"
	else
		not_ok "$what: status $status"
	fi
}
bounded 'claim more than the file has' "a sparse file with tables of 1 GiB" -u ./sparse.so:f -- true
bounded 'too many names' "symbols that share a long name" -u ./names.so:f -- true
bounded 'has no' "a debug file of 1 TiB" -u ./huge.linked:apart -- true
cat >hold.py <<-'TEXT'
	import os, sys, time
	os.chroot('root')
	print(flush=True)
	sys.stdin.read()
TEXT
mkfifo go come
python3 hold.py <go >come 2>/dev/null &
holder=$!
exec 3>go
if read -r _ <come; then
	bounded 'no such file, library' "a linker's cache that is one text" -p $holder -u libq:f
else
	echo "ok a linker's cache that is one text # SKIP no right to chroot"
fi
exec 3>&-
wait $holder
for f in $(ls lib32.so 2>/dev/null) cxx libstripped.so libheadless.so same.mini same.linked; do
	if (ulimit -t 100 && exec timeout 900 "$fuzz" $f "${ROUNDS:-1500}") >out 2>&1; then cat out; else not_ok "changed $f"; fi
done
exit $bad
