#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the first python3 whose functions have trampolines (-X perf), of PATH and of pyenv; fails if there is none.
for python in python3 python3.13 python3.12 "${HOME:-/root}"/.pyenv/versions/*/bin/python3.1[2-9]; do
	"$python" -c 'import os, sys; sys.activate_stack_trampoline("perf"); sys.deactivate_stack_trampoline()
os.path.exists(path := "/tmp/perf-%d.map" % os.getpid()) and os.unlink(path)' 2>/dev/null &&
		echo "$python" && exit
done
exit 1
