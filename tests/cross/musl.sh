#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# musl.sh DIR: for make cross, the headers and static libraries of this host that obsanalyze needs
# and musl does not have. The libraries are those of glibc with a few of its names in them.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "$1/include" "$1/lib"
[ -e "$1/complete" ] && [ -e "$1/lib/libz.a" ] && exit 0 # made before
musl-gcc -O2 -fno-builtin -c tests/cross/musl_names.c -o "$1/musl_names.o"
for h in zstd.h zstd_errors.h zlib.h zconf.h sqlite3.h gsl; do ln -sf "/usr/include/$h" "$1/include/$h"; done
# glibc's calls for large files: musl has one of each kind, since 1.2.4 under one name
large=$(for n in fcntl fstat ftruncate lstat mmap open pread pwrite stat; do echo "--redefine-sym ${n}64=$n"; done)
for l in zstd z sqlite3 gsl gslcblas; do
	# shellcheck disable=SC2086 # a list of words
	objcopy $large "$(gcc -print-file-name=lib$l.a)" "$1/lib/lib$l.a"
	ar r "$1/lib/lib$l.a" "$1/musl_names.o"
done
: >"$1/complete"
