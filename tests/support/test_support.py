#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tests judge samples by, and wait with."""

import itertools
import math
import os
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import chance
import side_by_side
import waiting

SHARES = (Fraction(1, 100), Fraction(1, 4), Fraction(2, 5), Fraction(9, 10), Fraction(99, 100), Fraction(199, 200))
MILLIONTH = Fraction(1, 10 ** 6)


def exact(nr, share):
    """The probabilities of each count or fewer of @nr, in whole numbers."""
    part, whole = share.numerator, share.denominator
    ways = (math.comb(nr, i) * part ** i * (whole - part) ** (nr - i) for i in range(nr + 1))
    return [Fraction(total, whole ** nr) for total in itertools.accumulate(ways)]


class Chance(unittest.TestCase):
    def test_the_tail_is_the_exact_one(self):
        for share in SHARES:
            for nr in (1, 7, 60, 400):
                for count, expected in enumerate(map(float, exact(nr, share))):
                    with self.subTest((share, nr, count)):
                        self.assertAlmostEqual(chance.at_most(count, nr, float(share)), expected,
                                               delta=1e-9 * expected + 1e-12)

    def test_a_true_share_is_refuted_less_often_than_once_in_a_million_times(self):
        for share in SHARES:
            needed = chance.samples_needed(float(share))
            for nr in (needed, max(600, needed)):
                with self.subTest((share, nr)):
                    refuted = [count for count in range(nr + 1) if chance.is_too_few(count, nr, float(share))]
                    self.assertEqual(refuted, list(range(len(refuted))))
                    self.assertTrue(refuted)
                    tails = exact(nr, share)
                    self.assertLessEqual(tails[refuted[-1]], MILLIONTH)
                    # and no count more is let pass than that takes
                    self.assertGreater(tails[refuted[-1] + 1], MILLIONTH)

    def test_a_share_that_falls_is_refuted(self):
        for what, expected, real, nr in (("half of what was", 0.4, 0.2, 500), ("a leaf lost", 0.97, 0.85, 400),
                                         ("2 % incomplete", 0.995, 0.975, 2000), ("not one", 0.05, 0, 300)):
            with self.subTest(what):
                most = max(count for count in range(nr + 1) if chance.is_too_few(count, nr, expected))
                self.assertGreater(chance.at_most(most, nr, real), 0.99)

    def test_too_many_is_the_mirror_of_too_few(self):
        for count in (0, 5, 29, 30, 31, 60, 100):
            self.assertEqual(chance.is_too_many(count, 100, 0.1), chance.is_too_few(100 - count, 100, 0.9))
        self.assertFalse(chance.is_too_many(10, 100, 0.1))
        self.assertTrue(chance.is_too_many(40, 100, 0.1))

    def test_all_means_all(self):
        self.assertIsNone(chance.share_fault(50, 50, 1))
        self.assertIn("49 of 50", chance.share_fault(49, 50, 1))

    def test_few_samples_prove_nothing(self):
        self.assertIn("cannot refute", chance.share_fault(20, 20, 0.4))
        self.assertEqual(chance.samples_needed(0.4), 28)
        self.assertIsNone(chance.share_fault(28, 28, 0.4))
        self.assertIn("0 of 28", chance.share_fault(0, 28, 0.4))


class Waiting(unittest.TestCase):
    def test_the_value_is_what_was_waited_for(self):
        values = iter([0, [], None, "here"])
        self.assertEqual(waiting.wait_for("a value", lambda: next(values), 60, 0), "here")

    def test_what_does_not_come_is_named(self):
        for what in ("the moon", lambda: "the moon"):
            with self.assertRaisesRegex(AssertionError, "not within 0 s: the moon"):
                waiting.wait_for(what, lambda: False, 0)

    def test_a_program_is_waited_for(self):
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
            try:
                waiting.wait_until_it_runs(process.pid, sys.executable)
                waiting.wait_until_busy(process.pid, 30)
                self.assertGreaterEqual(waiting.cpu_ms(process.pid), 30)
            finally:
                process.kill()
        self.assertEqual((waiting.executable(process.pid), waiting.cpu_ms(process.pid)), ("", 0))

    def test_programs_that_wait_are_waited_for(self):
        command = ["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; read x"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            waiting.wait_until_they_wait([process.pid], "/bin/sh")
            self.assertTrue(waiting.sleeps(process.pid))
            with self.assertRaisesRegex(AssertionError, "run .*/true and wait"):
                waiting.wait_until_they_wait([process.pid], "/bin/true", seconds=0.2)
            process.stdin.close()
        with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
            with self.assertRaisesRegex(AssertionError, "not within"):
                waiting.wait_until_they_wait([process.pid], "/bin/sh", looks=40, seconds=2.5)
            process.kill()


# Each of two waits until the other one runs.
TWO = """
import os, sys, unittest
sys.path.insert(0, sys.argv[1])
import side_by_side, waiting
class Two(unittest.TestCase):
    def meet(self, mine, other):
        with open(os.path.join(sys.argv[2], mine), "w"):
            pass
        waiting.wait_for(other, lambda: os.path.exists(os.path.join(sys.argv[2], other)))
    def test_one(self):
        self.meet("one", "two")
    def test_two(self):
        self.meet("two", "one")
class More(unittest.TestCase):
    def test_more(self):
        MORE
side_by_side.main(int(sys.argv[3]), verbosity=2)
"""


class SideBySide(unittest.TestCase):
    def end_of(self, nr, more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "two.py")
            with open(path, "w", encoding="ascii") as file:
                file.write(TWO.replace("MORE", more))
            return subprocess.run([sys.executable, path, os.path.dirname(os.path.abspath(__file__)), folder, str(nr)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)

    def test_all_pass(self):
        done = self.end_of(2, "pass")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("... ok"), 3, done.stdout)

    def test_one_that_fails_or_is_killed_is_named_and_the_others_run(self):
        for more, status in (("self.fail('so it is')", 1), ("os.kill(os.getpid(), 9)", -9), ("sys.exit('left')", 1)):
            with self.subTest(more):
                done = self.end_of(2, more)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(done.stdout.count("... ok"), 2, done.stdout)
                self.assertIn(f"failed: More.test_more (exit status {status})", done.stdout)

    def test_what_is_skipped_is_said(self):
        done = self.end_of(3, "self.skipTest('no moon')")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("... skipped 'no moon'", done.stdout)


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    unittest.main(verbosity=2)
