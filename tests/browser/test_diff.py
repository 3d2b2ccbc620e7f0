#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differential flame graphs as readers use them: colours, what they say, click, zoom, search, hostile names.

usage: test_diff.py FPLESS
"""

import colorsys
import os
import re
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, keep_screenshots, need_chromium

FPLESS = os.path.abspath(sys.argv[1])

BEFORE = """prog;main;parse;read_line 4000
prog;main;parse;[/usr/lib/libx.so.1+0x1f00] 400
prog;main;sort;compare 3000
prog;main;sort 600
prog;main;old_way 900
prog;main;rare 5
"""
AFTER = """prog;main;parse;read_line 1200
prog;main;parse;[/usr/lib/libx.so.1+0x2f00] 410
prog;main;sort;compare 3030
prog;main;sort 590
prog;main;sort;swap 700
prog;main;rare 8
"""
HOSTILE = "a;<script>alert(1)</script>;\"><image href=x onerror=alert(2)> 300\na;]]>;\\x1b[31m&amp; 200\n"

# Boxes that are shown by name: [fill of the rectangle, width, title].
BOXES = """Object.fromEntries([...document.querySelectorAll(".boxes > g:not(.off)")].map(g => [
    g.firstElementChild.textContent.split("\\n")[0], [getComputedStyle(g.querySelector("rect")).fill,
    Number(g.querySelector("rect").getAttribute("width")), g.firstElementChild.textContent]]))"""


def color_of(fill):
    """red, blue or none."""
    hue, _, saturation = colorsys.rgb_to_hls(*(int(part) / 255 for part in re.findall(r"\d+", fill)[:3]))
    if saturation < 0.15:
        return "none"
    return "blue" if 0.5 < hue < 0.7 else "red" if hue < 0.1 or hue > 0.95 else fill


class DiffCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fpless-diff-")
        self.addCleanup(self.folder.cleanup)

    def open(self, before, after, *options, **more):
        path = os.path.join(self.folder.name, "out.svg")
        files = []
        for name, text in (("before", before), ("after", after)):
            files.append(os.path.join(self.folder.name, name))
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run([FPLESS, "diff", "-q", "-o", path, *options, *files], check=True, timeout=100,
                       stdin=subprocess.DEVNULL)
        return self.browser.open(path, **more)

    def colors(self, page):
        return {name: color_of(box[0]) for name, box in page.evaluate(BOXES).items()}

    def test_what_grew_is_red_and_what_shrank_is_blue(self):
        with self.open(BEFORE, AFTER, "-s") as page:
            # main has no box of old_way any more above it
            self.assertEqual(self.colors(page), {
                "all": "none", "prog": "none", "main": "blue", "parse": "none", "read_line": "blue", "rare": "none",
                "[libx.so.1+0x...]": "none", "sort": "none", "compare": "none", "swap": "red"})
            boxes = page.evaluate(BOXES)
            self.assertAlmostEqual(boxes["read_line"][1] / boxes["all"][1], 1200 / 5938, delta=0.01)
            self.assertRegex(boxes["read_line"][2], r"before 44\.92 %, 4,000 samples\nafter 13\.48 %, 1,200 samples\n"
                                                    r"-31\.44 points \+- \d\.\d\d: more than noise")
            self.assertRegex(boxes["swap"][2], r"before 0\.00 %, 0 samples\n.*\n.*: new$")
            self.assertRegex(boxes["rare"][2], "may be noise")
            self.assertRegex(boxes["main"][2], "below it, and gone: 10.11 %")
            self.assertNotIn("gone", boxes["sort"][2])
            self.assertIn("10.11 % of what was before is gone", page.text(".notes"))
            keep_screenshots(page, "diff")
            page.use_dark(True)
            page.wait("getComputedStyle(document.querySelector('.paper')).fill === 'rgb(22, 24, 28)'")
            self.assertEqual(self.colors(page)["swap"], "red")
            keep_screenshots(page, "diff-dark")

    def test_negate_turns_the_colours_and_normalize_compares_shares(self):
        with self.open(BEFORE, AFTER, "--negate") as page:
            colors = self.colors(page)
            self.assertEqual((colors["read_line"], colors["swap"]), ("red", "blue"))
        with self.open(BEFORE, AFTER, "--normalize", "--inverted") as page:
            colors = self.colors(page)
            self.assertEqual((colors["read_line"], colors["compare"]), ("blue", "red"))
            self.assertRegex(page.evaluate(BOXES)["compare"][2], r"before 33\.69 %.*\nafter 51\.03 %")
            self.assertIn("as shares", page.text(".subtitle"))
            keep_screenshots(page, "diff-normalized")

    def test_equal_sides_have_no_colour(self):
        with self.open(BEFORE, BEFORE) as page:
            self.assertEqual(set(self.colors(page).values()), {"none"})

    def test_it_zooms_and_searches(self):
        with self.open(BEFORE, AFTER) as page:
            page.click(".boxes > g", "parse")
            page.wait(f"Object.keys({BOXES}).length === 6", "what is not of parse to be gone")
            page.hover(".boxes > g", "read_line")
            page.wait("document.querySelector('.details').textContent.includes('before 44.92 %')")
            keep_screenshots(page, "diff-zoomed")
            page.press("Escape")
            page.wait(f"Object.keys({BOXES}).length === 10")
            page.press("/")
            page.type("swap|rare")
            page.wait("document.querySelector('.matched').textContent === 'Matched: 11.92 % (2 boxes)'")
            keep_screenshots(page, "diff-searched")

    def test_empty_sides_and_hostile_names_are_safe(self):
        with self.open("", AFTER) as page:
            self.assertEqual(self.colors(page)["swap"], "red")
        with self.open(BEFORE, "") as page:
            self.assertEqual(self.colors(page)["read_line"], "blue")
            self.assertIn("There is nothing after", page.text(".notes"))
        with self.open(HOSTILE, HOSTILE.replace("300", "900")) as page:
            self.assertEqual(page.count("script"), 1)
            self.assertEqual(page.count("image"), 0)
            self.assertEqual(self.colors(page)['"><image href=x onerror=alert(2)>'], "red")


if __name__ == "__main__":
    need_chromium()
    unittest.main(argv=sys.argv[:1])
