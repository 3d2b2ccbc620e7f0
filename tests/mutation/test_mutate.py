#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py over a library whose mutants are known: see sample/."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import c_mutants  # noqa: E402

# (function, before, after) of what the sample's test lets through.
UNTESTED = ("sample_count", "0", "1")
EQUIVALENT = ("sample_count", "!=", "<")


def mutate(work, *args):
    argv = [sys.executable, str(HERE / "mutate.py"), "--tree", str(HERE / "sample")]
    argv += ["--file", "sample.c", "--work", str(work), "--jobs", "2", *args]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300)


def survivors(text):
    rows = [line.split("\t") for line in text.splitlines()]
    return [(r[4], r[6], r[7]) for r in rows if len(r) == 10]


class Mutate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="fpl-mutate-test-")
        cls.work = Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def explain(self, *lines):
        path = self.work / "explained.tsv"
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
        return ["--survivors", str(path)]

    def test_survivors_are_what_the_sanitizers_and_the_test_let_through(self):
        done = mutate(self.work, *self.explain())
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(survivors(done.stdout), [UNTESTED, EQUIVALENT])
        self.assertIn("\ntotal\t30\t0\t1\t27\t2\t0\t93.1 %", done.stdout)

    def test_explained_survivors_are_no_failure_but_others_are(self):
        reasons = self.explain(
            ("sample.c", "sample_count", "int count = 0;", "0", "1", "nobody counts to 0"),
            ("sample.c", "sample_count", "*", "!=", "<", "it counts up from 0"),
            ("sample.c", "sample_cap", "*", "*", "*", "of no use"),
        )
        done = mutate(self.work, *reasons, "--no-sanitizers")
        self.assertEqual(done.returncode, 1)
        unexplained = [line for line in done.stdout.splitlines() if line.endswith("\t")]
        self.assertEqual(survivors("\n".join(unexplained)), [("sample_sum", "<", "<=")])
        self.assertIn("explains nothing any more: sample.c\tsample_cap", done.stdout)
        ids = [m.id for m in self.mutants() if (m.where, m.before, m.after) == EQUIVALENT]
        done = mutate(self.work, *reasons, "--no-sanitizers", "--id", ids[0])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_tree_that_cannot_be_judged_is_told_apart(self):
        done = mutate(self.work, *self.explain(), "--labels", "golden")
        self.assertEqual(done.returncode, 2)
        self.assertIn("sample.c: no test depends on it", done.stderr)
        done = mutate(self.work, *self.explain(("sample.c", "no reason")))
        self.assertEqual(done.returncode, 2)

    def mutants(self, prefix=""):
        return c_mutants.mutants_of("sample.c", prefix + (HERE / "sample/sample.c").read_text())

    def test_an_id_does_not_change_when_code_is_added_above(self):
        moved = self.mutants("static int added(int a)\n{\n\treturn a < 3;\n}\n\n")
        self.assertLess({m.id for m in self.mutants()}, {m.id for m in moved})

    def test_comments_strings_directives_and_types_are_left_alone(self):
        text = (
            "#define LESS(a, b) ((a) < (b))\n"
            "struct s {\n\tint a[3];\n};\n"
            "_Static_assert(1 < 2, \"1 < 2\");\n"
            "static void f(struct s *s)\n{\n"
            "\tstruct s *other = s; // 1 < 2\n"
            "\tchar c = '<';\n"
            "\tg(\"1 < 2\", sizeof(int[4]), *s, &c, other);\n}\n"
        )
        found = [(m.before, m.after) for m in c_mutants.mutants_of("f.c", text)]
        self.assertEqual(found, [('g("1 < 2", sizeof(int[4]), *s, &c, other)', "")])


if __name__ == "__main__":
    os.environ.pop("ASAN_OPTIONS", None)
    unittest.main()
