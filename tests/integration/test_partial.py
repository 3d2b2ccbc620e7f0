#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that are published before their rows from code are made: no sample pays for those."""

from elf_names import ElfNames
from root_case import RootCase, fixture, main


class Partial(RootCase):
    program = fixture("hole")

    large = fixture("large_hole")

    def run_hole(self, ms, *options):
        return self.profile("-vv", "-F", "999", *options, "--", self.program, ms)

    def tables(self, run, program=None):
        """What was published for the program, in order."""
        start = f"fpless: {program or self.program}: object "
        return [line for line in run.stderr.splitlines()
                if line.startswith(start) and ": table of " in line]

    def in_hole(self, run):
        names = ElfNames(self.program)
        return [stack for stack in run.stacks if stack["user"]
                and stack["user"][0].get("object") == self.program
                and "in_hole" in names.aliases(int(stack["user"][0]["vaddr"], 16))]

    def assert_whole(self, run):
        """All samples in the hole have their stack, by rows from code."""
        stacks = self.in_hole(run)
        self.assertTrue(stacks)
        self.assertEqual({stack["stop"] for stack in stacks}, {"outermost"})
        self.assertEqual({stack["user"][1]["origin"] for stack in stacks}, {"synth"})
        return {stack["user"][0]["origin"] for stack in stacks}

    def test_rows_from_code_come_later_and_are_kept(self):
        def sample(length):
            cold = self.run_hole(str(600 * length), "--cache", self.path(f"cache{length}"))
            first, second = self.tables(cold)
            self.assertIn("those from code to come", first)
            self.assertNotIn("those from code to come", second)
            return self.assert_whole(cold), length

        # the rows may be there before the first sample that needs them
        _, length = self.until_seen("sample from before the rows", sample, lambda seen: "cfi_user" in seen[0])
        warm = self.run_hole("300", "--cache", self.path(f"cache{length}"))
        self.assertEqual(len(self.tables(warm)), 1, warm.stderr)
        self.assertNotIn("to come", self.tables(warm)[0])
        self.assert_whole(warm)

    def test_what_is_sampled_comes_first(self):
        run = self.profile("-vv", "-F", "999", "--no-cache", "--", self.large, "600")
        tables = self.tables(run, self.large)
        self.assertEqual(["to come" in line for line in tables], [True, True, False], run.stderr)
        self.assertEqual({stack["stop"] for stack in run.stacks if stack["user"]}, {"outermost"})

    def test_rows_that_no_sample_needs_are_not_made(self):
        def sample(nr):
            return [self.profile("-vv", "-F", "999", "--cache", self.path(f"cache{nr}"), "--", self.large, "300", "elsewhere")
                    for _ in range(2)]

        def needs_none(run):
            return not any(frame["origin"] == "synth" for stack in run.stacks for frame in stack["user"])

        # a sample may hit what starts and ends each program, which has no CFI
        for run in self.until_seen("runs in which no sample needs rows", sample, lambda runs: all(map(needs_none, runs))):
            tables = self.tables(run, self.large)
            self.assertEqual(["to come" in line for line in tables], [True], run.stderr)

    def test_a_program_that_ends_meanwhile_has_its_stacks(self):
        for _ in range(3):
            run = self.run_hole("40")
            self.assertEqual(len(self.tables(run)), 2, run.stderr)
            self.assert_whole(run)

    def test_without_snapshots_samples_say_what_they_lack(self):
        run = self.run_hole("300", "--snapshot", "0")
        self.assertLessEqual({stack["stop"] for stack in self.in_hole(run)}, {"outermost", "no_table"})

    def test_without_rows_from_code_one_table_is_all(self):
        run = self.run_hole("200", "--no-synth")
        self.assertEqual(len(self.tables(run)), 1, run.stderr)
        self.assertNotIn("to come", self.tables(run)[0])
        self.assertEqual(run.books["frames_by_origin"]["synth"], 0)
        self.assertIn("no CFI: without --no-synth rows are made", run.stderr)


if __name__ == "__main__":
    main()
