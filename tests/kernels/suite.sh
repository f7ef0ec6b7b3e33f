#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced from the top of the tree, with $suite: the release of Debian and the processor that it names, where
# the programs for that processor are, where the commands of the guest are, how many times slower it is when
# emulated, and how it is emulated: the console of its kernel and the serial port for the output of tests.
# The suite arm64 is the release of this host for that processor (make kernels SUITES=arm64).
# shellcheck disable=SC2034 # used where this is sourced
dir=.output/kernels/$suite
case $suite in
arm64)
	arch=arm64 release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	built=.output/arm64 programs=.output/arm64 slowness=6
	emulator='qemu-system-aarch64 -machine virt -cpu neoverse-n1' console=ttyAMA0
	output=ttyS0 port="-chardev file,id=output,path=$dir/serial -device pci-serial,chardev=output"
	commands="$dir/tools/bin $dir/tools/usr/bin $dir/tools/sbin $dir/tools/usr/sbin"
	;;
*)
	arch=amd64 release=$suite
	built=.output programs=. slowness=3
	emulator='qemu-system-x86_64 -cpu max,-arch-capabilities' console=ttyS0
	output=ttyS1 port="-serial file:$dir/serial"
	commands='/usr/bin /bin /usr/sbin /sbin'
	;;
esac

path_of() { # command of the guest
	for d in $commands; do
		[ ! -x "$d/$1" ] || { echo "$d/$1" && return; }
	done
	return 1
}
