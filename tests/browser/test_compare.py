#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: both walks side by side, zoomed together, what is lost and wrong marked."""

from html_case import HtmlCase, main
from recordings import Recording

LEFT, RIGHT = "main section .side:nth-child(1)", "main section .side:nth-child(2)"


class OneComparison(HtmlCase):
    @classmethod
    def make(cls):
        recording = Recording(argv=["fpless", "compare", "--", "app"])
        whole = ["start", "main", "work", "leaf"]
        recording.add(40, whole, fp=whole, cls="agree")
        recording.add(30, ["start", "main", "work", "deep", "leaf"], fp=["start", "main", "work", "leaf"], cls="skip")
        recording.add(20, ["start", "main", "parse", "lex"], fp=["lex"], cls="cut")
        recording.add(8, ["start", "main", "sort"], fp=["bogus", "sort"], cls="wrong", pid=101)
        recording.add(2, ["start!synth", "x"], fp=["x"], cls="unjudged")
        return recording

    def marked(self, page, side, mark):
        return sorted(page.evaluate(f"[...document.querySelectorAll('{side} g.{mark}')].map(g => g.getAttribute('name'))"))

    def test_both_walks_are_shown_and_what_differs_is_marked(self):
        with self.open() as page:
            self.assertEqual(page.evaluate("fpless.app.state.view"), "compare")
            self.assertEqual(self.frames(page, LEFT), sorted(["all", "app", "start", "main", "work", "leaf", "lex", "bogus", "sort", "x"]))
            self.assertEqual(self.frames(page, RIGHT), sorted(["all", "app", "start", "main", "work", "leaf", "deep", "leaf", "parse", "lex",
                                                               "sort", "x"]))
            self.assertEqual(self.marked(page, LEFT, "wrong"), ["bogus"])
            self.assertEqual(self.marked(page, LEFT, "cut"), ["lex"])
            self.assertEqual(self.marked(page, LEFT, "gap"), ["leaf"])
            self.assertEqual(self.marked(page, LEFT, "lost"), [])
            # 8 of 100 samples lack main, 20 of 20 lack parse
            self.assertEqual(self.marked(page, RIGHT, "lost"), ["deep", "main", "parse", "start"])
            self.assertEqual(self.marked(page, RIGHT, "mostly"), ["deep", "parse"])
            self.keep(page, "compare")

    def test_classes_are_summed_and_filter(self):
        with self.open() as page:
            for name, said in (("agree", "40.82 %40 samples"), ("skip", "30.61 %30 samples"), ("cut", "20.41 %20 samples"),
                               ("wrong", "8.16 %8 samples"), ("unjudged", "2 samplesof 100")):
                self.assertEqual(page.text(f".class.{name}"), name + said)
            page.click(".class.cut")
            page.wait("fpless.app.state.class === 'cut'")
            page.settle()
            self.assertEqual(self.frames(page, LEFT), ["all", "app", "lex"])
            self.assertEqual(self.frames(page, RIGHT), sorted(["all", "app", "start", "main", "parse", "lex"]))
            page.click(".class.cut")
            page.wait("fpless.app.state.class === ''")
            page.click("summary", "What the classes")
            self.wait_text(page, ".meaning", "ends before the stack does")

    def test_a_zoom_is_one_of_both_sides(self):
        with self.open() as page:
            page.click(f"{RIGHT} g.frame", "work")
            page.wait("fpless.app.state.zoom")
            page.settle()
            self.assertEqual(self.frames(page, LEFT), sorted(["all", "app", "start", "main", "work", "leaf"]))
            self.assertEqual(self.frames(page, RIGHT), sorted(["all", "app", "start", "main", "work", "leaf", "deep", "leaf"]))
            page.press("0")
            page.wait("fpless.app.state.zoom === 0")
            page.settle()
            page.click(f"{RIGHT} g.frame", "parse")
            page.wait("fpless.app.state.zoom")
            self.wait_text(page, f"{LEFT} > .note", "1 frame of what is zoomed to is not in this walk")
            page.press("0")
            page.settle()
            page.click(f"{LEFT} g.frame", "leaf")
            page.wait("fpless.app.state.zoom")
            page.settle()
            self.assertEqual(self.frames(page, RIGHT), sorted(["all", "app", "start", "main", "work", "leaf"]))
            page.press("Escape")
            page.settle()
            page.click(f"{LEFT} g.frame", "bogus")  # only there
            page.settle()
            self.assertIn("bogus", self.frames(page, LEFT))
            self.assertNotIn("start", self.frames(page, LEFT))

    def test_what_is_pointed_at_is_outlined_on_the_other_side(self):
        with self.open() as page:
            self.hover(page, "work")
            page.wait(f"document.querySelector('{RIGHT} g.linked')")
            self.assertEqual(page.evaluate(f"document.querySelector('{RIGHT} g.linked').getAttribute('name')"), "work")

    def test_in_both_themes_and_narrow(self):
        for dark in (False, True):
            for width in (1280, 420):
                with self.open(width=width, dark=dark) as page:
                    self.assertGreater(len(self.frames(page, LEFT)), 5)
                    self.assertGreater(len(self.frames(page, RIGHT)), 5)
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    self.keep(page, f"compare-{'dark' if dark else 'light'}-{width}")
                    for key in "234567":
                        page.press(key)
                        page.settle()


if __name__ == "__main__":
    main()
