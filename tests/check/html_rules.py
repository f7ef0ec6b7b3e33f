# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report in HTML must be, as far as it shows in its text. html_rules.py FILE..."""
import html.parser
import sys

VOID = {"meta", "br", "img", "hr", "link", "input"}
ELEMENTS = set("""html head meta title style body a header main nav footer section h1 h2 h3 p span strong br ul ol li dl dt dd
    details summary pre code div table caption thead tbody tr th td figure figcaption svg desc g path polygon polyline
    rect circle ellipse line text tspan use defs symbol pattern clippath""".split())
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.bad, self.ids, self.refs = [], [], [], []
        self.levels, self.policy, self.lang = [], None, None
        self.seen = {}

    def say(self, text):
        self.bad.append(f"line {self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.stack.append(tag)
        self.begin(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.begin(tag, attrs)

    def begin(self, tag, attrs):
        a = dict(attrs)
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in ELEMENTS:
            self.say(f"element {tag}")
        if tag == "th" and a.get("scope") not in ("col", "row", "rowgroup"):
            self.say("th without scope")
        if tag == "svg" and "svg" not in self.stack[:-1] and (a.get("role") != "img" or not (a.get("aria-labelledby") or a.get("aria-label"))):
            self.say("svg without a name")
        if tag[0] == "h" and tag[1:].isdigit():
            self.levels.append(int(tag[1:]))
        if a.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = a.get("content")
        self.lang = a.get("lang") if tag == "html" else self.lang
        self.attributes(tag, a)

    def attributes(self, tag, a):
        for name, value in a.items():
            value = value or ""
            if name == "id":
                if value in self.ids:
                    self.say(f"id {value} twice")
                self.ids.append(value)
            if name.startswith("on") or name in ("src", "style", "srcset", "action", "data", "background"):
                self.say(f"attribute {name} of {tag}")
            if name in ("href", "xlink:href"):
                if not value.startswith("#"):
                    self.say(f"{tag} refers to {value}")
                self.refs.append(value[1:])
            if name == "aria-labelledby":
                self.refs.extend(value.split())
            if "url(" in value:
                if not value.startswith("url(#"):
                    self.say(f"{name}={value}")
                self.refs.append(value[5:].rstrip(")"))

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            self.say(f"</{tag}> closes {self.stack[-1:]}")
        if tag in self.stack:
            while self.stack.pop() != tag:
                pass

    def finish(self):
        self.close()
        if self.stack:
            self.say(f"open at the end: {self.stack}")
        for ref in self.refs:
            if ref not in self.ids:
                self.say(f"nothing is called {ref}")
        if self.policy != POLICY:
            self.say(f"policy {self.policy}")
        if self.lang != "en" or self.seen.get("main") != 1 or self.seen.get("h1") != 1:
            self.say("lang, one main and one h1 are needed")
        if self.seen.get("table", 0) != self.seen.get("caption", 0):
            self.say("a table without caption")
        if self.seen.get("figure", 0) != self.seen.get("figcaption", 0):
            self.say("a figure without caption")
        for above, level in zip(self.levels, self.levels[1:]):
            if level > above + 1:
                self.say(f"heading {level} behind {above}")
        return self.bad


def main():
    bad = []
    for path in sys.argv[1:]:
        page = Page()
        with open(path, encoding="utf-8") as f:
            page.feed(f.read())
        bad += [f"{path}: {text}" for text in page.finish()]
    print("\n".join(bad[:20]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
