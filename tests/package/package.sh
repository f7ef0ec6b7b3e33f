#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages: made, checked, installed in two bare roots of this release of Debian. One
# records, the other has the analyzer alone and reports. Also shell completion, file(1) magic and MIME types.
# Needs root, debootstrap and a reachable mirror: the one that apt uses here. Bare roots are kept in
# .output/package, so that a second run is quick.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
out=$top/.output/package
mkdir -p "$out"
work=$(mktemp -d "$out/run.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
bad=0
ok() { printf 'ok %s\n' "$*"; }
fail() {
	printf 'not ok %s\n' "$*"
	bad=1
}
holds() { # sentence, command...
	what=$1
	shift
	if "$@" >"$work/said" 2>&1; then ok "$what"; else fail "$what: $(tail -n 3 "$work/said")"; fi
}
skip() {
	echo "ok the packages # SKIP $*"
	exit $bad
}

command -v dpkg-deb >/dev/null || skip "this is no Debian"
for tool in dpkg-shlibdeps lintian debootstrap file update-mime-database gio systemd-analyze zsh fish dh rpmspec rpmlint nix-instantiate; do
	command -v $tool >/dev/null || missing=1
done
if [ -n "${missing:-}" ] && [ "$(id -u)" -eq 0 ]; then
	apt-get update -qq >/dev/null 2>&1
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends dpkg-dev lintian \
		debootstrap file shared-mime-info libglib2.0-bin systemd zsh fish debhelper rpm rpmlint nix-bin >/dev/null 2>&1
fi

# ---- install ----
holds "make install with a prefix and DESTDIR" make -j2 install prefix=/opt/obs DESTDIR="$work/installed"
holds "installed programs run" "$work/installed/opt/obs/bin/obsanalyze" --version
holds "installed programs know where pictures are described" sh -c \
	"strings '$work/installed/opt/obs/bin/obsanalyze' | grep -qx /opt/obs/share/obsrec/plots"
unit=$work/installed/opt/obs/lib/systemd/system/obsrec.service
holds "exposure of the service: at most 3.0" systemd-analyze security --offline=true --threshold=30 --no-pager "$unit"

mkdir "$work/elsewhere"
tar -c --exclude=./.output --exclude=./.git --exclude=./demo . | tar -x -C "$work/elsewhere"
holds "it builds in another directory" env CCACHE_DISABLE=1 make -C "$work/elsewhere" -j2 install prefix=/opt/obs DESTDIR="$work/second"
for p in sbin/obsrec bin/obsanalyze; do
	holds "the same bytes of $p" cmp "$work/installed/opt/obs/$p" "$work/second/opt/obs/$p"
done

# ---- completion ----
complete_words() { # program, words...: what is offered for the last one
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	"_$1"
	echo "${COMPREPLY[*]}"
}
offers() { # wanted word, then the words
	wanted=$1
	shift
	got=$(complete_words "$@")
	case " $got " in *" $wanted "*) ok "completion: $* -> $wanted" ;; *) fail "completion: $*: $got, not $wanted" ;; esac
}
for p in obsrec obsanalyze; do
	# shellcheck disable=SC1090 # made above
	. "$work/installed/opt/obs/share/bash-completion/completions/$p" || bad=1
done
offers export obsanalyze ex
offers openmetrics obsanalyze export --format ''
offers folded-calls obsanalyze export -f folded-
offers png obsanalyze plot -f p
offers --duration obsrec --du
offers doctor obsrec do
offers verdict obsanalyze report -a ver
offers switch obsanalyze dump -e sw
offers call_stat obsanalyze export -t call_
offers sched,block obsrec -e sched,bl
offers 'io,!memory' obsrec --syscalls 'io,!mem'
offers $$ obsrec --pid ''
mkdir "$work/podman"
printf '#!/bin/sh\necho web-1\n' >"$work/podman/podman"
chmod 755 "$work/podman/podman"
PATH=$work/podman:$PATH offers web-1 obsrec --container we
holds "no option is offered where an argument is due" [ -z "$(complete_words obsrec --comm -)" ]
holds "completion offers nothing that is not there" [ -z "$(complete_words obsanalyze nonsense)" ]
zsh_words() { # words...: what the function for zsh offers for the last one
	zsh -fc 'compset() { }; compadd() { shift; print -l -- $@ }; _files() { print files }; _pids() { print pids }
		file=$1; shift; words=("$@") CURRENT=$# PREFIX=${words[-1]}; source $file' zsh \
		"$work/installed/opt/obs/share/zsh/site-functions/_$1" "$@"
}
# shellcheck disable=SC2016 # of zsh
holds "zsh searches where make install puts them" sh -c "zsh -fc 'print -l \$fpath' | grep -qx /usr/local/share/zsh/site-functions"
fish_words() {
	fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' \
		"$work/installed/opt/obs/share/fish/vendor_completions.d/$1.fish" "$*"
}
for s in zsh fish; do
	holds "$s offers commands" sh -c 'echo "$1" | grep -qx export' sh "$(${s}_words obsanalyze e)"
	holds "$s offers verbs" sh -c 'echo "$1" | grep -qx doctor' sh "$(${s}_words obsrec d)"
	holds "$s offers options" sh -c 'echo "$1" | grep -qx -- --format' sh "$(${s}_words obsanalyze export --f)"
	holds "$s offers analyses" sh -c 'echo "$1" | grep -qx verdict' sh "$(${s}_words obsanalyze report -a v)"
	holds "$s offers events" sh -c 'echo "$1" | grep -qx switch' sh "$(${s}_words obsanalyze dump -e s)"
	holds "$s offers event classes" sh -c 'echo "$1" | grep -qxE "(sched,)?block"' sh "$(${s}_words obsrec -e sched,b)"
	holds "$s offers containers" sh -c 'echo "$1" | grep -qx web-1' sh "$(PATH=$work/podman:$PATH ${s}_words obsrec --container we)"
	holds "$s offers pids" sh -c 'echo "$1" | grep -qE "^(pids|[0-9]+)"' sh "$(${s}_words obsrec --pid '')"
	holds "$s offers arguments" sh -c 'echo "$1" | grep -qx png' sh "$(${s}_words obsanalyze plot -f p)"
done
asked=0
for c in $(complete_words obsanalyze ''); do
	case $c in --*) continue ;; esac
	"$work/installed/opt/obs/bin/obsanalyze" "$c" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' |
		grep -oE -- '--[a-z-]+' >"$work/options"
	while read -r o; do
		case " $(complete_words obsanalyze "$c" --) " in
		*" $o "*) asked=$((asked + 1)) ;;
		*) fail "completion of $c knows $o" ;;
		esac
	done <"$work/options"
done
[ $asked -gt 30 ] && ok "completion knows all $asked options of all commands"

# ---- file(1) ----
says_file() { # pattern, file
	if file -m packaging/magic "$2" | grep -q "$1"; then ok "file says $1"; else fail "file: $(file -m packaging/magic "$2")"; fi
}
./obsanalyze load -o "$work/demo.db" testdata/demo.obs
says_file 'obsrec recording, format 1\.0' testdata/demo.obs
says_file 'obsanalyze database, version [0-9]' "$work/demo.db"
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("CREATE TABLE a(b)")' "$work/other.db"
holds "file does not take another database for ours" sh -c \
	"! file -m packaging/magic '$work/other.db' | grep -q obsanalyze"

# as README has it: after the list of file, for one user
share=$work/installed/opt/obs/share
mkdir "$work/home"
command=$(grep -o 'cat /usr/share/obsrec/magic >>~/.magic' README.md | sed "s|/usr/share|$share|")
HOME=$work/home bash -c "$command"
holds "file knows recordings by the command in README" sh -c \
	"HOME='$work/home' file testdata/demo.obs | grep -q 'obsrec recording'"
holds "and other files as before" sh -c "HOME='$work/home' file -L /bin/sh | grep -q ELF"

# ---- desktops ----
mkdir -p "$work/data/mime/packages"
cp "$share/mime/packages/obsrec.xml" "$work/data/mime/packages/"
update-mime-database "$work/data/mime" >/dev/null 2>&1
is_type() { # type, file
	got=$(XDG_DATA_HOME=$work/data gio info -a standard::content-type "$2" | sed -n 's/.*content-type: //p')
	if [ "$got" = "$1" ]; then ok "a desktop takes $(basename "$2") for $1"; else fail "$2 is $got, not $1"; fi
}
cp testdata/demo.obs "$work/recording"
mv "$work/demo.db" "$work/database"
is_type application/x-obsrec "$work/recording"
is_type application/x-obsanalyze "$work/database"
is_type application/vnd.sqlite3 "$work/other.db"
printf '\1\2\3' >"$work/begun.obs" # one that is not whole yet, by its name
is_type application/x-obsrec "$work/begun.obs"

# ---- packages ----
version=$(sed -n 's/.*OBS_VERSION "\(.*\)"/\1/p' format/version.h)
is_version() { # where, version
	if [ "$2" = "$version" ]; then ok "version $version in $1"; else fail "version in $1: $2, not $version"; fi
}
is_version debian/changelog "$(dpkg-parsechangelog -S Version | sed 's/-[0-9]*$//')"
is_version CHANGELOG.md "$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)"
holds "make dist" make dist
tarball=obsrec-$version.tar.gz
cp .output/obsrec.spec .output/APKBUILD ".output/$tarball" "$work/"
make dist >/dev/null
holds "make dist writes the same bytes again" cmp "$work/$tarball" ".output/$tarball"
holds "rpmspec parses the RPM package" sh -c "rpmspec -P '$work/obsrec.spec' | grep -q '^Version: $version'"
# on Fedora, where the unit has another place than on Debian
rpmspec -P -D '_unitdir /usr/lib/systemd/system' -D '_mandir /usr/share/man' "$work/obsrec.spec" >"$work/spec"
words=$(sed -n 's/.* \(prefix=.*\) CFLAGS=.*/\1/p' "$work/spec")
# shellcheck disable=SC2086 # words of make
make install DESTDIR="$work/rpm" $words >"$work/said" 2>&1
sed -n '/^%files/,$s|^/|/|p' "$work/spec" >"$work/listed"
listed() { # each file of the package, as it is listed: a directory, or a page that rpmbuild packs
	(cd "$work/rpm" && find . -type f | sed 's|^\.||') | while read -r f; do
		while read -r l; do
			# shellcheck disable=SC2254 # a pattern
			case $f in $l | $l/*) echo "$l" && continue 2 ;; esac
		done <"$work/listed"
		echo "not listed: $f"
	done
}
holds "the RPM package lists what is installed" sh -c '! grep "^not listed" "$1"' sh "$(listed >"$work/matched" && echo "$work/matched")"
holds "and nothing else" sh -c 'sort -u "$1" >"$1.1" && sort -u "$2" | diff "$1.1" -' sh "$work/matched" "$work/listed"
holds "rpmlint finds no error in it" rpmlint "$work/obsrec.spec"
holds "a shell parses the package of Alpine" sh -n "$work/APKBUILD"
# shellcheck disable=SC2016 # the inner shell's
holds "it sets what abuild demands" sh -euc 'cd "$1" && . ./APKBUILD
	: "${pkgname:?} ${pkgver:?} ${pkgrel:?} ${url:?} ${arch:?} ${license:?} ${source:?}"
	[ "$pkgver" = "$2" ] && [ ${#pkgdesc} -gt 0 ] && [ ${#pkgdesc} -lt 128 ]
	command -V package && command -V obsanalyze && echo "$sha512sums" | sed "/^$/d" | sha512sum -c' sh "$work" "$version"
holds "Nix parses its package" nix-instantiate --parse packaging/default.nix
is_version packaging/default.nix "$(nix-instantiate --eval -E \
	'(import ./packaging/default.nix { pkgs.stdenv.mkDerivation = x: x; }).version' 2>/dev/null | tr -d '"')"
holds "make deb" env DEB_BUILD_OPTIONS=parallel=2 MAKEFLAGS=-j2 make deb
debs=$(ls .output/deb/obsrec_*.deb .output/deb/obsanalyze_*.deb)
# shellcheck disable=SC2086 # two names
holds "lintian has nothing to say" lintian --allow-root --fail-on error,warning $debs
mkdir "$work/source"
tar -C "$work/source" -xzf "$work/$tarball"
# a distribution keeps debian/ separate from the sources
tar -C "$work/source" -czf "$work/source/obsrec_$version.orig.tar.gz" --exclude="obsrec-$version/debian" "obsrec-$version"
holds "a source package" sh -c "cd '$work/source' && dpkg-source --build obsrec-$version"
holds "nor of the source package" sh -c "lintian --allow-root --fail-on error,warning '$work'/source/*.dsc"
for c in obsrec obsanalyze; do
	dpkg-deb -f .output/deb/${c}_*.deb Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//; s/ //g' >"$work/$c.needs"
	ok "$c depends on $(tr '\n' ' ' <"$work/$c.needs")"
done
holds "the analyzer needs no BPF" sh -c "! grep -qE 'bpf|elf' '$work/obsanalyze.needs'"

# ---- two bare roots ----
[ "$(id -u)" -eq 0 ] || skip "bare roots need root"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
. tests/package/bare_root.sh
debian_mirror >/dev/null 2>&1 || skip "apt here knows no mirror"

root() { # package: its bare root below $work, with the package in it
	bare_root "$suite" "$(paste -sd, "$work/$1.needs")" "$work/$1" || return 1
	cp .output/deb/"$1"_*.deb "$work/$1/tmp/"
	chroot "$work/$1" sh -c "dpkg -i /tmp/$1_*.deb" >"$work/dpkg.log" 2>&1
}
for c in obsrec obsanalyze; do
	if root $c; then ok "$c installs in a bare $suite"; else
		fail "$c installs in a bare $suite: $(tail -n 2 "$work/$c.log" "$work/dpkg.log" 2>/dev/null)"
		exit 1
	fi
done
holds "the recorder's root has no analyzer" sh -c "! chroot '$work/obsrec' sh -c 'command -v obsanalyze'"
holds "the analyzer's root has no recorder" sh -c "! chroot '$work/obsanalyze' sh -c 'command -v obsrec'"
# the mounts are seen by this one command alone, and go with it
unshare -m sh -c '
	mount --make-rprivate / && mount --rbind /sys "$1/sys" && mount -t proc proc "$1/proc" &&
	mount --rbind /dev "$1/dev" &&
	chroot "$1" obsrec -o /tmp/made.obs -- sh -c "for i in 1 2 3 4 5; do cat /etc/passwd >/dev/null; done"
' sh "$work/obsrec" >"$work/recorded" 2>&1
if [ -s "$work/obsrec/tmp/made.obs" ]; then ok "it records there"; else
	why=$(tail -n 1 "$work/recorded")
	if ./obsrec -q -d 0.1 -a -o "$work/probe.obs" 2>/dev/null; then fail "it records there: $why"; else skip "$why"; fi
	exit $bad
fi
cp "$work/obsrec/tmp/made.obs" "$work/obsanalyze/tmp/"
chroot "$work/obsanalyze" obsanalyze report -v /tmp/made.obs >"$work/report" 2>&1
holds "the other one reports on it" grep -qE '^(COMPLETE|LOSSY): [0-9,]+ records' "$work/report"
n=$(chroot "$work/obsanalyze" obsanalyze sql --csv /tmp/made.obs \
	"SELECT count(*) FROM thread WHERE wall IS NOT NULL AND comm = 'cat'" | tail -n 1 | tr -d '\r')
if [ "$n" = 5 ]; then ok "it counts the 5 commands that ran there"; else fail "it counts $n, not 5 commands"; fi
# it needs both packages: unpacked, on this machine, whose kernel allows BPF
for c in obsrec obsanalyze; do dpkg-deb -x .output/deb/${c}_*.deb "$work/unpacked"; done
mkdir "$work/autopkgtest"
holds "the recorder's test of autopkgtest passes" env AUTOPKGTEST_TMP="$work/autopkgtest" \
	PATH="$work/unpacked/usr/sbin:$work/unpacked/usr/bin:$PATH" sh debian/tests/record
mkdir -p "$work/obsanalyze/tmp/source/testdata"
cp testdata/demo.obs "$work/obsanalyze/tmp/source/testdata/"
cp -r debian "$work/obsanalyze/tmp/source/"
holds "its test of autopkgtest passes" chroot "$work/obsanalyze" sh -c 'cd /tmp/source && sh debian/tests/report'
rm -r "$work/obsanalyze/tmp/source"
holds "man pages are there" sh -c "ls '$work/obsrec/usr/share/man/man8/obsrec.8.gz' \
	'$work/obsanalyze/usr/share/man/man5/obs-schema.5.gz'"
holds "so is the MIME type" test -s "$work/obsanalyze/usr/share/mime/packages/obsrec.xml"
for c in obsrec obsanalyze; do
	chroot "$work/$c" dpkg --purge $c >"$work/said" 2>&1
	holds "$c goes without a trace" sh -c "! find '$work/$c/usr' -name '*obsrec*' -o -name '*obsanalyze*' | grep -q ."
done
exit $bad
