#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: apt with lists, status and cache of its own, so that packages of another suite or
# processor can be fetched and unpacked while the host's apt stays as it is.

# The Debian mirror that this host's apt uses already. DEBIAN_MIRROR=URL names another.
debian_mirror() {
	url=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE) $(RELEASE) $(ORIGIN)' 'Created-By: Packages' |
		awk '$3 == "Debian" && $2 !~ /security/ { print $1; exit }')}
	[ -n "$url" ] || {
		echo "this host's apt has no Debian mirror; name one in DEBIAN_MIRROR" >&2
		return 1
	}
	echo "$url"
}

private_apt() { # directory (absolute), suite, architecture: apt-get and apt-cache work there from now on
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	: >"$1/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) $2 main" >"$1/sources.list"
	cat >"$1/apt.conf" <<-TEXT
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State::lists "$1/lists";
		Dir::State::status "$1/status";
		Dir::Cache "$1/cache";
		APT::Architecture "$3";
		APT::Architectures "$3";
		Acquire::Retries "5";
		APT::Sandbox::User "root";
		Debug::NoLocking "true";
	TEXT
	export APT_CONFIG="$1/apt.conf"
	apt-get update -qq
}
