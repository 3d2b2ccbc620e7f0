#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison with known stacks can fail, and fails for the right reason."""

import glob
import os
import sys
import unittest

from expectation import Expectation, Judge, Pattern
from fpless_run import book_faults

EXPECT_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures/expect")

# Functions of a program as its symbol table would have them: 0x100 bytes each.
FUNCTIONS = ["spin", "inner", "outer", "main", "_start", "never_called", "frame_dummy"]


class FakeNames:
    entry = 0x1400

    def aliases(self, vaddr):
        idx = (vaddr - 0x1000) // 0x100
        return {FUNCTIONS[idx]} if 0 <= idx < len(FUNCTIONS) else set()

    def section(self, vaddr):
        return ".plt" if 0x800 <= vaddr < 0x900 else ".text"

    def may_become(self, names):
        return names

    def return_sites(self):
        # inner calls spin, outer calls inner, main calls outer; main calls through a pointer too.
        return {0x1110: 0x1000, 0x1210: 0x1100, 0x1310: 0x1200, 0x1320: None, 0x1410: None,
                0x1220: 0x1000}


class FakeFiles:
    names = FakeNames()

    def find(self, path):
        return self.names if path == "/t/prog" else None

    def section(self, path, vaddr):
        return ".init" if path == "/lib/libinit.so" else ".text"


def frame(address, exact=False, origin="cfi", path="/t/prog"):
    names = FakeFiles().find(path)
    aliases = names.aliases(address - (not exact)) if names else None
    record = {"symbol": min(aliases) if aliases else None, "origin": origin}
    if path:
        record.update(object=path, vaddr=hex(address))
    else:
        record.update(addr=hex(address))
    if exact:
        record["exact"] = True
    return record


SPIN = frame(0x1020, exact=True)
INNER, OUTER, MAIN, START = (frame(a) for a in (0x1110, 0x1210, 0x1310, 0x1410))
LIBC = frame(0x27000, path="/lib/libc.so.6")

GOOD = [SPIN, INNER, OUTER, MAIN, LIBC, LIBC, START]
EXPECTATION = "run: prog\nspin: spin\nsamples: 1\nstack: spin inner outer main [libc.so.6]{2} _start\n"


def faults_of(user, stop="outermost", text=EXPECTATION, count=5):
    judge = Judge(Expectation(text), FakeFiles())
    judge.add({"count": count, "stop": stop, "user": user})
    return judge.finish()


class StackIsCompared(unittest.TestCase):
    def test_known_stack_has_no_fault(self):
        self.assertEqual(faults_of(GOOD), [])

    def test_wrong_stacks_are_faults(self):
        cases = [
            ("a frame is missing", GOOD[:2] + GOOD[3:]),
            ("a frame is twice", GOOD[:2] + GOOD[1:]),
            ("the outermost frame is missing", GOOD[:-1]),
            ("a frame of another function", GOOD[:3] + [frame(0x1510)] + GOOD[4:]),
            ("another call of the right function", GOOD[:2] + [frame(0x1220)] + GOOD[3:]),
            ("no call before the return address", GOOD[:2] + [frame(0x1215)] + GOOD[3:]),
            ("the leaf taken for a return address", [frame(0x1020)] + GOOD[1:]),
            ("a caller taken for interrupted", GOOD[:1] + [frame(0x1110, exact=True)] + GOOD[2:]),
            ("a frame-pointer step in CFI code",
             GOOD[:2] + [frame(0x1210, origin="fp")] + GOOD[3:]),
            ("code without an object", GOOD[:2] + [frame(0x1210, path=None)] + GOOD[3:]),
            ("another name than the file's",
             GOOD[:2] + [dict(OUTER, symbol="never_called")] + GOOD[3:]),
        ]
        for what, user in cases:
            with self.subTest(what):
                self.assertNotEqual(faults_of(user), [])

    def test_stop_is_judged(self):
        self.assertNotEqual(faults_of(GOOD, stop="no_cfi"), [])

    def test_incomplete_stack_outside_the_spin_functions_is_a_fault(self):
        judge = Judge(Expectation(EXPECTATION), FakeFiles())
        judge.add({"count": 5, "stop": "outermost", "user": GOOD})
        judge.add({"count": 1, "stop": "no_table", "user": [frame(0x1120, exact=True)]})
        self.assertEqual(len(judge.finish()), 1)

    def test_code_of_init_sections_may_have_no_cfi(self):
        for path, faults in (("/lib/libinit.so", 0), ("/lib/libtext.so", 1)):
            judge = Judge(Expectation(EXPECTATION), FakeFiles())
            judge.add({"count": 5, "stop": "outermost", "user": GOOD})
            judge.add({"count": 1, "stop": "no_cfi", "user": [frame(0x10, True, path=path)]})
            self.assertEqual(len(judge.finish()), faults)

    def test_code_of_crtbegin_may_have_no_cfi(self):
        # crtbegin.o gives its functions no size: the file says nothing, only fpless names them.
        for record, faults in (
                (frame(0x1620, exact=True), 0), (frame(0x1520, exact=True), 1),
                (frame(0x5000, exact=True) | {"symbol": "register_tm_clones"}, 0),
                (frame(0x5000, exact=True) | {"symbol": "somebody"}, 1)):
            judge = Judge(Expectation(EXPECTATION), FakeFiles())
            judge.add({"count": 5, "stop": "outermost", "user": GOOD})
            judge.add({"count": 1, "stop": "no_cfi", "user": [record]})
            self.assertEqual(len(judge.finish()), faults)

    def test_exiting_task_is_no_fault(self):
        judge = Judge(Expectation(EXPECTATION), FakeFiles())
        judge.add({"count": 5, "stop": "outermost", "user": GOOD})
        judge.add({"count": 1, "stop": "exiting", "user": []})
        self.assertEqual(judge.finish(), [])

    def test_registers_that_are_being_put_back_are_no_fault(self):
        trampoline = [frame(0x3c059, True, path="/lib/libc.so.6"), frame(0, True, path=None)]
        for symbol, faults in (("__do_sys_rt_sigreturn", 0), ("__do_sys_rt_sigaction", 1), (None, 1)):
            judge = Judge(Expectation(EXPECTATION), FakeFiles())
            judge.add({"count": 5, "stop": "outermost", "user": GOOD})
            judge.add({"count": 1, "stop": "no_mapping", "user": trampoline,
                       "kernel": [{"symbol": "restore_sigcontext"}, {"symbol": symbol}]})
            self.assertEqual(len(judge.finish()), faults)

    def test_too_few_samples_are_a_fault(self):
        text = EXPECTATION.replace("samples: 1", "samples: 6")
        self.assertNotEqual(faults_of(GOOD, text=text), [])

    def test_stack_that_never_appears_is_a_fault_unless_optional(self):
        line = "stack{}: spin outer main [libc.so.6]{{2}} _start\n"
        self.assertNotEqual(faults_of(GOOD, text=EXPECTATION + line.format("")), [])
        self.assertEqual(faults_of(GOOD, text=EXPECTATION + line.format("?")), [])

    def test_wrong_samples_are_excused_up_to_their_number(self):
        judge_text = EXPECTATION.replace("stack:", "stack?:")
        self.assertNotEqual(faults_of(GOOD[:-1], text=judge_text + "wrong: 4\n", count=5), [])
        self.assertEqual(faults_of(GOOD[:-1], text=judge_text + "wrong: 5\n", count=5), [])

    def test_more_are_excused_where_the_program_ran_longer(self):
        text = EXPECTATION.replace("stack:", "stack?:") + "wrong: 5\n"
        for length, faults in ((1, 1), (2, 0)):
            judge = Judge(Expectation(text), FakeFiles())
            judge.length = length
            judge.add({"count": 10, "stop": "outermost", "user": GOOD[:-1]})
            self.assertEqual(bool(judge.wrongs()), bool(faults))

    def test_what_more_samples_may_show_is_told_from_what_is_wrong(self):
        judge = Judge(Expectation(EXPECTATION), FakeFiles())
        self.assertEqual((judge.wrongs(), len(judge.missing())), ([], 2))
        judge.add({"count": 5, "stop": "outermost", "user": GOOD})
        self.assertEqual((judge.wrongs(), judge.missing()), ([], []))
        judge.add({"count": 5, "stop": "no_cfi", "user": GOOD})
        self.assertNotEqual(judge.wrongs(), [])

    def test_distinct_pcs_are_counted(self):
        self.assertNotEqual(faults_of(GOOD, text=EXPECTATION + "distinct: spin 2\n"), [])
        self.assertEqual(faults_of(GOOD, text=EXPECTATION + "distinct: spin 1\n"), [])

    def test_jump_excuses_the_call_site(self):
        user = [SPIN, frame(0x1210), MAIN, LIBC, LIBC, START]
        text = EXPECTATION + "stack?: spin outer main [libc.so.6]{2} _start\n"
        text = text.replace("stack: spin", "stack?: spin")
        self.assertNotEqual(faults_of(user, text=text), [])
        self.assertEqual(faults_of(user, text=text + "jumps: inner\n"), [])

    def test_section_and_anonymous_frames_are_named(self):
        text = EXPECTATION.replace("spin: spin", "spin: (.plt) [anon]")
        text = text.replace("stack: spin inner outer", "stack: (.plt)|[anon]")
        rest = [frame(0x1320)] + GOOD[4:]  # main, behind an indirect call
        for leaf in (frame(0x810, exact=True), frame(0x810, exact=True, path=None)):
            self.assertEqual(faults_of([leaf] + rest, text=text), [])
        self.assertNotEqual(faults_of([frame(0x910, exact=True)] + rest, text=text), [])


class PatternCounts(unittest.TestCase):
    def test_times_are_bounds(self):
        class Any:
            exact = False
            origin = "cfi"

            def __init__(self, name):
                self.name = name

            def matches(self, name):
                return name == self.name

        cases = [
            ("a{3}", "aaa", True), ("a{3}", "aa", False), ("a{3}", "aaaa", False),
            ("a{1,2}", "a", True), ("a{1,2}", "aaa", False), ("a? b", "b", True),
            ("a* b", "aaab", True), ("a+ b", "b", False), ("a+ a b", "aaab", True),
            ("a|b{2} c", "abc", True), ("a [*]*", "abcd", True), ("a [*]", "abc", False), ("a", "", False), ("a b", "a", False),
        ]
        for text, stack, expected in cases:
            with self.subTest(f"{text} on {stack}"):
                frames = [Any(name) for name in "L" + stack]
                frames[0].exact = True
                self.assertEqual(Pattern("L " + text).matches(frames), expected)


class BooksAreRecomputed(unittest.TestCase):
    def setUp(self):
        books = {"type": "books", "fired": 12, "shown": 7, "idle": 3, "filtered": 1,
                 "lost": {"ring_full": 1}, "user_samples": 6, "complete": 5,
                 "stop": {"outermost": 5, "exiting": 1}, "frames_by_origin": {"cfi": 10, "fp": 0},
                 "samples_by_origin": {"cfi": 5, "fp": 0}}
        stacks = [
            {"type": "stack", "count": 5, "stop": "outermost", "user": [{"origin": "cfi"}] * 2},
            {"type": "stack", "count": 1, "stop": "exiting", "user": []},
            {"type": "stack", "count": 1, "stop": None, "user": []},
        ]
        self.args = {"meta": {"type": "meta", "format": 1}, "stacks": stacks, "books": books,
                     "stats": dict(books), "folded_sum": 7}

    def test_closed_books_have_no_fault(self):
        self.assertEqual(book_faults(**self.args), [])

    def test_each_cooked_figure_is_a_fault(self):
        for key in ("fired", "shown", "idle", "filtered", "user_samples", "complete"):
            with self.subTest(key):
                books = dict(self.args["books"])
                books[key] += 1
                self.assertNotEqual(book_faults(**{**self.args, "books": books}), [])
        for key, inner in (("lost", "ring_full"), ("stop", "outermost"),
                           ("frames_by_origin", "cfi"), ("samples_by_origin", "cfi")):
            with self.subTest(key):
                books = dict(self.args["books"])
                books[key] = dict(books[key])
                books[key][inner] += 1
                self.assertNotEqual(book_faults(**{**self.args, "books": books}), [])
        self.assertNotEqual(book_faults(**{**self.args, "folded_sum": 8}), [])


class ExpectationsAreReadable(unittest.TestCase):
    def test_every_file_parses_and_runs_a_program_of_the_manifest(self):
        with open(os.path.join(EXPECT_DIR, "../MANIFEST"), encoding="utf-8") as file:
            programs = {line.split()[1] for line in file if line.startswith("program ")}
        paths = glob.glob(os.path.join(EXPECT_DIR, "*.expect"))
        self.assertGreater(len(paths), 40)
        for path in paths:
            with self.subTest(os.path.basename(path)), open(path, encoding="utf-8") as file:
                self.assertIn(Expectation(file.read()).run[0], programs)

    def test_garbage_is_refused(self):
        for text in ("", "run: a\nspin: b\n", EXPECTATION + "stak: a\n",
                     EXPECTATION + "stack: a{x}\n"):
            with self.subTest(text), self.assertRaises(ValueError):
                Expectation(text)


if __name__ == "__main__":
    sys.exit(unittest.main())
