#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# clickhouse.sh DIRECTORY: clickhouse-server of Debian with its libraries, unpacked in this directory: complete or not at all.
# No root; the host's packages stay as they are. Debian 12 has version 18.16; where apt has none, exit 1.
set -eu
[ ! -x "$1/usr/sbin/clickhouse-server" ] || exit 0
rm -rf "$1" "$1.part"
mkdir -p "$1.part/archives/partial"
cd "$1.part"
if ! timeout 180 apt-get -qq -y -d --no-install-recommends -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
	-o Dir::Cache::archives="$PWD/archives" install --reinstall clickhouse-server >apt.log 2>&1; then
	echo "clickhouse-server is not available here: $(tail -n 1 apt.log)" >&2
	exit 1
fi
for deb in archives/*.deb; do
	dpkg-deb -x "$deb" .
done
rm -rf archives
cd ..
mv "$1.part" "$1"
