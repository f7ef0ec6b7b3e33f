#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, with $suite: a virtual machine with the kernel of a Debian suite (suite.sh, fetch.sh).
# KERNELS_ACCEL=kvm|tcg,thread=single says how its processors are made; default: kvm where it works.
. tests/kernels/suite.sh

qemu() { # accelerator, seconds, argument...
	how=$1 seconds=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	timeout -k 5 "$seconds" $emulator -accel "$how" -smp 2 -m 2G \
		-display none -no-reboot -nic none -kernel "$dir/vmlinuz" "$@" </dev/null &
	qemu=$!
	trap 'kill $qemu' INT TERM
	wait $qemu
}

machine() { # directory that becomes the initramfs, argument...: its other serial port is $dir/serial
	(cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$dir/initrd"
	shift
	accel=${KERNELS_ACCEL:-$(cat "$dir/accel" 2>/dev/null || true)}
	# a device that opens is not yet one that works: a kernel without a root must panic in time
	if [ -z "$accel" ]; then
		accel=tcg,thread=single
		if [ -w /dev/kvm ]; then
			qemu kvm 15 -append "console=$console panic=-1" -serial "file:$dir/probe" 2>/dev/null || true
			if grep -qs 'Kernel panic' "$dir/probe"; then accel=kvm; fi
			rm -f "$dir/probe"
		fi
		echo "$accel" >"$dir/accel"
	fi
	# one thread for all processors: with one each, QEMU 7.2 loops in code that the kernel has just patched
	rm -f "$dir/console" "$dir/serial"
	case $accel in kvm) slow=1 ;; *) slow=$slowness ;; esac
	# shellcheck disable=SC2086 # a list of words
	qemu "$accel" "${KERNELS_SECONDS:-2400}" -initrd "$dir/initrd" \
		-append "console=$console loglevel=5 panic=-1 output=$output live_slow=$slow live_tests=${TESTS:-}" "$@" \
		-serial "file:$dir/console" $port ||
		echo "not ok the machine switches itself off; see $dir/console"
	rm -f "$dir/initrd"
}
