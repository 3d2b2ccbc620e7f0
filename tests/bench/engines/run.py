#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the pages and the pictures work in Chromium and in Firefox alike, by the keyboard alone, and is axe-core content?

usage: run.py FPLESS AXE.js [--pictures FOLDER]

Each tab of the page of a profile with threads, of a comparison and of a difference is opened in both engines, light and
dark, wide and narrow. It fails where a script fails, where something is wider than the window, where the engines draw
other frames, where a tab cannot be reached by keys, and where axe-core finds what it calls serious or critical. Pictures
are opened in both, too. --pictures keeps what was seen, for a look.
"""

import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "browser"))
sys.path.insert(0, HERE)
from browser import Browser, need_chromium  # noqa: E402
from firefox import Firefox  # noqa: E402
from recordings import Recording, write_page  # noqa: E402

# Firefox has no narrower windows.
WIDTHS = (1280, 500)
DRAWN = "window.fpless && fpless.drawn"
FRAMES = "[...document.querySelectorAll('main > section:not([hidden]) g.frame')].map(g => g.getAttribute('name')).sort()"
BOXES = "[...(fpless.app.view().lanes || new Map()).values()].map(lane => lane.boxes.map(row => row.length))"
SETTLED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
AXE = """axe.run(document, { resultTypes: ["violations"] }).then(result => result.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, impact, nodes }) => `${impact}: ${id}: ${nodes[0].html.slice(0, 200)}`))"""


def perf_sample(seconds, stack, comm, pid, tid):
    frames = "".join(f"\t    {0x1000 + 16 * i:x} {name}+0x4 (/usr/bin/app)\n" for i, name in enumerate(reversed(stack.split())))
    return (seconds, f"{comm} {pid}/{tid} [000] {seconds:.6f}: 10000000 cpu-clock:\n{frames}\n")


def write_threads(path):
    samples = [perf_sample(50 + i / 100, "main load" if i < 400 else "main work a b" if i // 50 % 2 else "main work c", "app", 100, 100)
               for i in range(1000)]
    samples += [perf_sample(50.005 + i / 100, "start task run", "pool", 100, 101) for i in range(0, 1000, 2)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(text for _, text in sorted(samples)))


def make_files(fpless, folder):
    """{name: path} of all that is looked at."""
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    write_threads(at("perf.txt"))
    whole = Recording().add(60, ["main+turn", "parse", "malloc@/lib/libc.so.6"]).add(40, ["main+turn", "run!fp", "[k]sys_read"], pid=101, stop="fp_end")
    whole.write(at("before.jsonl"))
    Recording().add(30, ["main+turn", "parse", "malloc@/lib/libc.so.6"]).add(70, ["main+turn", "run!fp", "[k]sys_read"]).write(at("after.jsonl"))
    both = Recording(argv=["fpless", "compare", "--", "app"])
    both.add(40, ["start", "main", "work"], fp=["start", "main", "work"], cls="agree").add(20, ["start", "main", "lex"], fp=["lex"], cls="cut")
    both.write(at("both.jsonl"))
    files = {name: write_page(at(name + ".html"), fpless, *command) for name, command in {
        "threads": ("report", at("perf.txt")), "profile": ("report", at("before.jsonl")), "comparison": ("report", at("both.jsonl")),
        "difference": ("diff", at("before.jsonl"), at("after.jsonl"))}.items()}
    for name, command in {"flame": ("report", at("before.jsonl")), "chart": ("report", "--chart", at("perf.txt")),
                          "changes": ("diff", at("before.jsonl"), at("after.jsonl"))}.items():
        files[name] = at(name + ".svg")
        subprocess.run([fpless, *command, "-q", "-o", files[name]], stdin=subprocess.DEVNULL, check=True)
    return files


class Chromium:
    """A Browser as Firefox is driven: one page at a time, and keys one by one."""

    def __init__(self):
        self.browser, self.page = Browser(), None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def open(self, path, **more):
        if self.page:
            self.page.check()
            self.page.leave()
        self.page = self.browser.open(path, **more)

    def evaluate(self, expression):
        return self.page.evaluate(expression)

    def wait(self, condition):
        self.page.wait(condition)

    def press(self, *keys):
        for key in keys:
            self.page.press(key)

    def screenshot(self, path):
        self.page.screenshot(path)


class Gecko(Firefox):
    """A Firefox whose pages keep the errors of their scripts."""

    def open(self, path, **more):
        super().open(path, **more)
        self.evaluate("(() => { window.problems = []; addEventListener('error', event => window.problems.push(event.message)); })()")


class Failures:
    def __init__(self):
        self.list = []

    def expect(self, what, condition, said=""):
        if not condition:
            self.list.append(f"{what} {said}".strip())
            print("FAIL\t" + self.list[-1], flush=True)


def look_at_tabs(engine, name, path, options, failures):
    """What each tab of a page shows, by its key."""
    shown = {}
    for dark in (False, True):
        for width in WIDTHS:
            engine.open(path, width=width, dark=dark)
            engine.wait(DRAWN)
            engine.evaluate(f"void {options.axe}")
            for view in engine.evaluate("fpless.app.tabs.list.map(tab => tab.key)"):
                where = f"{options.engine} {name} {view} {'dark' if dark else 'light'} {width}"
                engine.evaluate(f"fpless.app.set({{ view: '{view}' }})")
                engine.evaluate(SETTLED)
                if width == WIDTHS[0]:
                    shown[view] = engine.evaluate(f"[{FRAMES}, {BOXES}]")
                failures.expect(where + ": wider than the window", engine.evaluate("document.documentElement.scrollWidth") <= width)
                for violation in engine.evaluate(AXE):
                    failures.expect(f"{where}: axe-core: {violation}", False)
                failures.expect(where + ": scripts fail", not engine.evaluate("window.problems || []"), engine.evaluate("window.problems || []"))
                if options.pictures:
                    engine.screenshot(os.path.join(options.pictures, where.replace(" ", "-") + ".png"))
    return shown


def use_keys(engine, path, options, failures):
    """All of a page that a reader without a pointer needs."""
    said = options.engine + " by keys:"
    focus = "document.activeElement.getAttribute('role') || document.activeElement.tagName"

    def tab_to(what, limit=30):
        for _ in range(limit):
            if engine.evaluate(f"Boolean(document.activeElement.matches({what!r}))"):
                return True
            engine.press("Tab")
        failures.expect(f"{said} {what} is not reached", False, engine.evaluate(focus))
        return False

    engine.open(path)
    engine.wait(DRAWN)
    keys = engine.evaluate("fpless.app.tabs.list.map(tab => tab.key)")
    if tab_to("[role=tab]"):
        for key in keys[1:] + keys[:1]:
            engine.press("ArrowRight")
            failures.expect(f"{said} {key} by an arrow", engine.evaluate("fpless.app.state.view") == key)
    for what in ("select[data-filter=process]", "input[type=search]", "#time canvas", ".canvas"):
        tab_to(what)
    engine.press("ArrowUp", "ArrowUp", "Enter")
    failures.expect(said + " Enter zooms", engine.evaluate("fpless.app.state.zoom > 0"))
    engine.press("Escape", "/", "w", "o", "Escape")
    engine.wait("fpless.app.state.q === 'wo'")
    engine.press("Escape", str(1 + keys.index("chart")))
    engine.wait("fpless.app.state.view === 'chart'")
    if tab_to(".lane .thread"):
        engine.press("Enter")
        failures.expect(said + " Enter closes a thread", engine.evaluate("document.querySelector('.thread').getAttribute('aria-expanded')") == "false")
        tab_to(".lane .thread[aria-expanded=true] + canvas")
        engine.press("ArrowDown", "Enter")
        failures.expect(said + " Enter zooms to a time", engine.evaluate("fpless.app.state.span !== ''"))
    engine.press("?")
    failures.expect(said + " the keys are told", engine.evaluate("document.getElementById('help').open"))


def look_at_pictures(engine, files, options, failures):
    """How many boxes of each picture are within the window's width."""
    shown = {}
    for name, path in files.items():
        for dark in (False, True):
            engine.open(path, dark=dark)
            where = f"{options.engine} {name} {'dark' if dark else 'light'}"
            shown[name] = engine.evaluate("[document.querySelectorAll('g rect, a rect').length, document.querySelectorAll('text').length]")
            failures.expect(where + ": nothing is drawn", shown[name][0] > 0)
            if options.pictures:
                engine.screenshot(os.path.join(options.pictures, where.replace(" ", "-") + ".png"))
    return shown


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless")
    parser.add_argument("axe")
    parser.add_argument("--pictures")
    options = parser.parse_args()
    need_chromium()
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    with open(options.axe, encoding="utf-8") as file:
        options.axe = "(() => {" + file.read() + "})()"
    failures, seen = Failures(), {}
    with tempfile.TemporaryDirectory(prefix="fpless-engines-") as folder:
        files = make_files(os.path.realpath(options.fpless), folder)
        pages = {name: path for name, path in files.items() if path.endswith(".html")}
        pictures = {name: path for name, path in files.items() if path.endswith(".svg")}
        for options.engine, start in (("chromium", Chromium), ("firefox", Gecko)):
            with start() as engine:
                seen[options.engine] = {name: look_at_tabs(engine, name, path, options, failures) for name, path in pages.items()}
                use_keys(engine, pages["threads"], options, failures)
                seen[options.engine].update(look_at_pictures(engine, pictures, options, failures))
    for name in files:
        chromium, firefox = (seen[engine][name] for engine in ("chromium", "firefox"))
        failures.expect(f"{name}: the engines differ", chromium == firefox, f"{chromium} {firefox}")
    tabs = sum(len(seen["firefox"][name]) for name in pages)
    print(f"{tabs} tabs and {len(pictures)} pictures in two engines, light and dark: {len(failures.list)} failures")
    sys.exit(bool(failures.list))


if __name__ == "__main__":
    main()
