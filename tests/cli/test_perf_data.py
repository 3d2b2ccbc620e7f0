#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_perf_data.py FPLESS FOLDER: each perf.data of FOLDER has the samples and stacks that perf script prints of it.

The text of perf script is taken apart here a second time, by other means than the reader's."""

import collections
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

FPLESS, FOLDER = (os.path.realpath(path) for path in sys.argv[1:3])
TIMEOUT_S = 100
# comm pid/tid [cpu] time: period event: what follows
HEADER = re.compile(r" *(\S.*?) +\d+/\d+ +(?:\[\d+\] +)?(?:\d+\.\d+: +)?(?:\d+ +)?\S+: ?(.*)$")
FRAME = re.compile(r"\s*([0-9a-f]+) (.*) \((.*)\)$")
USER_END = 1 << 56
UNKNOWN = "?"


def perf_script(path):
    """What perf itself prints, or None, and what it says."""
    with open(path, "rb") as file:
        stream = os.pread(file.fileno(), 8, 8) == (16).to_bytes(8, "little")
        done = subprocess.run(["perf", "script", "--ns", "-F", "+pid", "-f", "-i", "-" if stream else path],
                              stdin=file if stream else subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
    return done.stdout.decode() if done.returncode == 0 else None, done.stderr.decode()


class Sample:
    def __init__(self, comm):
        self.comm = comm
        self.kernel, self.user = [], []  # leaf first
        self.only_nothing = True

    def add(self, line):
        address, symbol, where = FRAME.match(line).groups()
        address = int(address, 16)
        if where == "inlined" or USER_END <= address < (1 << 64) - USER_END:
            return
        symbol = re.sub(r"\+0x[0-9a-f]+$", "", symbol)
        name = UNKNOWN if symbol == "[unknown]" else symbol
        if (address, name, where) != (0, UNKNOWN, "[unknown]"):
            self.only_nothing = False
        if address >= USER_END or where.startswith("[kernel") or where.startswith("[guest"):
            if not self.user:
                self.kernel.append(name)
        else:
            self.user.append(name)

    def folded(self):
        if self.only_nothing and len(self.user) < 2 and not self.kernel:
            self.user = []
        return (self.comm, *reversed(self.user), *reversed(self.kernel))


def samples_of(text):
    samples = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if line.startswith("\t"):
            samples[-1].add(line)
            continue
        comm, rest = HEADER.match(line).groups()
        samples.append(Sample(comm))
        if FRAME.match(rest):
            samples[-1].add(rest)
    return samples


def read_folded(text):
    """Stacks as perf's: code without a name is unknown."""
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        fields = [field.replace("\\x3b", ";") for field in stack.split(";")]
        stacks[(fields[0], *(UNKNOWN if re.fullmatch(r"\[.*\]", field) else field for field in fields[1:]))] += int(count)
    return stacks


def fpless(*args):
    return subprocess.run([FPLESS, *args], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def report(path):
    return fpless("report", "-f", path)


class PerfData(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def unpack(self, path):
        to = os.path.join(self.folder, os.path.basename(path)[:-3])
        with gzip.open(path) as file, open(to, "wb") as copy:
            shutil.copyfileobj(file, copy)
        return to

    def check(self, path, text, said, done):
        if text is None:
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f"{path}: perf script: ", done.stderr)
            return 0
        samples = samples_of(text)
        self.assertTrue(samples, said)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"(?m)^fpless: {len(samples):,} samples? of 1 file")
        self.assertEqual(read_folded(done.stdout), collections.Counter(sample.folded() for sample in samples))
        return len(samples)

    def test_samples_and_stacks_are_those_that_perf_prints(self):
        paths = [self.unpack(path) for path in sorted(glob.glob(os.path.join(FOLDER, "*.data.gz")))]
        self.assertGreaterEqual(len(paths), 20)
        read = 0
        with ThreadPoolExecutor() as pool:
            for path, (text, said), done in zip(paths, pool.map(perf_script, paths), pool.map(report, paths)):
                with self.subTest(os.path.basename(path)):
                    read += self.check(path, text, said, done) > 0
        self.assertGreaterEqual(read, len(paths) // 2, "this perf reads too few of them")

    def test_every_verb_reads_them(self):
        path = self.unpack(os.path.join(FOLDER, "fork_exec.data.gz"))
        folded = fpless("report", "-q", "-f", path).stdout
        self.assertTrue(folded)
        self.assertEqual(fpless("script", "-q", "-f", path).stdout, folded)
        done = fpless("diff", path, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        count = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
        self.assertIn(f"fpless: {count} samples of 1 file before, {count} of 1 file after\n", done.stderr)

    def test_of_a_pipe_too(self):
        path = self.unpack(os.path.join(FOLDER, "fp.data.gz"))
        with open(path, "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
            done = subprocess.run([FPLESS, "report", "-q", "-f", "-"], stdin=cat.stdout, capture_output=True, text=True,
                                  timeout=TIMEOUT_S, check=False)
            cat.stdout.close()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, fpless("report", "-q", "-f", path).stdout)


if __name__ == "__main__":
    if not shutil.which("perf"):
        print("SKIP: no perf (linux-perf) that reads a perf.data")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
