#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_store and fuzz_window (src/store): make-store-seeds.py FPLESS FOLDER. Stores are made by
`fpless query import', and made small by SQLite."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile


def frame(name, **more):
    return {"object": "/bin/prog", "build_id": "ab", "vaddr": "0x10", "symbol": name, "offset": 0, "origin": "cfi", **more}


def recording(start_s, stacks, **meta):
    lines = [{"type": "meta", "format": 1, "event": "cpu-clock", "period_ns": 20408163, "hz": 49, "cpus": 2,
              "start_unix_ns": start_s * 10**9, "duration_ns": 10**10, **meta}]
    for comm, count, user in stacks:
        lines.append({"type": "stack", "count": count, "weight_ns": count * 20408163, "comm": comm, "pid": 7,
                      "cgroup": "/a.service", "stop": "outermost", "user": user, "kernel": []})
    lines.append({"type": "books", "fired": 9, "shown": sum(stack[1] for stack in stacks), "lost": {"ring_full": 1}})
    return "".join(json.dumps(line) + "\n" for line in lines)


LEAF, MIDDLE, MAIN = frame("leaf"), frame("middle", inlined=[{"symbol": "small", "line": 3}]), frame("main")
NAMELESS = {"object": "/bin/prog", "build_id": "ab", "vaddr": "0x20", "symbol": None, "offset": None, "origin": "fp"}
WINDOWS = {
    "one": [recording(1795968762, [("a", 5, [LEAF, MIDDLE, MAIN]), ("b", 3, [MAIN])])],
    "none": [],
    "several": [recording(1795968700 + 10 * n, [("a", n + 1, [LEAF, MAIN]), ("b", 2, [NAMELESS, MIDDLE, MAIN])])
                for n in range(4)],
    "two_runs": [recording(1795968762, [("a", 5, [LEAF])]), recording(1795972362, [("a", 5, [LEAF])], hz=99)],
}


def number(value):
    ret = b""
    while value >= 0x80:
        ret += bytes([value & 0x7f | 0x80])
        value >>= 7
    return ret + bytes([value])


def window(numbers, *groups):
    ret = b"\x01" + b"headhead" + number(len(numbers)) + b"".join(number(n) for pair in numbers for n in pair)
    for series, deltas, stops, counts, each, weights, elided in groups:
        ret += number(series) + number(len(deltas)) + b"".join(map(number, deltas)) + bytes(stops) + bytes(len(deltas))
        ret += b"".join(map(number, counts)) + number(each) + b"".join(map(number, weights))
        ret += bytes([bool(elided)]) + b"".join(map(number, elided))
    return ret


CONTENTS = {
    "empty": window([]),
    "one": window([(3, 7)], (1, [5], [0], [9], 20408163, [], [])),
    "weights": window([(3, 7), (9, 1 << 40)], (1, [5, 1, 300], [0, 0, 4], [1, 2, 3], 0, [10, 30, 70000], [])),
    "elided": window([], (1, [5, 0], [0, 255], [1, 2], 7, [], [0, 12]), (200, [0], [0], [1], 1, [], [])),
    "too_many": window([], (1, [5], [0], [1], 1, [], []))[:-6] + number(1 << 40),
    "far": window([], (1, [(1 << 32) - 1, 1], [0, 0], [1, 1], 1, [], [])),
    "overflow": window([], (1, [1], [0], [1 << 63], 3, [], [])),
}


def make_store(fpless, windows, to):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for n, text in enumerate(windows or [recording(1795968762, [("a", 1, [LEAF])])]):
            files.append(os.path.join(folder, f"{n}.jsonl"))
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run([fpless, "query", "import", "--store", os.path.join(folder, "s"), *files], check=True)
        path = os.path.join(folder, "s", "fpless.db")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode=DELETE").fetchall()
        if not windows:
            db.execute("DELETE FROM window")
        db.execute("PRAGMA page_size=512")
        db.execute("VACUUM")
        db.close()
        with open(path, "rb") as file, open(to, "wb") as copy:
            copy.write(file.read())


def main(fpless, folder):
    for kind in ("fuzz_store", "fuzz_window"):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
    for name, windows in WINDOWS.items():
        make_store(fpless, windows, os.path.join(folder, "fuzz_store", name))
    for name, content in CONTENTS.items():
        with open(os.path.join(folder, "fuzz_window", name), "wb") as file:
            file.write(content)


main(*sys.argv[1:3])
