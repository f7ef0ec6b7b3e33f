#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of containers come from the files of the user who made the cgroup, and no file blocks that.
. "$(dirname "$0")/lib.sh"
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
cg=$mount/obsnames.$$
if [ -z "$mount" ] || ! unshare -m true || ! mkdir "$cg"; then
	echo "not ok cgroups and mounts of our own"
	exit 1
fi
id() { printf "%s%063d" "$1" 0; }
trap 'rmdir "$cg"/*/*/ "$cg"/*/ "$cg"; rm -rf "$work"' EXIT
# alice and bob each made one; root made c and d
mkdir "$cg/alice" "$cg/bob" "$cg/root"
chown 4001 "$cg/alice"
chown 4002 "$cg/bob"
mkdir "$cg/alice/libpod-$(id a).scope" "$cg/bob/libpod-$(id b).scope" "$cg/root/libpod-$(id c).scope" \
	"$cg/root/docker-$(id d).scope" "$cg/alice/docker-$(id e).scope"
storage=.local/share/containers/storage/overlay-containers
printf 'root:x:0:0::/root:/bin/sh\nalice:x:4001:4001::/home/alice:/bin/sh\nbob:x:4002:4002::/home/bob:/bin/sh\n' >"$work/passwd"
named() { printf '{"id":"%s","names":["%s"]}' "$(id "$1")" "$2"; }

mkdir -p /home /var/lib
# in mounts of its own: --container with the files as they are prepared by $1
record() { # preparation, container
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -m sh -c 'mount -t tmpfs none /home && mount --bind "$1" /etc/passwd &&
		mount -t tmpfs none /var/lib && mkdir -p "/home/alice/$2" "/home/bob/$2" \
			/var/lib/containers/storage/overlay-containers &&
		printf "%s" "$6" >/home/bob/$2/containers.json && chown 4002 /home/bob/$2/containers.json &&
		cd /home/alice/$2 && eval "$3" && exec timeout -s KILL $((20 * $8)) "$4" -q --container "$5" -d 0.1 -o "$7"' \
		sh "$work/passwd" "$storage" "$1" "$obsrec" "$2" \
		"[$(named b bobs),$(named a stolen_a),$(named c stolen_c)]" "$work/c.obs" "$slow" 2>&1
	echo "status $?"
	rm -f "$work/c.obs"
}
own="printf '%s' '[$(named a alices)]' >containers.json; chown 4001 containers.json"
says "a name from the file of the maker" "$(record "$own" alices)" '^status 0'
says "the other user's own container" "$(record "$own" bobs)" '^status 0'
says "another user's file does not name it" "$(record "$own" stolen_a)" 'no running container'
says "another user's file does not name root's" "$(record "$own" stolen_c)" 'no running container'
says "a file that belongs to another user" "$(record "$own; chown 4002 containers.json" alices)" 'no running container'
says "a symbolic link" "$(record "$own; mv containers.json x; ln -s x containers.json" alices)" 'no running container'
says "a FIFO blocks nothing" "$(record 'mkfifo containers.json; chown 4001 containers.json' "$(id a)")" '^status 0'
root="printf '%s' '[$(named c roots)]' >/var/lib/containers/storage/overlay-containers/containers.json"
says "root's file names root's container" "$(record "$root" roots)" '^status 0'
docker="mkdir -p /var/lib/docker/containers/$(id d) /var/lib/docker/containers/$(id e)
	printf '{\"Name\":\"/dock\"}' >/var/lib/docker/containers/$(id d)/config.v2.json
	printf '{\"Name\":\"/web\"}' >/var/lib/docker/containers/$(id e)/config.v2.json"
says "docker's file names a cgroup that root made" "$(record "$docker" dock)" '^status 0'
says "a user's cgroup has no name of docker's" "$(record "$docker" web)" 'no running container'
same="printf '%s' '[$(named a bobs)]' >containers.json; chown 4001 containers.json"
says "the same name twice is refused" "$(record "$same" bobs)" 'several containers'
