#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The restrictions of the systemd unit permit what obsrec does: it records under them what it records without them.
. "$(dirname "$0")/lib.sh"
unit=$top/record/obsrec.service
setting() { # key: its value
	awk -v key="$1" '{ more = sub(/\\$/, ""); line = line $0 }
		!more { if (index(line, key "=") == 1) print substr(line, length(key) + 2); line = "" }' "$unit" | tr -s '\t ' ' '
}
for tool in setpriv unshare ip python3; do
	command -v $tool >/dev/null || { echo "ok the unit's restrictions # SKIP no $tool" && exit 0; }
done
caps=$(setting CapabilityBoundingSet | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
says "the unit has capabilities" "$caps" '^+bpf,'
cat >"$work/as_service" <<-END
	#!/bin/sh
	exec setpriv --bounding-set "-all,$caps" --inh-caps -all "$top/.output/confined" \
		"$(setting RestrictAddressFamilies)" "$(setting RestrictNamespaces)" "\$@"
END
chmod +x "$work/as_service"
as_service=$work/as_service
"$as_service" true 2>"$work/err" || { echo "ok the unit's restrictions # SKIP $(cat "$work/err")" && exit 0; }
holds "a socket of a network is refused" "$as_service" sh -c \
	'! python3 -c "import socket; socket.socket(socket.AF_INET)" 2>/dev/null'
holds "a namespace of mounts is refused" "$as_service" sh -c '! unshare -m true 2>/dev/null'

# listeners with a queue, in this network namespace and in another one
cat >"$work/listen.py" <<'PY'
import socket, subprocess, sys, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(8)
clients = [socket.create_connection(server.getsockname()) for i in range(3)]
print("listens", flush=True)
time.sleep(600)
PY
python3 "$work/listen.py" >"$work/here" &
unshare -n python3 "$work/listen.py" >"$work/there" 2>"$work/err" &
until_true grep -q listens "$work/here"
until_true grep -q listens "$work/there" || cat "$work/err"
queues() { # recording: how many namespaces have a listener whose queue was read
	"$obsanalyze" dump -e accept_queue "$1" | grep ' ino=[1-9].* queue=[1-9]' |
		sed 's/.* netns=\([0-9]*\).*/\1/' | sort -u | wc -l
}
"$obsrec" -q -a -e net -d 1.5 -o "$work/free.obs"
"$as_service" "$obsrec" -q -a -e net -d 1.5 -o "$work/service.obs" 2>"$work/err"
is "as a service: exit status" $? 0
is "accept queues of sockets without restrictions" "$(queues "$work/free.obs")" 2
is "and as a service" "$(queues "$work/service.obs")" 2

# rights that it keeps while it records
kept() { # command...: the effective capabilities of a recorder
	rm -f "$work/kept.obs"
	"$@" -q -a -e cpu -o "$work/kept.obs" 2>"$work/err" &
	recorder=$!
	until_begun "$work/kept.obs" >&2
	sed -n 's/^CapEff:[^0-9a-f]*//p' "/proc/$recorder/status"
	kill -TERM $recorder
	wait $recorder
}
is "it keeps as a service the rights that it keeps without" "$(kept "$as_service" "$obsrec")" "$(kept "$obsrec")"
exit $bad
