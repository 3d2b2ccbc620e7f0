#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_hostile_code.py FPLESS: code that was made to cost its analyst dear costs rows, and nothing else."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from hostile_code import BASE, FILES, GOOD_AT, TOO_MUCH, file_of, overlaps, touching, write_file

FPLESS = os.path.realpath(sys.argv[1])
TIMEOUT_S = 250  # hung, not slow


def tables(*args):
    return subprocess.run([FPLESS, "tables", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=TIMEOUT_S, check=False, text=True)


def numbers(text):
    """{key: value} of what --stats prints."""
    words = [line.split() for line in text.splitlines()]
    return {line[0]: line[1] for line in words if len(line) > 1}


class HostileCode(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fpless-test-")
        self.addCleanup(self.folder.cleanup)

    def check(self, name):
        path = write_file(self.folder.name, name)
        done = tables("--stats", "--pc", hex(BASE + GOOD_AT + 4), path)
        os.remove(path)
        if name == "segment":  # without sections nothing says where its CFI is
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("no CFI", done.stderr)
            return
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("cfa=rsp+8 ra=c-8", done.stdout)
        found = numbers(done.stdout)
        self.assertGreaterEqual(int(found["fdes"]), 1)
        if name in TOO_MUCH:
            self.assertEqual(found["synth_refused"], "yes", done.stdout)

    def test_the_cfi_of_the_file_survives(self):
        for name in FILES:
            with self.subTest(name):
                self.check(name)

    def test_rows_are_said_to_be_none_and_why(self):
        for name, made in (("overlaps", overlaps(20000)), ("touching", touching(2000))):
            path = os.path.join(self.folder.name, name)
            file_of(path, **made)
            done = tables("--synth", path)
            self.assertEqual(done.returncode, 0, done)
            reasons = {line.split()[3] for line in done.stdout.splitlines()
                       if line.split()[2:3] == ["none"]}
            self.assertTrue(reasons, name)
            self.assertLessEqual(reasons, {"no_entry", "no_cfa", "bad_end", "guess", "overlap"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
