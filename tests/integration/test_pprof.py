#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-o FILE.pb.gz: what google/pprof and fpless itself read of it."""

import gzip
import os
import re
import shutil
import subprocess
import unittest

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
FORMATS = ("folded", "jsonl", "txt", "perf", "speedscope.json")


def folded_total(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return sum(int(line.rsplit(" ", 1)[1]) for line in file)


class Pprof(RootCase):
    def setUp(self):
        super().setUp()
        self.busy = None

    def sample(self, *options):
        """Files x.pb.gz and x.* of the other formats, of a program and of all there is beside it."""
        if "-a" in options and not self.busy:  # nothing else may run
            self.busy = self.start(fixture("threads"), "600000")
        outputs = [arg for name in ("pb.gz", *FORMATS) for arg in ("-o", self.path("x." + name))]
        done = self.fpless("profile", "-F", "499", "-d", "1", *outputs, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("x.pb.gz")

    def assert_read_back(self, *options):
        recorded = self.sample(*options)
        outputs = [arg for name in FORMATS for arg in ("-o", self.path("y." + name))]
        done = self.fpless("report", "-q", recorded, *outputs)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in FORMATS:
            with open(self.path("x." + name), "rb") as direct, open(self.path("y." + name), "rb") as read:
                self.assertTrue(direct.read() == read.read(), f"{name} of {options} differs")
        return recorded

    def pprof(self, *args):
        """What google/pprof prints."""
        done = subprocess.run([GO, "tool", "pprof", *args], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=TIMEOUT_S,
                              env={**os.environ, "PPROF_TMPDIR": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_reading_gives_the_written_recording(self):
        for options in ([], ["-a", "--by", "pid,tid,cpu,cgroup"], ["-a", "--timeline"], ["--unwind", "fp"], ["-U"]):
            command = [] if "-a" in options else ["--", fixture("chain"), "500"]
            with self.subTest(options=options):
                self.assert_read_back(*options, *command)

    def test_a_disk_that_is_full_leaves_what_fits(self):
        recorded = self.sample("-a", "--timeline")
        size = os.path.getsize(recorded)
        with gzip.open(recorded) as file:
            self.assertGreater(len(file.read()), 0)
        path = self.path("full.pb.gz")
        done = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f "$1"; shift; exec "$@"', "sh",
                               str(size // 512 // 2), FPLESS, "report", "-q", "-o", path, recorded],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stderr, r"full\.pb\.gz: \d+ of \d+ samples are in it: File too large")

    @unittest.skipUnless(GO, "google/pprof comes with Go")
    def test_google_pprof_agrees_on_the_totals(self):
        for options in (["-a"], ["-a", "--timeline"], ["--", fixture("chain"), "500"]):
            recorded = self.sample(*options)
            total = folded_total(self.path("x.folded"))
            with self.subTest(options=options):
                top = self.pprof("-symbolize=none", "-top", "-sample_index=samples", recorded)
                self.assertEqual(int(re.search(r"Total samples = (\d+)", top)[1]), total, top[:400])
                raw = self.pprof("-symbolize=none", "-raw", recorded)
                samples = raw.split("Samples:\n")[1].split("Locations\n")[0]
                counts = re.findall(r"^ *(\d+) +\d+: [ \d]*$", samples, re.MULTILINE)
                self.assertEqual(sum(map(int, counts)), total)

    @unittest.skipUnless(GO, "google/pprof comes with Go")
    def test_google_pprof_finds_the_same_functions_in_the_files(self):
        for program in ("chain", "chain_static", "chain_lld", "chain_twoseg"):
            recorded = self.sample("-U", "--", fixture(program), "500")
            tops = [self.pprof(f"-symbolize={how}", "-top", "-sample_index=samples", "-nodecount=5",
                               "-focus=spin", recorded) for how in ("none", "force:local")]
            functions = [re.findall(r"% +(\w+)$", re.sub(r" \(inline\)", "", top), re.MULTILINE)
                         for top in tops]
            with self.subTest(program=program):
                self.assertIn("spin", functions[0], tops[0])
                self.assertEqual(functions[1], functions[0], tops[1])


if __name__ == "__main__":
    main()
