#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose functions are under return probes of another tool: their stacks are whole and right."""

import itertools
import json
import os

from elf_names import ElfNames
from fpless_run import Run
from return_probes import need_uprobes, open_return_probe
from root_case import FPLESS, RootCase, fixture, main

# `inner` and `quick` twice: two probes in one place
PROBED = ("recurse", "outer", "inner", "inner", "tail_jumps", "tail_target", "escapes", "quick", "quick")
DEPTH = 5
# who calls whom in fixtures/programs/uretprobe.c
CALLS = {
    "main": {"round_of_calls", "spin"},
    "round_of_calls": {"recurse", "outer", "tail_caller", "escapes", "inner", "calls_quick"},
    "recurse": {"recurse", "spin"},
    "outer": {"not_probed"},
    "not_probed": {"inner"},
    "inner": {"spin"},
    "tail_caller": {"tail_jumps", "tail_target"},  # a tail call: the one is no caller of the other
    "tail_target": {"spin"},
    "escapes": {"spin"},
    "calls_quick": {"quick"},
}
COMPLETE_MIN = 0.995


class UnderReturnProbes(RootCase):
    def probe(self, program):
        """Returns the names of its functions."""
        names = ElfNames(fixture(program))
        starts = {name: start for start, _, aliases in names.functions for name in aliases}
        for name in PROBED:
            section = next(start for _, start, end in names.sections if start <= starts[name] < end)
            offset = names.file_offset(section) + starts[name] - section
            self.addCleanup(os.close, open_return_probe(fixture(program), offset))
        return names

    def own_frames(self, names, program, stack):
        """Names of the frames in the program, leaf first."""
        own = []
        for frame in stack["user"]:
            if frame.get("object") == fixture(program):
                vaddr = int(frame["vaddr"], 16) - (not frame.get("exact", False))
                own.append((names.aliases(vaddr) & (CALLS.keys() | {"spin", "quick"}) or {None}).pop())
        return own

    def check_frames(self, names, program, run):
        """No caller is left out or made up; returns the chains that were seen."""
        seen = set()
        for stack in run.stacks:
            for frame in stack["user"][1:]:
                self.assertIn("object", frame, stack)  # none in the page of the trampoline
            own = self.own_frames(names, program, stack)
            if "main" not in own:
                continue
            own = own[:own.index("main") + 1]
            for callee, caller in zip(own, own[1:]):
                self.assertIn(callee, CALLS[caller] | {None}, stack)
            if own[0] == "spin" and "recurse" in own:
                self.assertEqual(own.count("recurse"), DEPTH + 1, stack)
            seen.add(tuple(own))
        return seen

    def check_complete(self, run):
        judged = run.stats["user_samples"] - run.stats["stop"]["exiting"] - run.stats["stop"]["execing"]
        self.assert_share(run.stats["complete"], judged, COMPLETE_MIN, run.stats["stop"])

    def spinning(self, seen):
        return {chain[1:] for chain in seen if chain[0] == "spin"}

    def check_all_seen(self, seen):
        above = ("round_of_calls", "main")
        for chain in (("recurse",) * (DEPTH + 1), ("inner", "not_probed", "outer"), ("inner",),
                      ("tail_target", "tail_caller"), ("escapes",)):
            self.assertIn(chain + above, self.spinning(seen))

    def test_stacks_are_whole(self):
        for program in ("uretprobe", "uretprobe_fp"):
            with self.subTest(program):
                names = self.probe(program)
                run = self.profile("-v", "-F", "1999", "-U", "--", fixture(program), "700", str(DEPTH))
                self.check_complete(run)
                self.check_all_seen(self.check_frames(names, program, run))
                self.assert_share(run.stats["uretprobe_samples"], run.stats["user_samples"], 0.4)
                self.assertIn(f"uretprobes   {run.stats['uretprobe_samples']} user stacks", run.stderr)

    def test_nothing_is_said_without_probes(self):
        run = self.profile("-v", "-F", "999", "-U", "--", fixture("uretprobe"), "200")
        self.assertEqual(run.stats["uretprobe_samples"], 0)
        self.assertNotIn("uretprobes", run.stderr)

    def test_snapshots_are_whole(self):
        """All of a stack is walked in userspace where there are no tables yet: in a short run, most are."""
        names = self.probe("uretprobe")
        probed = 0
        for _ in range(20):
            run = self.profile("-F", "9999", "-U", "--", fixture("uretprobe"), "10", str(DEPTH))
            self.check_frames(names, "uretprobe", run)
            for stack in run.stacks:
                own = self.own_frames(names, "uretprobe", stack)
                in_user = {frame["origin"] for frame in stack["user"][1:]} == {"cfi_user"}
                if in_user and own and set(own[:2]) & set(PROBED):
                    self.assertEqual(stack["stop"], "outermost", stack)
                    probed += stack["count"]
            if probed >= 3:
                return
        self.fail(f"{probed} snapshots of probed functions")

    def test_the_first_return_faults_and_has_its_caller(self):
        """The kernel emulates the first instruction of each probed function, so nothing runs in the page before."""
        names = self.probe("uretprobe_fp")
        run = self.profile("-e", "page-faults", "--ring-memory", "256M", "--", fixture("uretprobe_fp"), "10", str(DEPTH))
        self.check_frames(names, "uretprobe_fp", run)
        gone = run.stats["stop"]["exiting"] + run.stats["stop"]["execing"]
        self.assertEqual(run.stats["complete"], run.stats["user_samples"] - gone,
                         [stack for stack in run.stacks if stack["stop"] not in ("outermost", "exiting", "execing")])
        self.assertGreaterEqual(run.stats["uretprobe_samples"], 1)

    def test_the_kernel_s_frame_pointers_are_given_the_same_callers(self):
        names = self.probe("uretprobe_fp")
        run = Run(FPLESS, self.folder, ["--json", "--out-dir", self.path("out"), "-F", "1999", "--",
                                        fixture("uretprobe_fp"), "700", str(DEPTH)], verb="compare")
        self.assertEqual(run.faults(), [], run.command)
        self.check_complete(run)
        self.check_frames(names, "uretprobe_fp", run)
        compared = json.loads(run.stdout)
        whole = 0
        for stack in run.stacks:
            pairs = zip(stack["user"], stack["fp"])
            same = [a for a, b in itertools.takewhile(
                lambda pair: pair[0].get("vaddr", 0) == pair[1].get("vaddr", 1), pairs)]
            whole += stack["count"] * ("main" in self.own_frames(names, "uretprobe_fp", {"user": same}))
            for frame in stack["fp"][1:]:
                if "object" not in frame:
                    self.assertEqual(stack["class"], "wrong", stack)
        # the rest: in prologues, epilogues and in the trampoline itself
        self.assert_share(whole, compared["shown"], 0.8, compared["classes"])


if __name__ == "__main__":
    need_uprobes()
    main()
