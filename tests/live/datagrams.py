#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server on UDP that reads two requests before it answers them, the second one first, after 20 ms and 50 ms; and its
clients, of two addresses; or a client of DNS with three questions at a time. datagrams.py serve|ask|dns PORT"""
import socket
import sys
import time

ROUNDS = 10


def bound(address, port=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    return s


def serve(port):
    s = bound("0.0.0.0", port)
    while True:
        peers = []
        for _ in range(2):
            s.recvfrom(4, socket.MSG_PEEK)
            peers.append(s.recvfrom(100)[1])
        time.sleep(0.02)
        s.sendto(b"second", peers[1])
        time.sleep(0.03)
        s.sendto(b"first", peers[0])


def ask(port):
    first, second = bound("127.0.0.1"), bound("127.0.0.2")
    for _ in range(ROUNDS):
        first.sendto(b"question", ("127.0.0.1", port))
        second.sendto(b"question", ("127.0.0.1", port))
        second.recv(100)
        first.recv(100)


def dns(port):
    s = bound("127.0.0.1")
    s.settimeout(20)
    names = b"\2ok\4test", b"\4none\2ok\4test", b"\4lost\4test"
    for number in range(ROUNDS):
        for i, name in enumerate(names):
            head = bytes((number + 1, i, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0))
            s.sendto(head + name + b"\0\0\1\0\1", ("127.0.0.1", port))
        answers = [s.recv(500) for _ in names]
        assert sorted(a[1] for a in answers) == [0, 1, 2]


{"serve": serve, "ask": ask, "dns": dns}[sys.argv[1]](int(sys.argv[2]))
