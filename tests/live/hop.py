#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One server of a chain, or its client.
hop.py serve ADDRESS PORT NAME [ADDRESS PORT]: answers HTTP, after it asked the server at the second address. A request for
/NAME/sleep or /NAME/cpu sleeps, or computes, for the seconds of its header Delay. hop.py ask ADDRESS PORT: prints
"connected", reads lines "PATH SECONDS", asks each."""
import socket
import sys
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


def connect(address, port):
    while True:
        try:
            s = socket.create_connection((address, port))
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return s
        except OSError:
            time.sleep(0.02)


def delay(how, seconds):
    if how == b"sleep":
        time.sleep(seconds)
    end = time.thread_time() + seconds
    while how == b"cpu" and time.thread_time() < end:
        pass


def serve(s, name, upstream):
    while request := s.recv(4096):
        at, how = request.split(b" ")[1].split(b"/")[1:]
        if at == name:
            delay(how, float(request.split(b"Delay: ")[1].split()[0]))
        if upstream:
            upstream.sendall(request)
            upstream.recv(4096)
        s.sendall(ANSWER)


def listen(address, port, name, *following):
    listening = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    while True:
        s = listening.accept()[0]
        upstream = connect(following[0], int(following[1])) if following else None
        threading.Thread(target=serve, args=(s, name.encode(), upstream), daemon=True).start()


def ask(address, port):
    client = connect(address, port)
    print("connected", flush=True)
    for i, line in enumerate(sys.stdin):
        # of different lengths: which question is which can be seen at the other end
        client.sendall(("GET %s HTTP/1.1\r\nDelay: %s\r\nHost: %s\r\n\r\n" % (*line.split(), "x" * (i * 7 % 13))).encode())
        client.recv(4096)
        time.sleep(0.005)


role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if role == "serve":
    listen(address, port, *sys.argv[4:])
else:
    ask(address, port)
