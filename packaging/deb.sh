#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian packages obsrec and obsanalyze into .output/deb, in a copy of the tree. Needs no root.
# MAINTAINER='Name <address>' is the address in them, URL that of the repository, without .git, in debian/watch.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/.output/deb
rm -rf "$out"
mkdir -p "$out/source"
tar -c --exclude=./.output --exclude=./.git --exclude=./demo --exclude=./obsrec --exclude=./obsanalyze . | tar -x -C "$out/source"
cd "$out/source"
[ -z "${URL:-}" ] || sed -i "s|https://example.org/obsrec|$URL|" debian/watch
[ -z "${MAINTAINER:-}" ] || sed -i "s/^Maintainer:.*/Maintainer: $MAINTAINER/" debian/control
dpkg-buildpackage --build=binary --no-sign >"$out/log" 2>&1 || {
	tail -n 20 "$out/log" >&2
	exit 1
}
rm -rf "$out/source"
ls "$out"/*.deb
