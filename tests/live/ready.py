#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server on UDP and Unix sockets, and its client, which prints when it sent each request: KIND BEFORE AFTER, by
CLOCK_MONOTONIC. ready.py serve PORT SOCKET | ask PORT SOCKET"""
import os
import select
import socket
import sys
import time

kind, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def serve():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    unix.listen(5)
    socks = [udp, unix]
    while True:
        for s in select.select(socks, [], [])[0]:
            if s is unix:
                socks.append(s.accept()[0])
                socks[-1].sendall(b"!")  # the client waits: what it sends now comes after accept
            elif s is udp:
                data, peer = s.recvfrom(100)
                time.sleep(0.003)  # requests wait for each other
                s.sendto(data, peer)
            else:
                data = s.recv(100)
                if not data:
                    socks.remove(s)
                    s.close()
                    break
                time.sleep(0.003)
                s.sendall(data)


def ask():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect(("127.0.0.1", port))
    for connection in range(3):
        unix = socket.socket(socket.AF_UNIX)
        unix.connect(path)
        unix.recv(1)
        for i in range(5):
            for name, s, n in (("udp", udp, 3), ("unix", unix, 1)):
                for k in range(n):
                    before = time.monotonic_ns()
                    s.send(b"q" * (i + k + 1))
                    print(name, before, time.monotonic_ns())
            for k in range(3):
                udp.recv(100)
            unix.recv(100)
        unix.close()


if kind == "serve":
    serve()
ask()
