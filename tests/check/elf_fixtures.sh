#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# elf_fixtures.sh DIR: makes binaries of every sort in DIR, for the tests of functions.
set -eu
cd "$1"
cc=${CC:-gcc}
cxx=${CXX:-g++}

cat >cxx.cc <<-'TEXT'
	#define KEEP __attribute__((noinline, used))
	namespace ns {
	KEEP int f(int x) { asm volatile(""); return x + 1; }
	KEEP int f(double x) { asm volatile(""); return x > 2; }
	template <class T> KEEP int g(T x) { asm volatile(""); return x + 1; }
	struct S {
		int v;
		KEEP S(int x) : v(x) { asm volatile(""); }
		KEEP int operator()(int x) const { asm volatile(""); return x + v; }
		KEEP int operator*(int x) const { asm volatile(""); return x * v; }
	};
	}
	namespace { KEEP int hidden(int x) { asm volatile(""); return x - 1; } }
	int main(int argc, char **) {
		ns::S s(argc);
		return ns::f(argc) + ns::f(1.5) + ns::g(argc) + ns::g('a') + s(1) + s * 2 + hidden(3) > 1000;
	}
TEXT
$cxx -O1 -o cxx cxx.cc

sed 's/asm volatile(""); return x - 1;/if (x == 77) throw x; return x - 1;/' cxx.cc >throws.cc
$cxx -O1 -o throws throws.cc

cat >versions.c <<-'TEXT'
	__attribute__((noinline)) int old_foo(int x) { return x + 1; }
	__attribute__((noinline)) int new_foo(int x) { return x + 2; }
	int plain(int x) { return old_foo(x) * new_foo(x); }
	int twin(int x) __attribute__((alias("plain")));
	__asm__(".symver old_foo,foo@V1");
	__asm__(".symver new_foo,foo@@V2");
TEXT
printf 'V1 { global: foo; local: *; };\nV2 { global: foo; plain; twin; } V1;\n' >versions.map
$cc -O1 -fPIC -shared -Wl,--version-script=versions.map -o libversions.so versions.c
$cc -O1 -fPIC -shared -Wl,-s -Wl,--version-script=versions.map -o libstripped.so versions.c
python3 - <<-'TEXT'
	image = bytearray(open('libstripped.so', 'rb').read())
	image[40:48] = bytes(8)   # e_shoff
	image[58:64] = bytes(6)   # e_shentsize, e_shnum, e_shstrndx
	open('libheadless.so', 'wb').write(image)
TEXT

# 32 bits, where the compiler has them
if $cc -m32 -O1 -fPIC -c -o lib32.o versions.c 2>/dev/null; then
	ld -m elf_i386 -shared --version-script=versions.map -o lib32.so lib32.o
fi

cat >one.c <<-'TEXT'
	#define KEEP __attribute__((noinline, used))
	static KEEP int same(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
	int other(int x);
	KEEP int apart(int x) { __asm__ volatile("" : "+r"(x)); return x + 5; }
	static int chosen(int x) { return x + 7; }
	static void *choose(void) { return chosen; }
	int pick(int x) __attribute__((ifunc("choose")));
	KEEP int moved(int x) __asm__("apart.cold");
	KEEP int moved(int x) { __asm__ volatile("" : "+r"(x)); return x; }
	int main(int argc, char **argv) { (void)argv; return same(argc) + other(argc) + apart(argc) + pick(1) + moved(1) > 100; }
TEXT
cat >two.c <<-'TEXT'
	static __attribute__((noinline, used)) int same(int x) { __asm__ volatile("" : "+r"(x)); return x + 2; }
	int other(int x) { return same(x) * 3; }
TEXT
$cc -O1 -g -fcf-protection=branch -o same one.c two.c
$cc -O1 -g -Wl,--build-id=none -o same.noid one.c two.c
for p in same same.noid; do
	objcopy --only-keep-debug $p $p.debug
	objcopy --strip-all --add-gnu-debuglink=$p.debug $p $p.linked
	strip -o $p.stripped $p
done
mkdir -p moved/.debug wrong
cp same.linked moved/ && cp same.debug moved/.debug/
cp same.noid.linked wrong/ && cp same.noid.debug wrong/ && printf 'x' >>wrong/same.noid.debug
xz -k -c same.debug >mini.xz
objcopy --add-section .gnu_debugdata=mini.xz same.stripped same.mini
# half of a packed table
head -c 900 mini.xz >half.xz
objcopy --add-section .gnu_debugdata=half.xz same.stripped same.half
# what a Go program is known by
printf 'go' >pclntab
objcopy --add-section .gopclntab=pclntab same gone

# A sparse file: 20 kB of disk, sections of 1 GiB, and every symbol has the same name.
# In names.so the sections are small enough, but the names are not.
python3 - <<-'TEXT'
	import struct
	def section(name, kind, at, size, link=0, entry=0):
	    return struct.pack('<IIQQQQIIQQ', name, kind, 0, 0, at, size, link, 0, 8, entry)
	def make(path, symbols, strings, whole, n):
	    names = b'\0.dynsym\0.dynstr\0.shstrtab\0'
	    header = b'\x7fELF\2\1\1' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 4, 3)
	    table = section(0, 0, 0, 0) + section(1, 11, 32768, symbols, 2, 24) + \
	            section(9, 3, 8192, strings) + section(17, 3, 4096, len(names))
	    with open(path, 'wb') as f:
	        f.write(header + table)
	        f.seek(4096)
	        f.write(names)
	        f.seek(8192)
	        f.write(b'_ZSt_throw' * n)
	        f.truncate(whole)
	make('sparse.so', 1 << 30, 1 << 30, 3 << 30, 1638)
	make('names.so', 12 << 20, 1 << 20, 16 << 20, 700)
TEXT

# The debug file is sparse: its checksum would take hours.
cp same.noid.debug huge.debug
objcopy --strip-all --add-gnu-debuglink=huge.debug same.noid huge.linked
truncate -s 1T huge.debug

# A root with a linker's cache that is one text without an end.
mkdir -p root/etc
python3 -c 'open("root/etc/ld.so.cache", "wb").write(b"/libq" * 3000000)'
