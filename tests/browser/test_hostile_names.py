#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that try to be more than names: in a page they are text, all of it, and can be read."""

import os
import subprocess

from html_case import FPLESS, HtmlCase, main
from recordings import Recording

EVIL = [  # name, as it is read
    ("<script>window.evil=1</script>", None),
    ("</script><script>window.evil=1</script>", None),
    ("<!--<script>", None),
    ("<img src=x onerror='window.evil=1'>", None),
    ("\"><svg onload=\"window.evil=1\">", None),
    ("' onclick='window.evil=1", None),
    ("a;b{}</style>", None),
    ("&lt;b&gt; &amp; &#60;", None),
    ("line\nbreak\ttab\rreturn", "line\\x0abreak\\x09tab\\x0dreturn"),
    ("\x1b[31mred\x1b[0m\x07", "\\x1b[31mred\\x1b[0m\\x07"),
    ("c1\x9b31m", "c1\\x9b31m"),
    ("right\u202eleft\u2066", "right\\u202eleft\\u2066"),
    ("sep\u2028para\u2029", "sep\\u2028para\\u2029"),
    ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
    ("`${window.evil=1}` \\u003c \\", None),
    ("__proto__", None),
    ("constructor", None),
    ("hasOwnProperty", None),
    ("(regex[", None),
    ("ünïcode 名前 🔥", None),
    (" ", None),
]


class Names(HtmlCase):
    @classmethod
    def make(cls):
        recording = Recording(argv=["fpless", "profile", "--", "</script><script>window.evil=1</script>"])
        for name, _ in EVIL:
            if "@" not in name and "!" not in name:
                recording.add(10, ["main", name, "leaf"])
            else:
                recording.add(10, ["main", name.replace("!", "\u01c3"), "leaf"])
        recording.add(10, ["main", "x@/tmp/<script>window.evil=1</script>.so"], comm="</script><b>")
        recording.add(10, ["main"], comm="__proto__", pid=5)
        recording.add(10, ["main", "m" * (1 << 20)])
        return recording

    def test_nothing_of_a_name_runs_in_any_view(self):
        with self.open(width=1600, height=1000) as page:
            for key in "123456":
                page.press(key)
                page.settle()
            for name, _ in EVIL:
                page.evaluate(f"fpless.app.openSandwich(fpless.app.model.names.findIndex(n => n.includes({name[:5]!r})))")
            page.evaluate("document.querySelectorAll('main *').forEach(e => e.dispatchEvent(new MouseEvent('mousemove', { bubbles: true })))")
            page.press("1")
            page.settle()
            self.assertIsNone(page.evaluate("window.evil"))
            # there is no element but those the page makes
            self.assertEqual(page.evaluate("document.querySelectorAll('img, script[src], style[src], iframe, object, b script').length"), 0)
            self.assertEqual(page.evaluate("document.scripts.length"), 1)
            self.assertEqual(page.evaluate("({}).polluted"), None)

    def test_they_can_be_read(self):
        with self.open("view=functions", width=1600, height=1000) as page:
            shown = page.evaluate("[...document.querySelectorAll('.functions:not([hidden]) tbody .name')].map(e => e.textContent)")
            for name, readable in EVIL:
                self.assertIn((readable or name).replace("!", "\u01c3"), shown)
            page.press("1")
            page.settle()
            page.evaluate("fpless.app.set({ q: '^</script' }, false)")
            self.wait_text(page, ".searched", "8.33 % (20), 2 names")

    def test_a_megabyte_is_shown_by_its_ends(self):
        with self.open() as page:
            longest = page.evaluate("fpless.app.model.names.reduce((a, b) => a.length > b.length ? a : b)")
            self.assertLess(len(longest), 2500)
            self.assertIn("(1046976 bytes)", longest)
            self.assertTrue(longest.startswith("mmm") and longest.endswith("mmm"))
        self.assertLess(os.path.getsize(self.page), 2 << 20)

    def test_bytes_that_are_no_utf_8(self):
        source, path = os.path.join(self.folder.name, "raw.folded"), os.path.join(self.folder.name, "raw.html")
        with open(source, "wb") as file:
            file.write(b"app;main;bad\xff\xfebytes;half\xe2\x82 1\napp;main;\xc0\xafslash 2\n")
        subprocess.run([FPLESS, "report", source, "-q", "-o", path], check=True, stdin=subprocess.DEVNULL)
        with self.open(path=path) as page:
            names = page.evaluate("fpless.app.model.names")
            self.assertIn("bad\\xff\\xfebytes", names)
            self.assertIn("half\\xe2\\x82", names)
            self.assertIn("\\xc0\\xafslash", names)


if __name__ == "__main__":
    main()
