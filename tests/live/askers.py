#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of real servers that send known numbers of requests: askers.py PROTOCOL HOST PORT [deep]."""
import socket
import sys

DEEP = 3 if sys.argv[4:] == ["deep"] else 0


class Peer:
    def __init__(self, host, port):
        self.s = socket.create_connection((host, int(port)))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = b""

    def send(self, data):
        self.s.sendall(data)

    def line(self):
        while b"\r\n" not in self.left:
            self.fill()
        line, self.left = self.left.split(b"\r\n", 1)
        return line

    def fill(self):
        got = self.s.recv(65536)
        if not got:
            raise EOFError
        self.left += got

    def take(self, n):
        while len(self.left) < n:
            self.fill()
        got, self.left = self.left[:n], self.left[n:]
        return got


def redis(host, port):
    p = Peer(host, port)

    def command(*args):
        return b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args)

    def reply(n=1):
        for _ in range(n):
            line = p.line()
            if line[:1] == b"$" and line != b"$-1":
                p.take(int(line[1:]) + 2)

    for i in range(103):
        p.send(command(b"set", b"key:%d" % i, b"v" * i))
        reply()
    for i in range(101):
        p.send(command(b"GET", b"key:%d" % i))
        reply()
    for i in range(7):  # pipelined
        p.send(command(b"GET", b"key:1") * 16)
        reply(16)
    for i in range(DEEP):  # a receive of many pieces
        p.send(command(b"GET", b"key:1") * 1009)
        reply(1009)
    for i in range(11):  # a mix in one receive
        p.send(command(b"HSET", b"h", b"f", b"1") + command(b"HGET", b"h", b"f") * 2 + command(b"INCR", b"n"))
        reply(4)
    for i in range(13):  # fails
        p.send(command(b"LPUSH", b"key:1", b"x"))
        reply()
    for i in range(5):  # long values, with a command after them
        p.send(command(b"APPEND", b"long:%d" % i, b"*1\r\n$4\r\nPING\r\n" * 10007) + command(b"STRLEN", b"long"))
        reply(2)
    for i in range(17):  # a command in two parts
        whole = command(b"EXISTS", b"key:%d" % i)
        p.send(whole[: 2 + i])
        import time
        time.sleep(0.005)
        p.send(whole[2 + i :])
        reply()
    p.send(b"PING\r\n" * 3)
    reply(3)
    wrong = command(b"LPUSH", b"key:1", b"x")
    for i in range(17):  # some of each send fail
        p.send(command(b"GET", b"key:7") + wrong + command(b"PING") + wrong * 2 + command(b"NOPE"))
        reply(6)
    for i in range(5):  # after an array
        p.send(command(b"HMGET", b"h", b"f") + wrong)
        reply(3)


def memcached(host, port):
    p = Peer(host, port)
    for i in range(53):
        p.send(b"set key:%d 0 0 100\r\n%s\r\n" % (i, b"get x\r\n" * 14 + b"ab"))
        p.line()
    for i in range(59):
        p.send(b"get key:%d\r\n" % (i % 53))
        while p.line() != b"END":
            pass
    p.send(b"get nothing\r\n" * 61)
    for _ in range(61):
        p.line()
    for _ in range(DEEP):  # a receive of many pieces
        p.send(b"get nothing\r\n" * 1009)
        for _ in range(1009):
            p.line()
    for _ in range(19):
        p.send(b"incr key:1 1\r\n")
        p.line()
    for _ in range(23):  # three of each send fail
        p.send(b"set word 0 0 7\r\nERROR\r\n\r\nincr word 1\r\nget word\r\n" + b"incr word 1\r\n" * 2 + b"get nothing\r\n")
        for _ in range(9):
            p.line()


def http(host, port):
    p = Peer(host, port)

    def answer(n=1):
        for _ in range(n):
            length = 0
            while True:
                line = p.line().lower()
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
                if not line:
                    break
            p.take(length)

    head = b" HTTP/1.1\r\nHost: x\r\nX-Padding: %s\r\n" % (b"p" * 300)
    for i in range(67):
        p.send(b"GET /report/%d?secret=%d" % (i, i) + head + b"\r\n")
        answer()
    for i in range(71):
        p.send(b"GET /missing/01234567-89ab-cdef-0123-456789abcd%02d" % i + head + b"\r\n")
        answer()
    for i in range(73):
        body = b"GET /no HTTP/1.1\r\n\r\n" * (11 * i)
        p.send(b"POST /upload" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer()
    p.send((b"GET /many" + head + b"\r\n") * 7)
    answer(7)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], sys.argv[3])
