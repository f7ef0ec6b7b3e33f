#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: bare roots of Debian releases, kept as archives, so that a second run is quick. Needs root.
. tests/package/private_apt.sh

bare_root() { # suite, packages (with commas), directory to make; archives are kept in .output/package
	kept=.output/package/$1-$(echo "$2" | cksum | cut -d' ' -f1).tar
	mkdir -p .output/package
	if [ ! -e "$kept" ]; then
		mirror=$(debian_mirror) || return 1
		# a mirror may not answer for once
		for try in 1 2 3; do
			timeout 900 debootstrap --variant=minbase --include="$2" "$1" "$3" "$mirror" >"$3.log" 2>&1 && break
			echo "# try $try: debootstrap: $(tail -n 1 "$3.log")"
			rm -rf --one-file-system "$3"
		done
		[ -d "$3" ] || return 1
		rm -rf "$3"/var/cache/apt/archives/*.deb "$3"/var/lib/apt/lists/*
		tar -C "$3" --one-file-system -cf "$kept.part" . && mv "$kept.part" "$kept"
	else
		mkdir "$3" && tar -C "$3" -xf "$kept"
	fi
}
