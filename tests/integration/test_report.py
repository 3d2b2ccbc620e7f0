#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is read back from a recording is what was written directly; names come from files anew."""

import json
import os
import re
import shutil
import subprocess
import tempfile

from fpless_run import TIMEOUT_S
from root_case import RootCase, fixture, main

OPTIONS = ("--annotate", "--origin", "--delimited")
BOOKS = re.compile(r"fired (\d+) = shown (\d+) \+ idle (\d+) \+ filtered (\d+) \+ lost (\d+): closed")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def total(folded):
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines())


RECORDED = {}  # by the arguments of the run: a folder, which the end of the tests removes


class ReportCase(RootCase):
    def record(self, *args):
        """Samples `chain` and a shell, once; returns the paths of all outputs by extension."""
        if args not in RECORDED:
            RECORDED[args] = tempfile.TemporaryDirectory(prefix="fpless-test-")
            outputs = self.outputs(args)
            script = (f"{fixture('chain')} 600; ls /proc >/dev/null; "
                      "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
            done = self.fpless("profile", "-F", "999", *args,
                               *(f"-o{path}" for path in outputs.values()), "--", "sh", "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)
        return self.outputs(args)

    @staticmethod
    def outputs(args):
        return {name: os.path.join(RECORDED[args].name, "run." + name)
                for name in ("jsonl", "folded", "txt", "pb.gz")}

    def report(self, *args, status=0):
        done = self.fpless("report", *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return done


class WhatIsReadBackIsTheSame(ReportCase):
    def check(self, *args):
        written = self.record(*args)
        for kind in ("jsonl", "pb.gz"):
            again = {name: self.path("again." + name) for name in ("jsonl", "folded", "txt")}
            options = [arg for arg in args if arg in OPTIONS]
            done = self.report("-v", written[kind], *options, *(f"-o{path}" for path in again.values()))
            for name, path in again.items():
                self.assertEqual(read(path), read(written[name]), f"{name} of {kind}")
            fired, shown, idle, filtered, lost = map(int, BOOKS.search(done.stderr.decode()).groups())
            self.assertEqual(shown, total(read(written["folded"])))
            books = lines_of(written["jsonl"])[-1]
            self.assertEqual((fired, idle, filtered, lost),
                             (books["fired"], books["idle"], books["filtered"],
                              sum(books["lost"].values())))

    def test_plainly(self):
        self.check()

    def test_with_marks(self):
        self.check(*OPTIONS)

    def test_folded_is_read_back_with_its_marks(self):
        written = self.record(*OPTIONS)
        done = self.report("-q", "-f", *OPTIONS, written["folded"])
        self.assertEqual(done.stdout, read(written["folded"]))

    def test_by_threads(self):
        written = self.record("--by", "comm,pid,tid,cpu")
        for kind in ("jsonl", "folded"):
            done = self.report("-q", "-f", "--by", "comm,pid,tid,cpu", written[kind])
            self.assertEqual(done.stdout, read(written["folded"]), kind)


class FilesAddUp(ReportCase):
    def test_two_of_one(self):
        written = self.record()
        done = self.report("-v", "-f", written["jsonl"], written["pb.gz"], written["folded"])
        samples = total(read(written["folded"]))
        self.assertEqual(total(done.stdout), 3 * samples)
        self.assertTrue(BOOKS.search(done.stderr.decode()), done.stderr)

    def test_filters_part_the_samples(self):
        written = self.record()
        samples = total(read(written["folded"]))
        parts = [self.fpless("report", "-v", "-f", *way, written["jsonl"])
                 for way in (("--focus", "^spin$"), ("--ignore", "^spin$"))]
        self.assertEqual(sum(total(part.stdout) for part in parts), samples)
        for part in parts:
            self.assertTrue(BOOKS.search(part.stderr.decode()), part.stderr)


class NamesComeFromFilesAnew(ReportCase):
    def strip(self, path):
        """The recording without names and lines of users' frames."""
        stripped = self.path("stripped.jsonl")
        lines = lines_of(path)
        for stack in lines:
            for frame in stack.get("user", ()):
                if frame.get("object", "").startswith("/"):  # not the vDSO
                    for key in ("file", "line", "column", "start_line", "inlined"):
                        frame.pop(key, None)
                    if frame["symbol"]:  # of code without a name it is its FDE's, which no file of names tells
                        frame.pop("start", None)
                    frame["symbol"] = frame["offset"] = None
        with open(stripped, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
        return stripped

    def test_on_this_machine(self):
        written = self.record()
        again = self.path("again.folded")
        self.report("--symfs", "/", self.strip(written["jsonl"]), "-o", again)
        self.assertEqual(read(again), read(written["folded"]))

    def test_by_a_copy_elsewhere(self):
        written = self.record()
        path = fixture("chain")
        below = os.path.join(self.folder, "root" + os.path.dirname(os.path.realpath(path)))
        os.makedirs(below)
        shutil.copy(path, below)
        done = self.report("-f", "--symfs", self.path("root"), self.strip(written["jsonl"]))
        self.assertIn(b";spin ", done.stdout)
        self.assertNotIn(b"__libc_start", done.stdout)
        self.assertRegex(done.stderr.decode(), "by the files of 1 objects; no file of [1-9]")

    def test_another_build_id_is_refused(self):
        written = self.record()
        stripped = self.strip(written["jsonl"])
        with open(stripped, encoding="utf-8") as file:
            text = re.sub(r'"build_id": "....', '"build_id": "0000', file.read())
        with open(stripped, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.report("-f", "--symfs", "/", stripped)
        self.assertIn("not used: its build-id is", done.stderr.decode())
        self.assertNotIn(b";spin ", done.stdout)

    def test_what_is_missing_is_listed(self):
        written = self.record()
        done = self.report("--missing", self.strip(written["jsonl"]))
        self.assertRegex(done.stdout.decode(), r"[1-9][0-9.]*%.*/chain")


class PerfScriptIsRead(ReportCase):
    def test_its_samples_add_up(self):
        perf = shutil.which("perf")
        if not perf:
            self.skipTest("no perf")
        data = self.path("perf.data")
        # perf 6.1 may die of the BPF programs of others
        done = subprocess.run([perf, "record", "-q", "--no-bpf-event", "-e", "cpu-clock", "-F",
                               "499", "-g", "-o", data, fixture("chain"), "300"], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        if done.returncode < 0:
            self.skipTest("perf record died")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = subprocess.run([perf, "script", "-i", data], check=True, capture_output=True,
                              timeout=TIMEOUT_S).stdout
        script = self.path("perf.txt")
        with open(script, "wb") as file:
            file.write(text)
        samples = sum(b" cpu-clock" in line for line in text.splitlines())
        self.assertGreater(samples, 0)
        done = self.report("-f", script)
        self.assertEqual(total(done.stdout), samples)
        halves = [self.fpless("report", "-q", "-f", "--time", part, script).stdout
                  for part in (",0.1", "0.1,")]
        self.assertEqual(sum(map(total, halves)), samples)


if __name__ == "__main__":
    main()
