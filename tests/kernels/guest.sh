#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: all live tests, each between lines that boot.sh takes apart.
export LC_ALL=C HOME=/root USER=root
cd /obs || exit 1
for t in tests/live/*.sh; do
	[ "$t" = tests/live/lib.sh ] && continue
	echo "=== begin $(basename "$t" .sh)"
	timeout 300 sh "$t" 2>&1
	echo "=== end $?"
done
echo "=== off $(uname -r)"
