# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at HTML reports in Chromium, through DevTools on a pipe: browser.py CHROMIUM FILE...
Each page is loaded with scripts on and off, at the widths of a phone and of a laptop, light and dark.
Prints "ok" and "not ok" lines."""
import json
import os
import select
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # s for one answer

LOOK = r"""(() => {
	const bad = [], say = t => bad.length < 12 && bad.push(t);
	const lum = c => c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
		.reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
	const rgb = t => (t.match(/[\d.]+/g) || []).map(Number);
	const ground = e => {
		for (; e; e = e.parentElement) {
			const c = rgb(getComputedStyle(e).backgroundColor);
			if (c.length == 3 || c[3] == 1) return c.slice(0, 3);
		}
		return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
	};
	// in a flame graph, a text stands on its frame
	const frame = e => e.closest('svg.flame') && e.parentElement.querySelector(':scope > rect');
	let texts = 0, smallest = 99;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || ['STYLE', 'style', 'title', 'desc'].includes(e.tagName)) continue;
		const s = getComputedStyle(e), svg = e instanceof SVGElement;
		const fore = rgb(svg ? s.fill : s.color).slice(0, 3), on = frame(e);
		const back = on ? rgb(getComputedStyle(on).fill) : ground(e);
		const [a, b] = [lum(fore), lum(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
		texts++;
		if (ratio < 4.5) say(`contrast ${ratio.toFixed(2)} (${fore} on ${back}) of "${walk.currentNode.data.trim().slice(0, 30)}"`);
		const m = svg && e.getScreenCTM && e.getScreenCTM();
		const size = parseFloat(s.fontSize) * (m ? Math.hypot(m.a, m.b) : 1);
		smallest = Math.min(smallest, size);
	}
	if (texts < 50) say(`only ${texts} texts`);
	if (smallest < 8.5) say(`text of ${smallest.toFixed(1)} px`);
	const root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) {
		say(`${root.scrollWidth} px wide on a screen of ${root.clientWidth}`);
		for (const e of document.querySelectorAll('body *'))
			if (e.getBoundingClientRect().right > root.clientWidth && !e.closest('.wide')) say(e.outerHTML.slice(0, 80));
	}
	for (const a of document.querySelectorAll('a[href]'))
		if (!document.getElementById(decodeURIComponent(a.getAttribute('href').slice(1)))) say('link ' + a.outerHTML);
	for (const e of document.querySelectorAll('svg'))
		if (!e.parentElement.closest('svg') && e.getBBox().width < 100) say('nothing is drawn in ' + e.getAttribute('aria-labelledby'));
	return bad;
})()"""


# on paper: what is folded is open, and no table is cut off at the edge
PAPER = r"""(() => {
	const bad = [], root = document.documentElement;
	for (const e of document.querySelectorAll('details > :not(summary)'))
		if (!e.checkVisibility({contentVisibilityAuto: true}) || e.getBoundingClientRect().height < 1)
			bad.push('folded: ' + e.outerHTML.slice(0, 60));
	for (const e of document.querySelectorAll('table, svg, pre'))
		if (e.getBoundingClientRect().right > root.clientWidth + 1 && !e.parentElement.closest('svg')) // a frame cuts its text
			bad.push(`ends at ${e.getBoundingClientRect().right} of ${root.clientWidth} px: ` + e.textContent.slice(0, 40));
	return bad;
})()"""
A4 = 688  # px between margins of 14 mm


class Browser:
    def __init__(self, program, home):
        ours, theirs = os.pipe(), os.pipe()

        def wire():
            # high numbers first, so that neither lies where the other is to go
            a, b = os.dup2(ours[0], 100), os.dup2(theirs[1], 101)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
             "--user-data-dir=" + home],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read = ours[1], theirs[0]
        self.number, self.rest, self.session, self.events = 0, b"", None, []

    def message(self, end):
        while b"\0" not in self.rest:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.read, 1 << 20)
            if not part:
                raise EOFError("the browser has gone")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            m = self.message(end)
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]
            self.events.append(m)

    def wait(self, event):
        end = time.monotonic() + PATIENCE
        while not any(m.get("method") == event for m in self.events):
            self.events.append(self.message(end))

    def evaluate(self, text):
        r = self.call("Runtime.evaluate", expression=text, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(str(r["exceptionDetails"])[:300])
        return r["result"].get("value")

    def attach(self):
        if self.session is not None:
            return
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def open(self, path, width, dark=False, scripts=True):
        """Loads a page and returns what the console and the network saw, as sentences."""
        self.attach()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("Page.loadEventFired")
        return self.said()

    def said(self):
        bad = []
        for m in self.events:
            p = m.get("params", {})
            kind = m.get("method")
            if kind == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                bad.append(p["entry"]["text"][:150])
            if kind == "Runtime.exceptionThrown" or (kind == "Runtime.consoleAPICalled" and p["type"] == "error"):
                bad.append(str(p)[:150])
            if kind == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:")):
                bad.append("fetches " + p["request"]["url"][:100])
        return bad

    def key(self, name, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[name])


def by_keyboard(b):
    """The first Tab shows the way to the verdict; evidence opens by Enter."""
    bad = []
    b.key("Tab")
    if not b.evaluate("document.activeElement.className == 'skip' && "
                      "document.activeElement.getBoundingClientRect().left >= 0"):
        bad.append("Tab does not show the skip link")
    if b.evaluate("!!document.querySelector('summary')"):
        b.evaluate("document.querySelector('summary').focus()")
        b.key("Enter", "\r")
        if not b.evaluate("document.querySelector('details').open"):
            bad.append("Enter does not open the evidence")
    return bad


def for_screen_readers(b):
    bad = []
    for node in b.call("Accessibility.getFullAXTree")["nodes"]:
        role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value")
        if not node.get("ignored") and role in ("image", "img", "region", "link", "table", "heading", "navigation") \
                and not name:
            bad.append(f"{role} without a name")
    return bad


def views(b, path):
    """Yields (what was looked at, what is wrong)."""
    size = os.path.getsize(path)
    yield "is below 2 MB", [f"{size} bytes"] if size >= 2_000_000 else []
    for width in (390, 1280):
        for dark in (False, True):
            bad = b.open(path, width, dark) + b.evaluate(LOOK)
            b.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            bad += b.evaluate(LOOK)
            yield f"is readable at {width} px, {'dark' if dark else 'light'}, folded and open", bad
    b.open(path, 1280)
    high = b.call("Page.getLayoutMetrics")["cssContentSize"]
    yield "serves keyboards", by_keyboard(b)
    yield "has names for screen readers", for_screen_readers(b)
    bad = b.open(path, 1280, scripts=False)
    if b.call("Page.getLayoutMetrics")["cssContentSize"] != high:
        bad.append("its size is another without scripts")
    yield "is the same without scripts", bad
    pdf = b.call("Page.printToPDF", preferCSSPageSize=True)["data"]
    yield "can be printed", [] if len(pdf) > 20000 and pdf.startswith("JVBER") else ["no PDF"]
    b.open(path, A4)
    b.call("Emulation.setEmulatedMedia", media="print")
    b.call("Page.captureScreenshot")  # what is folded opens when it is painted
    bad = b.evaluate(PAPER)
    b.call("Emulation.setEmulatedMedia", media="")
    yield "is whole on paper", bad


# what must be found wrong: (what is changed in a page, by what)
BROKEN = (
    ("a script", "<main>", "<main><script>console.log(1)</script>"),
    ("something fetched", "<main>", "<main><img src='http://127.0.0.1:9/x.png' alt='x'>"),
    ("too wide a part", "<main>", "<main><div style='width:2000px'>wide</div>"),
    ("pale text", "<main>", "<main><p style='color:#999;background:#fff'>pale</p>"),
    ("pale text on frames", "<main>", "<main><style>.flame text{fill:#fff!important}</style>"),
    ("dark frames", "<main>", "<main><style>.flame rect{fill:#333!important}</style>"),
    ("a link to nowhere", 'href="#limits"', 'href="#nowhere"'),
    ("no skip link", 'class="skip"', 'class="other"'),
    ("evidence that stays folded on paper", "details::details-content", "details::-webkit-none"),
    ("a table that is cut off on paper", "th,td{padding:.1rem .25rem;white-space:normal;", "th,td{padding:9rem;"),
    ("a link without a name", '<a href="#limits">What this recording cannot show</a>', '<a href="#limits"></a>'),
)


def main():
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        b = Browser(sys.argv[1], home)
        try:
            for path in sys.argv[2:]:
                for what, bad in views(b, path):
                    print(("not ok " if bad else "ok ") + os.path.basename(path) + " " + what)
                    for text in bad[:8]:
                        print("  " + text)
                    failed += bool(bad)
            with open(sys.argv[2], encoding="utf-8") as f:
                page = f.read()
            for what, old, new in BROKEN:
                broken = os.path.join(home, "broken.html")
                with open(broken, "w", encoding="utf-8") as f:
                    f.write(page.replace(old, new, 1))
                found = any(bad for _, bad in views(b, broken))
                print(("ok " if found else "not ok ") + what + " is found")
                failed += not found
        finally:
            b.process.terminate()
            b.process.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
