#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# sysroot.sh ARCH DIR: headers and libraries of another processor (Debian's name of it), for
# make cross. Of the suite that this host runs, so that its compilers fit.
set -eu
cd "$(dirname "$0")/../.."
arch=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
[ -e "$dir/complete" ] && exit 0 # made before
. tests/package/private_apt.sh
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
private_apt "$dir/apt" "$suite" "$arch"
apt-get install -qq -y --download-only --no-install-recommends libc6-dev libbpf-dev libelf-dev zlib1g-dev \
	libzstd-dev liblzma-dev libsqlite3-dev libgsl-dev libcmocka-dev >/dev/null
# one header, without the interpreter that its package needs
(cd "$dir/apt/cache/archives" && apt-get download -qq systemtap-sdt-dev >/dev/null)
for p in "$dir"/apt/cache/archives/*.deb; do dpkg-deb -x "$p" "$dir"; done
rm -rf "$dir/apt" "$dir/usr/share"
: >"$dir/complete"
