#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# duckdb.sh DIRECTORY: DuckDB for node, from npm, in this directory: complete or not at all.
set -eu
[ ! -d "$1/node_modules/@duckdb/node-api" ] || exit 0
rm -rf "$1" "$1.part"
timeout 180 npm install --no-save --no-audit --no-fund --silent --prefix "$1.part" @duckdb/node-api@1.5.6-r.1
mv "$1.part" "$1"
