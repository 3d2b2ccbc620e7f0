#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Of a stack deeper than what is kept the root and the leaf are right, and what lies between is counted."""

import unittest

from root_case import RootCase, fixture, main

GAP = "[frames left out]"
OF_MAIN = 3  # __libc_start_call_main, __libc_start_main, _start: as names, or without


class Deep(RootCase):
    def run_it(self, command, *options, verb):
        run = self.profile("-U", *options, "-d", "600", "--", *command, verb=verb)
        self.assertEqual(run.books["lost"]["stack_map_full"], 0)
        stacks = [(stack, [frame["symbol"] for frame in stack["user"]]) for stack in run.stacks
                  if stack["comm"] == "recursion"]
        return run, [(stack, names) for stack, names in stacks if names and names[0] == "spin"]

    def deep(self, depth, *options, verb="profile", stop="outermost"):
        """A run and its stacks in spin() under @depth frames of recurse(), as (stack, names leaf first). One of them ends with
        @stop: samples that come before their tables end with their snapshot."""
        return self.until_seen(
            f"a stack that ends with {stop}",
            lambda length: self.run_it([fixture("recursion"), str(300 * length), str(depth)], *options, verb=verb),
            lambda result: any(stack["stop"] == stop for stack, _ in result[1]))

    def check(self, stack, names, depth, leaf, root):
        self.assertEqual(stack["stop"], "outermost")
        self.assertEqual(len(names), leaf + 1 + root)
        self.assertEqual(names[:leaf], ["spin"] + ["recurse"] * (leaf - 1))
        self.assertEqual(names[leaf], GAP)
        self.assertIsNone(stack["user"][leaf]["addr"])
        of_main = len(names) - 1 - OF_MAIN
        if root > OF_MAIN:
            self.assertEqual(names[of_main], "main")
        self.assertLessEqual(set(names[leaf + 1:of_main]), {"recurse"})
        self.assertEqual(stack["elided"], depth + 2 + OF_MAIN - leaf - root)
        self.assertEqual(names[-1], "_start")

    def test_root_and_leaf_are_there_at_any_rate(self):
        for hz, depth, options, kept in (("99", 5000, [], (768, 256)), ("499", 1500, [], (768, 256)),
                                         ("499", 1500, ["--max-depth", "8"], (6, 2)),
                                         ("99", 1500, ["--max-depth", "5,9"], (5, 9))):
            with self.subTest(hz=hz, depth=depth, options=options):
                run, stacks = self.deep(depth, "-F", hz, *options)
                self.assertLessEqual({stack["stop"] for stack, _ in stacks},
                                     {"outermost", "depth", "read_fault"})
                for stack, names in stacks:
                    if stack["stop"] == "outermost":
                        self.check(stack, names, depth, *kept)
                # a machine that takes a millisecond for a walk says so
                self.assertEqual(run.books["stop"]["depth"],
                                 run.books["deep"]["refused"] + run.books["deep"]["cut"])
                self.assertEqual(run.books["elided"]["most"],
                                 max(stack.get("elided", 0) for stack in run.stacks))

    def test_one_that_fits_has_no_gap(self):
        depth = 1024 - 2 - OF_MAIN
        for more in (0, 1):
            _, stacks = self.deep(depth + more, "-F", "499")
            for stack, names in stacks:
                if stack["stop"] == "outermost":
                    self.assertEqual((GAP in names, stack.get("elided", 0)), (more == 1, more))

    def test_beyond_the_bounds_a_stack_is_cut_and_counted(self):
        _, stacks = self.deep(80000, "-F", "99", stop="depth")
        for stack, names in stacks:
            self.assertEqual(names[0], "spin")
            self.assertIn(stack["stop"], ("depth", "read_fault"))
            self.assertLessEqual(stack.get("elided", 0), 65536)

    def test_without_outermost_frames_the_walk_ends(self):
        run, stacks = self.deep(1500, "-F", "99", "--max-depth", "100,0", stop="depth")
        for stack, names in stacks:
            self.assertEqual((stack["stop"], names), ("depth", ["spin"] + ["recurse"] * 99))
        self.assertEqual(run.books["deep"]["walked"], 0)

    def test_compare_judges_up_to_the_gap(self):
        _, stacks = self.deep(1500, "-F", "499", verb="compare")
        for stack, names in stacks:
            self.assertEqual([frame for frame in stack["fp"] if frame["symbol"] == GAP], [])

    def test_compare_judges_none_with_a_gap_within_reach_of_frame_pointers(self):
        # a run that judges nothing fails: `chain` is judged
        command = ["/bin/sh", "-c", f"{fixture('chain')} 300; {fixture('recursion')} 300 1500"]
        _, stacks = self.run_it(command, "-F", "499", "--max-depth", "40,40", verb="compare")
        self.assertEqual({stack["class"] for stack, names in stacks}, {"unjudged"})


if __name__ == "__main__":
    main()
