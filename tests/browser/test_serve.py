#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of fpless serve: the strip of a store's windows, and reports of what is chosen in it."""

import os
import subprocess
import time

from html_case import FPLESS, HtmlCase, main
from recordings import page_of, Recording, write_store

NOW = int(time.time())
REPORT = "document.getElementById('report').contentWindow"
DRAWN = f"{REPORT}.location.href === fpless.reported && {REPORT}.fpless && {REPORT}.fpless.drawn"
NAMES = f"[...{REPORT}.document.querySelectorAll('main > section:not([hidden]) g.frame')].map(g => g.getAttribute('name')).sort()"


class Served(HtmlCase):
    @classmethod
    def make_page(cls):
        """The address with the token."""
        page_of(FPLESS, Recording().add(1, ["main"]), cls.folder.name)  # or there are no pages
        store = os.path.join(cls.folder.name, "store")
        write_store(store, FPLESS, NOW)
        env = {key: value for key, value in os.environ.items() if key != "JOURNAL_STREAM"}
        # pylint: disable-next=consider-using-with
        cls.server = subprocess.Popen([FPLESS, "serve", "--store", store, "--listen", "127.0.0.1:0", "--token",
                                       os.path.join(cls.folder.name, "token")], stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, env=env)
        cls.addClassCleanup(cls.server.stderr.close)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)
        for line in cls.server.stderr:
            if "#token=" in line:
                address, cls.token = line.split()[-1].split("#")
                return address
        raise AssertionError("the server has ended")

    def open_served(self, fragment="", **more):
        page = self.browser.open(self.page, fragment=fragment, **more)
        try:
            page.wait("window.fpless && fpless.ready", "the page to be ready")
        except BaseException:
            page.leave()
            raise
        return page

    def await_report(self, page, path, *names):
        """The report below @path is drawn, with these frames."""
        page.wait(f"{DRAWN} && {REPORT}.location.pathname === {path!r}", f"{path} to be drawn")
        self.assertEqual(page.evaluate(NAMES), sorted(names))

    def choose(self, page, seconds, *, button=None):
        """Drag over the times @seconds before now."""
        if button:
            page.click(button)
        box = "document.getElementById('strip').getBoundingClientRect()"
        y = page.evaluate(f"{box}.y + {box}.height / 2")
        from_x, to_x = (page.evaluate(f"{box}.x + fpless.x({NOW - before})") for before in seconds)
        page.drag(from_x, to_x, y)

    def test_what_is_chosen_in_the_strip_is_reported(self):
        # one page after the other: the cookie of the first is for all
        with self.open_served(self.token) as page:
            self.assertNotIn("token", page.evaluate("location.href"))
            self.wait_text(page, "#said", "10 windows · 3,500 samples · 100.0 % complete · 10 lost")
            self.await_report(page, "/report", "all", "app", "hot", "idle", "main", "main", "other", "work")
            self.keep(page, "served")
        with self.open_served("span=3600") as page:
            self.choose(page, (700, 310))
            self.wait_text(page, "#said", "5 windows · 1,250 samples")
            self.await_report(page, "/report", "all", "app", "idle", "main", "main", "other", "work")
            self.choose(page, (305, -5))
            self.await_report(page, "/report", "all", "app", "hot", "idle", "main", "main", "other", "work")
            # and what has changed since
            self.choose(page, (700, 310), button="#compare")
            self.wait_text(page, "#said", "compared with")
            page.wait(f"{DRAWN} && {REPORT}.location.pathname === '/difference'")
            self.assertIn("hot", page.evaluate(f"{REPORT}.document.querySelector('.headline').textContent"))
            self.keep(page, "served-difference")
            link = page.evaluate("location.hash.slice(1)")
            page.click("#all")
            self.wait_text(page, "#said", "10 windows")
            self.await_report(page, "/report", "all", "app", "hot", "idle", "main", "main", "other", "work")
        # a link has all of it
        with self.open_served(link, dark=True) as page:
            page.wait(f"{DRAWN} && {REPORT}.location.pathname === '/difference'")
            self.wait_text(page, "#said", "compared with")
            self.keep(page, "served-dark")
        # tasks, and keys
        with self.open_served("span=3600&comm=^other$") as page:
            self.await_report(page, "/report", "all", "idle", "main", "other")
            page.evaluate("document.getElementById('strip').focus()")
            page.press("ArrowLeft")
            page.wait("fpless.state.to - fpless.state.from === 360")
            at = page.evaluate("fpless.state.from")
            page.press("ArrowLeft")
            page.wait(f"fpless.state.from === {at - 36}")
            page.press("ArrowRight", "Shift")
            page.wait(f"fpless.state.from === {at - 36} && fpless.state.to === {at - 36 + 360 + 36}")
            page.press("c")
            page.wait("fpless.state.before_to === fpless.state.from")
            page.press("Escape")
            page.wait("!fpless.state.to && !fpless.state.before_to")
            self.await_report(page, "/report", "all", "idle", "main", "other")
        # a source that the store does not have
        with self.open_served("span=3600&source=cpu") as page:
            self.await_report(page, "/report", "all", "app", "hot", "idle", "main", "main", "other", "work")
            self.assertEqual(page.evaluate("document.getElementById('source').value"), "cpu")
        # an old link, of a day that is not shown otherwise
        with self.open_served(f"span=300&from={NOW - 700}&to={NOW - 310}") as page:
            self.wait_text(page, "#said", "5 windows")
            self.await_report(page, "/report", "all", "app", "idle", "main", "main", "other", "work")
        with self.open_served(f"from={NOW - 3000}&to={NOW - 2000}") as page:
            self.wait_text(page, "#problem", "No samples in this time.")


if __name__ == "__main__":
    main()
