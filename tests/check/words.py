#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuses words that readers stumble over, and long sentences.

Words: string literals and comments of C and .def files, comments of scripts and plots, man pages, Markdown.
Sentences of more than 30 words: man pages and Markdown.
Exceptions: tests/check/words.allow, one line each with its reason. An exception without a use is an error.

  words.py                   prints TAP, checks the tree
  words.py FILE...           prints what is refused in these files, without exceptions
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Rooms that are not clean yet. A room leaves this list when `words.py` prints that it is clean.
NOT_YET = [
]
LONGEST = 30

AFTER = r"(?=\s*(?:$|[^\w\s]|\b(?:for|from|to|on|in|of|at|and|or|by|with|is|as|than|when|each|over|under|that|but)\b))"
REFUSED = [(re.compile(pattern, re.I), better) for pattern, better in [
    (r"\b(?:told|tells)\b", "say which: reported, contains, printed"),
    (r"\bwhoever\b", "name the process"),
    (r"\b(?:nobody|somebody)\b", "no process, a process, a user"),
    (r"\bthe begin\b", "the start"),
    (r"\bbegun\b", "started"),
    (r"\bbehind\b", "after, below, caused by"),
    (r"\bbeside\b", "next to, compared with, in addition to"),
    (r"\balike\b", "comparable, the same"),
    (r"\banew\b", "again"),
    (r"\bmeanwhile\b", "during the wait"),
    (r"\bapart\b", "excluded, separately"),
    (r"(?:\d|%\w+|\b\w+s|\b(?:once|twice|[KMG]i?B|number|rate)) a second\b" + AFTER, "per second"),
]]

C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*', re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.M)
ESCAPE = re.compile(r"\\[nt]|%%|\\\n")


class Span:
    """A piece of text, and the line on which it starts; several pieces can follow each other."""

    def __init__(self):
        self.text = ""
        self.lines = []
        self.prose = True

    def add(self, text, line):
        for char in text:
            self.lines.append(line)
            line += char == "\n"
        self.text += text

    def line(self, at):
        return self.lines[at] if self.lines else 0


def of_c(text):
    text = INCLUDE.sub("", text)
    spans, last = [], None
    for token in C_TOKEN.finditer(text):
        word, line = token.group(), text.count("\n", 0, token.start()) + 1
        if word[0] == "'":
            continue
        if word[0] == '"':
            # literals that follow each other are one
            if last is None or text[last:token.start()].strip():
                spans.append(Span())
            spans[-1].add(ESCAPE.sub(lambda m: " " * len(m.group()), word[1:-1]), line)
            last = token.end()
            continue
        last = None
        spans.append(Span())
        spans[-1].add(re.sub(r"(?m)^(\s*)\*", r"\1 ", word[2:].removesuffix("*/")), line)
    return spans


def of_script(text):
    span, spans = None, []
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"(?:.*?[\s;])??#(?!!)(?![\w{])\s?(.*)", line)
        if not found:
            span = None
            continue
        if span is None:
            span = Span()
            spans.append(span)
        span.add(found.group(1) + " ", number)
    return spans


# macros whose arguments are words of a sentence, and those of which nothing is printed there
INLINE = {"Fl", "Ar", "Pa", "Nm", "Xr", "Cm", "Ql", "Dq", "Em", "Li", "Va", "Sy", "Pq", "Sq", "Ev", "Ic", "Dv", "Er",
          "Fa", "Fn", "Vt", "Op", "Brq", "Bq", "Ns", "No", "Lk", "Ux", "Bx", "Pf", "Qq", "Ad", "In", "Tn", "Sx"}


def of_mdoc(text):
    spans, span, literal = [], None, False
    for number, line in enumerate(text.split("\n"), 1):
        macro = line[1:3].strip() if line.startswith(".") else None
        if macro in ("Bd", "Ed"):
            literal = macro == "Bd" and ("literal" in line or "unfilled" in line)
        if literal or line.startswith('.\\"') or (macro is not None and macro not in INLINE):
            span = None
            if macro in ("It", "Sh", "Ss", "Nd", "D1"):
                spans.append(Span())
                spans[-1].add(line[4:], number)
                spans[-1].prose = " Cm " not in line[3:8]  # else the synopsis of a command
            continue
        if macro is not None:
            line = " ".join(word for word in line[1:].split() if word not in INLINE)
            line = re.sub(r" ([.,;:)]+)(?= |$)", r"\1", line)
        if span is None:
            span = Span()
            spans.append(span)
        span.add(re.sub(r"\\(?:&|f.|-|\(..)", "", line) + " ", number)
    return spans


def of_markdown(text):
    spans, span, fenced, generated = [], None, False, False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("<!--"):
            generated = "begin" in line or (generated and "end" not in line)
            span = None
            continue
        if line.startswith("```"):
            fenced = not fenced
        code = line.startswith("    ") and span is None
        if generated or fenced or code or not line.strip() or line.startswith(("#", "```")):
            span = None
            if line.startswith("#"):
                spans.append(Span())
                spans[-1].add(line, number)
            continue
        if line.startswith("|"):
            for cell in line.strip("| ").split(" | "):
                spans.append(Span())
                spans[-1].add(cell, number)
            span = None
            continue
        if span is None or re.match(r"\s*(?:[-*]|\d+\.) ", line):
            span = Span()
            spans.append(span)
        span.add(line + " ", number)
    return spans


def sentences(span):
    start = 0
    for end in re.finditer(r"(?<!\be\.g)(?<!\bi\.e)[.!?][)\"'`]*(?=\s|$)|$", span.text):
        if span.text[start:end.end()].strip():
            yield start, span.text[start:end.end()]
        start = end.end()


def check(path):
    text = pathlib.Path(path).read_text(errors="replace")
    prose = False
    if path.endswith((".c", ".h", ".def")):
        spans = of_c(text)
    elif path.endswith(".md"):
        spans, prose = of_markdown(text), True
    elif re.search(r"\.[1-9]$", path):
        spans, prose = of_mdoc(text), True
    else:
        spans = of_script(text)
    found = []
    for span in spans:
        flat = re.sub(r"\s", " ", span.text)
        # runs of spaces would part "a second" at the end of a line
        squeezed = [(at, char) for at, char in enumerate(flat) if char != " " or (at and flat[at - 1] != " ")]
        thin = "".join(char for _, char in squeezed)
        for pattern, better in REFUSED:
            for hit in pattern.finditer(thin):
                line = span.line(squeezed[hit.start()][0])
                found.append((line, f"'{hit.group()}' ({better})"))
        if not prose or not span.prose:
            continue
        for at, sentence in sentences(span):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > LONGEST:
                line = span.line(min(at + len(sentence) - len(sentence.lstrip()), len(span.lines) - 1))
                found.append((line, f"{len(words)} words in a sentence: {' '.join(words[:8])} ..."))
    return sorted(set(found)), text.split("\n")


def files():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True,
                            text=True, check=True).stdout.split()
    for path in listed:
        if not pathlib.Path(path).is_file() or path.startswith(("testdata/", "tests/golden/", ".")):
            continue
        if path in ("tests/check/words.py",):
            continue
        if path.endswith((".c", ".h", ".def", ".sh", ".py", ".gp", ".md")) or re.fullmatch(r"man/.*\.[1-9]", path):
            yield path
        elif path == "Makefile":
            yield path


def exceptions():
    rows = []
    for number, line in enumerate(pathlib.Path("tests/check/words.allow").read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" | ")]
        if len(fields) != 3 or not all(fields):
            sys.exit(f"not ok words.allow:{number}: needs: file | part of its line | reason")
        rows.append([fields[0], fields[1], False])
    return rows


PLANTED = {
    "x.c": ['int a = 1; /* it was\n * told */', 'const char *s = "a"\n\t"part %d";', '// 5 MiB a second.'],
    "x.def": ['EVENT(x, "stands behind it")'],
    "x.sh": ["x=1 # nobody knows", "# ten requests a\n# second, or more"],
    "x.8": [".It Fl x\nWhoever calls", "A " * 31 + "end.", ".Nm\nis\n.Em apart ."],
    "x.md": ["- " + "a " * 31 + "end.", "| one | the begin |", "# Beside"],
}
HARMLESS = {
    "x.c": ['told("told_x_y");', 'x = \'"\'; told();', "/* a second reading takes two readings a second time */"],
    "x.8": [".Bd -literal\n" + "a " * 40 + "\n.Ed"],
    "x.md": ["    " + "a " * 40, "a " * 20 + "end. " + "b " * 20 + "end."],
}


def self_test():
    """Each planted text is refused, each harmless one is not."""
    with tempfile.TemporaryDirectory() as top:
        for texts, refused in ((PLANTED, True), (HARMLESS, False)):
            for name, planted in texts.items():
                for text in planted:
                    path = pathlib.Path(top) / name
                    path.write_text(text)
                    if bool(check(str(path))[0]) != refused:
                        return f"{name}: {text!r}"
    return None


def main():
    if len(sys.argv) > 1:
        for path in sys.argv[1:]:
            for line, why in check(path)[0]:
                print(f"{path}:{line}: {why}")
        return 0
    wrong = self_test()
    print("not ok" if wrong else "ok", "planted words and sentences are refused, others are not")
    if wrong:
        print(wrong)
        return 1
    allowed, refused, unclean = exceptions(), [], set()
    for path in files():
        found, lines = check(path)
        room = next((room for room in NOT_YET if path.startswith(room)), None)
        for line, why in found:
            text = lines[line - 1] if line else ""
            row = next((row for row in allowed if row[0] == path and row[1] in text), None)
            if row:
                row[2] = True
            elif room:
                unclean.add(room)
            else:
                refused.append(f"{path}:{line}: {why}")
    for room in NOT_YET:
        if room not in unclean:
            print(f"# {room} is clean: it can leave NOT_YET in tests/check/words.py")
    refused += [f"words.allow: not used: {path} | {text}" for path, text, used in allowed if not used]
    print(("not ok" if refused else "ok") + " strings, comments, man pages and Markdown use plain words")
    print("\n".join(refused))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
