#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that claims to be an interpreter has script frames of its own making: bounds hold, the books close, and nobody
else's stacks change."""

import json
import re

from root_case import RootCase, fixture, main

CPU_MS = 200
CHAIN_MAX = 512  # script frames of a native frame
NONE = set()
# The names that the frames of a case may have.
CASES = {
    "honest": {"one"}, "circle": {"one"}, "kernel": {"one"}, "long": {"one"}, "lengths": {"one"}, "page_end": {"one"},
    "controls": {"\x1b[31mred\n\r\x07\x08\x7f"}, "markup": {"<script>alert(1)</script>\"&'</text>"},
    "folded": {"a;b 5\nmain 9"}, "swapped": {"one", "two"},
    # "[script]": the name was read while the program wrote it
    "reused": re.compile(r"made_\d+|one|\[script\]"),
    "no_text": {"[script]"}, "points": {"[script]"}, "unmapped": NONE, "other_type": NONE, "odd": NONE,
}


def depth(case):
    """The script frames of its stacks, but of those from before the table."""
    return {"circle": CHAIN_MAX, "long": CHAIN_MAX, "kernel": 1}.get(case, 2 if CASES[case] else 0)


class Forged(RootCase):
    def stacks(self):
        """Of each case: (names of script frames, leaf first; samples) of its stacks below the loop."""
        found = {}
        with open(self.path("out.jsonl"), encoding="utf-8") as file:
            for record in map(json.loads, file):
                if record.get("type") != "stack" or not any(frame.get("symbol") == "forged_spin" for frame in record["user"]):
                    continue
                names = [frame["symbol"] for frame in record["user"] if frame.get("origin") == "script"]
                found.setdefault(record["comm"], []).append((names, record["count"], record["stop"]))
        return found

    def sample(self, length):
        """The run, and the stacks of each case."""
        cpu_ms = CPU_MS * length
        commands = "".join(f"{fixture('forged_python')} {case} {cpu_ms} & " for case in CASES)
        run = self.profile("-F", "999", "-o", self.path("out.svg"), "-o", self.path("out.html"), "-o", self.path("out.pb.gz"),
                           "--", "sh", "-c", f"{commands} {fixture('chain')} {cpu_ms}; wait")
        return run, self.stacks()

    def test_nothing_else_changes(self):
        # a program that has ended before its table was there has no sample with script frames
        run, found = self.until_seen("a sample of each program from after its table", self.sample, lambda seen: all(
            depth(case) <= max((len(names) for names, _, _ in seen[1].get(case, [])), default=-1) for case in CASES))
        stats = run.stats
        self.assertEqual(sum(stats["script_end"].values()), stats["script_chains"]["all"])
        for end in "outermost", "script_depth", "script_fault", "script_unknown":
            self.assertGreater(stats["script_end"][end], 0, stats["script_end"])
        self.assertEqual(stats["script_codes"]["refused"], 0)
        self.assert_chain_is_complete(run, fixture("chain"))

        for case, expected in CASES.items():
            with self.subTest(case):
                self.judge(case, expected, found[case])
        self.check_outputs()

    def test_other_builds_are_named_and_have_no_script_frames(self):
        for name, said in (("forged_tail", "CPython 3.14 (0x30e00f0), with tail calls is not known"),
                           ("forged_threaded", "CPython 3.13 (0x30d00f0), free-threaded is not known")):
            with self.subTest(name):
                run, found = self.until_seen(
                    "a sample below the loop",
                    lambda length: (self.profile("-F", "999", "--", fixture(name), "honest", str(CPU_MS * length)), self.stacks()),
                    lambda seen: seen[1].get("honest"))
                self.assertIn(said, run.stderr)
                self.assertEqual({tuple(names) for names, _count, _stop in found["honest"]}, {()})
                self.assertNotIn("script_chains", run.stats)

    def judge(self, case, expected, stacks):
        depths = set()
        for names, _count, stop in stacks:
            self.assertEqual(stop, "outermost")
            depths.add(len(names))
            for name in names:
                if isinstance(expected, re.Pattern):
                    self.assertRegex(name, expected)
                else:
                    self.assertIn(name, expected)
        self.assertEqual(max(depths), depth(case))

    def check_outputs(self):
        """What programs read of it is whole, and no name writes anything but itself."""
        with open(self.path("out.folded"), "rb") as file:
            folded = file.read()
        self.assertNotRegex(folded, rb"[\x00-\x09\x0b-\x1f\x7f]")
        for line in folded.splitlines():
            self.assertRegex(line, rb"^[^;]+(;[^;]+)* \d+$")
            self.assertFalse(line.startswith(b"main "))
        for path in "out.svg", "out.html":
            with open(self.path(path), "rb") as file:
                self.assertNotIn(b"<script>alert", file.read(), path)
        report = self.fpless("report", "-q", "-o", self.path("again.folded"), self.path("out.pb.gz"))
        self.assertEqual(report.returncode, 0, report.stderr)


if __name__ == "__main__":
    main()
