#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the servers and clients that make validate measures, if something is missing; the
# modules for Node go below .output.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin:/sbin

missing=''
for c in redis-server memcached nginx psql pgbench mariadbd mariadb mariadb-install-db sysbench node npm ip java \
	taskset setsid runuser strace perf g++ pkg-config openssl; do
	command -v $c >/dev/null 2>&1 || missing="$missing $c"
done
pkg-config --exists grpc++ 2>/dev/null || missing="$missing grpc++"
[ -x "$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)/initdb" ] || missing="$missing initdb"
if [ -n "$missing" ]; then
	echo "Missing:$missing"
	if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
		echo "validate: install these (as root): Debian calls the packages redis-server memcached" \
			"nginx-light postgresql mariadb-server-core mariadb-client-core sysbench nodejs npm" \
			"iproute2 strace linux-perf default-jdk-headless g++ pkg-config libgrpc++-dev openssl" >&2
		exit 1
	fi
	# packages start their services; these are not wanted, and only those installed here are kept
	# from starting
	policy=/usr/sbin/policy-rc.d
	made=''
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
		made=$policy
	fi
	trap '[ -z "$made" ] || rm -f "$made"' EXIT
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server redis-tools \
		memcached nginx-light postgresql postgresql-contrib mariadb-server-core mariadb-client-core \
		sysbench iproute2 util-linux strace linux-perf default-jdk-headless \
		g++ pkg-config libgrpc++-dev openssl >/dev/null
	command -v npm >/dev/null 2>&1 ||
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi

node=.output/validate/node
mkdir -p $node
cp tests/validate/node/* $node/
if ! cmp -s $node/package.json $node/installed.json; then
	(cd $node && npm install --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null)
	cp $node/package.json $node/installed.json
fi
