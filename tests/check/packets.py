# SPDX-License-Identifier: GPL-2.0-or-later
"""packets.py TRACE JSON: a trace in Perfetto's protocol, as protoc reads it, has the same tracks, slices, arrows
and counters as the same export in JSON. Prints "ok ..." or "not ok ..." lines."""
import collections
import json
import os
import re
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {1: "B", 2: "E", 3: "i", 4: "C"}
CLOCK_OWN, CLOCK_BOOT = 64, 6


def decode(data):
    """The text of protoc as dictionaries of lists."""
    text = subprocess.run(["protoc", "-I" + HERE, "--decode=Trace", "perfetto.proto"], input=data,
                          stdout=subprocess.PIPE, check=True).stdout.decode("ascii")
    top = collections.defaultdict(list)
    stack = [top]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner = collections.defaultdict(list)
            stack[-1][line[:-2]].append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        else:
            key, value = line.split(": ", 1)
            if re.match(r"\d+$", key):
                raise ValueError("field %s is not of the protocol" % key)
            stack[-1][key].append(value)
    return top


def octets(text):
    """A string of the text format."""
    return re.sub(rb"\\([0-7]{3}|.)", lambda m: bytes([int(m.group(1), 8)]) if len(m.group(1)) == 3 else
                  {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(m.group(1), m.group(1)), text[1:-1].encode())


def word(text):
    return octets(text).decode("utf-8")


def one(message, key, default=None):
    assert len(message[key]) <= 1, key
    return message[key][0] if message[key] else default


def packets(path):
    """Those of the file, out of their compressed groups."""
    with open(path, "rb") as f:
        data = f.read()
    for outer in decode(data)["packet"]:
        assert set(k for k in outer if outer[k]) == {"compressed_packets"}, dict(outer)
        yield from decode(zlib.decompress(octets(one(outer, "compressed_packets"))))["packet"]


class Sequence:
    def __init__(self):
        self.names = {k: {} for k in ("event_categories", "event_names", "debug_annotation_names")}
        self.track, self.clock, self.now, self.begin = None, None, 0, None

    def learn(self, data):
        for kind, names in self.names.items():
            for entry in data[kind]:
                iid = one(entry, "iid")
                assert iid not in names, "an interned number twice"
                names[iid] = word(one(entry, "name"))


def read(path):
    """Events by (process, track), arrows, and the snapshot of clocks."""
    sequences, tracks, events, clocks = collections.defaultdict(Sequence), {}, collections.defaultdict(list), None
    starts, ends = set(), set()
    for p in packets(path):
        number = one(p, "trusted_packet_sequence_id")
        s = sequences[number]
        if p["trace_packet_defaults"]:
            d = one(p, "trace_packet_defaults")
            s.track, s.clock = one(one(d, "track_event_defaults"), "track_uuid"), int(one(d, "timestamp_clock_id"))
            assert one(p, "sequence_flags") == "1", "a sequence starts without a cleared state"
        if p["clock_snapshot"]:
            of = {int(one(c, "clock_id")): c for c in one(p, "clock_snapshot")["clocks"]}
            if CLOCK_OWN in of:
                assert one(of[CLOCK_OWN], "is_incremental") == "true"
                s.now, s.begin = int(one(of[CLOCK_OWN], "timestamp")), one(of[CLOCK_BOOT], "timestamp")
            else:
                clocks = {k: one(c, "timestamp") for k, c in of.items()}
        if p["track_descriptor"]:
            t = one(p, "track_descriptor")
            tracks[one(t, "uuid")] = t
        if p["interned_data"]:
            s.learn(one(p, "interned_data"))
        if not p["track_event"]:
            continue
        v = one(p, "track_event")
        assert s.clock == CLOCK_OWN and s.begin == clocks[CLOCK_BOOT] and s.track in tracks, "an event without context"
        s.now += int(one(p, "timestamp"))
        name = s.names["event_names"].get(one(v, "name_iid"), word(one(v, "name", '""')))
        kind = TYPES[int(one(v, "type"))]
        args = {s.names["debug_annotation_names"][one(a, "name_iid")]:
                word(one(a, "string_value")) if a["string_value"] else int(one(a, "int_value"))
                for a in v["debug_annotations"]}
        if kind == "C":
            args = {"n": int(one(v, "counter_value"))}
        categories = [s.names["event_categories"][c] for c in v["category_iids"]]
        starts |= set(v["flow_ids_old"])
        ends |= set(v["terminating_flow_ids_old"])
        kind = "s" if v["flow_ids_old"] else kind
        events[s.track].append((kind, s.now, name if kind != "E" else "", categories[0] if categories else None, args))
    return named(tracks, events), starts, ends, clocks


def named(tracks, events):
    """Tracks by what a viewer shows of them: process and name."""
    pids = {one(t, "uuid"): one(one(t, "process"), "pid") for t in tracks.values() if t["process"]}
    groups = {one(t, "uuid"): word(one(t, "name")) for t in tracks.values() if t["name"] and not t["parent_uuid"]}
    found = {}
    for uuid, list_ in events.items():
        t = tracks[uuid]
        if t["thread"]:
            key = (one(one(t, "thread"), "pid"), word(one(one(t, "thread"), "thread_name")), one(one(t, "thread"), "tid"))
        else:
            parent = one(t, "parent_uuid")
            key = (pids.get(parent) or groups[parent], word(one(t, "name")))
        if t["counter"]:
            list_ = [(kind, ts, key[1], category, args) for kind, ts, _, category, args in list_]
        assert key not in found, "track %s is there twice" % (key,)
        found[key] = list_
    return found


def read_json(path):
    with open(path, encoding="utf-8") as f:
        all_ = json.load(f, parse_float=lambda t: int(t.replace(".", "")))["traceEvents"]
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in all_ if e["ph"] == "M" and "name" in e["args"]}
    events = collections.defaultdict(list)
    starts, ends = set(), set()
    for e in all_:
        if e["ph"] in "Mf":
            ends |= {str(e["id"])} if e["ph"] == "f" else set()
            continue
        group = names.get(("process_name", e["pid"], 0)) if e["pid"] > 300000000 else str(e["pid"])
        track = e["name"] if e["ph"] == "C" else names[("thread_name", e["pid"], e["tid"])]
        key = (group, track) if e["ph"] == "C" or e["tid"] >= 100000000 or e["pid"] > 300000000 else \
            (group, track, str(e["tid"]))
        starts |= {str(e["id"])} if e["ph"] == "s" else set()
        events[key].append((e["ph"], e["ts"], e["name"] if e["ph"] != "E" else "", e.get("cat"), e.get("args", {})))
    return dict(events), starts, ends


def main():
    trace, as_json = sys.argv[1:]
    bad = []
    try:
        got, starts, ends, clocks = read(trace)
        want, want_starts, want_ends = read_json(as_json)
        for key in sorted(set(got) | set(want)):
            if got.get(key) != want.get(key):
                pair = next(((a, b) for a, b in zip(got.get(key, []), want.get(key, [])) if a != b), None)
                bad.append("track %s: %s" % (key, pair or "%d and %d events" % (len(got.get(key, [])), len(want.get(key, [])))))
        if starts != want_starts or ends != want_ends or starts != ends:
            bad.append("arrows: %d starts, %d ends, %d in JSON" % (len(starts), len(ends), len(want_starts)))
        if CLOCK_BOOT not in (clocks or {}):
            bad.append("no snapshot of clocks")
    except Exception as e:  # pylint: disable=broad-except
        bad.append("%s: %s" % (type(e).__name__, e))
        got = {}
    n = sum(len(v) for v in got.values())
    print("%s %s: %d events on %d tracks in Perfetto's protocol are those of the JSON"
          % ("not ok" if bad else "ok", os.path.basename(trace), n, len(got)))
    for text in bad[:10]:
        print("# " + text)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
