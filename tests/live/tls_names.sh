#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each connection with TLS 1.2 or 1.3 has one request that is named "TLS handshake"; all others are encrypted, those of a
# connection from before the recording as well.
. "$(dirname "$0")/lib.sh"

if ! command -v openssl >/dev/null || ! python3 -c 'import ssl' 2>/dev/null; then
	echo "ok TLS handshakes have a name # SKIP openssl or python3 is missing"
	exit 0
fi
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key" -out "$work/certificate" -days 2 -subj /CN=x 2>/dev/null

cat >"$work/server.py" <<-'END'
	import socket, ssl, sys, threading
	context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
	context.load_cert_chain(sys.argv[2], sys.argv[1])
	def serve(c):
	    try:
	        with context.wrap_socket(c, server_side=True) as s:
	            while s.recv(1000):
	                s.sendall(b"answer")
	    except OSError:
	        pass
	s = socket.create_server(("127.0.0.1", 0))
	print(s.getsockname()[1], flush=True)
	while True:
	    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
END
cat >"$work/client.py" <<-'END'
	import socket, ssl, sys
	def connected(version):
	    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
	    context.check_hostname = False
	    context.verify_mode = ssl.CERT_NONE
	    context.maximum_version = version
	    return context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
	def ask(s):
	    for i in range(5):
	        s.sendall(b"GET /x HTTP/1.1\r\n\r\n")
	        s.recv(1000)
	old = connected(ssl.TLSVersion.TLSv1_3)
	ask(old)
	print("ready", flush=True)
	sys.stdin.readline()
	ask(old)
	for i in range(10):
	    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
	        ask(connected(version))
END
python3 "$work/server.py" "$work/key" "$work/certificate" >"$work/port" &
server=$!
until_true grep -q . "$work/port"
mkfifo "$work/go"
python3 "$work/client.py" "$(cat "$work/port")" <"$work/go" >"$work/said" &
client=$!
exec 7>"$work/go"
until_true grep -q ready "$work/said"
file=$work/tls.obs
"$obsrec" -q -p $server -o "$file" 7>&- &
recorder=$!
until_begun "$file"
echo >&7
exec 7>&-
wait $client
kill -INT $recorder
wait $recorder
holds "the recording is complete" "$obsanalyze" verify "$file"
exchanges() { ask "$file" "SELECT count(*) FROM request r LEFT JOIN request_name n ON n.id=r.name WHERE $1"; }
is "one handshake of each connection" "$(exchanges "n.name='TLS handshake'")" 20
is "all other exchanges are encrypted" "$(exchanges "n.name IS NOT 'TLS handshake' AND n.name IS NOT 'encrypted'")" 0
holds "those of the connection from before, too" [ "$(exchanges "n.name='encrypted'")" -ge 105 ]
exit $bad
