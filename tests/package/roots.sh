#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# roots.sh SUITE: in a fresh root of this Debian release, with the packages that debian/control names, both programs
# build without a warning and the tests pass that need no kernel; obsanalyze also with musl. The static program of
# musl then runs in a root that has no C library. Needs root, debootstrap and the mirror that apt uses here.
set -u
cd "$(dirname "$0")/../.." || exit 1
suite=$1
. tests/package/bare_root.sh
mkdir -p .output/roots
work_template=$PWD/.output/roots/$suite.XXXXXX
. tests/lib/shell.sh
cleanup() { rm -rf --one-file-system "$work"; }
root=$work/root

build=$(sed -n '/^Build-Depends:/,/^[^ B]/{s/^Build-Depends://;/^[^ ]/d;s/(.*)//;p}' debian/control | tr -d ' \n' | sed 's/debhelper-compat,//')
bare_root "$suite" "$build,gcc,g++,make,libcmocka-dev,python3,protobuf-compiler,xz-utils,gnuplot-nox,musl-tools" "$root" || {
	failed "a root of $suite" "$(tail -n 3 "$root.log")"
	exit 1
}
mkdir "$root/src"
tar -c --exclude=./.output --exclude=./.git --exclude=./demo --exclude=./obsrec --exclude=./obsanalyze . |
	tar -x -C "$root/src"

inside() { # command...: in /src of the root; the mounts go with the command
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -c 'mount --make-rprivate / && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
		shift && exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			sh -c "cd /src && exec \"\$@\"" sh "$@"' sh "$root" "$@"
}
export root
tests() { # what, command...: a test, each of its lines
	what=$1
	shift
	inside "$@" >"$work/test.log" 2>&1
	status=$?
	if [ $status -eq 0 ] && grep -q '^ok' "$work/test.log"; then
		passed "$what: $(grep -c '^ok' "$work/test.log")"
	else
		failed "$what: status $status" "$(grep -v '^ok' "$work/test.log")"
	fi
}

holds "$suite: both programs build without a warning" inside make -j2 WERROR=1 check-build
echo "# $(inside gcc --version | head -n 1), $(inside clang --version | head -n 1)"
for t in "$root"/src/.output/unit/test_*; do
	case $t in *.o | *.d) continue ;; esac
	tests "$suite: $(basename "$t")" env CMOCKA_MESSAGE_OUTPUT=TAP "${t#"$root/src/"}"
done
for t in ${TESTS:-golden bad elf export sql}; do
	tests "$suite: $t" sh "tests/check/$t.sh"
done

holds "$suite: what musl needs" inside sh tests/cross/musl.sh .output/sysroot/musl
holds "$suite: obsanalyze builds with musl without a warning" \
	inside make -j2 WERROR=1 CROSS=musl .output/musl/obsanalyze .output/musl/pack
tests "$suite: golden with musl" env SUB=/musl sh tests/check/golden.sh
mkdir "$work/empty"
cp "$root/src/.output/musl/obsanalyze" testdata/demo.obs "$work/empty/"
prints "$suite: it reports in a root that has nothing else" 0 '^COMPLETE' \
	chroot "$work/empty" /obsanalyze report -v /demo.obs
exit $bad
