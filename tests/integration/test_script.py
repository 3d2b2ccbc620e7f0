#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Script frames equal what the script says of itself. Arguments: FPLESS FIXTURES. FPLESS_PYTHONS: interpreters, with colons
between them; else those called python3 and python3.N in PATH."""

import glob
import json
import os
import subprocess
import sys

from fpless_run import skip
from root_case import RootCase, main

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

import script_judge  # noqa: E402

TRUTH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support", "script_truth.py")
KNOWN = {(3, minor) for minor in (11, 12, 13)}
CPU_S, SPIN_MS = 4, 10
LEAST = 2000

DEEP = """
import sys
sys.setrecursionlimit(5000)
def down(n):
    return down(n - 1) if n else sum(i * i for i in range(4000000))
down(%d)
"""


def version(python):
    code = "import sys; print(*sys.version_info[:2], sys.version_info.releaselevel)"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        major, minor, level = done.stdout.split()
    except (OSError, ValueError):
        return None
    return (int(major), int(minor)) if level == "final" else None


def pythons():
    """Interpreters with a layout that is known, one path for each file."""
    asked = os.environ.get("FPLESS_PYTHONS", "")
    paths = asked.split(":") if asked else [
        path for folder in os.environ.get("PATH", "").split(":")
        for path in sorted(glob.glob(os.path.join(folder, "python3")) + glob.glob(os.path.join(folder, "python3.[0-9]*")))
        if not path.endswith(("-config", "-dbg", "d"))]
    return [path for path in sorted({os.path.realpath(path) for path in paths}) if version(path) in KNOWN]


class Script(RootCase):
    def judged(self, python, seed, *options):
        """The sums of one run of the program that knows its own stack."""
        truth = self.path("truth")
        run = self.profile("-F", "997", *options, "--", python, TRUTH, truth, str(CPU_S), str(SPIN_MS), str(seed))
        self.check_books(run)
        return script_judge.judge(truth, run.jsonl_path)

    def check_books(self, run):
        """Each native frame of the interpreter has one end, and each script frame of the recording a name or none."""
        stats = run.stats
        self.assertEqual(sum(stats["script_end"].values()), stats["script_chains"]["all"])
        with open(run.jsonl_path, encoding="utf-8") as file:
            frames = sum(record["count"] * sum(frame.get("origin") == "script" for frame in record["user"])
                         for record in map(json.loads, file) if record.get("type") == "stack")
        self.assertGreater(frames, 0)
        self.assertEqual(stats["script_frames"]["named"] + stats["script_frames"]["unnamed"], frames)

    def test_whole_chains_equal_the_truth(self):
        found = pythons()
        self.assertTrue(found)
        for python in found:
            with self.subTest(python):
                sums = {"judged": 0, "equal": 0}
                for seed in range(1, 20):
                    for key, value in self.judged(python, seed).items():
                        sums[key] = sums.get(key, 0) + value
                    if sums["judged"] >= LEAST:
                        break
                self.assertGreaterEqual(sums["judged"], LEAST)
                self.assert_share(sums["equal"], sums["judged"], 0.999, sums)

    def frames(self, *options, code=DEEP % 20):
        """Of all stacks that have a function of the script: their frames, leaf first."""
        run = self.profile("-F", "499", *options, "--", pythons()[0], "-c", code)
        with open(run.jsonl_path, encoding="utf-8") as file:
            stacks = [record["user"] for record in map(json.loads, file) if record.get("type") == "stack"]
        return run, stacks

    def test_without_them_frames_are_as_ever(self):
        run, stacks = self.frames("--no-script")
        self.assertFalse([frame for stack in stacks for frame in stack if frame.get("origin") == "script"])
        self.assertTrue([frame for stack in stacks for frame in stack if frame.get("symbol") == "_PyEval_EvalFrameDefault"])

    def test_modes_keep_more_or_fewer_native_frames(self):
        def loops(stacks):
            """Native frames of the loop in stacks with script frames; a leaf may be in its first or last instructions, which
            have no script frame of their own."""
            with_script = [stack for stack in stacks if any(frame.get("origin") == "script" for frame in stack)]
            self.assertTrue(with_script)
            return sum(frame.get("symbol") == "_PyEval_EvalFrameDefault" for stack in with_script for frame in stack[1:])

        self.assertEqual(loops(self.frames("--script=mix")[1]), 0)
        self.assertEqual(loops(self.frames("--script=only")[1]), 0)
        self.assertGreater(loops(self.frames("--script=all")[1]), 0)

    def test_deep_recursion_ends_at_its_bound(self):
        _run, stacks = self.frames(code=DEEP % 3000)
        depths = [sum(frame.get("origin") == "script" for frame in stack) for stack in stacks]
        self.assertTrue(any(depths))
        self.assertLessEqual(max(depths), 1024)

    def test_text_has_file_and_line(self):
        run, stacks = self.frames(code="import json\n" + DEEP % 5)
        self.assertEqual({frame["object"] for stack in stacks for frame in stack if frame.get("origin") == "script"}, {"[python]"})
        with open(run.folded_path, encoding="utf-8") as file:
            self.assertRegex(file.read(), r";down \(<string>:\d+\);")


if __name__ == "__main__":
    if not pythons():
        skip("no CPython of a known version")
    main()
