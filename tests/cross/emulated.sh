#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# emulated.sh PROGRAM [ARGUMENT]...: runs a program of make cross, .output/<arch>/..., by QEMU.
case $1 in
*.output/arm64/*) arch=arm64 cpu=aarch64 ;;
*.output/s390x/*) arch=s390x cpu=s390x ;;
*)
	echo "emulated.sh: $1 is of no known processor" >&2
	exit 1
	;;
esac
# a test may have emptied PATH for the program
qemu=$(PATH=$PATH:/usr/bin:/usr/local/bin command -v qemu-$cpu-static)
exec "$qemu" -L "${1%%.output/*}.output/sysroot/$arch" "$@"
