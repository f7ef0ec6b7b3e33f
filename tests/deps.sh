#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what building, testing and the demo need, if something is missing.
set -eu

PATH=$PATH:/usr/sbin:/sbin

# what must be there: commands, and headers below /usr/include
# chromium is wanted for tests/check/browser.sh, flamegraph.pl for export.sh; only continuous integration insists (BROWSER_MUST=1)
browser='' browser_packages=''
[ "${BROWSER_MUST:-0}" = 1 ] && browser='chromium nytprofhtml' browser_packages='chromium libdevel-nytprof-perl'
# nft and ip are wanted for tests/live/hops.sh, the servers for arrival.sh, openssl for tls_names.sh, varnishd for
# split_status.sh, dnsmasq and named for datagrams.sh; the same
live='' live_packages=''
[ "${LIVE_MUST:-0}" = 1 ] && live='nft ip memcached nginx openssl varnishd dnsmasq named' \
	live_packages='nftables memcached nginx openssl varnish dnsmasq-base bind9'
commands="$browser $live"' clang bpftool redis-server redis-benchmark gnuplot pkg-config mandoc clang-format python3
	g++ xz readelf protoc'
headers='bpf/libbpf.h gelf.h lzma.h zlib.h zstd.h sqlite3.h gsl/gsl_cdf.h cmocka.h'
# for the tests of static probes; elsewhere it is a part of SystemTap, and they are skipped
[ ! -e /etc/debian_version ] || headers="$headers sys/sdt.h"

# what only make kernels (arm64: SUITES=arm64), make cross, make roots and make fuzz need; they fetch with apt
case ${1:-} in
kernels)
	commands='qemu-system-x86_64 busybox depmod mke2fs xz apt-get dpkg-deb' headers=''
	packages='qemu-system-x86 busybox-static kmod e2fsprogs xz-utils debian-archive-keyring'
	;;
arm64)
	commands='qemu-system-aarch64 aarch64-linux-gnu-g++' headers=''
	packages='qemu-system-arm g++-aarch64-linux-gnu libc6-dev-arm64-cross'
	;;
cross)
	commands='aarch64-linux-gnu-g++ s390x-linux-gnu-gcc qemu-aarch64-static qemu-s390x-static musl-gcc apt-get dpkg-deb' headers=''
	packages='g++-aarch64-linux-gnu gcc-s390x-linux-gnu libc6-dev-arm64-cross libc6-dev-s390x-cross
		qemu-user-static musl-tools debian-archive-keyring'
	;;
roots) commands=debootstrap headers='' packages='debootstrap debian-archive-keyring' ;;
fuzz) # after the others: the runtime of the clang that is there
	fuzzer=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")
	[ -e "$fuzzer" ] || fuzzer=$(clang -print-file-name=libclang_rt.fuzzer.a)
	[ ! -e "$fuzzer" ] || exit 0
	commands='' headers=libclang_rt.fuzzer
	packages=libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev
	;;
*) packages='' ;;
esac

missing=''
for c in $commands; do
	command -v "$c" >/dev/null 2>&1 || missing="$missing $c"
done
command -v gcc >/dev/null 2>&1 || command -v cc >/dev/null 2>&1 || missing="$missing gcc"
for h in $headers; do
	# some are below a directory of the architecture
	ls "/usr/include/$h" /usr/include/*/"$h" 2>/dev/null | grep -q . || missing="$missing $h"
done
[ -n "$missing" ] || exit 0
echo "Missing:$missing"

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		echo "deps: run this as root: $*" >&2
		exit 1
	fi
}

if command -v apt-get >/dev/null 2>&1; then
	export DEBIAN_FRONTEND=noninteractive
	base="$browser_packages ${live:+$live_packages iproute2}"' gcc g++ make libc6-dev clang llvm libbpf-dev libelf-dev zlib1g-dev liblzma-dev libzstd-dev xz-utils
		libsqlite3-dev libgsl-dev libcmocka-dev gnuplot-nox redis-server redis-tools pkg-config
		mandoc clang-format python3 strace procps protobuf-compiler systemtap-sdt-dev'
	# bpftool is a package of its own in Debian; Ubuntu has it in linux-tools-common
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
	if apt-cache policy bpftool 2>/dev/null | grep -q 'Candidate: [0-9]'; then
		base="$base bpftool"
	else
		base="$base linux-tools-common"
	fi
	# shellcheck disable=SC2086 # a list of words
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 \
		${packages:-$base} >/dev/null
elif [ -n "$packages" ]; then
	echo "deps: make $1 needs a Debian or Ubuntu host with: $packages" >&2
	exit 1
elif command -v dnf >/dev/null 2>&1; then
	as_root dnf install -y -q ${browser%% *} $live_packages gcc gcc-c++ libstdc++-static make clang llvm libbpf-devel elfutils-devel zlib-devel \
		xz xz-devel \
		libzstd-devel sqlite-devel gsl-devel libcmocka-devel gnuplot-minimal redis pkgconf \
		bpftool mandoc clang-tools-extra python3 strace procps-ng protobuf-compiler
elif command -v zypper >/dev/null 2>&1; then
	as_root zypper --non-interactive install ${browser%% *} $live_packages gcc gcc-c++ make clang llvm libbpf-devel libelf-devel xz xz-devel \
		zlib-devel libzstd-devel sqlite3-devel gsl-devel libcmocka-devel gnuplot redis \
		pkg-config bpftool mandoc python3 strace procps protobuf-devel
elif command -v pacman >/dev/null 2>&1; then
	as_root pacman -S --needed --noconfirm ${browser%% *} $live_packages gcc make clang llvm libbpf libelf zlib xz zstd sqlite gsl \
		cmocka gnuplot redis pkgconf bpf mandoc python strace procps-ng protobuf
elif command -v apk >/dev/null 2>&1; then
	as_root apk add ${browser%% *} $live_packages gcc g++ make musl-dev linux-headers clang llvm libbpf-dev elfutils-dev zlib-dev xz xz-dev \
		zstd-dev sqlite-dev gsl-dev cmocka-dev gnuplot redis pkgconf bpftool mandoc \
		clang-extra-tools python3 strace procps protoc
else
	cat >&2 <<-TEXT
	deps: this distribution is not known here. Please install: a C compiler, make, clang with LLVM,
	bpftool, the headers of libbpf, libelf, zlib, zstd, SQLite, GSL and cmocka, gnuplot, redis,
	pkg-config, mandoc, clang-format, python3, protoc.
	TEXT
	exit 1
fi
