# SPDX-License-Identifier: Apache-2.0
"""Recordings made by hand, as .jsonl: what `fpless report` makes pages of, without root."""

import json
import os
import subprocess
import sys

from browser import skip

META = {"type": "meta", "format": 1, "event": "cpu-clock", "period_ns": 10101010, "hz": 99, "start_unix_ns": 1700000000000000000,
        "duration_ns": 10000000000, "cpus": 4, "kernel": "6.1.0", "argv": ["fpless", "profile", "-a", "10"]}


class Recording:
    """Stacks are written from the root to the leaf: "main", "work@/lib/libwork.so", "leaf!fp" (found by a frame-pointer
    step), "[k]sys_read" (kernel code), "main+inner+innermost" (two inlined in main), "--" and "[thread app]" (no code: who ended
    a wait)."""

    def __init__(self, argv=None, **meta):
        self.meta = dict(META, argv=argv or META["argv"], **meta)
        self.lines, self.samples, self.weight, self.stops = [], 0, 0, {}
        self.places = {}  # of functions: (object, address)

    def frame(self, text):
        if text == "--" or text.startswith("["):
            return {"addr": None, "symbol": text, "offset": None, "origin": "unknown"}
        text, _, origin = text.partition("!")
        name, _, path = text.partition("@")
        path = path or "/usr/bin/app"
        vaddr = self.places.setdefault((name, path), 0x1000 + 0x100 * len(self.places))
        name, *inlined = name.split("+")
        frame = {"object": path, "build_id": "", "vaddr": hex(vaddr + 0x10), "symbol": name, "offset": 0x10, "origin": origin or "cfi"}
        return dict(frame, inlined=[{"symbol": each} for each in inlined[::-1]]) if inlined else frame

    def kernel_frame(self, text):
        address = 0xffffffff81000000 + 0x100 * (len(self.places) + 1)
        address = self.places.setdefault((text, "kernel"), address)
        return {"addr": hex(address + 5), "symbol": text, "offset": 5, "module": None}

    def add(self, count, stack, comm="app", pid=100, stop="outermost", fp=None, cls=None, weight=None, **labels):
        user = [self.frame(text) for text in stack if not text.startswith("[k]")]
        kernel = [self.kernel_frame(text[3:]) for text in stack if text.startswith("[k]")]
        weighed = {"weight_ns": count * META["period_ns"]} if weight is None else {"weight": weight}
        line = {"type": "stack", "count": count, **weighed, "comm": comm, "pid": pid, **labels, "stop": stop, "user": user[::-1],
                "kernel": kernel[::-1]}
        if cls:
            line["fp"] = [self.frame(text + "!fp") for text in fp][::-1]
            line["class"] = cls
        self.lines.append(line)
        self.samples += count
        self.weight += weight or 0
        self.stops[stop] = self.stops.get(stop, 0) + count
        return self

    def write(self, path):
        source = {key: self.meta[key] for key in ("event", "hz", "period_ns", "period", "weight_type", "weight_unit") if key in self.meta}
        if self.weight:
            source["weight"] = self.weight
        books = {"type": "books", "format": 1, **source, "duration_ms": 10000, "cpus": 4,
                 "expected": self.samples + 12, "missed": 2, "fired": self.samples + 10, "shown": self.samples, "idle": 7, "filtered": 2,
                 "lost": {"ring_full": 1}, "user_samples": self.samples, "complete": self.stops.get("outermost", 0), "stop": self.stops}
        with open(path, "w", encoding="utf-8") as file:
            for line in [self.meta, *self.lines, books]:
                file.write(json.dumps(line) + "\n")


def page_of(fpless, recording, folder, *options, name="x"):
    """Writes the recording and, by `fpless report`, its page; returns the path."""
    source, page = os.path.join(folder, name + ".jsonl"), os.path.join(folder, name + ".html")
    recording.write(source)
    return write_page(page, fpless, "report", source, *options)


def write_page(page, *command):
    """Writes a page by a command, and returns its path. Ends the test where pages were left out of the build."""
    done = subprocess.run([*command, "-q", "-o", page], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "without npm" in done.stderr:
        skip("this fpless was built without the HTML report: npm, or what it fetches, was not to be had")
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}: {done.stderr}")
    return page


def write_store(store, fpless, now):
    """A store of ten windows, one a minute until @now, in seconds; `hot' comes with the sixth."""
    files = []
    for nr in range(10):
        recording = Recording(start_unix_ns=(now - 600 + 60 * nr) * 10**9)
        recording.add(200, ["main", "work"]).add(50, ["main", "idle"], comm="other")
        if nr >= 5:
            recording.add(200, ["main", "hot"])
        files.append(f"{store}-{nr}.jsonl")
        recording.write(files[-1])
    subprocess.run([fpless, "query", "import", "--store", store, *files], check=True)
