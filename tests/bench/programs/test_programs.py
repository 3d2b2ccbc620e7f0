#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table's own parts: the check of callers on a program of known code, the ways a change touches, the documents."""

import os
import subprocess
import tempfile
import unittest

import documents
import run
import table
import ways
from caller_check import Check
from debian_root import DebianRoot, InstalledRoot, Unavailable
from kept import Kept
from measure import Figures, reaching
from workloads import PROGRAMS, Program

# middle calls inner; outer calls middle; leaves_by_jump goes on in inner; by_register calls what it is told.
CODE = """
.text
.macro function name
.globl \\name
.type \\name, @function
\\name:
.cfi_startproc
.endm
.macro done name
.cfi_endproc
.size \\name, . - \\name
.endm
function inner
	nop
inside_inner:
	ret
done inner
function middle
	call inner
after_inner:
	ret
done middle
function outer
	call middle
after_middle:
	ret
done outer
function leaves_by_jump
	test %edi, %edi
	je inner
	ret
done leaves_by_jump
function falls_through
	nop
done falls_through
function target
	ret
done target
function via_jump
	call leaves_by_jump
after_jump:
	call falls_through
after_fall:
	call *%rax
after_register:
	mov $1, %eax
after_no_call:
	call target
after_target:
	ret
done via_jump
.section .note.GNU-stack,"",@progbits
"""


class CallerCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "known.so")
        source = os.path.join(cls.folder.name, "known.s")
        with open(source, "w", encoding="ascii") as file:
            file.write(CODE)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o", cls.path, source], check=True)
        listed = subprocess.run(["nm", cls.path], stdout=subprocess.PIPE, text=True, check=True).stdout
        cls.at = {words[2]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3}

    def frames(self, *names):
        """Leaf first: the leaf's pc is exact, the others are where their calls return to."""
        return [{"object": self.path, "vaddr": hex(self.at[name]), "origin": "cfi", **({"exact": True} if i == 0 else {})}
                for i, name in enumerate(names)]

    def wrong(self, *stacks):
        check = Check(lambda name: name)
        for stack in stacks:
            check.take({"count": 10, "user": stack})
        samples, wrong, _ = check.judge()
        self.assertEqual(samples, 10 * len(stacks))
        return wrong

    def test_a_right_chain_is_not_wrong(self):
        self.assertEqual(self.wrong(self.frames("inside_inner", "after_inner", "after_middle")), 0)

    def test_a_skipped_frame_is_found(self):
        self.assertEqual(self.wrong(self.frames("inside_inner", "after_middle")), 10)

    def test_a_return_address_behind_no_call_is_found(self):
        self.assertEqual(self.wrong(self.frames("inside_inner", "after_no_call")), 10)

    def test_only_the_wrong_stack_counts(self):
        right, wrong = self.frames("inside_inner", "after_inner"), self.frames("inside_inner", "after_middle")
        self.assertEqual(self.wrong(right, wrong, right), 10)

    def test_a_wrong_frame_further_out_is_found(self):
        self.assertEqual(self.wrong(self.frames("inside_inner", "after_inner", "after_target")), 10)

    def test_what_may_be_right_is_not_called_wrong(self):
        for caller in ("after_jump", "after_fall", "after_register", "target"):
            with self.subTest(caller):
                self.assertEqual(self.wrong(self.frames("inside_inner", caller)), 0)

    def test_what_a_signal_interrupted_follows_no_call(self):
        frames = self.frames("inside_inner", "after_no_call")
        frames[1]["exact"] = True
        self.assertEqual(self.wrong(frames), 0)

    def test_frames_left_out_are_no_call(self):
        frames = self.frames("inside_inner", "after_inner", "after_no_call")
        frames[1] = {"addr": None, "symbol": "[frames left out]", "offset": None, "origin": "unknown"}
        self.assertEqual(self.wrong(frames), 0)

    def test_code_in_no_file_is_not_judged(self):
        frames = self.frames("inside_inner")
        frames.append({"addr": "0x1000", "symbol": None, "origin": "fp"})
        self.assertEqual(self.wrong(frames), 0)


def figures(complete=0, samples=1000, judged=1000, wrong=0):
    one = Figures()
    one.complete, one.samples, one.judged, one.wrong = complete, samples, judged, wrong
    return one


class Table(unittest.TestCase):
    program = Program("x", (), None, 99)  # 99 %

    def faults(self, default, plain):
        return table.Row(self.program, "", default, plain).faults()

    def test_thresholds(self):
        self.assertEqual(self.faults(figures(995), figures(999)), [])
        self.assertEqual(len(self.faults(figures(989), None)), 1)
        self.assertEqual(len(self.faults(figures(9900, 10000), figures(9960, 10000))), 1)
        self.assertEqual(self.faults(figures(9910, 10000), figures(9960, 10000)), [])
        self.assertEqual(self.faults(figures(990), figures(996)), [])  # as chance has it
        self.assertEqual(len(self.faults(figures(990), figures(1000))), 1)
        self.assertEqual(len(self.faults(figures(1000, wrong=2), None)), 1)

    def test_a_program_that_cannot_be_had_is_a_row(self):
        row = table.Row(self.program, "no archive")
        self.assertEqual(row.faults(), [])
        self.assertIn("not run: no archive", table.full([row], "made"))

    def test_only_the_marked_region_is_rewritten(self):
        start, end = documents.marks("programs")
        text = "before\n%s\nold\n%s\nafter\n" % (start, end)
        new = documents.document(text, "programs", "a | b \\1")
        self.assertEqual(new, "before\n%s\na | b \\1\n%s\nafter\n" % (start, end))
        self.assertEqual(documents.document(new, "programs", "c"), documents.document(text, "programs", "c"))
        self.assertRaises(ValueError, documents.document, "no marks", "programs", "c")
        self.assertRaises(ValueError, documents.document, text + end, "programs", "c")

    def test_the_documents_have_the_marks_once(self):
        for name in run.DOCUMENTS:
            with self.subTest(name), open(os.path.join(documents.TREE, name), encoding="utf-8") as file:
                self.assertIn("| node |", documents.document(file.read(), "programs", "| node |"))

    def test_a_row_of_another_commit_says_so(self):
        made = table.Made("abc", "2026-01-02", "", 3)
        row = table.Row(self.program, default=figures(1000), made=made)
        self.assertNotIn("abc", table.full([row], "made", "abc"))
        self.assertIn("as of commit abc, 2026-01-02", table.full([row], "made", "def"))

    def test_a_row_says_what_others_took(self):
        for busy, said in ((3, False), (40, True)):
            row = table.Row(self.program, default=figures(1000), made=table.Made(busy=busy))
            self.assertEqual("others used" in table.full([row], "made"), said)


class Roots(unittest.TestCase):
    def test_what_is_not_installed_is_said(self):
        root = InstalledRoot("/nowhere")
        root.needs("sh")
        self.assertRaises(Unavailable, root.needs, "no-such-program-anywhere")

    def test_one_run_has_the_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            first = DebianRoot(folder)
            self.assertRaises(SystemExit, DebianRoot, folder)
            first.lock.close()
            DebianRoot(folder).lock.close()


class KeptRows(unittest.TestCase):
    program, other = (Program(name, (), None, 99) for name in "xy")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "rows.jsonl")

    def take(self, program, complete, binary="b1", reason=""):
        default = figures(complete)
        default.stops["no_cfi"] = 1000 - complete
        default.origins["cfi"] = 10
        row = table.Row(program, reason, default, figures(complete), 12.5, 50.0, made=table.Made("c", "d", binary, 1))
        Kept(self.path).take(row)
        return row

    def test_a_row_is_what_was_measured(self):
        row = self.take(self.program, 990)
        again = Kept(self.path).row(self.program)
        self.assertEqual(again.columns(), row.columns())
        self.assertEqual(again.short_columns(), row.short_columns())
        self.assertEqual(again.made, row.made)

    def test_a_later_row_takes_the_place_of_an_earlier_one(self):
        self.take(self.program, 990)
        self.take(self.other, 980)
        self.take(self.program, 1000)
        kept = Kept(self.path)
        self.assertEqual([kept.row(one).default.complete for one in (self.program, self.other)], [1000, 980])

    def test_what_this_binary_has_not_measured_is_measured(self):
        self.take(self.program, 990)
        self.take(self.other, 0, reason="no archive")
        kept = Kept(self.path)
        self.assertTrue(kept.is_measured(self.program, "b1"))
        self.assertFalse(kept.is_measured(self.program, "b2"))
        self.assertFalse(kept.is_measured(self.other, "b1"))
        self.assertFalse(Kept(self.path + "-none").is_measured(self.program, "b1"))

    def test_a_threshold_is_that_of_the_tree(self):
        self.take(self.program, 990)
        higher = Program("x", (), None, 99.5)
        self.assertEqual(len(Kept(self.path).row(higher).faults()), 1)


class Perf(unittest.TestCase):
    def test_stacks_that_reach_the_outermost_function(self):
        text = "x 1:\n\t 1 spin\n\t 2 main\n\t 3 __libc_start_main@@GLIBC_2.34\n\t 4 [unknown]\n\nx 1:\n\t 1 spin\n\t 2 [unknown]\n\n"
        self.assertEqual(reaching(text), 50)
        self.assertIsNone(reaching(""))


class Ways(unittest.TestCase):
    def test_a_change_chooses_by_the_first_prefix(self):
        self.assertEqual(ways.touched(["unwind/synth/fill.c"]), {"synth"})
        self.assertEqual(ways.touched(["unwind/go_rows.c", "docs/languages.md"]), {"go"})
        self.assertEqual(ways.touched(["bpf/walk.h"]), ways.WAYS)
        self.assertEqual(ways.touched(["src/format/text.c", "README.md"]), set())

    def test_each_program_has_ways_that_there_are(self):
        for program in PROGRAMS:
            self.assertTrue(program.ways and program.ways <= ways.WAYS, program.name)
        self.assertEqual(len({program.name for program in PROGRAMS}), len(PROGRAMS))
        self.assertEqual(set().union(*(program.ways for program in PROGRAMS)), ways.WAYS)


if __name__ == "__main__":
    unittest.main()
