#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `fpless wall`: on-CPU and off-CPU time in one picture, told apart by colour and by a filter."""

from html_case import FPLESS, HtmlCase, main
from recordings import Recording, page_of

MS = 1000000
FILTER = "select[data-filter=state]"


class Wall(HtmlCase):
    """A second of one thread: 600 ms on a CPU, 300 ms blocked, 100 ms runnable."""

    @classmethod
    def make(cls):
        recording = Recording(["fpless", "wall", "--", "app"], event="wall", hz=0, period=1, weight_type="wall", weight_unit="nanoseconds",
                              by=["comm", "state"])
        recording.add(60, ["main", "compute"], weight=600 * MS, state="on-cpu")
        recording.add(3, ["main", "wait", "[k]schedule"], weight=300 * MS, state="blocked")
        recording.add(2, ["main", "compute", "[k][runnable]"], weight=100 * MS, state="runnable")
        return recording

    def drawn(self, page):
        """[(name, share of the width, whether it is more blue than red)], in the order of the flame graph."""
        return [tuple(each) for each in page.evaluate("""(() => {
            const frames = [...document.querySelectorAll('main > section:not([hidden]) g.frame')];
            const box = (frame) => frame.querySelector('rect').getBoundingClientRect();
            const whole = Math.max(...frames.map((frame) => box(frame).width));
            const blue = (frame) => { const [red, , blue] = getComputedStyle(frame.querySelector('rect')).fill.match(/[0-9.]+/g).map(Number);
                return blue > red; };
            return frames.map((frame) => [frame.getAttribute('name'), Math.round(100 * box(frame).width / whole), blue(frame)]);
        })()""")]

    def test_widths_are_times_and_waits_are_blue(self):
        with self.open() as page:
            self.assertEqual(page.evaluate("fpless.app.state.color"), "state")
            page.settle()
            self.keep(page, "wall")
            drawn = sorted(self.drawn(page))
            self.assertEqual([(name, share) for name, share, _ in drawn], [
                ("[runnable]", 10), ("all", 100), ("app", 10), ("app", 30), ("app", 60), ("blocked", 30), ("compute", 10), ("compute", 60), ("main", 10),
                ("main", 30), ("main", 60), ("on-cpu", 60), ("runnable", 10), ("schedule", 30), ("wait", 30)])
            functions = [each for each in drawn if each[0] in ("main", "compute", "wait", "schedule")]
            self.assertEqual({(name, share) for name, share, blue in functions if not blue}, {("main", 60), ("compute", 60)})

    def test_one_state_alone(self):
        shown = {"on-cpu": ["all", "app", "compute", "main", "on-cpu"],
                 "blocked": ["all", "app", "blocked", "main", "schedule", "wait"],
                 "runnable": ["[runnable]", "all", "app", "compute", "main", "runnable"]}
        with self.open() as page:
            self.assertEqual(page.evaluate(f"[...document.querySelectorAll('{FILTER} option')].map(o => o.value).sort()"),
                             ["", *sorted(shown)])
            for state, frames in shown.items():
                page.evaluate(f"(() => {{ const s = document.querySelector('{FILTER}'); s.value = {state!r};"
                              " s.dispatchEvent(new Event('change')); })()")
                page.wait(f"fpless.app.state.state === {state!r}")
                page.settle()
                self.assertEqual(self.frames(page), frames)
            page.click("button.reset", "All samples")
            page.wait("!fpless.app.state.state")

    def test_the_address_holds_the_state(self):
        with self.open("state=blocked") as page:
            self.assertEqual(self.frames(page), ["all", "app", "blocked", "main", "schedule", "wait"])

    def test_without_waits_there_is_no_such_filter(self):
        without = page_of(FPLESS, Recording().add(10, ["main", "compute"]), self.folder.name, name="cpu")
        with self.open(path=without) as page:
            self.assertTrue(page.evaluate(f"document.querySelector('{FILTER}').hidden"))


if __name__ == "__main__":
    main()
