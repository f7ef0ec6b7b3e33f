#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Probed functions: by glob in C++, in libc, in a container; arguments; and nothing that is probed dies.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
cat >calls.cc <<-'TEXT'
	#include <csetjmp>
	#include <cstdio>
	#include <cstdlib>
	#include <stdexcept>
	#define KEEP __attribute__((noinline, used))
	namespace ns {
	KEEP long f(long x) { asm volatile(""); return 3 * x; }
	KEEP long f(double x) { asm volatile(""); return x > 2; }
	struct S {
		long v;
		KEEP long add(long a, long b, long c) { asm volatile(""); return v += a + b + c; }
	};
	}
	KEEP long outside(long x) { asm volatile(""); return x; }
	#ifdef THROWS
	namespace ns {
	KEEP void thrower(int x) { if (x % 2) throw std::runtime_error("odd"); asm volatile(""); }
	KEEP void passed(int x) { thrower(x); asm volatile(""); }
	}
	#endif
	static jmp_buf back;
	int main(int argc, char **)
	{
		ns::S s = { argc };
		volatile int jumps = 0;
		long sum = 0;
		char text[] = "zz";
		int i;
		if (getenv("WAIT_FOR_INPUT"))
			getchar();
		for (i = 0; i < 13; i++)
			sum += ns::f(100l + i) + outside(i);
		for (i = 0; i < 17; i++)
			sum += ns::f(1.0 * i);
		for (i = 0; i < 19; i++)
			sum += s.add(i, -1, 1000000007l * i);
		for (i = 0; i < 23; i++)
			sum += l64a(i) != text;
		if (setjmp(back) + jumps < 29) {
			jumps = jumps + 1;
			longjmp(back, 0 * sum);
		}
	#ifdef THROWS
		for (i = 0; i < 31; i++)
			try {
				ns::passed(i);
			} catch (const std::exception &) {
				sum++;
			}
	#endif
		return sum == 1;
	}
TEXT
g++ -O1 -o calls calls.cc && g++ -O1 -DTHROWS -o throws calls.cc || echo "not ok the test program is built"

"$obsrec" -e uprobe -u "./calls:ns::*" -u libc.so.6:l64a -u libc:_setjmp --args 4 -o calls.obs -- ./calls 2>said
is "exit status" $? 0
says "an estimate is printed for each function" "$(grep -c 'us per call' said)" '^5$'
says "of setjmp no returns" "$(grep _setjmp said)" 'no returns: it does not return in the usual way'
"$obsanalyze" load -o calls.db calls.obs
calls() { ask calls.db "SELECT $1 FROM call JOIN site ON site.id=call.site WHERE function LIKE '$2'"; }
is "calls of ns::f(long)" "$(calls 'count(*)' 'ns::f(long)')" 13
is "calls of ns::f(double)" "$(calls 'count(*)' 'ns::f(double)')" 17
is "calls of ns::S::add" "$(calls 'count(*)' 'ns::S::add')" 19
is "calls of l64a" "$(calls 'count(*)' 'l64a@@GLIBC%')" 23
# the start of the program may call it too
holds "calls of setjmp" sh -c "[ $(calls 'count(*)' '_setjmp@@GLIBC%') -ge 1 ]"
is "probed functions" "$(ask calls.db "SELECT count(*) FROM site")" 5
is "arguments of ns::f(long)" "$(calls 'sum(arg0)' 'ns::f(long)')" $((1300 + 78))
is "values it returned" "$(calls 'sum(value)' 'ns::f(long)')" $((3 * 1378))
is "arguments of ns::S::add" "$(calls "sum(arg1) || ' ' || min(arg2) || ' ' || max(arg2) || ' ' || sum(arg3) || ' ' || count(DISTINCT arg0)" 'ns::S::add')" \
	"171 -1 -1 $((1000000007 * 171)) 1"
id=$(readelf -n calls | sed -n 's/.*Build ID: //p')
is "build-id" "$(ask calls.db "SELECT build_id FROM site WHERE function='ns::S::add'")" "$id"
is "calls without partner" "$(ask calls.db "SELECT count(*) FROM call_defect")" 0

"$obsrec" -q -e uprobe -u ./calls:outside -o plain.obs -- ./calls
"$obsanalyze" load -o plain.db plain.obs
is "without --args there are none" "$(ask plain.db "SELECT count(*) || ' ' || count(arg0) FROM call")" "13 0"

# a program of 32 bits has its arguments on the stack
if [ "$(uname -m)" = x86_64 ]; then
	# neither a library nor the kernel's i386 emulation is everywhere
	cat >narrow.c <<-'TEXT'
		__attribute__((noinline, used)) int seen(int x, int y) { __asm__ volatile("" : "+r"(x)); return x + y; }
		void _start(void)
		{
			int i, s = 0;
			for (i = 0; i < 37; i++)
				s += seen(i, 3);
			__asm__ volatile("int $0x80" : : "a"(1), "b"(s == 777 ? 0 : 1));
		}
	TEXT
	gcc -m32 -O1 -fno-pic -fno-stack-protector -nostdlib -static -o narrow narrow.c 2>/dev/null
fi
if [ -x narrow ] && ./narrow; then
	"$obsrec" -q -e uprobe -u ./narrow:seen --args 2 -o narrow.obs -- ./narrow
	is "a program of 32 bits ends well" $? 0
	"$obsanalyze" load -o narrow.db narrow.obs
	is "its arguments and results" "$(ask narrow.db "SELECT count(dur) || ' ' || sum(arg0) || ' ' || sum(arg1) || ' ' || sum(value) || ' ' || count(arg2) FROM call")" \
		"37 666 111 777 0"
	is "its calls without partner" "$(ask narrow.db "SELECT count(*) FROM call_defect")" 0
fi

# exceptions pass through ns::passed
"$obsrec" -e uprobe -u ./throws:ns::passed --args 1 -o throws.obs -- ./throws 2>said
is "a program that throws survives" $? 0
says "and it is said why" "$(cat said)" 'no returns: the program throws exceptions'
"$obsanalyze" load -o throws.db throws.obs
is "its calls and arguments" "$(ask throws.db "SELECT count(*) || ' ' || sum(arg0) || ' ' || count(dur) FROM call")" "31 465 0"
says "the report counts them" "$("$obsanalyze" report --json throws.db | tr -d ' \n' | grep -o '"name":"calls"[^}]*')" \
	'"value":31,.*"n":31,'

# A container: another root, where the names are in a debug file and a link is absolute
mkdir -p root/bin
g++ -O1 -static -o root/bin/inside calls.cc
id=$(readelf -n root/bin/inside | sed -n 's/.*Build ID: //p')
debug=root/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)
mkdir -p "$debug" && objcopy --only-keep-debug root/bin/inside "$debug/$(echo "$id" | cut -c 3-).debug"
strip root/bin/inside
ln -s /bin/inside root/link
mkfifo go
begun_or_gone() { begun "$1" || ! kill -0 $rec; }
attach() { # recording, obsrec's options: records a process in the container
	WAIT_FOR_INPUT=1 unshare -m chroot root /bin/inside <go &
	inside=$!
	exec 3>go
	until_true grep -qx inside "/proc/$inside/comm"
	file=$1
	shift
	eval "set -- $*"
	"$obsrec" -e uprobe -o "$file" "$@" 2>said &
	rec=$!
	until_true begun_or_gone "$file"
	echo >&3
	exec 3>&-
	wait $inside
	kill -INT $rec 2>/dev/null
	wait $rec
	sed 's/^/# /' said
	"$obsanalyze" sql --csv "$file" "SELECT count(*) || ' ' || count(DISTINCT site) FROM call" | tail -n 1 | tr -d '\r"'
}
is "a path of the container" "$(attach a.obs -p '$inside' -u /bin/inside:ns::f | tail -n 1)" "30 2"
is "a link of the container" "$(attach b.obs -p '$inside' -u /link:ns::S::add | tail -n 1)" "19 1"
is "a path below /proc/PID/root" "$(attach c.obs -a -u '/proc/$inside/root/bin/inside:ns::f' | tail -n 1)" "30 2"
is "the program by its name" "$(attach d.obs -p '$inside' -u inside:outside | tail -n 1)" "13 1"
attach e.obs -p '$inside' -u "$work/calls:outside" >out 2>&1
says "a path of the host is not meant" "$(cat out)" 'with -p, paths are those of the process'

# a program that was replaced while it runs
cp calls old && mkfifo go2
WAIT_FOR_INPUT=1 ./old <go2 &
old=$!
exec 3>go2
until_true grep -qx old /proc/$old/comm
rm old && cp throws old
"$obsrec" -q -e uprobe -p $old -u old:outside -o old.obs &
rec=$!
until_begun old.obs
echo >&3
exec 3>&-
wait $old
kill -INT $rec
wait $rec
is "a deleted program" "$("$obsanalyze" sql --csv old.obs "SELECT count(*) FROM call" | tail -n 1 | tr -d '\r"')" 13
