#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: the live tests, each between lines that boot.sh parses. Left to the host are
# those that judge times or speed, which an emulated processor has not: causes, metrics, oncpu, flight;
# and those that need compilers, servers or other tracers: functions, losses, newcomer, tls_names, unix_names.
export LC_ALL=C HOME=/root USER=root
# the host says how slow the processors are
LIVE_SLOW=$(sed -n 's/.*live_slow=\([0-9]*\).*/\1/p' /proc/cmdline)
export LIVE_SLOW
# without it, the dynamic loader tries paths that do not exist, which counts.sh would count
[ -e /etc/ld.so.cache ] || ldconfig 2>/dev/null
# make kernels TESTS=counts,loss
only=$(sed -n 's/.*live_tests=\([a-z,]*\).*/\1/p' /proc/cmdline)
cd /obs || exit 1
for t in tests/live/*.sh; do
	name=$(basename "$t" .sh)
	case $name in lib | causes | metrics | oncpu | flight | functions | losses | newcomer | walkthrough | tls_names | unix_names) continue ;; esac
	# it takes an hour there; callers.sh has the parts of it that depend on the kernel
	[ "$name" != stacks ] || [ "${LIVE_SLOW:-1}" -eq 1 ] || continue
	case ,$only, in ,, | *,$name,*) ;; *) continue ;; esac
	echo "=== begin $name"
	# not to the terminal itself, which would call for progress bars
	began=$(date +%s)
	timeout 1800 sh "$t" >/tmp/output 2>&1
	status=$?
	# an emulated processor stands still when the host is busy, and limits of time pass by: once more, and said,
	# unless the time for one is over
	if [ "${LIVE_SLOW:-1}" -gt 1 ] && [ $status -ne 124 ] && { [ $status -ne 0 ] || grep -q '^not ok' /tmp/output; }; then
		sed -n 's/^not ok/# the first time:/p' /tmp/output
		timeout 1800 sh "$t" >/tmp/output 2>&1
		status=$?
	fi
	cat /tmp/output
	echo "# $name took $(($(date +%s) - began)) s"
	echo "=== end $status"
done
echo "=== off $(uname -r)"
