#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_measure.py FPLESS: every output shows the number that readers are shown, counts or weights, and all of it."""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

# pylint: disable=wrong-import-position
import pprof_file

FPLESS = os.path.realpath(sys.argv[1])
TIMEOUT_S = 180  # hung, not slow

# frames leaf first, weights of the samples, comm, pid
STACKS = (
    (("leaf", "mid", "main"), (4096,) * 5, "a", 1),
    (("other", "main"), (1048576, 300000, 3), "a", 1),
    (("third", "main"), (1,) * 40, "b", 2),
    (("nothing", "main"), (0, 0), "b", 2),
)
COUNT = sum(len(weights) for _, weights, _, _ in STACKS)
WEIGHT = sum(sum(weights) for _, weights, _, _ in STACKS)

# name: what the meta line says of the weights, the key of a weight, what text says of all
SOURCES = {
    "clock": ({"hz": 100}, "weight_ns", None),
    "off": ({"hz": 0, "weight_type": "off-cpu"}, "weight_ns", "1.4 ms of off-cpu"),
    "alloc": ({"hz": 0, "weight_type": "alloc_space", "weight_unit": "bytes"}, "weight", "1.3 MiB of alloc_space"),
    "faults": ({"hz": 0, "weight_type": "page-faults", "weight_unit": "count"}, "weight", "1,369,099 page-faults"),
}
EXTENSIONS = ("folded", "txt", "jsonl", "perf", "pb.gz", "speedscope.json", "firefox.json", "svg", "html")


def frame(name, place):
    return {"object": "/x", "build_id": "aa", "vaddr": hex(4096 + 256 * place), "symbol": name, "offset": 0, "origin": "cfi"}


def recording(source, timed, factor=1):
    """Text of a .jsonl, with a time for each sample or without."""
    meta, key, _ = SOURCES[source]
    lines = [{"type": "meta", "format": 1, "event": source, "duration_ns": 900000000, "cpus": 2, **meta}]
    names = sorted({name for names, _, _, _ in STACKS for name in names})
    samples = {"type": "samples", "time_ns": [], "stack": [], "tid": [], "cpu": [], key: []}
    for i, (frames, weights, comm, pid) in enumerate(STACKS):
        weights = [weight * factor for weight in weights]
        lines.append({"type": "stack", "count": len(weights), key: sum(weights), "comm": comm, "pid": pid,
                      "stop": "outermost", "user": [frame(name, names.index(name)) for name in frames], "kernel": []})
        for weight in weights:
            samples["time_ns"].append(10000000)
            samples["stack"].append(i)
            samples["tid"].append(pid)
            samples["cpu"].append(0)
            samples[key].append(weight)
    if timed:
        lines.append(samples)
    lines.append({"type": "books", "format": 1, "fired": COUNT, "shown": COUNT})
    return "".join(json.dumps(line) + "\n" for line in lines)


def page_data(text):
    return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S).group(1))


def numbers(text, unit):
    """The bytes, nanoseconds or events that "4.1 MiB" and the like stand for, and half of their last digit."""
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ns": 1, "us": 1e3, "ms": 1e6, "": 1}
    value, name = re.match(r"([\d,.]+) ?(\w*)", text + unit).groups()
    return float(value.replace(",", "")) * units[name], 0.05 * units[name] + 0.5


class Measure(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_it(self, *arguments, status=0):
        done = subprocess.run([FPLESS, *arguments], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("please report", done.stderr)
        return done

    def make(self, name, source, timed=False, factor=1):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(recording(source, timed, factor))
        return self.path(name)

    def shown_by_speedscope(self, source, text, by_weight):
        data = json.loads(text)
        first = data["profiles"][0]
        unit = {"clock": "nanoseconds", "off": "nanoseconds", "alloc": "bytes", "faults": "none"}[source]
        # the clock's weights are shown where all samples have one: here two have none
        self.assertEqual(first["unit"], unit if by_weight else "none")
        self.assertEqual(first["endValue"], sum(first["weights"]))
        return sum(first["weights"])

    def shown_by_firefox(self, source, text, by_weight):
        total = 0
        for thread in json.loads(text)["threads"]:
            samples = thread["samples"]
            kind = {"clock": "samples", "off": "tracing-ms", "alloc": "bytes", "faults": "samples"}[source]
            self.assertEqual(samples["weightType"], kind if by_weight else "samples")
            self.assertTrue(source == "clock" or "threadCPUDelta" not in samples)
            total += sum(samples["weight"])
        return round(total * 1e6) if source == "off" and by_weight else total

    def shown_by_page(self, source, text, by_weight):
        data = page_data(text)
        ends = data["trees"][0]["ends"][2::3]
        main = data["names"].index("main")
        self.assertEqual(sum(ends), data["samples"])
        self.assertEqual(data["functions"]["total"][data["functions"]["name"].index(main)], data["samples"])
        self.assertEqual(data["books"]["shown"], COUNT)
        self.assertEqual(data["run"]["sample_type"], SOURCES[source][0]["weight_type"] if by_weight else "")
        if "time" in data:
            self.assertEqual(sum(data["time"]["moments"][3::4]), data["samples"])
            self.assertEqual(data["time"]["samples"], data["samples"])
            self.assertEqual(sum(data["threads"]["samples"]), data["samples"])
            weights = data["threads"]["timed"][2::3]
            self.assertEqual("weights" in data["threads"], by_weight)
            if by_weight:
                self.assertEqual(sum(weights), data["samples"])
        return data["samples"]

    def check_outputs(self, source, timed, sample_type):
        by_weight = source != "clock" and sample_type != "samples"
        wanted = WEIGHT if by_weight else COUNT
        path = self.make("in.jsonl", source, timed)
        outputs = [part for extension in EXTENSIONS for part in ("-o", self.path("out." + extension))]
        choice = ["--sample-type", sample_type] if sample_type else []
        said = self.run_it("report", "--min-width", "0", *choice, *outputs, path).stderr
        self.assertEqual(f"({SOURCES[source][2]})" in said, by_weight, said)

        folded = self.read("out.folded")
        self.assertEqual(sum(int(line.split()[-1]) for line in folded.splitlines()), wanted)
        text = self.read("out.txt")
        heading = f"{SOURCES[source][2]} in {COUNT} samples: {source}" if by_weight else f"{COUNT} samples: {source}"
        self.assertTrue(text.startswith(heading), text)
        parts = re.findall(r"%  (\S+(?: [KM]?i?B| [num]?s)?) of ", text)
        self.assertEqual(len(parts), len(STACKS))
        pairs = [numbers(part, "") for part in parts]
        self.assertLessEqual(abs(sum(value for value, _ in pairs) - wanted), sum(half for _, half in pairs))
        self.assertEqual(self.shown_by_speedscope(source, self.read("out.speedscope.json"), by_weight), wanted)
        self.assertEqual(self.shown_by_firefox(source, self.read("out.firefox.json"), by_weight), wanted)
        self.assertEqual(self.shown_by_page(source, self.read("out.html"), by_weight), wanted)
        boxes = re.findall(r'data-s="(\d+) (\d+) (\d+)"', self.read("out.svg"))
        self.assertIn(("0", str(wanted), "0"), boxes)
        self.assertEqual(sum(int(width) for _, width, row in boxes if row == "1"), wanted)  # by comm
        periods = re.findall(r"^\S.*: +(\d+) \S+: $", self.read("out.perf"), re.M)
        self.assertEqual(sum(map(int, periods)) if by_weight else len(re.findall(r"^\S", self.read("out.perf"), re.M)), wanted)
        # both are kept where all is
        stacks = [json.loads(line) for line in self.read("out.jsonl").splitlines()]
        key = SOURCES[source][1]
        self.assertEqual(sum(stack["count"] for stack in stacks if stack["type"] == "stack"), COUNT)
        self.assertEqual(sum(stack[key] for stack in stacks if stack["type"] == "stack"), WEIGHT)
        with gzip.open(self.path("out.pb.gz")) as file:
            sums = list(pprof_file.sums(file.read())[0].values())
        self.assertEqual(sums, [COUNT, WEIGHT])
        # and what was chosen stays chosen
        for again in ("out.jsonl", "out.pb.gz"):
            self.assertEqual(self.run_it("report", "-q", "-f", self.path(again)).stdout, folded)
        if timed:
            self.run_it("report", "--chart", *choice, "-o", self.path("chart.svg"), path)
            chart = self.read("chart.svg")
            self.assertIn(SOURCES[source][2] if by_weight else f"{COUNT} samples", chart)

    def test_every_output_shows_the_same_sum(self):
        for source in SOURCES:
            for timed in (False, True):
                for sample_type in (None, "samples", SOURCES[source][0].get("weight_type")):
                    with self.subTest(source=source, timed=timed, sample_type=sample_type):
                        self.check_outputs(source, timed, sample_type)

    def test_weights_of_two_kinds_are_not_added(self):
        paths = {source: self.make(source + ".jsonl", source) for source in SOURCES}
        said = self.run_it("report", paths["clock"], paths["off"], status=1).stderr
        self.assertIn("counts samples of off-cpu, earlier files count samples: choose by --sample-type", said)
        self.run_it("report", "--sample-type", "samples", paths["clock"], paths["off"])
        done = self.run_it("report", "-f", paths["off"], paths["off"])
        self.assertEqual(sum(int(line.split()[-1]) for line in done.stdout.splitlines()), 2 * WEIGHT)
        self.assertIn("no sample type is called 'cpu'",
                      self.run_it("report", "--sample-type", "cpu", paths["off"], status=2).stderr)

    def test_differences_are_of_what_is_shown(self):
        for source, (meta, _, said) in SOURCES.items():
            if source == "clock":
                continue
            with self.subTest(source=source):
                before, after = self.make("a.jsonl", source), self.make("b.jsonl", source, factor=3)
                outputs = [part for extension in ("txt", "folded", "json", "svg", "html")
                           for part in ("-o", self.path("diff." + extension))]
                self.run_it("diff", *outputs, before, after)
                text = self.read("diff.txt")
                self.assertIn(f"{COUNT} samples of 1 run, {said}", text)
                self.assertIn(f"in % of the {meta['weight_type']} before", text)
                self.assertNotIn("CPU time", text)
                lines = [line.split()[-2:] for line in self.read("diff.folded").splitlines()]
                self.assertEqual([sum(map(int, side)) for side in zip(*lines)], [WEIGHT, 3 * WEIGHT])
                data = json.loads(self.read("diff.json"))
                self.assertEqual(data["measure"], "weight_ns" if source == "off" else "weight")
                self.assertEqual(data["after"][data["measure"]], 3 * WEIGHT)
                self.assertEqual(data["weight_type"], meta["weight_type"])
                self.assertIn(said, self.read("diff.svg"))
                self.assertIn("+200.00 % a run", self.read("diff.svg"))
                page = page_data(self.read("diff.html"))
                self.assertEqual([side["samples"] for side in page["diff"]["sides"]], [WEIGHT, 3 * WEIGHT])
                self.assertEqual(page["run"].get("sample_unit"), {"off": "nanoseconds", "alloc": "bytes"}.get(source))
                by_count = self.run_it("diff", "--sample-type", "samples", before, after).stdout
                self.assertIn("in % of the samples before", by_count)
                clock = self.make("c.jsonl", "clock")
                self.assertIn("record both with the same -e", self.run_it("diff", clock, before, status=1).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
