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


class Wakers(HtmlCase):
    """Two threads wait, 600 and 300 ms, which another one ends, and 100 ms that an interrupt does."""

    @classmethod
    def make(cls):
        recording = Recording(["fpless", "offcpu", "--wakers", "--", "app"], event="blocked", hz=0, period=1, weight_type="blocked",
                              weight_unit="nanoseconds", by=["comm"])
        ended_by = ["--", "wake", "give_back", "main", "[thread boss]"]
        for weight, pid, stack in ((600, 100, ["main", "lock", *ended_by]), (300, 200, ["main", "take", *ended_by]),
                                   (100, 100, ["main", "nap", "--", "[irq]"])):
            recording.add(2, stack, weight=weight * MS, state="blocked", pid=pid)
        return recording

    def rows(self, page):
        """[(function, self, total)] of the table."""
        return [tuple(row) for row in page.evaluate("""[...document.querySelectorAll('main > section:not([hidden]) tbody tr')].map((row) => {
            const cells = [...row.querySelectorAll('td')].map((cell) => cell.textContent.trim());
            return [cells[4], cells[0], cells[2]];
        })""")]

    def test_what_waits_is_the_function(self):
        with self.open("view=functions") as page:
            page.settle()
            self.keep(page, "wakers-functions")
            # none of who ended the wait, but main, which is in both
            self.assertEqual([row for row in self.rows(page) if row[2] != "0 %"],
                             [("lock", "60.00 %", "60.00 %"), ("take", "30.00 %", "30.00 %"), ("nap", "10.00 %", "10.00 %"), ("main", "0 %", "100 %")])
        with self.open("view=functions&process=app/200") as page: # counted by the page
            page.settle()
            self.assertEqual([row for row in self.rows(page) if row[2] != "0 %"], [("take", "100 %", "100 %"), ("main", "0 %", "100 %")])
        with self.open("view=sandwich") as page: # the hottest function to begin with
            page.settle()
            self.keep(page, "wakers-callers")
            self.assertEqual(page.text("main > section:not([hidden]) .heading h2"), "lock")

    def test_who_ended_the_wait_is_told_apart(self):
        with self.open() as page:
            page.settle()
            self.keep(page, "wakers")
            colours = dict(page.evaluate("""[...document.querySelectorAll('main > section:not([hidden]) g.frame')].map((frame) =>
                [frame.getAttribute('name'), getComputedStyle(frame.querySelector('rect')).fill.match(/[0-9.]+/g).map(Number)])"""))
            for name in "--", "wake", "give_back", "[thread boss]", "[irq]":
                self.assertGreater(colours[name][1], colours[name][2], name)  # more green than blue
            for name in "lock", "take", "nap":
                self.assertLess(colours[name][1], colours[name][2], name)
            self.wait_text(page, "main > section:not([hidden]) .legend", "who ended the wait")
            # nothing is inlined here
            self.assertEqual(page.evaluate("document.querySelectorAll('g.inlined').length"), 0)
            self.hover(page, "give_back")
            self.wait_text(page, "#tip", "of who ended the wait")


if __name__ == "__main__":
    main()
