#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# static.sh SUITE: the static obsrec, alone with a busybox in an initramfs, records the life of
# a shell that starts 29 programs. The recording comes back over the serial port.
set -eu
cd "$(dirname "$0")/../.."
suite=$1
sh tests/kernels/fetch.sh "$suite"
. tests/kernels/machine.sh
root=$dir/root
rm -rf "$root"
mkdir -p "$root/bin"
cp "$(path_of busybox)" "$root/bin/busybox"
cp "$built/obsrec-static" "$root/bin/obsrec"
cp tests/kernels/init "$root/init"
chmod 755 "$root/init"
cat >"$root/run.sh" <<'TEXT'
/bin/obsrec -q -o - -- /busybox/sh -c 'i=0; while [ $i -lt 29 ]; do /busybox/true; i=$((i + 1)); done' | /busybox/base64
TEXT
machine "$root"
rm -rf "$root"
tr -d '\r' <"$dir/serial" | base64 -d >"$dir/static.obs" || echo "not ok a recording comes back: $(head -c 200 "$dir/serial")"
verdict=$(./obsanalyze verify "$dir/static.obs" | tail -n 1)
case $verdict in
COMPLETE*) echo "ok static obsrec: $verdict" ;;
*) echo "not ok static obsrec: $verdict" ;;
esac
programs=$(./obsanalyze dump --event exec "$dir/static.obs" | grep -c 'filename="/busybox/true"' || true)
if [ "$programs" = 29 ]; then echo "ok programs that the shell started (29)"; else echo "not ok programs that the shell started: $programs, not 29"; fi
holds() { # description, query
	if [ "$(./obsanalyze sql --csv "$dir/static.obs" "$2" | tail -n 1 | tr -d '\r')" = 1 ]; then echo "ok $1"; else echo "not ok $1"; fi
}
holds "samples have user stacks" "SELECT count(*) > 0 FROM sample WHERE user_stack > 0"
holds "functions of the kernel have names" "SELECT count(*) > 0 FROM v_frame WHERE module='[kernel]' AND name NOT NULL"
rm -f "$dir/static.obs"
