#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads in a page: which ran what when, and each alone in every view."""

import os

from html_case import FPLESS, HtmlCase, main
from recordings import Recording, page_of, write_page


def sample(seconds, stack, comm, pid, tid):
    """As perf script prints one; @stack from the root to the leaf."""
    frames = "".join(f"\t    {0x1000 + 16 * i:x} {name}+0x4 (/usr/bin/app)\n" for i, name in enumerate(reversed(stack.split())))
    return (seconds, f"{comm} {pid}/{tid} [000] {seconds:.6f}: 10000000 cpu-clock:\n{frames}\n")


class Threads(HtmlCase):
    """Ten seconds at 100 Hz. One thread loads, then works; a second one runs every other period; a third from 3 s to 5 s."""

    @classmethod
    def make_page(cls):
        source = os.path.join(cls.folder.name, "perf.txt")
        samples = [sample(50 + i / 100, "main load" if i < 400 else "main work", "app", 100, 100) for i in range(1000)]
        samples += [sample(50.005 + i / 100, "start task run", "pool", 100, 101) for i in range(0, 1000, 2)]
        samples += [sample(50.007 + i / 100, "_start sweep", "gc", 200, 202) for i in range(300, 500)]
        with open(source, "w", encoding="utf-8") as file:
            file.write("".join(text for _, text in sorted(samples)))
        return write_page(os.path.join(cls.folder.name, "x.html"), FPLESS, "report", source)

    BOXES = "fpless.app.view().lanes.get({0}).boxes.map(row => row.map(box => [fpless.app.model.name(fpless.app.model.tree.fn[box.node]), box.samples]))"

    def boxes(self, page, thread):
        page.settle()
        return page.evaluate(self.BOXES.format(thread))

    def place(self, page, thread, row, name):
        """The middle of a box, in the window."""
        page.settle()
        return page.evaluate(f"""(() => {{
            const lane = fpless.app.view().lanes.get({thread}), at = lane.canvas.getBoundingClientRect();
            const box = lane.boxes[{row}].find(box => fpless.app.model.name(fpless.app.model.tree.fn[box.node]) === {name!r});
            return [at.x + (Math.max(0, box.x0) + Math.min(at.width, box.x1)) / 2, at.y + 24 + 17 * {row} + 8];
        }})()""")

    def test_frames_of_each_thread_in_time(self):
        with self.open("view=chart") as page:
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.lane .thread span')].map(e => e.textContent)"),
                             ["app 100", "pool 101", "gc 202"])
            self.assertEqual(self.boxes(page, 0), [[["main", 1000]], [["load", 400], ["work", 600]]])
            # one box each, drawn lighter where the thread did not run in between
            self.assertEqual(self.boxes(page, 1), [[["start", 500]], [["task", 500]], [["run", 500]]])
            self.assertEqual(page.evaluate("fpless.app.view().lanes.get(1).boxes[0][0].ran.length"), 500)
            self.assertEqual(page.evaluate("fpless.app.view().lanes.get(0).boxes[0][0].ran.length"), 1)
            x, y = self.place(page, 0, 1, "load")
            page.move(x, y)
            self.wait_text(page, "#tip", "load")
            self.wait_text(page, "#tip", "to 3.99")
            self.keep(page, "chart")

    def test_a_click_zooms_to_a_frame_and_a_drag_to_a_time(self):
        with self.open("view=chart") as page:
            page.click_at(*self.place(page, 0, 1, "load"))
            page.wait("fpless.app.state.span")
            page.settle()
            self.assertEqual(self.boxes(page, 0)[1][0][0], "load")
            self.assertLess(page.evaluate("fpless.app.view().shown.to * fpless.app.view().nsOfPart"), 4.1e9)
            self.keep(page, "chart-zoomed")
            page.evaluate("history.back()")
            page.wait("!fpless.app.state.span")
            x, y = self.place(page, 2, 0, "_start")
            width = page.evaluate("fpless.app.view().lanes.get(2).canvas.clientWidth")
            page.drag(x - width / 100, x + width / 100, y)
            page.wait("fpless.app.state.span")
            # a fiftieth of ten seconds, around the fourth
            self.assertEqual([row[0][0] for row in self.boxes(page, 2)], ["_start", "sweep"])
            self.assertLessEqual(abs(self.boxes(page, 2)[0][0][1] - 20), 3)
            page.press("Escape")
            page.wait("!fpless.app.state.span")

    def test_keys(self):
        with self.open("view=chart") as page:
            page.evaluate("document.querySelector('.lane canvas').focus()")
            page.press("ArrowDown")
            self.wait_text(page, "#status", "main")
            page.press("ArrowDown")
            self.wait_text(page, "#status", "load")
            page.press("ArrowRight")
            self.wait_text(page, "#status", "work")
            page.press("Enter")
            page.wait("fpless.app.state.span")
            self.assertEqual(self.boxes(page, 0)[1][-1][0], "work")
            page.press("-")
            page.press("ArrowLeft", "Shift")
            page.press("+")
            page.press("Escape")
            page.wait("!fpless.app.state.span")
            page.evaluate("document.querySelector('.lane .thread').focus()")
            page.press("Enter")
            page.wait("fpless.app.state.lanes === '1.2' && document.querySelector('.thread').getAttribute('aria-expanded') === 'false'")

    def test_a_thread_filters_every_view(self):
        with self.open("thread=1") as page:
            self.assertEqual(self.frames(page), ["all", "pool", "run", "start", "task"])
            self.wait_text(page, "#status", "500 samples of 1,700 (filtered)")
            self.wait_text(page, "#time output", "500 samples")
            # some of its time
            page.evaluate("fpless.app.set({ time: '0-9' })")
            self.assertEqual(page.evaluate("fpless.app.model.shown"), page.evaluate("fpless.app.strip.density.all.slice(0, 10).reduce((a, b) => a + b)"))
            page.evaluate("fpless.app.set({ view: 'chart', time: '' })")
            self.assertEqual(page.count(".lane"), 1)
            page.press("a")
            page.wait("document.querySelectorAll('.lane').length === 3")
            page.evaluate("fpless.app.set({ process: 'gc' })")
            page.wait("document.querySelectorAll('.lane').length === 1")
            self.wait_text(page, ".lane", "gc 202")
            # the select is the same
            page.evaluate("""(() => {
                const select = document.querySelector('select[data-filter=thread]');
                select.value = '0';
                select.dispatchEvent(new Event('change'));
            })()""")
            page.wait("fpless.app.state.thread === '0'")

    def test_samples_of_threads_add_up(self):
        with self.open() as page:
            sums = page.evaluate("""[0, 1, 2].map(thread => {
                fpless.app.set({ thread: String(thread) });
                return fpless.app.model.shown;
            })""")
            self.assertEqual(sums, [1000, 500, 200])

    def test_the_address_holds_it(self):
        with self.open("view=chart&lanes=2&span=5000000-9000000&q=swe") as page:
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.thread')].map(e => e.getAttribute('aria-expanded'))"), ["false", "false", "true"])
            self.assertEqual(page.evaluate("fpless.app.view().shown"), {"from": 5000000, "to": 9000000})
            self.keep(page, "chart-search")
        for nonsense in ("span=9-3", "span=x", "span=0-99999999999", "lanes=x.y.-1", "thread=77", "thread=x"):
            with self.open("view=chart&" + nonsense) as page:
                self.assertEqual(page.evaluate("fpless.app.model.shown"), 1700)
                self.assertEqual(page.count(".lane"), 3)

    def test_both_themes_and_narrow(self):
        for dark in (False, True):
            for width in (1280, 420):
                with self.open("view=chart", width=width, dark=dark) as page:
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    self.keep(page, f"chart-{'dark' if dark else 'light'}-{width}")


class ThreadsWithoutTimes(HtmlCase):
    """Stacks that are told apart by thread, which is all that is known of them."""

    @classmethod
    def make(cls):
        recording = Recording().add(30, ["main", "work"]).add(10, ["start", "task"])
        for tid, line in enumerate(recording.lines, 100):
            line["tid"] = tid
        return recording

    def test_a_thread_filters_and_there_is_no_chart(self):
        with self.open("thread=1&view=chart") as page:
            self.assertEqual(self.frames(page), ["all", "app", "start", "task"])
            self.assertEqual(page.count("[role=tab][data-view=chart]"), 0)
            self.wait_text(page, "#status", "10 samples of 40 (filtered)")

    def test_without_threads_there_is_no_choice(self):
        path = page_of(FPLESS, Recording().add(3, ["main"]), self.folder.name, name="none")
        with self.open("thread=0&view=chart", path=path) as page:
            self.assertEqual(page.evaluate("fpless.app.model.shown"), 3)
            self.assertTrue(page.evaluate("document.querySelector('select[data-filter=thread]').hidden"))


if __name__ == "__main__":
    main()
