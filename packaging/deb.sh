#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian packages obsrec and obsanalyze into .output/deb, with dpkg-deb alone. Needs no
# root. DEBEMAIL and DEBFULLNAME name the builder.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/.output/deb
version=$(sed -n 's/.*OBS_VERSION "\(.*\)"/\1/p' format/version.h)-1
arch=$(dpkg --print-architecture)
who="${DEBFULLNAME:-obsrec maintainers} <${DEBEMAIL:-obsrec@localhost.localdomain}>"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
umask 022

flags="$(dpkg-buildflags --get CPPFLAGS) $(dpkg-buildflags --get CFLAGS) -fPIE -pie"
flags="$flags $(dpkg-buildflags --get LDFLAGS) -Wl,-z,now"
stage=$out/stage
rm -rf "$stage" "$out"/*.deb
make --no-print-directory OUT=.output/deb/build install prefix=/usr DESTDIR="$stage" CFLAGS="$flags" >/dev/null

recorder='usr/sbin/obsrec usr/share/man/man8 usr/share/bash-completion/completions/obsrec lib'

text() { # package: what it is
	case $1 in
	obsrec)
		cat <<-END
			Section: admin
			Recommends: obsanalyze
			Description: record why a server is slow, with BPF, into one compressed file
			 Records system calls, context switches, wake-ups, block requests and calls
			 of chosen functions into one file, which obsanalyze reports on, on any
			 machine. Nothing is sampled, and what was lost is counted.
		END
		;;
	obsanalyze)
		cat <<-END
			Section: utils
			Recommends: gnuplot-nox | gnuplot
			Suggests: sqlite3
			Description: say why a server was slow, from a recording of obsrec
			 Replays a recording made by obsrec into tables and answers questions from
			 them: where the time of threads went, how many requests a second, what
			 failed, why slow requests were slow. Exports to Perfetto, flame graphs, CSV
			 and OpenMetrics. Needs no rights and no part of the recorded host.
		END
		;;
	esac
}

# dpkg-shlibdeps wants a source tree: this is enough of one
depends() { # program
	mkdir -p "$out/shlibs/debian"
	printf 'Source: obsrec\n\nPackage: obsrec\nArchitecture: any\n' >"$out/shlibs/debian/control"
	(cd "$out/shlibs" && dpkg-shlibdeps -O "$1" 2>/dev/null | sed 's/^shlibs:Depends=//')
}

package() { # name, program
	root=$out/$1
	doc=$root/usr/share/doc/$1
	mkdir -p "$root/DEBIAN" "$doc" "$root/usr/share/lintian/overrides"
	strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/$2"
	find "$root/usr/share/man" -type f -exec gzip -9n {} +
	cat >"$doc/copyright" <<-END
		Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
		Upstream-Name: obsrec

		Files: *
		Copyright: $(date -ud "@$SOURCE_DATE_EPOCH" +%Y) the authors of obsrec
		License: GPL-2+
		 This package is free software; you can redistribute it and/or modify it under the terms of
		 the GNU General Public License as published by the Free Software Foundation; either
		 version 2 of the License, or (at your option) any later version.
		 .
		 On Debian systems the full text is in /usr/share/common-licenses/GPL-2.
	END
	{
		echo "obsrec ($version) unstable; urgency=medium"
		printf '\n  * Built from the source tree.\n\n'
		echo " -- $who  $(date -uRd "@$SOURCE_DATE_EPOCH")"
	} | gzip -9n >"$doc/changelog.Debian.gz"
	printf '%s\n' "# built from the source tree: nobody has asked Debian for it by a bug" \
		"$1: initial-upload-closes-no-bugs" \
		"# who builds without DEBEMAIL has no address; see packaging/deb.sh" \
		"$1: bogus-mail-host *" "$1: bogus-mail-host-in-debian-changelog *" \
		>"$root/usr/share/lintian/overrides/$1"
	{
		printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$1" "$version" "$arch" "$who"
		printf 'Installed-Size: %s\nPriority: optional\nDepends: %s\n' "$(du -sk "$root" | cut -f1)" \
			"$(depends "$root/$2")"
		text "$1"
	} >"$root/DEBIAN/control"
	(cd "$root" && find usr lib -type f -exec md5sum {} + 2>/dev/null | sort -k 2 >DEBIAN/md5sums)
	dpkg-deb --root-owner-group --build "$root" "$out/${1}_${version}_$arch.deb" >/dev/null
	echo "$out/${1}_${version}_$arch.deb"
}

rm -rf "$out/obsrec" "$out/obsanalyze"
mkdir -p "$out/obsrec"
for path in $recorder; do
	[ -e "$stage/$path" ] || continue
	mkdir -p "$out/obsrec/$(dirname "$path")"
	mv "$stage/$path" "$out/obsrec/$path"
done
rmdir "$stage/usr/sbin"
mv "$stage" "$out/obsanalyze"
package obsrec usr/sbin/obsrec
package obsanalyze usr/bin/obsanalyze
