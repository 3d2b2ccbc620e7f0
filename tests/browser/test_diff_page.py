#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a difference: red and blue, both widths, what functions changed, names that try to be more than names."""

import colorsys
import json
import os
import re
import subprocess

from html_case import FPLESS, HtmlCase, main
from recordings import Recording, write_page

BEFORE = [(4000, "main parse read_line"), (400, "main parse skip@/usr/lib/libx.so.1"), (3000, "main sort compare"), (600, "main sort"),
          (900, "main old_way"), (5, "main rare"), (300, "main sort [k]page_fault")]
AFTER = [(1200, "main parse read_line"), (410, "main parse skip@/opt/new/libx.so.1"), (3030, "main sort compare"), (590, "main sort"),
         (700, "main sort swap"), (8, "main rare"), (310, "main sort [k]page_fault")]
EVIL = ["</script><script>window.evil=1</script>", "<img src=x onerror='window.evil=1'>", "right\u202eleft", "__proto__", "a;b\\c\n"]
EVIL_OBJECT = "/usr/bin/<b>app"


def side(stacks):
    recording = Recording()
    for count, stack in stacks:
        recording.add(count, stack.split(), comm="prog")
    return recording


class OneDifference(HtmlCase):
    @classmethod
    def make_page(cls):
        cls.files = []
        for name, stacks in (("before", BEFORE), ("after", AFTER)):
            cls.files.append(os.path.join(cls.folder.name, name + ".jsonl"))
            side(stacks).write(cls.files[-1])
        return write_page(os.path.join(cls.folder.name, "x.html"), FPLESS, "diff", *cls.files)

    def page_with(self, *options):
        return write_page(os.path.join(self.folder.name, "other.html"), FPLESS, "diff", *options, *self.files)

    def colors(self, page, where="main > section:not([hidden])"):
        """{name: red, blue or none} of the frames."""
        fills = page.evaluate(f"""Object.fromEntries([...document.querySelectorAll('{where} g.frame')].map(g =>
            [g.getAttribute('name'), getComputedStyle(g.querySelector('rect')).fill]))""")
        found = {}
        for name, fill in fills.items():
            hue, _, saturation = colorsys.rgb_to_hls(*(int(part) / 255 for part in re.findall(r"\d+", fill)[:3]))
            found[name] = "none" if saturation < 0.1 else "blue" if 0.5 < hue < 0.7 else "red" if hue < 0.1 or hue > 0.9 else fill
        return found

    def row(self, page, name):
        return page.evaluate(f"""(() => {{
            const row = [...document.querySelectorAll('.functions:not([hidden]) tbody tr')]
                .find(row => row.querySelector('.name').textContent === {name!r});
            return row ? [...row.cells].map(cell => cell.textContent) : null;
        }})()""")

    def test_what_grew_is_red_and_what_shrank_is_blue(self):
        with self.open() as page:
            # main lacks what was old_way; libx is the same wherever it lies
            self.assertEqual(self.colors(page), {
                "all": "none", "prog": "none", "main": "blue", "parse": "none", "read_line": "blue", "rare": "none", "skip": "none",
                "sort": "none", "compare": "none", "swap": "red", "page_fault": "none"})
            self.hover(page, "read_line")
            self.wait_text(page, "#tip", "before 43.45 %, 4,000 samples")
            self.wait_text(page, "#tip", "after 13.04 %, 1,200 samples")
            self.wait_text(page, "#tip", "−30.42 points ± ")
            self.wait_text(page, "#tip", "more than noise")
            self.hover(page, "swap")
            self.wait_text(page, "#tip", ": new")
            self.hover(page, "rare")
            self.wait_text(page, "#tip", "may be noise")
            self.hover(page, "main")
            self.wait_text(page, "#tip", "below it, and only before: 9.78 %")
            self.wait_text(page, ".graph:not([hidden]) .legend", "9.78 % of what was before has no frame after")
            self.wait_text(page, "#head", "before.jsonl → after.jsonl")
            self.wait_text(page, "#head .headline", "3 functions changed: read_line -")
            self.wait_text(page, "#head", "9,205 samples before, 6,248 samples after")
            self.assertEqual(page.evaluate("document.querySelectorAll('select:not([hidden])').length"), 2)

    def test_the_page_judges_frames_as_the_picture_does(self):
        svg = os.path.join(self.folder.name, "x.svg")
        subprocess.run([FPLESS, "diff", "-q", "-o", svg, *self.files], check=True, stdin=subprocess.DEVNULL)
        with open(svg, encoding="utf-8") as file:
            titles = dict(re.findall(r"<title>(\w+)\n(.*?)</title>", file.read(), re.S))
        with self.open() as page:
            for name in ("read_line", "swap", "sort", "main", "compare"):
                node = f"fpless.app.model.tree.fn.findIndex((fn, i) => i && fpless.app.model.name(fn) === {name!r})"
                heading, lines = page.evaluate(f"fpless.app.describe(fpless.app.model.tree, {node})")
                self.assertEqual(heading, name)
                points, verdict = re.search(r"\n([+-][\d.]+) points \+- [\d.]+: (.*)", titles[name]).groups()
                said = re.search(r"^([+−][\d.]+) points ± [\d.]+: (.*)$", "\n".join(lines), re.M)
                self.assertEqual((said[1].replace("−", "-"), said[2]), (points, verdict))

    def test_as_wide_as_before(self):
        with self.open() as page:
            self.assertNotIn("old_way", self.frames(page))
            page.press("w")
            page.wait("fpless.app.state.width === 'before'")
            page.settle()
            colors = self.colors(page)
            self.assertEqual((colors["old_way"], colors["read_line"], colors["sort"]), ("blue", "blue", "red"))
            self.assertNotIn("swap", colors)
            self.wait_text(page, ".graph:not([hidden]) .legend", "11.20 % of what was after has no frame before")
            self.wait_text(page, ".crumbs", "all 9,205 samples")
        with self.open("width=before&view=icicle") as page:
            self.assertIn("old_way", self.frames(page))

    def test_functions_say_what_the_table_of_diff_says(self):
        done = subprocess.run([FPLESS, "diff", "-q", "--json", *self.files], check=True, stdin=subprocess.DEVNULL, capture_output=True)
        functions = {one["function"]: one for one in json.loads(done.stdout)["functions"]}
        with self.open("view=functions") as page:
            for name, one in functions.items():
                cells = self.row(page, name)
                for at, key in ((0, "self"), (3, "total")):
                    self.assertEqual(cells[at:at + 2], [f"{one[key]['before']:.2f}", f"{one[key]['after']:.2f}"])
                    self.assertEqual(cells[at + 2], f"{one[key]['change']:+.2f} ± {one[key]['interval']:.2f}{one[key]['verdict']}".replace("-", "−"))
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.functions:not([hidden]) tbody .name')].slice(0, 3).map(e => e.textContent)"),
                             ["read_line", "old_way", "swap"])
            self.assertEqual(self.row(page, "skip")[7], "libx.so.1")
            page.press("/")
            page.type("^r")
            page.wait("document.querySelectorAll('.functions:not([hidden]) tbody tr').length === 2")
            page.press("Escape")
            page.press("Escape")
            page.wait("document.querySelectorAll('.functions:not([hidden]) tbody tr').length > 2")
            # what is gone is as wide as before
            page.click(".functions:not([hidden]) tbody tr", "old_way")
            page.wait("fpless.app.state.view === 'sandwich' && fpless.app.state.width === 'before'")
            self.wait_text(page, ".heading", "self −9.78")
            page.settle()
            self.assertEqual(self.frames(page, '.both .canvas[aria-label^="Callers"]'), ["main", "old_way", "prog"])

    def test_callers_and_callees_have_both_sides(self):
        with self.open("view=sandwich") as page:
            self.wait_text(page, ".heading", "read_line")  # changed most
            page.click(".choices button", "sort")
            self.wait_text(page, ".heading h2", "sort")
            page.settle()
            self.assertEqual(self.colors(page, '.both .canvas[aria-label^="Callees"]'),
                             {"sort": "none", "compare": "none", "swap": "red", "page_fault": "none"})
            self.hover(page, "swap")
            self.wait_text(page, "#tip", "after 7.60 %, 700 samples")

    def test_sides_are_said(self):
        with self.open("view=run") as page:
            self.wait_text(page, ".run", "before.jsonl")
            self.wait_text(page, ".run", "5.00 %, which is assumed")
            self.wait_text(page, ".run", "cpu-clock, 99 Hz")

    def test_options_of_pictures(self):
        with self.open(path=self.page_with("--negate", "--inverted", "--title", "old & new")) as page:
            colors = self.colors(page)
            self.assertEqual((page.evaluate("fpless.app.state.view"), colors["read_line"], colors["swap"]), ("icicle", "red", "blue"))
            self.wait_text(page, "#head", "old & new")
        with self.open(path=self.page_with("--normalize")) as page:
            self.assertEqual(self.colors(page)["compare"], "red")
            page.press("4")
            self.wait_text(page, ".functions:not([hidden]) .note", "of their side")
        with self.open(path=self.page_with("--any-object", "--min-share", "6")) as page:
            self.assertEqual(self.frames(page), ["all", "compare", "main", "parse", "prog", "read_line", "sort"])
            self.wait_text(page, ".graph:not([hidden]) .legend", "are left out")

    def test_both_themes_and_narrow(self):
        for dark in (False, True):
            for width in (1280, 420):
                with self.open(width=width, dark=dark) as page:
                    for key, view in enumerate(("flame", "icicle", "sandwich", "functions", "run"), 1):
                        page.press(str(key))
                        page.wait(f"fpless.app.state.view === '{view}'")
                        page.settle()
                        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                        self.keep(page, f"diff-{view}-{'dark' if dark else 'light'}-{width}")
                    page.press("1")
                    page.press("c")
                    page.wait("fpless.app.state.color === 'object'")

    def test_one_side_without_samples(self):
        empty = os.path.join(self.folder.name, "empty")
        with open(empty, "w", encoding="utf-8"):
            pass
        for files, color in (((empty, self.files[1]), "red"), ((self.files[0], empty), "blue")):
            path = write_page(os.path.join(self.folder.name, "empty.html"), FPLESS, "diff", *files)
            with self.open(path=path) as page:
                self.assertEqual(self.colors(page)["read_line"], color)
                for key in "2345w1":
                    page.press(key)
                    page.settle()

    def test_names_are_text(self):
        files = []
        for count in (300, 900):
            recording = Recording()
            for name in EVIL:
                recording.add(count, ["main", name + "@" + EVIL_OBJECT])
            files.append(os.path.join(self.folder.name, f"</script>{count}.jsonl".replace("/", "")))
            recording.write(files[-1])
        with self.open(path=write_page(os.path.join(self.folder.name, "evil.html"), FPLESS, "diff", *files)) as page:
            for key in "2345":
                page.press(key)
                page.settle()
            page.press("4")
            self.assertIsNotNone(self.row(page, EVIL[0]))
            self.assertIsNotNone(self.row(page, "right\\xe2\\x80\\xaeleft"))
            self.assertIsNotNone(self.row(page, "a\\x3bb\\x5cc\\x0a"))
            self.assertEqual(page.count("main img, main td b"), 0)
            self.assertIsNone(page.evaluate("window.evil"))


if __name__ == "__main__":
    main()
