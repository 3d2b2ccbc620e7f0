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
# objects are what 96 + 4 for each CPU leave of it
ROOM = 96
LIMIT = 96 + 4 * os.cpu_count() + ROOM
LIMIT_COPIES = 96 + 4 * os.cpu_count() + 3 * ROOM
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

    def assert_all_named(self, programs, frames):
        """@frames, of all samples: a program that got no CPU in its time has none."""
        names = {path: [] for path in programs}
        for frame in frames:
            if frame.get("object") in names:
                names[frame["object"]].append(frame["symbol"])
        self.assertEqual([path for path in programs if None in names[path]], [])
        self.assert_share(sum(NAMES <= set(own) for own in names.values()), NR_PROGRAMS, 0.9, names)

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
        self.assert_all_named(programs, [frame for stack in run.stacks for frame in stack["user"]])
        # the first one was given up meanwhile, and met anew under another number
        first = re.findall(rf"fpless: {re.escape(programs[0])}: object (\d+): table of", run.stderr)
        self.assertEqual(len(set(first)), 2, run.stderr[-4000:])
        self.assertEqual(len({frame["build_id"] for stack in self.of(run, programs[0]) for frame in stack["user"]
                              if frame.get("object") == programs[0]}), 1)

    def test_a_stream_names_each_and_keeps_none_open(self):
        programs, text = self.run_listening("profile", "--stream=json", "-q", limit=LIMIT_COPIES)
        samples = [json.loads(line) for line in text.splitlines()]
        self.assert_all_named(programs, [frame for sample in samples for frame in sample.get("user", [])])

    def test_a_view_names_each_and_keeps_none_open(self):
        # a look takes longer than a program
        _, text = self.run_listening("top", "--plain", "--interval", "1", limit=LIMIT_COPIES)
        self.assertIn("spin", text)
        self.assertNotIn("[program", text)


if __name__ == "__main__":
    main()
