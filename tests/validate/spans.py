# SPDX-License-Identifier: GPL-2.0-or-later
"""Spans between two functions, joined by a key: as many as the program had, no more and no fewer."""
import http.client
import os
import re
import threading

import lab

CLIENTS, REQUESTS = 4, 1000
NGINX = "nginx:ngx_http_create_request%return..ngx_http_free_request@return,1"


def counted(path):
    """Spans, on two threads, keys reused, ends without a start, starts without an end; no events lost."""
    answers = lab.Answers(path)
    found = answers.sql("SELECT count(*), total(tid <> end_tid) FROM call WHERE site=0")[0]
    found += answers.sql("SELECT total(reused), total(unmatched), total(open) FROM call_defect WHERE site=0")[0]
    complete = answers.complete()
    answers.close()
    return [int(float(n)) for n in found], complete


def work(path):
    """The program of the live test, which prints its numbers."""
    with lab.machine():
        said = lab.run([os.path.join(lab.TOP, "obsrec"), "-q", "-e", "uprobe", "-o", path, "-u",
                        lab.program("spanwork") + ":serve_start..serve_end@2,1", "--", lab.program("spanwork")])
    truth = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", said)}
    return [truth["same"] + truth["moved"] + truth["reused"], truth["moved"], truth["reused"], truth["no_start"], truth["no_end"]]


def ask(server):
    connection = http.client.HTTPConnection(server.address, server.port)
    for _ in range(REQUESTS):
        connection.request("GET", "/page")
        connection.getresponse().read()
    connection.close()


def nginx(path):
    """Several connections at once; nginx uses the address of a request again."""
    directory = os.path.dirname(path)
    with lab.Server("nginx", lab.Loopback(), directory, WORKERS=1) as server:
        with lab.Recording(path, server.pids, ["-e", "uprobe", "-u", NGINX]):
            clients = [threading.Thread(target=ask, args=(server,)) for _ in range(CLIENTS)]
            for c in clients:
                c.start()
            for c in clients:
                c.join()
    return [CLIENTS * REQUESTS, 0, 0, 0, 0]


PROGRAMS = {"spanwork": work, "nginx": nginx}


def row(name, directory):
    path = os.path.join(directory, "spans.obs")
    truth = PROGRAMS[name](path)
    found, complete = counted(path)
    return {"what": name, "truth": truth, "found": found, "complete": complete, "right": found == truth}
