# SPDX-License-Identifier: GPL-2.0-or-later
"""Is the cause that a report gives first the one that was made? Read from the findings alone."""
import re

# What a sentence of the analysis causes blames, by its words; the first that matches counts.
CLASSES = [
    ("throttle", r"throttl|quota"),
    ("saturation", r"saturat"),
    ("burst", r"no dominant cause"),
    ("pipe", r"\bpipe"),
    ("peer", r"connected socket|other side|\bpeer\b|downstream|answer of"),
    ("handoff", r"hand-?off|handed|waits? for work"),
    ("lock", r"contention|contended|\block\b|\bmutex\b"),
    ("disk", r"\bdisk\b|\bdevice\b|block request"),
    ("antagonist", r"run queue|preempt|had the cpu"),
    ("self", r"on a cpu|on-cpu|computing|cpu time"),
]


def blamed(sentence):
    for name, pattern in CLASSES:
        if re.search(pattern, sentence, re.I):
            return name
    return "other"


def causes(answers):
    """The causes in the order of the report, without the sentences that only tell limits."""
    return [f for f in answers.findings("causes") if f["label"] != "LIMIT"]


def judge(answers, expected, culprit=None, never=()):
    """expected: classes, one of which must come first; culprit: words that the first cause must
    hold, each a regular expression; never: classes that no cause may have."""
    row = {"expected": "/".join(expected) + (" by " + " and ".join(culprit) if culprit else ""),
           "never": list(never), "complete": answers.complete()}
    if not answers.has("causes"):
        return dict(row, missing="analysis causes not in this build", right=False, forbidden=[])
    found = causes(answers)
    first = found[0]["sentence"] if found else "no cause was reported"
    share = re.search(r"([0-9.]+) %", first)
    named = all(re.search(c, first) for c in culprit or ())
    return dict(row, first=first, blamed=blamed(first) if found else "none",
                label=found[0]["label"] if found else "", share=float(share.group(1)) if share else None,
                named=named, right=bool(found) and blamed(first) in expected and named,
                forbidden=[f["sentence"] for f in found if blamed(f["sentence"]) in never],
                all=[f["sentence"] for f in found])
