#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flame graphs and charts as readers use them: click, zoom, search, keys, hostile names, light and dark.

usage: test_svg.py FPLESS
"""

import os
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, keep_screenshots, need_chromium

FPLESS = os.path.abspath(sys.argv[1])

FOLDED = """a;main;left;deep 6
a;main;left;read_[k] 2
a;main;right 1
b;other;deep 1
"""
HOSTILE = r"""<b>x</b>;<script>alert(1)</script>;"><image href=x onerror=alert(2)> 3
c;]]>;\x1b[31mred\x0anext\x00;javascript:alert(3) 2
c;&amp;&lt;&#x0;;'";{{7*7}};%s 1
""" + "c;" + "<" * 300000 + " 4\n"

# Two threads of two milliseconds a sample: a, a, b and, after a pause, a; the other one b.
TIMES = """p     7/7     [000]  1.002000: cpu-clock:
	            1000 a (/bin/p)
	            2000 main (/bin/p)

p     7/7     [000]  1.004000: cpu-clock:
	            1000 a (/bin/p)
	            2000 main (/bin/p)

p     7/7     [000]  1.006000: cpu-clock:
	            3000 b (/bin/p)
	            2000 main (/bin/p)

p     7/8     [001]  1.006000: cpu-clock:
	            3000 b (/bin/p)
	            2000 main (/bin/p)

p     7/7     [000]  1.020000: cpu-clock:
	            1000 a (/bin/p)
	            2000 main (/bin/p)

"""

# Each box that is shown: [name, x, width, text], in the order of the file.
SHOWN = """[...document.querySelectorAll(".boxes > g:not(.off)")].map(g => [
    g.firstElementChild.textContent.split("\\n")[0], Number(g.querySelector("rect").getAttribute("x")),
    Number(g.querySelector("rect").getAttribute("width")),
    g.querySelector("text") ? g.querySelector("text").textContent : ""])"""


class SvgCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fpless-svg-")
        self.addCleanup(self.folder.cleanup)

    def make(self, text, *options):
        source, path = os.path.join(self.folder.name, "in"), os.path.join(self.folder.name, "out.svg")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([FPLESS, "report", "-q", "-o", path, *options, source], check=True, timeout=100,
                       stdin=subprocess.DEVNULL)
        return path

    def open(self, text, *options, **more):
        return self.browser.open(self.make(text, *options), **more)

    def shown(self, page):
        return [box[0] for box in page.evaluate(SHOWN)]

    def wait_shown(self, page, names):
        page.wait(f"{SHOWN}.map(box => box[0]).join() === {','.join(names)!r}", f"only {names} to be shown")

    def test_boxes_are_as_wide_as_the_window_asks(self):
        with self.open(FOLDED) as page:
            for width in (1280, 800, 500):
                page.resize(width, 600)
                page.wait(f"document.documentElement.viewBox.baseVal.width === {width}")
                boxes = {box[0]: box for box in page.evaluate(SHOWN)}
                self.assertAlmostEqual(boxes["all"][2], width - 20.5, delta=0.1)
                self.assertAlmostEqual(boxes["main"][2], (width - 20) * 0.9 - 0.5, delta=0.1)
                self.assertEqual(boxes["all"][3], "all")
        with self.open(FOLDED, "--width", "600") as page:
            page.resize(900, 600)
            page.settle()
            self.assertEqual(page.evaluate("document.documentElement.viewBox.baseVal.width"), 600)

    def test_a_click_zooms_and_reset_shows_all(self):
        with self.open(FOLDED) as page:
            everything = self.shown(page)
            self.assertEqual(everything, ["all", "a", "main", "left", "deep", "read", "right", "b", "other", "deep"])
            page.click(".boxes > g", "left")
            self.wait_shown(page, ["all", "a", "main", "left", "deep", "read"])
            boxes = {box[0]: box for box in page.evaluate(SHOWN)}
            self.assertAlmostEqual(boxes["left"][2], boxes["all"][2], delta=0.1)
            self.assertAlmostEqual(boxes["deep"][2], boxes["left"][2] * 6 / 8, delta=1)
            self.assertIn("8 samples, 80.00 %", page.text(".details"))
            keep_screenshots(page, "svg-zoomed")
            page.click(".reset")
            self.wait_shown(page, everything)
            page.click(".boxes > g", "right")
            self.wait_shown(page, ["all", "a", "main", "right"])
            page.press("Escape")
            self.wait_shown(page, everything)

    def test_searches_say_how_much_they_match(self):
        with self.open(FOLDED) as page:
            page.press("f", "Control")
            page.wait("document.activeElement.tagName === 'input'")
            page.type("deep|left")
            page.wait("document.querySelector('.matched').textContent === 'Matched: 90.00 % (3 boxes)'")
            self.assertEqual(page.count(".hit"), 3)
            keep_screenshots(page, "svg-searched")
            page.press("Enter")
            page.wait("document.querySelectorAll('.at').length === 1")
            page.press("Escape")
            page.wait("document.querySelectorAll('.hit').length === 0")
            page.press("/")
            page.type("(")
            page.wait("document.querySelector('.matched').textContent === 'no regular expression'")
            page.press("Backspace")
            page.type("^READ$")
            page.wait("document.querySelector('.matched').textContent === 'Matched: 0.00 % (0 boxes)'")

    def test_arrows_go_from_box_to_box(self):
        with self.open(FOLDED) as page:
            for keys, name in ((["ArrowUp"], "all"), (["ArrowUp"], "a"), (["ArrowUp", "ArrowUp"], "left"),
                               (["ArrowRight"], "right"), (["ArrowRight"], "deep"), (["ArrowDown"], "other"),
                               (["ArrowLeft"], "main"), (["ArrowDown"], "a")):
                for key in keys:
                    page.press(key)
                page.wait(f"document.querySelector('.at title').textContent.startsWith({name!r})", f"{name} to be reached")
            page.press("Enter")
            self.wait_shown(page, ["all", "a", "main", "left", "deep", "read", "right"])
        with self.open(FOLDED, "--inverted") as page:
            page.press("ArrowDown")
            page.press("ArrowDown")
            page.wait("document.querySelector('.at title').textContent.startsWith('a\\n')")

    def test_what_the_pointer_is_on_is_said(self):
        with self.open(FOLDED) as page:
            page.hover(".boxes > g", "read")
            page.wait("document.querySelector('.details').textContent.startsWith('read')")
            self.assertRegex(page.text(".details"), r"2 samples, 20.00 %.*kernel")

            tip = "document.querySelector('.tip')"
            page.wait(f"/^read2 samples, 20.00 %/.test({tip}.textContent)")
            before = page.evaluate(f"{tip}.getBoundingClientRect().x")
            x, y = page.place_of(".boxes > g", "read")
            page.move(x + 20, y)
            page.wait(f"{tip}.getBoundingClientRect().x === {before} + 20", "the details to follow the pointer")
            self.assertEqual(page.count(".boxes > g:hover > title"), 0, "the browser shows titles, too")
            keep_screenshots(page, "svg-tip")
            page.move(5, 5)
            page.wait(f"getComputedStyle({tip}).display === 'none'")
            self.assertEqual(page.count(".boxes > g:not(:has(> title))"), 0)
            page.hover(".boxes > g", "other")
            page.wait(f"{tip}.getBoundingClientRect().right <= innerWidth && {tip}.textContent.startsWith('other')")

    def test_it_opens_where_everything_begins(self):
        deep = "a;" + ";".join(f"f{i}" for i in range(200)) + " 1\n"
        for options in ((), ("--inverted",)):
            with self.subTest(options=options), self.open(deep, *options) as page:
                page.wait("""(() => {
                    const box = document.querySelector(".boxes > g rect").getBoundingClientRect();
                    return box.top >= 0 && box.bottom <= innerHeight;
                })()""", "the first frame to be in the window")
                self.assertEqual(self.shown(page)[0], "all")
                keep_screenshots(page, "svg-opened" + "".join(options))

    def test_text_stays_inside_its_box(self):
        wide = "".join(f"\u6f22\u5b57;\U0001f600{i};\ufdfd\ufdfd{i};\u0e01\u0e33{i};f(std::string, int){i} {i}\n" for i in range(1, 9))
        inside = """[...document.querySelectorAll(".boxes > g")].filter(g => {
            const text = g.querySelector("text"), rect = g.querySelector("rect");
            return text && text.getComputedTextLength() > Math.max(0, Number(rect.getAttribute("width")) - 5);
        }).length"""
        beyond = """[...document.querySelectorAll("svg > text, .notes text, .bar > text:not([visibility])")].filter(
            e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)"""
        for options in ((), ("--height", "12")):
            with self.subTest(options=options), self.open(wide, "--title", "W\u6f22" * 200, "--subtitle", "s" * 300,
                                                          *options) as page:
                for width in (1280, 700, 330):
                    page.resize(width, 600)
                    page.wait(f"document.documentElement.viewBox.baseVal.width === {width}")
                    self.assertEqual(page.evaluate(inside), 0, width)
                    self.assertEqual(page.evaluate(beyond), [], width)
                self.assertGreater(page.evaluate("document.querySelectorAll('.boxes text').length"), 3)
                page.hover(".boxes > g", "\U0001f6008")
                page.wait("""(() => {
                    const tip = document.querySelector(".tip"), rect = tip.querySelector("rect").getBoundingClientRect();
                    const text = tip.querySelector("text").getBoundingClientRect();
                    return rect.width && text.left >= rect.left && text.right <= rect.right && rect.right <= innerWidth;
                })()""", "the details to be inside their box and the window")
                keep_screenshots(page, "svg-wide" + "".join(options))
        path = os.path.join(self.folder.name, "image.svg")
        with open(self.make(wide), encoding="utf-8") as file, open(path, "w", encoding="utf-8") as to:
            to.write(file.read().split("<script>", 1)[0] + "</svg>")
        with self.browser.open(path) as page:
            self.assertEqual(page.evaluate(inside), 0, "without the script")
            self.assertGreater(page.count("text[textLength]"), 3)

    def test_hostile_names_are_text(self):
        for options in ((), ("--inverted",), ("--colors", "object")):
            with self.subTest(options=options), self.open(HOSTILE, *options) as page:
                self.assertEqual(page.count("script"), 1)
                self.assertEqual(page.count("image, b, a"), 0)
                self.assertIn("<script>alert(1)</script>", self.shown(page))
                self.assertIn("\\x1b[31mred\\x0anext\\x00", [name.replace("\\x5cx", "\\x") for name in self.shown(page)])
                self.assertEqual(max(len(name) for name in self.shown(page)), 512 + len("[... 299,488 more bytes]"))
                page.click(".boxes > g", "<script>")
                page.press("/")
                page.type("alert|<")
                page.wait("document.querySelector('.matched').textContent.startsWith('Matched: 90.00 %')")
                keep_screenshots(page, "svg-hostile")

    def test_light_and_dark_follow_the_reader(self):
        paper = "getComputedStyle(document.querySelector('.paper')).fill"
        box = "getComputedStyle([...document.querySelectorAll('.boxes > g')][2].querySelector('rect')).fill"
        for colors in ("hot", "cold", "object", "origin"):
            with self.subTest(colors=colors), self.open(FOLDED, "--colors", colors) as page:
                light = page.evaluate(f"[{paper}, {box}]")
                keep_screenshots(page, f"svg-{colors}-light")
                page.use_dark(True)
                page.wait(f"{paper} === 'rgb(22, 24, 28)'")
                dark = page.evaluate(f"[{paper}, {box}]")
                self.assertEqual(light[0], "rgb(255, 255, 255)")
                self.assertNotIn(light[1], (dark[1], "rgb(0, 0, 0)"))
                keep_screenshots(page, f"svg-{colors}-dark")

    def test_it_works_inside_a_page(self):
        svg = self.make(FOLDED)
        path = os.path.join(self.folder.name, "page.html")
        with open(svg, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as to:
            to.write('<!DOCTYPE html><meta charset="utf-8"><title>page</title><p>before</p>' +
                     file.read().split("?>", 1)[1] + "<p>after</p>")
        with self.browser.open(path, width=900) as page:
            page.click(".boxes > g", "left")
            self.wait_shown(page, ["all", "a", "main", "left", "deep", "read"])
            page.press("/")
            page.type("read")
            page.wait("document.querySelector('.matched').textContent === 'Matched: 20.00 % (1 box)'")
            keep_screenshots(page, "svg-inside")

    def test_a_chart_is_in_the_order_of_time(self):
        with self.open(TIMES, "--chart") as page:
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.lane')].map(e => e.textContent)"),
                             ["p (pid 7): 4 samples", "p (pid 7, tid 8): 1 sample"])
            self.assertEqual(self.shown(page), ["a", "b", "a", "main", "b", "main"])
            first, last, whole = [page.evaluate(SHOWN)[i] for i in (0, 2, 3)]
            self.assertLess(first[1] + first[2], last[1])
            self.assertAlmostEqual(whole[1] + whole[2], last[1] + last[2], delta=0.5)
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.texts > text')].map(e => e.textContent)"),
                             ["a", "b", "a", "main", "b", "main"])
            self.assertIn("of which it ran 6.000 ms, 4 samples",
                          page.evaluate("document.querySelectorAll('.boxes > g')[3].textContent"))
            wait = "document.querySelector('.waits path').getBoundingClientRect()"
            between = page.evaluate(f"[{wait}.left, {wait}.right]")
            self.assertAlmostEqual(between[0], page.evaluate(SHOWN)[1][1] + page.evaluate(SHOWN)[1][2], delta=1)
            self.assertAlmostEqual(between[1], last[1], delta=1)
            self.assertRegex(page.text(".axis"), r"0\.0\d+ s.*0\.0\d+ s")
            before = page.text(".axis")
            keep_screenshots(page, "svg-chart")
            page.click(".boxes > g", "b\n")
            page.wait(f"document.querySelector('.axis').textContent !== {before!r}")
            self.assertEqual(self.shown(page), ["b", "main", "b", "main"])
            page.wait("document.querySelector('.tip').textContent.endsWith('p (pid 7): 4 samples')")
            self.assertGreaterEqual(page.evaluate(f"{wait}.left"), 1269)
            keep_screenshots(page, "svg-chart-zoomed")
            page.press("Escape")
            page.press("/")
            page.type("^a$")
            page.wait("document.querySelector('.matched').textContent === 'Matched: 50.00 % (2 boxes)'")
            self.assertEqual(page.count(".hit"), 2)
            page.press("Escape")
            for key, name, lane in (("ArrowDown", "main", "1"), ("ArrowDown", "a", "1"), ("ArrowRight", "b", "1"),
                                    ("ArrowDown", "main", "2"), ("ArrowDown", "b", "2"), ("ArrowUp", "main", "2"),
                                    ("ArrowUp", "main", "1")):
                page.press(key)
                page.wait(f"document.querySelector('.at title').textContent.startsWith({name!r}) && "
                          f"document.querySelector('.at').dataset.s.split(' ')[3] === {lane!r}", f"{name} of lane {lane}")
        with self.open(TIMES, "--chart", "--axis", "cpu") as page:
            self.assertEqual(self.shown(page), ["a", "b", "a", "main", "b", "main"])
            self.assertEqual(page.count(".waits path"), 0)
            self.assertRegex(page.text(".axis"), r"0\.004 s CPU")
            longest, other = [page.evaluate(SHOWN)[i] for i in (3, 5)]
            self.assertEqual(longest[1], other[1])
            self.assertAlmostEqual(longest[2] / 4, other[2], delta=1)


if __name__ == "__main__":
    need_chromium()
    unittest.main(argv=sys.argv[:1])
