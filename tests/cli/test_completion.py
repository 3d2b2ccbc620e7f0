#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_completion.py SHELL FPLESS FPLESS_MANUAL COMPLETIONS

What a shell offers for lines that begin with fpless: the verbs, every option of --help and no other,
the words an option takes, files where a file is asked for, the command behind --."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import manual_pages
import shells

SHELL = {"bash": shells.Bash, "fish": shells.Fish, "zsh": shells.Zsh}[sys.argv[1]]
FPLESS, MANUAL, COMPLETIONS = sys.argv[2:5]
VERBS = manual_pages.run(MANUAL, "verbs").split()


def values(found):
    """Candidates without what stands before their value: --option=, one,two,"""
    return {re.split("[=,]", text)[-1] for text in found}


class Completion(unittest.TestCase):
    """One shell."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.files = os.path.join(cls.folder, "files")
        os.makedirs(os.path.join(cls.files, "some folder"))
        for name in ("a.folded", "some.txt", "so me.jsonl"):
            with open(os.path.join(cls.files, name), "w", encoding="utf-8"):
                pass
        cls.shell = SHELL(COMPLETIONS, cls.files)

    @classmethod
    def tearDownClass(cls):
        cls.shell.close()
        shutil.rmtree(cls.folder)

    def offers(self, line):
        """Paths as they read without quotes."""
        return {text.replace("\\", "").rstrip("/") for text in self.shell.candidates(line)}

    def test_verbs(self):
        """All of them."""
        wanted = set(VERBS) | {"help"}
        self.assertEqual({text for text in self.offers("fpless ") if not text.startswith("-")}, wanted)
        self.assertEqual(self.offers("fpless pro"), {"profile"})
        self.assertEqual(self.offers("fpless help tab"), {"tables"})
        self.assertLessEqual({"--help", "--version"}, self.offers("fpless --"))

    def test_every_option(self):
        """Those of --help."""
        for verb, line in [(verb, f"fpless {verb} --") for verb in VERBS] + [(name, f"fpless-{name} --") for name in ("bcc-profile", "bcc-stackcount")]:
            wanted = {f"--{name}" for _, name, _ in
                      manual_pages.of_help(manual_pages.run(FPLESS, verb, "--help")) if name}
            with self.subTest(line=line):
                found = {text.rstrip("=") for text in self.offers(line)} - {"--"}
                self.assertEqual(found, wanted)

    def test_words_of_an_option(self):
        """In the next word, and glued on."""
        for line in ("--unwind ", "--unwind=", "-F 99 --unwind "):
            self.assertEqual(values(self.offers("fpless profile " + line)), {"auto", "cfi", "fp"}, line)
        self.assertEqual(values(self.offers("fpless profile --unwind=c")), {"cfi"})
        self.assertEqual(values(self.offers("fpless profile -e cpu-cl")), {"cpu-clock"})
        self.assertLessEqual({"cpu-cycles", "cpu-clock", "cycles", "page-faults", "faults", "cs"}, values(self.offers("fpless profile --event=")))
        self.assertLessEqual({"folded", "firefox"}, values(self.offers("fpless report --format f")))
        self.assertLessEqual({"text", "jsonl", "pprof"}, values(self.offers("fpless report --format=")))

    def test_words_of_a_list(self):
        """Behind a comma, too."""
        labels = {"comm", "pid", "tid", "cpu", "cgroup", "state", "event"}
        self.assertEqual(values(self.offers("fpless profile --by ")), labels)
        self.assertLessEqual({"pid"}, values(self.offers("fpless profile --by comm,p")))
        self.assertLessEqual({"page-faults"}, values(self.offers("fpless profile -e cs,page")))

    def test_value_that_may_be_missing(self):
        """Is offered where it is glued on; the next word is another."""
        if SHELL is not shells.Fish:  # which knows no such option
            self.assertEqual(values(self.offers("fpless profile --stream=")),
                             {"blocks", "table", "json"})
        self.assertNotIn("blocks", self.offers("fpless profile --stream "))

    def test_numbers_offer_nothing(self):
        """Neither files nor options."""
        for line in ("profile -F ", "profile --frequency=", "profile --table-memory "):
            self.assertEqual(self.offers("fpless " + line), set(), line)

    def test_files(self):
        """Where a verb or an option takes one, and folders where it takes a folder."""
        every = {"a.folded", "some.txt", "so me.jsonl", "some folder"}
        for line in ("report ", "report -q a.folded ", "tables ", "verify -j 2 ", "doctor ",
                     "profile -o ", "profile --stats "):
            self.assertEqual(self.offers("fpless " + line) & every, every, line)
        self.assertEqual(self.offers("fpless report some."), {"some.txt"})
        self.assertEqual(self.offers("fpless compare --out-dir so"), {"some folder"})
        self.assertEqual(values(self.offers("fpless profile --output=some.")), {"some.txt"})

    def test_processes_and_users(self):
        """By number, and by name."""
        with subprocess.Popen(["sleep", "300"]) as process:
            try:
                for line in ("fpless profile -p ", "fpless-bcc-profile -p 1,"):
                    self.assertIn(str(process.pid), values(self.offers(line)), line)
            finally:
                process.kill()
        self.assertIn("root", self.offers("fpless profile -u ro"))

    def test_command(self):
        """Behind --, of the verbs that take one."""
        self.assertIn("sleep", self.offers("fpless profile -F 99 -- slee"))
        self.assertIn("sleep", self.offers("fpless compare 5 -- slee"))
        self.assertIn("some.txt", self.offers("fpless profile -- cat some."))
        self.assertNotIn("sleep", self.offers("fpless report -- slee"))

    def test_command_without_dashes(self):
        """The first word that is neither an option, its value nor a number; not of verify, which takes files."""
        for line in ("profile slee", "profile 10 slee", "top -F 99 --unwind cfi 1.5s slee",
                     "compare -U slee", "profile --unwind=cfi -g slee", "profile --event=cpu-clock slee"):
            self.assertIn("sleep", self.offers("fpless " + line), line)
        self.assertIn("some.txt", self.offers("fpless profile cat some."))
        self.assertIn("some.txt", self.offers("fpless profile 10 cat -F some."))
        self.assertNotIn("--unwind", self.offers("fpless profile perl --unw"))
        self.assertIn("--unwind", {text.rstrip("=") for text in self.offers("fpless profile 10 --unw")})
        self.assertNotIn("sleep", self.offers("fpless verify slee"))


if __name__ == "__main__":
    WHY = shells.missing(SHELL)
    if WHY:
        print(f"SKIP: {WHY}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
