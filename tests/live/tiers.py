#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Three servers in a row: tiers.py PORT SLOW forks one on each of the ports PORT, PORT+1 and PORT+2, asks the first 60
times, and once for /slow, for which server number SLOW sleeps 1 s. Prints their pids, waits for a line, asks, ends."""
import os
import signal
import socket
import sys
import threading
import time

port, slow = int(sys.argv[1]), int(sys.argv[2])
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


def connect(to):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", to))
        except ConnectionRefusedError:
            time.sleep(0.02)


def serve(tier, s, upstream):
    while request := s.recv(4096):
        if tier == slow and request.startswith(b"GET /slow"):
            time.sleep(1)
        if upstream:
            upstream.sendall(request)
            upstream.recv(4096)
        s.sendall(ANSWER)


def listen(tier):
    listening = socket.create_server(("127.0.0.1", port + tier))
    while True:
        s = listening.accept()[0]
        upstream = connect(port + tier + 1) if tier < 2 else None
        threading.Thread(target=serve, args=(tier, s, upstream), daemon=True).start()


pids = []
for tier in range(3):
    pids.append(os.fork())
    if not pids[-1]:
        listen(tier)
print(",".join(map(str, pids)), flush=True)
sys.stdin.readline()
client = connect(port)
for i in range(61):
    client.sendall(b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"slow" if i == 30 else b"fast"))
    client.recv(4096)
    time.sleep(0.01)
for pid in pids:
    os.kill(pid, signal.SIGKILL)
