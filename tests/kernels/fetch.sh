#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# fetch.sh SUITE: the kernel of a Debian suite (suite.sh). Leaves in its directory: vmlinuz, version, modules/
# with what a virtio disk and the network devices of tests need, in the order of modules/order, and for another
# processor tools/: the commands.
# From the mirror that this host's apt uses already (tests/package/private_apt.sh).
set -eu
suite=$1
cd "$(dirname "$0")/../.."
. tests/kernels/suite.sh
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
modules='virtio_pci virtio_blk crc32c_generic ext4 loop veth bridge sch_tbf nft_chain_nat nft_nat'
[ -s "$dir/version" ] && [ "$(cat "$dir/wanted" 2>/dev/null)" = "$modules" ] && exit 0 # fetched before
. tests/package/private_apt.sh
private_apt "$dir/apt" "$release" "$arch"
if [ "$arch" != amd64 ]; then
	apt-get install -qq -y --download-only --no-install-recommends busybox-static dash bash mawk coreutils findutils \
		grep sed debianutils mount util-linux procps libc-bin >/dev/null
	rm -rf "$dir/tools"
	for p in "$dir"/apt/cache/archives/*.deb; do dpkg-deb -x "$p" "$dir/tools"; done
	rm -rf "$dir/tools/usr/share"
	ln -s mawk "$dir/tools/usr/bin/awk"
fi
package=$(apt-cache depends "linux-image-$arch" | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)/\1/p')
cd "$dir"
rm -rf ./*.deb unpacked modules
apt-get download -qq "$package"

mkdir unpacked modules
dpkg-deb -x ./*.deb unpacked
cp unpacked/boot/vmlinuz-* vmlinuz
version=$(basename unpacked/boot/vmlinuz-* | sed 's/^vmlinuz-//')
if [ ! -d unpacked/lib/modules ]; then
	mkdir -p unpacked/lib
	ln -s ../usr/lib/modules unpacked/lib/modules
fi
PATH=$PATH:/usr/sbin:/sbin
depmod -b unpacked "$version"
for m in $modules; do
	modprobe -d "$dir/unpacked" -S "$version" --show-depends "$m" 2>/dev/null || true
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
	name=$(basename "$path")
	case $name in
	*.xz) xz -dc "$path" >"modules/${name%.xz}" ;;
	*) cp "$path" modules/ ;;
	esac
	echo "${name%.xz}" >>modules/order
done
rm -rf unpacked ./*.deb apt
echo "$modules" >wanted
echo "$version" >version
