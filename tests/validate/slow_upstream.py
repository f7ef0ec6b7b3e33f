# SPDX-License-Identifier: GPL-2.0-or-later
"""slow_upstream.py CALM: an HTTP server that answers at once for CALM seconds after the first request
that follows a pause of a second, and 20 ms late from then on. Prints its port."""
import socketserver
import sys
import threading
import time

BODY = b"x" * 1024
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
first = last = 0.0
lock = threading.Lock()


def is_late():
    global first, last
    with lock:
        now = time.monotonic()
        if now - last > 1:
            first = now
        last = now
        return now - first > float(sys.argv[1])


class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while True:
            line = self.rfile.readline()
            if not line:
                return
            if line == b"\r\n":
                if is_late():
                    time.sleep(.02)
                self.wfile.write(ANSWER)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 256


with Server(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
