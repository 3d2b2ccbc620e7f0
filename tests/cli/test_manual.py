#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_manual.py FPLESS FPLESS_MANUAL SOURCE_FOLDER PAGE_FOLDER

The manual: each verb has a page, each page the options of --help and no other, nothing that man and
mandoc complain of, and no reference to a page that is not there."""

import glob
import os
import re
import subprocess
import sys
import unittest

import manual_pages

FPLESS, MANUAL, SOURCES, PAGES = sys.argv[1:5]
# Of scdoc's making, and without effect on what is seen.
HARMLESS = re.compile(r"WARNING: skipping paragraph macro")


class Manual(unittest.TestCase):
    """Everything but the examples, which need a kernel: see integration.examples."""

    verbs = manual_pages.run(MANUAL, "verbs").split()
    pages = sorted(glob.glob(os.path.join(PAGES, "*.[1-9]")))

    def test_every_verb_has_a_page(self):
        """A verb without docs/man/fpless-VERB.1.scd."""
        lacking = [verb for verb in self.verbs
                   if not os.path.exists(os.path.join(SOURCES, f"fpless-{verb}.1.scd"))]
        self.assertEqual(lacking, [], "write docs/man/fpless-VERB.1.scd")

    def test_help_lists_the_verbs(self):
        """In the order of the table."""
        text = manual_pages.run(FPLESS, "--help")
        listed = re.findall(r"^  ([a-z-]+) +\S", text.split("\n\n")[1], re.M)
        self.assertEqual(listed, self.verbs)

    def test_help_verb_is_the_help_of_the_verb(self):
        """fpless help VERB."""
        for verb in self.verbs:
            self.assertEqual(manual_pages.run(FPLESS, "help", verb),
                             manual_pages.run(FPLESS, verb, "--help"))

    def test_options_are_those_of_help(self):
        """Both ways, with letters and values."""
        for verb in self.verbs:
            said = manual_pages.of_help(manual_pages.run(FPLESS, verb, "--help"))
            page = manual_pages.of_page(os.path.join(PAGES, f"fpless-{verb}.1"))
            with self.subTest(verb=verb):
                self.assertGreater(len(said), 2)
                self.assertEqual(said - page, set(), "not in the page")
                self.assertEqual(page - said, set(), "not in --help")

    def test_help_is_aligned(self):
        """argp breaks a line at the wrong place for some lengths of texts: another wording helps."""
        for verb in self.verbs:
            text = manual_pages.run(FPLESS, verb, "--help")
            text = re.split(r"^(?:Mandatory or optional|Exit status)", text, flags=re.M)[0]
            lines = re.split(r"^(?= {2,6}-)", text, maxsplit=1, flags=re.M)[1].splitlines()
            wrong = [line for line in lines if re.match(r"\S| {7,}-{1,2}[a-z].*  ", line)]
            self.assertEqual(wrong, [], verb)

    def test_every_heading_has_options(self):
        """None without any below it, and the same ones in the page and in --help."""
        for verb in self.verbs:
            said = manual_pages.headings_of_help(manual_pages.run(FPLESS, verb, "--help"))
            page = manual_pages.headings_of_page(os.path.join(PAGES, f"fpless-{verb}.1"))
            with self.subTest(verb=verb):
                self.assertEqual([name for name, nr in said + page if not nr], [])
                self.assertEqual([name for name, _ in said], [name for name, _ in page if name != "Help"])

    def test_man_has_no_warnings(self):
        """groff's, at two widths."""
        for page in self.pages:
            for width in ("80", "120"):
                env = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH=width, MANROFFSEQ="t")
                done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                                      env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual((done.returncode, done.stderr.decode()), (0, ""), page)

    def test_mandoc_has_no_warnings(self):
        """But for empty paragraphs, which are scdoc's."""
        for page in self.pages:
            done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            said = [line for line in done.stdout.decode().splitlines() if not HARMLESS.search(line)]
            self.assertEqual(said, [])

    def test_references_are_there(self):
        """fpless-NAME(N) is a page."""
        for page in self.pages:
            text = re.sub(r".\x08", "", manual_pages.run("mandoc", "-Tascii", page))
            for name, section in re.findall(r"\b(fpless[a-z-]*)\((\d)\)", text):
                self.assertTrue(os.path.exists(os.path.join(PAGES, f"{name}.{section}")),
                                f"{page}: {name}({section})")

    def test_every_verb_page_has_its_sections(self):
        """Among them examples, which integration.examples runs."""
        for verb in self.verbs:
            with open(os.path.join(PAGES, f"fpless-{verb}.1"), encoding="utf-8") as file:
                sections = re.findall(r"^\.SH (.*)$", file.read(), re.M)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES",
                            "SEE ALSO"):
                self.assertIn(section, sections, verb)


if __name__ == "__main__":
    if not glob.glob(os.path.join(PAGES, "*.1")):
        print("SKIP: no pages were built: scdoc is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
