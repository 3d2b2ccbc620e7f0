# SPDX-License-Identifier: Apache-2.0
"""Runs of fpless under the names of bcc's tools that weigh waits, and what they print."""

import collections
import os
import re
import subprocess

from root_case import FPLESS, RootCase

FOLDED = re.compile(r"(?P<stack>.+) (?P<us>\d+)")


class BccCase(RootCase):
    TOOL = None  # bcc's name

    @classmethod
    def tool(cls):
        return os.path.join(os.path.dirname(FPLESS), "bcc", cls.TOOL)

    def bcc(self, *args):
        done = subprocess.run([self.tool(), *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"WARNING", done.stderr)  # bcc's word for what was lost
        return done.stdout.decode("utf-8")

    def folded(self, *args):
        """{stack: us}; the lines ascend."""
        lines = [FOLDED.fullmatch(line) for line in self.bcc("-f", *args).splitlines()]
        self.assertNotIn(None, lines)
        values = [int(line["us"]) for line in lines]
        self.assertEqual(values, sorted(values))
        self.assertGreater(values[0], 0)
        stacks = collections.Counter()
        for line in lines:
            stacks[line["stack"]] += int(line["us"])
        return stacks
