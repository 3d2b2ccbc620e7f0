#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a profile: its views agree with the recording, and everything in it can be reached."""

import os
import unittest

from html_case import FPLESS, HtmlCase, main
from recordings import Recording, page_of

LIBC = "@/lib/libc.so.6"


class OneProfile(HtmlCase):
    @classmethod
    def make(cls):
        recording = Recording()
        recording.add(50, ["main", "parse", "malloc" + LIBC, "int_malloc" + LIBC])
        recording.add(20, ["main", "parse", "lex"])
        recording.add(10, ["main", "run", "malloc" + LIBC], pid=101)
        recording.add(9, ["main", "run", "run", "lex"])
        recording.add(6, ["main", "run", "read" + LIBC, "[k]sys_read", "[k]vfs_read"])
        recording.add(4, ["start", "jitted!fp", "lex"], comm="worker", pid=200, stop="fp_end")
        recording.add(1, [], comm="worker", pid=200, stop="exiting")
        return recording

    def test_the_flame_graph_shows_every_stack(self):
        with self.open() as page:
            self.assertEqual(self.frames(page), sorted([
                "all", "app", "main", "parse", "malloc", "int_malloc", "lex", "run", "malloc", "run", "lex", "read", "sys_read", "vfs_read",
                "worker", "start", "jitted", "lex"]))
            self.hover(page, "int_malloc")
            self.wait_text(page, "#tip", "50 samples, 50.00 %")
            self.wait_text(page, "#tip", "libc.so.6")
            self.wait_text(page, "#status", "int_malloc")
            # an outermost frame is below its callee, the root at the bottom
            self.assertTrue(page.evaluate("""(() => {
                const y = name => document.querySelector(`g.frame[name="${name}"]`).getBoundingClientRect().y;
                return y("all") > y("app") && y("app") > y("main") && y("main") > y("int_malloc");
            })()"""))
            self.keep(page, "html-flame")

    def test_a_click_zooms_and_back_leads_back(self):
        with self.open("view=icicle") as page:
            self.assertTrue(page.evaluate("""(() => {
                const y = name => document.querySelector(`section:not([hidden]) g.frame[name="${name}"]`).getBoundingClientRect().y;
                return y("all") < y("app") && y("main") < y("int_malloc");
            })()"""))
            page.click("section:not([hidden]) g.frame", "parse")
            page.wait("location.hash.includes('zoom=')")
            page.settle()
            names = self.frames(page)
            self.assertNotIn("run", names)
            self.assertIn("int_malloc", names)
            wide = page.evaluate("document.querySelector('section:not([hidden]) g.frame[name=parse] rect').getBoundingClientRect().width")
            self.assertGreater(wide, 1000)
            page.press("Backspace")
            page.settle()
            self.assertIn("run", self.frames(page))
            page.evaluate("history.back()")
            page.wait("fpless.app.state.zoom && fpless.app.model.name(fpless.app.model.tree.fn[fpless.app.state.zoom]) === 'parse'")
            page.press("0")
            page.wait("fpless.app.state.zoom === 0")
            page.settle()
            self.assertEqual(len(self.frames(page)), 18)

    def test_arrows_go_from_frame_to_frame(self):
        with self.open() as page:
            page.click("g.frame", "main")
            page.press("ArrowUp")
            page.wait("document.querySelector('g.selected').getAttribute('name') === 'parse'")
            page.press("ArrowRight")
            page.wait("document.querySelector('g.selected').getAttribute('name') === 'run'")
            page.press("ArrowLeft")
            page.press("ArrowDown")
            page.wait("document.querySelector('g.selected').getAttribute('name') === 'main'")
            page.press("ArrowUp")
            page.press("Enter")
            page.wait("fpless.app.model.name(fpless.app.model.tree.fn[fpless.app.state.zoom]) === 'parse'")
            page.press("Escape")
            page.wait("fpless.app.state.zoom === 0")

    def test_a_search_marks_frames_and_tells_their_share(self):
        with self.open() as page:
            page.press("/")
            page.type("^lex|vfs")
            self.wait_text(page, ".searched", "39.00 % (39), 2 names")
            marked = page.evaluate("[...document.querySelectorAll('g.matched')].map(g => g.getAttribute('name')).sort()")
            self.assertEqual(marked, ["lex", "lex", "lex", "vfs_read"])
            self.keep(page, "html-search")
            page.press("Escape")
            page.press("Escape")
            page.wait("!document.querySelector('g.matched')")
            page.press("/")
            page.type("(")
            self.wait_text(page, ".searched", "no regular expression")

    def test_callers_and_callees_of_a_function(self):
        with self.open() as page:
            self.hover(page, "int_malloc")
            page.press("s")
            page.wait("fpless.app.state.view === 'sandwich'")
            self.wait_text(page, ".heading", "int_malloc")
            page.click(".choices button", "run")
            self.wait_text(page, ".heading", "run")
            self.wait_text(page, ".heading", "total 25.00 % (25)")
            page.settle()
            self.assertEqual(self.frames(page, '.both .canvas[aria-label^="Callers"]'), ["app", "main", "run"])
            self.assertEqual(self.frames(page, '.both .canvas[aria-label^="Callees"]'),
                             sorted(["run", "run", "lex", "malloc", "read", "sys_read", "vfs_read"]))
            page.click("input[aria-label='Find a function']")
            page.type("MALL")
            page.wait("document.querySelectorAll('.choices button').length === 2")
            self.keep(page, "html-sandwich")

    def row(self, page, name):
        return page.evaluate(f"""(() => {{
            const row = [...document.querySelectorAll('.functions:not([hidden]) tbody tr')]
                .find(row => row.querySelector('.name').textContent === {name!r});
            return row ? [...row.cells].map(cell => cell.textContent) : null;
        }})()""")

    def test_functions_count_a_recursion_once(self):
        with self.open("view=functions") as page:
            self.assertEqual(self.row(page, "lex"), ["33.00 %", "33", "33.00 %", "33", "lex", "app"])
            self.assertEqual(self.row(page, "run"), ["0 %", "0", "25.00 %", "25", "run", "app"])
            self.assertEqual(self.row(page, "malloc"), ["10.00 %", "10", "60.00 %", "60", "malloc", "libc.so.6"])
            first = "document.querySelector('.functions:not([hidden]) tbody .name').textContent"
            self.assertEqual(page.evaluate(first), "int_malloc")
            page.click("th button", "Function")
            self.assertEqual(page.evaluate(first), "int_malloc")  # a to z
            page.click("th button", "Function")
            self.assertEqual(page.evaluate(first), "vfs_read")
            page.click("th button", "Total")
            self.assertEqual(page.evaluate(first), "main")
            self.keep(page, "html-functions")
            page.click(".functions:not([hidden]) tbody tr", "parse")
            page.wait("fpless.app.state.view === 'sandwich'")

    def test_processes_filter_every_view(self):
        with self.open("view=processes") as page:
            self.assertEqual(self.row(page, "worker")[0:4], ["5.00 %", "5", "worker", "200"])
            self.assertEqual(self.row(page, "worker")[4:], ["0 %", "fp_end (4)"])
            self.keep(page, "html-processes")
            page.click(".functions:not([hidden]) tbody tr", "101")
            page.wait("fpless.app.state.process === 'app/101'")
            page.settle()
            self.assertEqual(self.frames(page), sorted(["all", "app", "main", "run", "malloc"]))
            self.wait_text(page, "#status", "10 samples of 100")
            page.press("4")
            page.wait("fpless.app.state.view === 'functions'")
            self.assertEqual(self.row(page, "malloc")[0:4], ["100 %", "10", "100 %", "10"])
            page.press("a")
            page.wait("!fpless.app.model.filtered")
            self.assertEqual(self.row(page, "malloc")[0:4], ["10.00 %", "10", "60.00 %", "60"])

    def test_stops_and_origins_filter_too(self):
        with self.open("view=run") as page:
            self.wait_text(page, ".books", "fired 110 = shown 100 + idle 7 + filtered 2 + lost 1: closed")
            self.wait_text(page, ".run", "6.1.0")
            self.wait_text(page, ".run", "lost: ring_full")
            self.keep(page, "html-run")
            page.click(".tally tr", "fp_end")
            page.wait("fpless.app.state.stop === 'fp_end'")
            page.settle()
            self.assertEqual(self.frames(page), sorted(["all", "worker", "start", "jitted", "lex"]))
            # they are chosen in Run alone, and seen wherever they count
            self.assertEqual(page.count("#tools select[data-filter=stop], #tools select[data-filter=found]"), 0)
            self.wait_text(page, ".chip", "Walk ended: fp_end 4.00 %")
            self.keep(page, "html-chip")
            page.click(".chip")
            page.wait("!fpless.app.state.stop && !document.querySelector('.chip')")
            page.evaluate("""(() => {
                const select = document.querySelector('select[data-filter=found]');
                select.value = 'has:2';
                select.dispatchEvent(new Event('change'));
            })()""")
            page.wait("fpless.app.state.found === 'has:2'")
            self.wait_text(page, "#status", "4 samples of 100")
            page.evaluate("fpless.app.set({ found: 'cfi' })")
            self.wait_text(page, "#status", "95 samples of 100")
            page.evaluate("fpless.app.set({ found: 'none' })")
            self.wait_text(page, "#status", "1 sample of 100")

    def test_the_address_holds_what_is_chosen(self):
        with self.open("view=functions&q=mall&process=app&color=found&theme=dark") as page:
            self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark")
            self.assertEqual(page.evaluate("document.querySelectorAll('.functions:not([hidden]) tbody tr').length"), 2)
            self.wait_text(page, ".searched", "63.16 % (60)")
            self.assertEqual(page.evaluate("fpless.app.state.color"), "found")
        with self.open("view=functions") as page:
            page.click("th button", "Function")
            page.wait("fpless.app.state.sort === '4-'")
            page.click("th button", "Function")
            address = page.evaluate("location.hash.slice(1)")
            names = page.evaluate("[...document.querySelectorAll('.functions:not([hidden]) tbody .name')].map(e => e.textContent)")
            page.press("5")
            page.click(".functions:not([hidden]) th button", "pid")
            page.wait("fpless.app.state.psort === '3'")
        with self.open(address) as page:
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.functions:not([hidden]) tbody .name')].map(e => e.textContent)"), names)
            self.assertEqual(names[0], "vfs_read")
        with self.open("view=sandwich") as page:
            page.click(".choices button", "main")
            page.click('.both .canvas[aria-label^="Callees"] g.frame', "parse")
            page.wait("fpless.app.state.down > 0")
            address = page.evaluate("location.hash.slice(1)")
            page.evaluate("history.back()")
            page.wait("fpless.app.state.down === 0")
        with self.open(address) as page:
            self.assertNotIn("run", self.frames(page, '.both .canvas[aria-label^="Callees"]'))
        # nonsense is no reason to fail
        with self.open("view=sandwich&up=99999&down=-3&sort=77&psort=x") as page:
            self.wait_text(page, ".heading", "int_malloc")
        with self.open("view=moon&zoom=999999&process=nobody&stop=x&fn=-7&color=y&=&q=%25") as page:
            self.wait_text(page, "main", "No samples here")

    def test_every_view_in_both_themes_and_narrow(self):
        for dark in (False, True):
            for width in (1280, 420):
                with self.open(width=width, dark=dark) as page:
                    self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark" if dark else "light")
                    self.assertEqual(page.count("main > section"), 1)  # the others are made when they are asked for
                    for key, view in enumerate(("flame", "icicle", "sandwich", "functions", "processes", "run"), 1):
                        page.press(str(key))
                        page.wait(f"fpless.app.state.view === '{view}'")
                        page.settle()
                        self.assertEqual(page.count("main > section:not([hidden])"), 1)
                        # what is wider than the window scrolls by itself
                        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                        self.keep(page, f"html-{view}-{'dark' if dark else 'light'}-{width}")
                    page.press("c")
                    page.wait("fpless.app.state.color === 'kind'")
                    page.press("d")
                    page.wait(f"document.documentElement.dataset.theme === '{'light' if dark else 'dark'}'")

    def test_the_keys_are_told(self):
        with self.open() as page:
            page.press("?")
            page.wait("document.getElementById('help').open")
            self.wait_text(page, "#help", "zoom out")
            self.keep(page, "html-keys")
            page.press("?")
            page.wait("!document.getElementById('help').open")

    def test_nothing_but_its_own_script_may_run(self):
        with self.open() as page:
            page.evaluate("""document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.evil = 1' }))""")
            page.evaluate("""document.body.insertAdjacentHTML('beforeend', '<img src="x.png" onerror="window.evil = 1">')""")
            page.evaluate("fetch('http://127.0.0.1:9/').then(() => { window.evil = 1; }, () => 0)")
            page.settle()
            self.assertTrue(page.take_problems())  # refused, and said so
            self.assertIsNone(page.evaluate("window.evil"))


class LongNamesAndInlined(HtmlCase):
    NAMES = [f"std::vector<some::rather::long::type::of::a::template, std::allocator<char>>::{end}" for end in ("push_back", "pop_back")]

    @classmethod
    def make(cls):
        recording = Recording()
        recording.add(70, ["main+turn", cls.NAMES[0]])
        return recording.add(30, ["main+turn", cls.NAMES[1]])

    def test_the_end_of_a_name_is_seen(self):
        with self.open("view=icicle", width=520) as page:
            for name in self.NAMES:
                label = page.evaluate(f"document.querySelector(`g.frame[name='{name}'] .d3-flame-graph-label`).textContent")
                self.assertRegex(label, "^std::.*….*::" + name.rsplit("::", 1)[1] + "$")
            # none is wider than its frame
            self.assertEqual(page.evaluate("""[...document.querySelectorAll('.d3-flame-graph-label')]
                .filter(label => label.scrollWidth > label.clientWidth).map(label => label.textContent)"""), [])
            page.resize(1280, 800)
            page.wait(f"[...document.querySelectorAll('.d3-flame-graph-label')].some(label => label.textContent === {self.NAMES[0]!r})")
            page.resize(520, 800)
            page.press("3")
            self.wait_text(page, ".choices", "::push_back")
            self.assertLessEqual(page.evaluate("Math.max(...[...document.querySelectorAll('.sandwich *')].map(e => e.getBoundingClientRect().right))"), 520)
            self.keep(page, "html-long-names")

    def test_characters_of_two_halves_stay_whole(self):
        with self.open() as page:
            self.assertEqual(page.evaluate("fpless.app.ruler.fit('🔥'.repeat(60), 300).replace(/🔥/gu, '')"), "…")
            self.assertEqual(page.evaluate("fpless.app.ruler.fit('name', 0)"), "…")

    def test_inlined_frames_are_marked(self):
        with self.open() as page:
            marked = page.evaluate("[...document.querySelectorAll('g.inlined')].map(g => g.getAttribute('name'))")
            self.assertEqual(marked, ["turn"])
            self.wait_text(page, ".legend", "inlined")
            self.assertNotEqual(page.evaluate("getComputedStyle(document.querySelector('g.inlined rect')).strokeDasharray"), "none")
            self.keep(page, "html-inlined")


class Colours(HtmlCase):
    """What frames are coloured by at first."""

    @classmethod
    def make(cls):
        return Recording().add(100, ["main"])

    def check_mode(self, recording, mode, name):
        path = page_of(FPLESS, recording, self.folder.name, name=name)
        with self.open(path=path) as page:
            self.assertEqual(page.evaluate("fpless.app.state.color"), mode)
            self.keep(page, f"html-colours-{name}")
            return page.evaluate("[...document.querySelectorAll('.legend .key')].map(e => e.textContent)")

    def test_objects_that_are_several(self):
        two = Recording().add(70, ["main", "work"]).add(100, ["main", "a" + LIBC, "b" + LIBC])
        self.assertEqual(self.check_mode(two, "object", "objects"), ["libc.so.6", "app"])

    def test_one_object_with_packages(self):
        go = Recording().add(50, ["main.main", "net/http.(*conn).serve", "runtime.mallocgc"])
        go.add(40, ["main.main", "net/http.(*conn).serve"]).add(10, ["main.main", "a" + LIBC])
        self.assertEqual(self.check_mode(go, "package", "packages"), ["runtime", "net/http", "no package"])

    def test_one_object_without_packages(self):
        c = Recording().add(50, ["main", "parse", "lex.constprop.0"]).add(50, ["main", "run", "a" + LIBC])
        self.assertEqual(self.check_mode(c, "name", "names"), [])

    def test_packages_of_names(self):
        names = {
            "std::vector<int>::push_back(int&&)": "std", "<alloc::vec::Vec<T> as core::ops::Drop>::drop": "alloc", "main": "",
            "net/http.(*conn).serve": "net/http", "github.com/x/y.v2/z.F": "github.com/x/y.v2/z", "runtime.mallocgc": "runtime",
            "java.util.HashMap.get": "java.util", "java/util/HashMap.get": "java/util", "foo.constprop.0": "", "foo.part.0.cold": "",
            "void f<a::b>(c::d)": "", "operator/": "", "[libx.so+0x40]": "", "fmt.(*pp).free": "fmt", "": "",
        }
        with self.open() as page:
            for name, package in names.items():
                page.evaluate(f"fpless.app.model.names[fpless.app.model.nameOf[0]] = {name!r}")
                self.assertEqual(page.evaluate("fpless.app.colors.packages = [], fpless.app.colors.packageOf(0)"), package, name)


class FewSamples(HtmlCase):
    @classmethod
    def make(cls):
        return Recording().add(1, ["main"])

    def test_one_sample(self):
        with self.open() as page:
            self.assertEqual(self.frames(page), ["all", "app", "main"])
            self.wait_text(page, ".facts", "1 sample ")
            for key in "23456":
                page.press(key)
                page.settle()

    def test_a_recording_without_frames(self):
        path = page_of(FPLESS, Recording().add(3, [], stop="exiting"), self.folder.name, name="none")
        with self.open(path=path) as page:
            self.assertEqual(self.frames(page), ["all", "app"])
            for key in "23456":
                page.press(key)
                page.settle()
            page.press("3")
            self.wait_text(page, ".heading", "No function here")


class WhatIsLeftOut(HtmlCase):
    @classmethod
    def make(cls):
        recording = Recording()
        for i in range(400):
            recording.add(1, ["main", f"rare_{i}"])
        return recording.add(600, ["main", "often"])

    def test_it_is_said_and_counted(self):
        path = page_of(FPLESS, self.make(), self.folder.name, "--min-share", "1", name="pruned")
        with self.open(path=path) as page:
            self.assertEqual(self.frames(page), ["all", "app", "main", "often"])
            self.wait_text(page, ".legend .note", "400 frames of fewer than 10 samples each are left out: 400 samples (40.00 %)")
            page.press("4")
            page.wait("document.querySelectorAll('.functions:not([hidden]) tbody tr').length === 300")  # 402 functions, exact
            page.click(".more")
            page.wait("document.querySelectorAll('.functions:not([hidden]) tbody tr').length === 402")
        self.assertLess(os.path.getsize(path), os.path.getsize(self.page))

    def test_thin_frames_come_with_a_zoom(self):
        with self.open() as page:
            self.assertGreater(len(self.frames(page)), 300)
            page.resize(420, 800)
            page.wait("document.querySelectorAll('section:not([hidden]) g.frame').length < 200")


if __name__ == "__main__":
    main()
