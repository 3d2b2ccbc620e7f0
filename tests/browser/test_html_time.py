#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a recording with times: how many samples there are when, and the views of a time that is chosen."""

import os

from html_case import FPLESS, HtmlCase, main
from recordings import Recording, page_of, write_page

STRIP = "#time canvas"


def sample(seconds, stack, pid=100):
    """As perf script prints one; @stack from the root to the leaf."""
    frames = "".join(f"\t    {0x1000 + 16 * i:x} {name}+0x4 (/usr/bin/app)\n" for i, name in enumerate(reversed(stack.split())))
    return f"app {pid}/{pid} [000] {seconds:.6f}: 10000000 cpu-clock:\n{frames}\n"


class OneRecording(HtmlCase):
    """Ten seconds at 100 Hz: four of loading, two of nothing, four of work, in which another process runs now and then."""

    @classmethod
    def make_page(cls):
        source = os.path.join(cls.folder.name, "perf.txt")
        with open(source, "w", encoding="utf-8") as file:
            for i in range(400):
                file.write(sample(50 + i / 100, "main load read" if i % 4 else "main load parse"))
            for i in range(600, 1000):
                file.write(sample(50 + i / 100, "main work", pid=100 if i % 10 else 200))
            file.write(sample(60, "main work"))
        return write_page(os.path.join(cls.folder.name, "x.html"), FPLESS, "report", source)

    def box(self, page):
        return page.evaluate(f"(() => {{ const b = document.querySelector('{STRIP}').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()")

    def choose(self, page, from_share, to_share):
        x, y, width, height = self.box(page)
        page.drag(x + from_share * width, x + to_share * width, y + height / 2)
        page.wait("fpless.app.state.time")
        page.settle()

    def test_what_is_dragged_over_is_what_all_views_show(self):
        with self.open() as page:
            self.wait_text(page, "#time output", "0.00 to 10.02 s: 801 samples")
            self.assertEqual(self.frames(page), ["all", "app", "load", "main", "parse", "read", "work"])
            self.choose(page, 0.0, 0.395)
            self.assertEqual(self.frames(page), ["all", "app", "load", "main", "parse", "read"])
            self.wait_text(page, "#status", "samples of 801 (filtered)")
            self.keep(page, "time-chosen")
            self.choose(page, 0.45, 0.55)
            self.wait_text(page, "#time output", "s: 0 samples")
            self.wait_text(page, "main", "No samples here")
            self.choose(page, 0.7, 0.9)
            self.assertEqual(self.frames(page), ["all", "app", "main", "work"])
            page.press("4")
            page.wait("fpless.app.state.view === 'functions'")
            names = "[...document.querySelectorAll('.functions:not([hidden]) tbody .name')].map(e => e.textContent).sort()"
            self.assertEqual(page.evaluate(names), ["main", "work"])
            page.click("#time button", "All times")
            page.wait("!fpless.app.state.time")
            self.assertEqual(page.evaluate(names), ["load", "main", "parse", "read", "work"])

    def test_counts_agree_with_the_recording(self):
        with self.open() as page:
            slices = page.evaluate("fpless.app.model.times.slices")
            counts = page.evaluate("""[...fpless.app.strip.density.all]""")
            self.assertEqual((len(counts), sum(counts)), (slices, 801))
            page.evaluate(f"fpless.app.set({{ time: '0-{slices - 1}' }})")
            self.assertEqual(page.evaluate("fpless.app.model.shown"), 801)
            page.evaluate("fpless.app.set({ time: '0-0' })")
            self.assertEqual(page.evaluate("fpless.app.model.shown"), counts[0])
            # the process that runs now and then, in the strip too
            page.evaluate("fpless.app.set({ time: '', process: 'app/200' })")
            self.assertEqual(page.evaluate("fpless.app.strip.density.all.reduce((a, b) => a + b)"), 40)

    def test_what_is_searched_is_seen_when_it_ran(self):
        with self.open() as page:
            page.press("/")
            page.type("load")
            page.wait("fpless.app.strip.density.found.reduce((a, b) => a + b) === 400")
            self.assertTrue(page.evaluate("fpless.app.strip.density.found.slice(200).every(count => !count)"))
            self.keep(page, "time-search")

    def test_keys_and_clicks(self):
        with self.open() as page:
            page.evaluate(f"document.querySelector('{STRIP}').focus()")
            page.press("ArrowRight")
            page.wait("fpless.app.state.time === '0-0'")
            page.press("ArrowRight", "Shift")
            page.wait("fpless.app.state.time === '0-1'")
            page.press("ArrowRight")
            page.wait("fpless.app.state.time === '1-2'")
            page.evaluate("history.back()")
            page.wait("fpless.app.state.time === '0-1'")
            page.press("Escape")
            page.wait("fpless.app.state.time === ''")
            x, y, width, height = self.box(page)
            page.click_at(x + width / 4, y + height / 2)
            page.wait("/^(\\d+)-\\1$/.test(fpless.app.state.time)")
            page.click_at(x + width / 2, y + height / 2)
            page.wait("fpless.app.state.time === ''")
            page.move(x + width / 4, y + height / 2)
            self.wait_text(page, "#time output", "s: 3 samples")

    def test_the_address_holds_it(self):
        with self.open("time=250-320&q=work") as page:
            self.assertEqual(self.frames(page), ["all", "app", "main", "work"])
        for nonsense in ("9-3", "0-99999", "x", "1-2-3"):
            with self.open("time=" + nonsense) as page:
                self.assertEqual(page.evaluate("fpless.app.model.shown"), 801)

    def test_both_themes_and_narrow(self):
        for dark in (False, True):
            for width in (1280, 420):
                with self.open("time=20-180", width=width, dark=dark) as page:
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    page.resize(width - 40, 800)
                    page.wait(f"document.querySelector('{STRIP}').width <= {width - 40} * devicePixelRatio")
                    self.keep(page, f"time-{'dark' if dark else 'light'}-{width}")
                    page.press("7")
                    page.wait("document.getElementById('time').hidden")

    def test_without_times_there_is_no_strip(self):
        path = page_of(FPLESS, Recording().add(3, ["main"]), self.folder.name, name="none")
        with self.open("time=0-0", path=path) as page:
            self.assertTrue(page.evaluate("document.getElementById('time').hidden"))
            self.assertEqual(page.evaluate("fpless.app.model.shown"), 3)


if __name__ == "__main__":
    main()
