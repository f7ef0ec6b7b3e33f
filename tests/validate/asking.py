#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that send known requests of random sizes: asking.py PROTOCOL ADDRESS PORT ROUNDS SEED. Prints, as JSON, how often
each name was sent, each error answered, and each to a name: {"names": {name: n}, "errors": {code: n}, "failed": {"NAME CODE": n}}."""
import collections
import json
import random
import socket
import struct
import sys


class Peer:
    def __init__(self, address, port):
        self.s = socket.create_connection((address, int(port)), timeout=30)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.s.makefile("rb")
        self.names, self.errors, self.failed = collections.Counter(), collections.Counter(), collections.Counter()

    def fails(self, name, code):
        self.errors[code] += 1
        self.failed["%s %s" % (name, code)] += 1

    def send(self, data):
        self.s.sendall(data)

    def take(self, n):
        got = self.stream.read(n)
        if len(got) < n:
            raise EOFError
        return got


def words(rng, most):
    return b"x" * rng.randint(1, most)


class Redis(Peer):
    @staticmethod
    def command(*args):
        return b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args)

    def reply(self, name):
        line = self.stream.readline()
        if line[:1] == b"-":
            self.fails(name, line[1:].split()[0].decode())
        if line[:1] == b"$" and line != b"$-1\r\n":
            self.take(int(line[1:]) + 2)

    def round(self, rng):
        """Sixteen commands at once, as of redis-benchmark -P 16."""
        kinds = {"SET": lambda key: (key, words(rng, 3000)), "GET": lambda key: (key,), "INCR": lambda key: (b"n",),
                 "HGET": lambda key: (b"h", key), "LPUSH": lambda key: (b"n", b"1")}
        chosen = rng.choices(list(kinds), (5, 8, 2, 2, 1), k=16)
        self.send(b"".join(self.command(k.encode(), *kinds[k](b"key:%d" % rng.randint(0, 99))) for k in chosen))
        for k in chosen:
            self.names[k] += 1
            self.reply(k)


class Http(Peer):
    def round(self, rng):
        """Four requests, pipelined or one after the other."""
        together = rng.random() < .5
        heads = []
        for _ in range(4):
            path, name = rng.choice([("/page", "GET /page"), ("/item/%d?q=secret" % rng.randint(1, 10 ** 6), "GET /item/:id"),
                                     ("/user/%032x/mail" % rng.getrandbits(128), "GET /user/:id/mail")])
            self.names[name] += 1
            heads.append(b"GET %s HTTP/1.1\r\nHost: x\r\nX-Padding: %s\r\n\r\n" % (path.encode(), words(rng, 2000)))
        for part in [b"".join(heads)] if together else heads:
            self.send(part)
            for _ in range(4 if together else 1):
                self.reply()

    def reply(self):
        length = 0
        status = self.stream.readline().split()[1].decode()
        if status[0] in "45":
            self.errors[status] += 1
        while (line := self.stream.readline().lower()) != b"\r\n":
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        self.take(length)


class Postgres(Peer):
    def __init__(self, *where):
        super().__init__(*where)
        options = b"user\0postgres\0database\0postgres\0\0"
        self.send(struct.pack("!II", 8 + len(options), 0x30000) + options)
        self.ready()
        self.send(self.message(b"P", b"byid\0SELECT abalance FROM pgbench_accounts WHERE aid = $1::int\0\0\0")
                  + self.message(b"P", b"put\0INSERT INTO pgbench_history(filler) VALUES ($1)\0\0\0") + self.message(b"S"))
        self.ready()

    @staticmethod
    def message(kind, body=b""):
        return kind + struct.pack("!I", 4 + len(body)) + body

    def ready(self, *names):
        """Up to ReadyForQuery, for requests of these names."""
        kind, done = b"", 0
        while kind != b"Z":
            kind, length = struct.unpack("!cI", self.take(5))
            body = self.take(length - 4)
            if kind == b"E":
                fields = dict((f[:1], f[1:]) for f in body.split(b"\0") if f)
                self.fails(names[done], fields[b"C"].decode())
            done += kind == b"C"

    def execute(self, statement, argument):
        return self.message(b"B", b"\0" + statement + b"\0\0\0\0\1" + struct.pack("!I", len(argument)) + argument + b"\0\0") \
            + self.message(b"E", b"\0\0\0\0\0")

    def round(self, rng):
        for keyword, text in ((b"SELECT", b" count(*) FROM pgbench_branches WHERE '%s' <> ''" % words(rng, 3000)),
                              (b"update", b" pgbench_branches SET bbalance = 0 WHERE bid = 1"), (b"SELECT", b" 1/0")):
            self.send(self.message(b"Q", rng.choice((b"", b" ", b"/* a comment */ ")) + keyword + text + b"\0"))
            self.names["Query " + keyword.decode().upper()] += 1
            self.ready("Query " + keyword.decode().upper())
        self.pipelined(rng)
        self.send(b"".join(self.execute(b"byid", b"%d" % rng.randint(1, 1000)) for _ in range(5)) + self.message(b"S"))
        self.names["Execute SELECT"] += 5
        self.ready()
        self.send(self.execute(b"put", words(rng, 20)) + self.message(b"S"))
        self.names["Execute INSERT"] += 1
        self.ready()

    def pipelined(self, rng):
        """Groups of requests that end with one Sync each, in one send: after an error the rest of its group has no answers."""
        groups = []
        for _ in range(5):
            if rng.random() < .4:
                keyword, text = rng.choice(((b"SELECT", b" 1"), (b"SELECT", b" 1/0"), (b"INSERT", b" INTO nowhere VALUES (1)")))
                groups.append((["Query " + keyword.decode()], self.message(b"Q", keyword + text + b"\0")))
                continue
            kinds = rng.choices((("Execute SELECT", b"byid", b"7"), ("Execute SELECT", b"byid", b"no number"),
                                 ("Execute INSERT", b"put", b"x")), (3, 1, 3), k=rng.randint(1, 4))
            groups.append(([k[0] for k in kinds], b"".join(self.execute(k[1], k[2]) for k in kinds) + self.message(b"S")))
        self.send(b"".join(data for names, data in groups))
        for names, _ in groups:
            self.names.update(names)
            self.ready(*names)


class Mysql(Peer):
    def __init__(self, *where):
        super().__init__(*where)
        self.packet()
        login = struct.pack("<IIB23x", 0x8828b, 1 << 24, 33) + b"bench\0\0bench\0mysql_native_password\0"
        self.put(login, 1)
        self.packet()
        self.put(b"\x16SELECT pad FROM sbtest1 WHERE id = 7")
        self.names["Prepare SELECT"] += 1
        first = self.packet()
        self.statement = first[1:5]
        self.until_end(1)

    def put(self, data, number=0):
        self.send(struct.pack("<I", len(data))[:3] + bytes([number]) + data)

    def packet(self):
        head = self.take(4)
        return self.take(struct.unpack("<I", head[:3] + b"\0")[0])

    def until_end(self, ends):
        while ends:
            got = self.packet()
            ends -= got[0] == 0xfe and len(got) < 9

    def result(self, name=""):
        first = self.packet()
        if first[0] == 0xff:
            self.fails(name, first[4:9].decode())
        elif first[0]:
            self.until_end(2)

    def round(self, rng):
        for text, name in ((b"select c from sbtest1 where id = 1 and '%s' <> ''" % words(rng, 3000), "Query SELECT"),
                           (b"Update sbtest1 set k = k + 1 where id = 2", "Query UPDATE"),
                           (b"SELECT nothing FROM nowhere", "Query SELECT")):
            self.put(b"\x03" + text)
            self.names[name] += 1
            self.result(name)
        several = rng.choices(((b"SELECT 1", "Query SELECT"), (b"UPDATE nowhere SET a = 1", "Query UPDATE"), (b"INSERT nonsense", "Query INSERT")), k=6)
        self.send(b"".join(struct.pack("<I", 1 + len(text)) + b"\x03" + text for text, name in several))
        for _, name in several:
            self.names[name] += 1
            self.result(name)
        self.put(b"\x17" + self.statement + b"\0\1\0\0\0")
        self.names["Execute"] += 1
        self.result()
        self.put(b"\x0e")
        self.names["Ping"] += 1
        self.result()


PROTOCOLS = {"redis": Redis, "http": Http, "postgres": Postgres, "mysql": Mysql}


def main():
    protocol, address, port, rounds, seed = sys.argv[1:]
    rng = random.Random(int(seed))
    peers = [PROTOCOLS[protocol](address, port) for _ in range(4)]
    for _ in range(int(rounds)):
        rng.choice(peers).round(rng)
    names, errors, failed = collections.Counter(), collections.Counter(), collections.Counter()
    for p in peers:
        names.update(p.names)
        errors.update(p.errors)
        failed.update(p.failed)
    print(json.dumps({"names": names, "errors": errors, "failed": failed}))


main()
