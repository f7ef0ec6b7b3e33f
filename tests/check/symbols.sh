#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names added on another machine: a recording with frames of a stripped program, and its debug files in all the
# places where they can be.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
sub=${SUB:-}
pack=$top/.output$sub/pack
o=$top/.output$sub/obsanalyze
[ -n "$sub" ] || o=$top/obsanalyze
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
is() { # sentence, value, expected
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		printf 'not ok %s\n  is:       %s\n  expected: %s\n' "$1" "$2" "$3"
		bad=1
	fi
}
if ! command -v gcc >/dev/null || ! command -v objcopy >/dev/null; then
	echo "ok names from debug files # SKIP no gcc or objcopy"
	exit 0
fi
cat >prog.c <<-'C'
	__attribute__((noinline)) int inner_work(int n) { return n * 3; }
	__attribute__((noinline)) static int hidden(int n) { return inner_work(n) + 1; }
	int main(int argc, char **argv) { (void)argv; return hidden(argc); }
C
cat >cxx.s <<-'S'
	.text
	.globl _ZN3app4Shop5orderEi
	.type _ZN3app4Shop5orderEi, @function
	_ZN3app4Shop5orderEi: ret
	.size _ZN3app4Shop5orderEi, 1
	.section .note.GNU-stack,"",@progbits
S
id=0102030405060708090a0b0c0d0e0f1011121314
gcc -O1 -g -Wl,--build-id=0x$id prog.c cxx.s -o full || exit 1
strip full -o stripped
objcopy --only-keep-debug --compress-debug-sections full packed.debug
objcopy --only-keep-debug full plain.debug
at() { # symbol, bytes from its start
	printf '0x%x' $((0x$(nm full | sed -n "s/^\([0-9a-f]*\) . $1\$/\1/p") + ${2:-0}))
}
{
	cat <<-END
		@recorder
		0 0 info text="targets=all"
		1 0 info text="groups=core,cpu"
		2 100 thread pid=100 state=83 comm="prog"
		10 0 module id=1 kind=3 build_id0=0x0102030405060708 build_id1=0x090a0b0c0d0e0f10 build_id2=0x11121314 path="/srv/prog"
		10 0 module id=2 kind=3 build_id0=0x9900000000000000 path="/srv/other"
		10 0 module id=3 kind=1 path="[kernel]"
		10 0 frame id=1 module=1 address=$(at main)
		10 0 frame id=2 module=1 address=$(at hidden 1) offset=1
		10 0 frame id=3 module=1 address=$(at inner_work)
		10 0 frame id=4 module=1 address=$(at _ZN3app4Shop5orderEi)
		10 0 frame id=5 module=2 address=0x10 offset=8
		10 0 frame id=6 module=3 address=0x20
		10 0 frame id=7 module=1 address=$(at main)
		900 0 symbol frame=7 text="known_before"
		1000 0 info text="stopped=1000"
		@cpu 0
		500 100 rename comm="prog"
	END
} >p.txt
"$pack" p.txt p.obs
names() { "$o" sql --csv "$1" "SELECT group_concat(name, ' ') AS n FROM (SELECT name FROM v_frame ORDER BY id)" | tail -n 1 | tr -d '"\r'; }
expected="main hidden inner_work app::Shop::order other+0x8 [kernel]+0x20 known_before"
try() { # sentence, directory
	is "names from $1" "$("$o" symbols --force --debug "$2" -o n.obs p.obs 2>"$work/err"; echo "$?" "$(names n.obs)")" "0 $expected"
	is "files without a debug file are named ($1)" "$(cat err)" "4 of 6 frames without a name have one now
not found: build-id 9900000000000000000000000000000000000000 (1 frames) /srv/other"
}
mkdir -p a/.build-id/01 b/deep/er c d e
cp packed.debug a/.build-id/01/02030405060708090a0b0c0d0e0f1011121314.debug
try "a tree of build-ids" a
cp stripped b/prog
cp plain.debug b/deep/er/any.name
try "an ELF file anywhere" b
cp full c/
try "a program that is not stripped" c
is "source lines" "$("$o" sql --csv n.obs "SELECT replace(file, rtrim(file, replace(file, '/', '')), '') || ':' || line AS l FROM v_frame WHERE name='hidden'" | tail -n 1 | tr -d '"\r')" prog.c:2
is "source lines of compressed sections" "$("$o" symbols --force --debug a -o n.obs p.obs 2>/dev/null; "$o" sql --csv n.obs "SELECT line FROM v_frame WHERE name='inner_work'" | tail -n 1 | tr -d '\r')" 1
cp stripped d/
is "a stripped file has no name for it" "$("$o" symbols --force --debug d -o n.obs p.obs 2>/dev/null; names n.obs | grep -c hidden)" 0
is "other records are as before" "$("$o" dump n.obs | grep -vE ' (symbol|info) ' | md5sum)" "$("$o" dump p.obs | grep -vE ' (symbol|info) ' | md5sum)"
is "and what was done is in it" "$("$o" info n.obs | sed -n 's/^symbols: //p')" added
is "no directory is an error" "$("$o" symbols --force --debug none -o x.obs p.obs 2>&1; echo "$?" "$(ls x.obs 2>/dev/null)")" \
	"obsanalyze: cannot read the directory none: No such file or directory
1 "
# hostile files: cut, changed, sparse, no files
mkfifo e/fifo
ln -s . e/loop
dd if=/dev/zero of=e/sparse bs=1 count=0 seek=1T 2>/dev/null
python3 - <<-'P'
	import random
	random.seed(5)
	data = open('full', 'rb').read()
	debug = open('packed.debug', 'rb').read()
	for i in range(150):
	    d = bytearray(data if i % 2 else debug)
	    n = len(d)
	    keep = d[:]
	    for k in range(random.choice((1, 4, 40))):
	        d[random.choice((random.randrange(n), random.randrange(64), n - 1 - random.randrange(2000)))] = random.choice((0, 255, random.randrange(256)))
	    if i % 5 == 0:
	        d = d[:random.randrange(n)]
	    open('e/%03d' % i, 'wb').write(d)
P
"$o" symbols --force --debug e -o n.obs p.obs >/dev/null 2>err
is "hostile files are survived" "$? $(grep -cE 'ERROR|runtime error' err)" "0 0"
exit $bad
