#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that are new, run for a moment and are deleted: each keeps its names, and none its descriptor."""

import json
import os
import re
import shlex
import subprocess

from hostile import build_id_place
from fpless_run import TIMEOUT_S
from pending_case import PendingCase
from root_case import FPLESS, fixture, main
from test_few_files import allow_files

CHAIN = fixture("chain")
NR_PROGRAMS = 130
RUN_MS = 40
# objects are what 64 + 4 for each CPU leave of it
ROOM = 96
LIMIT = 64 + 4 * os.cpu_count() + ROOM
LIMIT_COPIES = 64 + 4 * os.cpu_count() + 3 * ROOM
NAMES = {"spin", "far_away", "indirect", "wide"}


class Births(PendingCase):
    def make_program(self, nr):
        path = self.path(f"program{nr}")
        with open(CHAIN, "rb") as file:
            data = bytearray(file.read())
        offset, own = build_id_place(CHAIN)
        data[offset:offset + len(own)] = nr.to_bytes(len(own), "little")
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o755)
        return path

    def assert_named(self, run, path):
        stacks = self.of(run, path)
        self.assertTrue(stacks, f"{path}: {run.stderr[-2000:]}")
        own = [frame for stack in stacks for frame in stack["user"] if frame.get("object") == path]
        self.assertEqual([frame for frame in own if not frame["symbol"]], [], path)
        self.assertLessEqual(NAMES, {frame["symbol"] for frame in own}, path)

    def make_script(self):
        """Programs, and a script that runs one after the other and the first once more."""
        programs = [self.make_program(nr) for nr in range(NR_PROGRAMS)]
        words = [shlex.join([path, str(RUN_MS)]) for path in programs]
        each = "; ".join(f"{command}; rm {path}" for command, path in zip(words[1:], programs[1:]))
        return programs, f"{words[0]}; {each}; {words[0]}"

    def run_listening(self, *words, limit):
        """Runs the script with somebody who names samples as they come, and returns stdout and stderr."""
        programs, script = self.make_script()
        done = subprocess.run([FPLESS, *words, "--no-cache", "-F", "499", "-U", "--", "sh", "-c", script], timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              preexec_fn=lambda: allow_files(limit))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("ulimit -n", done.stderr)
        return programs, done.stdout

    def test_each_keeps_its_names_and_none_its_descriptor(self):
        programs, script = self.make_script()
        run = self.end(self.begin(script, preexec_fn=lambda: allow_files(LIMIT)))
        self.assertNotIn("ulimit -n", run.stderr)
        for path in programs:
            self.assert_named(run, path)
        # the first one was given up meanwhile, and met anew under another number
        first = re.findall(rf"fpless: {re.escape(programs[0])}: object (\d+): table of", run.stderr)
        self.assertEqual(len(set(first)), 2, run.stderr[-4000:])
        self.assertEqual(len({frame["build_id"] for stack in self.of(run, programs[0]) for frame in stack["user"]
                              if frame.get("object") == programs[0]}), 1)

    def test_a_stream_names_each_and_keeps_none_open(self):
        programs, text = self.run_listening("profile", "--stream=json", "-q", limit=LIMIT_COPIES)
        samples = [json.loads(line) for line in text.splitlines()]
        for path in programs:
            own = [frame for sample in samples for frame in sample.get("user", []) if frame.get("object") == path]
            self.assertEqual([frame for frame in own if not frame["symbol"]], [], path)
            self.assertLessEqual(NAMES, {frame["symbol"] for frame in own}, path)

    def test_a_view_names_each_and_keeps_none_open(self):
        # a look takes longer than a program
        _, text = self.run_listening("top", "--plain", "--interval", "1", limit=LIMIT_COPIES)
        self.assertIn("spin", text)
        self.assertNotIn("[program", text)


if __name__ == "__main__":
    main()
