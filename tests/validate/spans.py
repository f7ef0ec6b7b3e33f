# SPDX-License-Identifier: GPL-2.0-or-later
"""Spans between two functions, joined by a key: as many as the program had, no more and no fewer."""
import http.client
import os
import re
import threading
import time

import lab

CLIENTS, REQUESTS, CALLS = 4, 1000, 4000
NGINX = "nginx:ngx_http_create_request%return..ngx_http_free_request@return,1"
# of a request that nginx passes on: its head is read; phases before the upstream; upstream, answer and log
PHASES = [("head", "nginx:ngx_http_create_request%return..ngx_http_handler@return,1"),
          ("phases before the upstream", "nginx:ngx_http_handler..ngx_http_upstream_init@1"),
          ("upstream, answer and log", "nginx:ngx_http_upstream_init..ngx_http_free_request@1")]
NODE = "node:node::http2::Http2Stream::Http2Stream..node::http2::Http2Stream::EmitStatistics@1"
FILES = "node:uv_fs_read..uv_fs_req_cleanup@2,1"
GRPC = "libgrpc.so.29:grpc_chttp2_stream::grpc_chttp2_stream..grpc_chttp2_stream::~grpc_chttp2_stream@1"
ANY = None  # not known elsewhere


def counted(path, site):
    """Spans, on two threads, keys reused, ends without a start, starts without an end; no events lost."""
    answers = lab.Answers(path, keep=True)
    found = answers.sql("SELECT count(*), total(tid <> end_tid) FROM call WHERE site=%d" % site)[0]
    found += answers.sql("SELECT total(reused), total(unmatched), total(open) FROM call_defect WHERE site=%d" % site)[0]
    complete = answers.complete()
    answers.close()
    return [int(float(n)) for n in found], complete


def work(path):
    """The program of the live test, which prints its numbers."""
    with lab.machine():
        said = lab.run([os.path.join(lab.TOP, "obsrec"), "-q", "-e", "uprobe", "-o", path, "-u",
                        lab.program("spanwork") + ":serve_start..serve_end@2,1", "--", lab.program("spanwork")])
    truth = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", said)}
    return [("spanwork", [truth["same"] + truth["moved"] + truth["reused"], truth["moved"], truth["reused"], truth["no_start"], truth["no_end"]])]


def recorded(path, server, probes, client):
    options = [word for p in probes for word in ("-u", p)]
    with lab.Recording(path, server.pids, ["-e", "uprobe"] + options):
        client()
        time.sleep(.2)  # the server forgets the last request


def ask(server):
    connection = http.client.HTTPConnection(server.address, server.port)
    for _ in range(REQUESTS):
        connection.request("GET", "/page")
        connection.getresponse().read()
    connection.close()


def several(server):
    """Several connections at once; a server uses the address of a request again."""
    clients = [threading.Thread(target=ask, args=(server,)) for _ in range(CLIENTS)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()


def nginx(path):
    with lab.Server("nginx", lab.Loopback(), os.path.dirname(path), WORKERS=1) as server:
        recorded(path, server, [NGINX], lambda: several(server))
    return [("nginx, requests", [CLIENTS * REQUESTS, 0, 0, 0, 0])]


def phases(path):
    with lab.Server("nginx-proxy", lab.Loopback(), os.path.dirname(path)) as server:
        recorded(path, server, [probe for _, probe in PHASES], lambda: several(server))
    return [("nginx as proxy, " + name, [CLIENTS * REQUESTS, 0, 0, 0, 0]) for name, _ in PHASES]


def multiplexed(name, protocol, title, probe, threads):
    """Calls of several connections, eight at a time on each."""
    def record(path):
        with lab.Server(name, lab.Loopback(), os.path.dirname(path)) as server:
            recorded(path, server, [probe], lambda: lab.run([
                "node", os.path.join(lab.OUT, "node", "asking.js"), protocol, server.address, str(server.port), str(CALLS), "1"]))
        return [(title, [CALLS, threads, 0, 0, 0])]
    return record


def files(path):
    """fs.read() of Node, which libuv gives to threads of its own."""
    program = "const fs=require('fs'),b=Buffer.alloc(64);let n=%d;fs.open(process.execPath,(e,f)=>{const next=()=>" \
        "{if(n-->0)fs.read(f,b,0,64,64*n,next);};for(let i=0;i<8;i++)next();});" % CALLS
    with lab.machine():
        lab.run([os.path.join(lab.TOP, "obsrec"), "-q", "-e", "uprobe", "-o", path, "-u", FILES, "--", "node", "-e", program])
    return [("Node, reads of files", [CALLS, 0, 0, ANY, 0])]  # an open ends like a read


PROGRAMS = {"spanwork": work, "nginx": nginx, "phases": phases,
            "node-h2": multiplexed("h2", "h2", "Node, streams of HTTP/2", NODE, 0),
            "node-grpc": multiplexed("grpc", "grpc", "Node, calls of gRPC", NODE, 0),
            "node-files": files,
            "grpc-cpp": multiplexed("grpc-cpp", "grpc", "C++, calls of gRPC on three threads", GRPC, ANY)}


def rows(name, directory):
    path, out = os.path.join(directory, "spans.obs"), []
    for site, (title, truth) in enumerate(PROGRAMS[name](path)):
        found, complete = counted(path, site)
        out.append({"what": title, "truth": truth, "found": found, "complete": complete,
                    "right": all(t in (ANY, f) for f, t in zip(found, truth))})
    os.unlink(path)
    return out
