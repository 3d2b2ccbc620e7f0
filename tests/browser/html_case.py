# SPDX-License-Identifier: Apache-2.0
"""What tests of pages share. Argument of each: FPLESS."""

import os
import sys
import tempfile
import unittest

from browser import Browser, PageError, keep_screenshots, need_chromium
from recordings import page_of

FPLESS = os.path.realpath(sys.argv[1])


class HtmlCase(unittest.TestCase):
    """Tests of the pages of one recording, which make() makes."""

    @classmethod
    def make(cls):
        raise NotImplementedError

    @classmethod
    def make_page(cls):
        """The path of the page that open() opens."""
        return page_of(FPLESS, cls.make(), cls.folder.name)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="fpless-page-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.page = cls.make_page()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, fragment="", path=None, **more):
        page = self.browser.open(path or self.page, fragment=fragment, **more)
        try:
            page.wait("window.fpless && fpless.drawn", "the page to be drawn")
        except BaseException:
            page.leave()
            raise
        return page

    def frames(self, page, where="main > section:not([hidden])"):
        """Names of the frames that are drawn, sorted."""
        return sorted(page.evaluate(f"[...document.querySelectorAll('{where} g.frame')].map(g => g.getAttribute('name'))"))

    def wait_text(self, page, selector, text):
        try:
            page.wait(f"document.querySelector({selector!r}).textContent.includes({text!r})", f"{selector} to say {text!r}")
        except PageError as error:
            raise PageError(f"{error}\nit says {page.text(selector)!r}") from error

    def hover(self, page, name):
        """Has the pointer on a frame, however often that is drawn anew before it is there."""
        for _ in range(200):
            page.hover("main > section:not([hidden]) g.frame", name)
            page.settle()
            if page.evaluate(f"!document.getElementById('tip').hidden && document.querySelector('#tip b').textContent === {name!r}"):
                return
        raise PageError(f"no tip for {name}: {page.text('#tip')!r}")

    @staticmethod
    def keep(page, name):
        keep_screenshots(page, name)


def main():
    need_chromium()
    unittest.main(argv=sys.argv[:1], verbosity=2)
