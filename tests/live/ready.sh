#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests on UDP and Unix sockets arrive when their client sends them, by the client's own clock.
# A server may read a datagram before its event: then its arrival is an estimate.
. "$(dirname "$0")/lib.sh"

# BTF knows it without a mounted tracefs
if ! grep -qa btf_trace_sk_data_ready /sys/kernel/btf/vmlinux; then
	echo "ok arrival at UDP and Unix sockets # SKIP the kernel has no tracepoint sk_data_ready"
	exit 0
fi
port=$((20000 + $$ % 10000))
python3 "$top/tests/live/ready.py" serve $port "$work/socket" 7>&- &
server=$!
until_true test -S "$work/socket"

for way in '' raw_tp; do
	file=$work/ready${way:-btf}.obs
	# shellcheck disable=SC2086
	"$obsrec" -q ${way:+--force $way} -p $server -o "$file" &
	recorder=$!
	until_begun "$file"
	python3 "$top/tests/live/ready.py" ask $port "$work/socket" >"$work/asked" || failed "client"
	kill -INT $recorder
	wait $recorder
	begin=$("$obsanalyze" dump "$file" | sed -n 's/.*info text="begin=\([0-9]*\)".*/\1/p')
	for kind in udp unix; do
		"$obsanalyze" sql --csv "$file" "SELECT s.kind, q.ts - q.queued + $begin, q.arrival_is, q.ts + $begin
			FROM request q JOIN service s ON s.id=q.service WHERE s.kind='$kind' ORDER BY q.ts" | tr -d "\r\"" | tr , " " >"$work/rows"
		awk -v kind=$kind '
			NR == FNR { if ($1 == kind) { before[++asked] = $2; after[asked] = $3 } next }
			$1 == kind {
				n++; kernel += $3
				if ($3 && ($2 < before[n] || (kind == "unix" && $2 > after[n]))) wrong++
			}
			END { print asked + 0, n + 0, (kernel + 2 >= asked ? "most" : kernel), wrong + 0 }' "$work/asked" "$work/rows" >"$work/result"
		is "${way:-tp_btf}: $kind: sent, requests, with arrival, not when sent" "$(cat "$work/result")" \
			"$([ $kind = udp ] && echo 45 45 most 0 || echo 15 15 most 0)"
	done
done
kill $server
exit $bad
