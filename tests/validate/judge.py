# SPDX-License-Identifier: GPL-2.0-or-later
"""Is the cause that a report gives first the one that was made?

Read from the rows that the analysis causes leaves in table cause, in the order of the report. Its kind is
compared, and the sentence, which is all that a reader sees, must name who is to blame. Where the cause is
CPU or a lock, the functions of its row are compared.
"""
import re

COLUMNS = ("rank", "unit", "kind", "label", "share", "share_low", "share_high", "functions", "sentence")
QUERY = """SELECT rank, unit_kind || ' of ' || subject_kind || ' ' || subject, kind, evidence, contribution,
    contribution_low, contribution_high, coalesce(path, '') || ' ' || coalesce(end_path, ''),
    sentence(finding) || coalesce((SELECT ' ' || group_concat(sentence(f.id), ' ') FROM finding f
    WHERE f.parent=cause.finding), '') FROM cause ORDER BY rowid"""


def causes(answers):
    return [dict(zip(COLUMNS, row)) for row in answers.sql(QUERY)]


def percent(value):
    return 100 * float(value) if value not in ("", None) else None


def judge(answers, expected, culprit=None, never=(), function=None):
    """expected: kinds, one of which must come first; culprit: regular expressions that its sentence
    must match; never: kinds that no cause may have; function: regular expression that its functions must match."""
    row = {"expected": "/".join(expected) + (", named: " + ", ".join(culprit) if culprit else ""),
           "never": list(never), "complete": answers.complete()}
    if function:
        row["function_right"] = False
    if not answers.has("causes"):
        return dict(row, missing="analysis causes not in this build", right=False, forbidden=[])
    found = causes(answers)
    if not found:
        said = [f["sentence"] for f in answers.findings("causes")]
        return dict(row, first=said[0] if said else "no cause", blamed="none", right=False, forbidden=[])
    first = found[0]
    if function:
        row.update(functions=first["functions"], function_right=bool(re.search(function, first["functions"])))
    named = all(re.search(c, first["sentence"]) for c in culprit or ())
    return dict(row, first=first["sentence"], blamed=first["kind"], label=first["label"],
                share=percent(first["share"]), low=percent(first["share_low"]),
                high=percent(first["share_high"]), named=named, right=first["kind"] in expected and named,
                forbidden=["%s: %s" % (c["kind"], c["sentence"]) for c in found if c["kind"] in never],
                all=[{k: c[k] for k in ("unit", "kind", "share", "sentence")} for c in found])
