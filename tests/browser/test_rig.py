#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rig itself: what a page does wrong is seen, and clicks, keys and pictures arrive."""

import os
import tempfile
import unittest

from browser import Browser, PageError, need_chromium

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8">%s<title>rig</title></head><body>
<button id="b">press</button><input id="i"><p id="p"></p><script>%s</script></body></html>"""
ECHO = """
document.getElementById("b").onclick = () => { document.title = "clicked"; };
document.addEventListener("keydown", e => { document.getElementById("p").textContent += e.key + ";"; });
"""


class RigCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fpless-rig-")
        self.addCleanup(self.folder.cleanup)

    def open(self, script="", head="", **more):
        path = os.path.join(self.folder.name, "page ü #.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PAGE % (head, script))
        return self.browser.open(path, **more)

    def test_clicks_and_keys_arrive(self):
        with self.open(ECHO) as page:
            page.click("button", "press")
            page.wait("document.title === 'clicked'")
            page.click("#i")
            page.type("a?/")
            page.press("Escape")
            page.press("ArrowUp", "Shift")
            page.wait("document.getElementById('p').textContent === 'a;?;/;Escape;ArrowUp;'")
            self.assertEqual(page.evaluate("document.getElementById('i').value"), "a?/")
            self.assertEqual(page.text("#b"), "press")
            self.assertEqual(page.count("button"), 1)

    def test_a_page_has_the_size_and_the_colours_that_were_asked_for(self):
        dark = "matchMedia('(prefers-color-scheme: dark)').matches"
        with self.open(width=500, height=300) as page:
            self.assertEqual(page.evaluate(f"[innerWidth, innerHeight, {dark}]"), [500, 300, False])
            page.use_dark(True)
            page.wait(dark)
            picture = os.path.join(self.folder.name, "x.png")
            page.screenshot(picture)
            with open(picture, "rb") as file:
                header = file.read(24)
            self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual((int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")), (500, 300))
            self.assertGreater(page.heap_bytes(), 1000)

    def test_errors_are_seen(self):
        policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
        for what, script, head in (
                ("an exception", "throw new Error('oops')", ""),
                ("one that is thrown later", "setTimeout(() => { throw new Error('oops'); })", ""),
                ("a promise that fails", "Promise.reject(new Error('oops'))", ""),
                ("an error on the console", "console.error('oops')", ""),
                ("a request", "fetch('http://127.0.0.1:9/').catch(() => 0)", ""),
                ("an image", "new Image().src = 'http://127.0.0.1:9/oops.png'", ""),
                ("another file", "", '<link rel="stylesheet" href="oops.css">'),
                ("what the policy stops", "document.title = 'oops'", policy)):
            with self.subTest(what=what):
                page = self.open(script, head)
                problems = []
                for _ in range(600):
                    page.settle()
                    problems += page.take_problems()
                    if problems:
                        break
                page.leave()
                self.assertTrue(problems, what)

    def test_a_failed_wait_says_what_was_waited_for(self):
        with self.open() as page:
            with self.assertRaisesRegex(PageError, "the moon"):
                page.wait("false", "the moon", seconds=0.1)


if __name__ == "__main__":
    need_chromium()
    unittest.main(verbosity=2)
