#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages with the chapters that derive from events.def and tables.def.
# usage: man.sh OBSANALYZE DIRECTORY [SECTION]; with SECTION only its pages.
set -eu
obsanalyze=$1 to=$2
cd "$(dirname "$0")/../man"
case $obsanalyze in /*) ;; *) obsanalyze=../$obsanalyze ;; esac
mkdir -p "$to"
for page in *.${3:-[1578]}; do
	chapter=$(sed -n 's/^\.\\" CHAPTER \(schema --man[a-z-]*\)$/\1/p' "$page")
	# shellcheck disable=SC2086 # a command and its option
	if [ -n "$chapter" ]; then
		sed '/^\.\\" CHAPTER/q' "$page" && "$obsanalyze" $chapter && sed '1,/^\.\\" CHAPTER/d' "$page"
	else
		cat "$page"
	fi >"$to/$page"
done
