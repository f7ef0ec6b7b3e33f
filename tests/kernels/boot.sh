#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# boot.sh SUITE: runs the live tests in a virtual machine with the kernel of a Debian suite.
# Leaves .output/kernels/SUITE/results/<test>, one file a test, its exit status in the last line.
set -eu
cd "$(dirname "$0")/../.."
suite=$1
sh tests/kernels/fetch.sh "$suite"
. tests/kernels/machine.sh
root=$dir/root disk=$dir/disk
rm -rf "$root" "$disk" "$dir/results" "$dir/serial"
PATH=$PATH:/usr/sbin:/sbin

# what the live tests call; the rest is busybox
tools='dash awk basename cat chmod chown cp cut date dd dirname env false find grep head id kill ln ls mkdir
	mkfifo mktemp mount mv nohup nproc od pgrep pkill printf ps readlink realpath rm sed seq setpriv sleep sort
	stat tail taskset tee timeout touch tr true truncate umount uname uniq unshare wc xargs bash ip tc nft python3'

with_libraries() { # the shared libraries of programs, into the root
	if [ "$arch" = amd64 ]; then
		ldd "$@" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r lib; do
			mkdir -p "$root$(dirname "$lib")"
			cp -L "$lib" "$root$lib"
		done
		cp /etc/ld.so.cache "$root/etc/"
	else # all of the packages: ldd runs no program of another processor
		find "$dir/tools" ".output/sysroot/$arch" \( -name '*.so.[0-9]*' -o -name 'ld-linux*' \) ! -path '*/gconv/*' | while read -r lib; do
			where=$root/usr/lib/$(expr "$lib" : '.*lib/\(.*/\)' || true)
			mkdir -p "$where"
			cp -L "$lib" "$where"
		done
		cp "$(path_of ldconfig)" "$root/usr/sbin/"
	fi
}

mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/etc" "$root/root"
for d in bin sbin lib lib64; do ln -s usr/$d "$root/$d"; done
cp "$(path_of busybox)" "$root/bin/busybox"
for t in $tools; do
	path=$(path_of "$t") || continue
	cp -L "$path" "$root/usr/bin/$t"
done
ln -s dash "$root/usr/bin/sh"
# the library of python3: what tests/live/*.py import, and what these import
if python=$(path_of python3); then
	library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	mkdir -p "$root$library"
	tar -C "$library" --exclude=test --exclude='config-*' --exclude=idlelib --exclude=lib2to3 --exclude=ensurepip -cf - . |
		tar -C "$root$library" -xf -
fi
with_libraries "$root"/usr/bin/* "$programs/obsrec" "$programs/obsanalyze" $(find "$built" -maxdepth 1 -type f -perm -u+x ! -name '*.so')
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
cp -r "$dir/modules" "$root/modules"
cp tests/kernels/init "$root/init"
cp tests/kernels/guest.sh "$root/run.sh"
chmod 755 "$root/init"

# the tree, as far as tests need it, on a disk: block requests need a real one
initramfs=$root
root=$dir/tree
rm -rf "$root"
mkdir -p "$root/.output"
cp "$programs/obsrec" "$programs/obsanalyze" "$root/"
find "$built" -maxdepth 1 -type f -perm -u+x -exec cp {} "$root/.output/" \;
cp -r tests "$root/tests"
mke2fs -q -q -t ext4 -E lazy_itable_init=0 -d "$root" "$disk" 1G >/dev/null
rm -rf "$root"

machine "$initramfs" -drive "file=$disk,if=virtio,format=raw,cache=unsafe"
rm -rf "$initramfs" "$disk"

mkdir -p "$dir/results"
tr -d '\r' <"$dir/serial" | awk -v dir="$dir/results" '
	/^=== begin / { name = $3; tests++; next }
	/^=== end / { print "status", $3 > (dir "/" name); close(dir "/" name); name = ""; ended++; next }
	/^=== off / { print "ok all " ended " live tests ended on Linux " $3; off = (ended == tests); next }
	name { print > (dir "/" name) }
	END { if (!off) print "not ok all live tests end: " ended " of " tests " did; see " dir "/../console" }'
# a warning taints the kernel, and ends it where panic_on_warn is set
warning=$(grep -am 1 -E 'WARNING:.* (at )?kernel/(bpf|trace)/' "$dir/console") || true
if [ "$warning" ]; then echo "not ok the kernel warns: $warning"; else echo "ok no warning of the kernel about BPF programs"; fi
