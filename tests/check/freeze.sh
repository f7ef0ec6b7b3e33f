#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Events and fields are in recordings for ever: none may change. New ones need `make freeze`.
set -eu
cd "$(dirname "$0")/../.."
now=.output/schema.now
./obsanalyze schema --frozen >$now
if diff -u testdata/schema.frozen $now; then
	echo "ok the schema is the frozen one"
elif diff testdata/schema.frozen $now | grep -q '^<'; then
	echo "not ok frozen events or fields have changed or gone"
else
	echo "not ok new events or fields: accept them with make freeze"
fi
