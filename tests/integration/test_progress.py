#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line that says how far a run is: on a terminal alone, in nobody's way, and gone at the end."""

import os
import re
import subprocess

from root_case import FPLESS, RootCase, die_with_the_tests, fixture, main
from terminal import PATIENCE_S, Terminal

LINE = re.compile(r"^\d+ s of 600 s  \d+ samples(  [0-9.]+ % complete)?  lost \d+$")


class Progress(RootCase):
    def open(self, *args, columns=80, **more):
        env = {name: value for name, value in os.environ.items() if name != "TERM"}
        env = {**env, "TERM": "xterm", **more}
        terminal = Terminal([FPLESS, "profile", "--no-table-cache", "-o", self.path("a.folded"),
                             *args], columns, 24, env, die_with_the_tests)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_run_says_how_far_it_is(self):
        busy = self.start(fixture("chain"), "600000")
        terminal = self.open("-F", "499", "-p", str(busy.pid), "-d", "600")
        terminal.wait_for("progress", lambda lines: any(LINE.match(line) for line in lines))
        terminal.wait_for_text("% complete")
        terminal.keys("\x03")
        self.assertEqual(terminal.end(), 0)
        text = "\n".join(terminal.screen.text())
        self.assertRegex(text, r"fpless: [\d,]+ samples? in .* complete, none lost")
        self.assertFalse([line for line in terminal.screen.text() if LINE.match(line)], text)

    def test_it_fits_a_narrow_terminal(self):
        busy = self.start(fixture("chain"), "600000")
        terminal = self.open("-F", "499", "-p", str(busy.pid), "-d", "600", columns=20)
        terminal.wait_for("progress", lambda lines: any(re.match(r"\d+ s of 600 s  [1-9]", line)
                                                        for line in lines))
        self.assertFalse([line for line in terminal.screen.text() if "lost 0" in line])
        terminal.keys("\x03")
        self.assertEqual(terminal.end(), 0)

    def command(self, script, lines=8):
        """A run of a shell's script, which waits for a key where it reads."""
        env = {**os.environ, "TERM": "xterm"}
        terminal = Terminal([FPLESS, "profile", "--no-table-cache", "-F", "499", "-d", "600", "-o",
                             self.path("a.folded"), "--", "/bin/sh", "-c", script],
                            80, lines, env, die_with_the_tests)
        self.addCleanup(terminal.close)
        return terminal

    def test_beside_a_command_it_is_in_the_last_row(self):
        """What the command writes is as without it, also what scrolls."""
        script = ("i=0; while [ $i -lt 30 ]; do i=$((i + 1)); echo line $i; done; "
                  f"printf part; {fixture('chain')} 600000 & read x; kill $!; echo of a line; echo end $x")
        terminal = self.command(script)
        terminal.wait_for("progress", lambda lines: LINE.match(lines[-1]))
        self.assertEqual(terminal.screen.text()[-3:-1], ["line 30", "part"])
        terminal.keys("now\n")
        self.assertEqual(terminal.end(), 0)
        text = terminal.screen.text()
        self.assertFalse([line for line in text if LINE.match(line)], text)
        self.assertEqual(terminal.screen.bottom, 7)
        self.assertIn("end now", text)
        self.assertTrue(any(re.match("fpless: [0-9,]+ samples", line) for line in text), text)

    def test_a_command_that_reads_keys_ends_it(self):
        script = (f"{fixture('chain')} 600000 & read x; stty -icanon; read y; stty icanon; read z; kill $!")
        terminal = self.command(script)
        terminal.wait_for("progress", lambda lines: LINE.match(lines[-1]))
        terminal.keys("one\n")
        terminal.wait_for("none", lambda lines: not LINE.match(lines[-1]))
        self.assertEqual(terminal.screen.bottom, 7)
        before = len(terminal.output)
        terminal.keys("two\nthree\n")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(b" samples  ", terminal.output[before:])

    def test_it_is_not_where_it_is_not_wanted(self):
        busy = self.start(fixture("chain"), "600000")
        target = ["-F", "499", "-d", "2.5", "-p", str(busy.pid)]
        for args, more in ((["--no-progress", *target], {}), (["-q", *target], {}),
                           (["-v", *target], {}), (target, {"TERM": "dumb"})):
            with self.subTest(args=args, more=more):
                terminal = self.open(*args, **more)
                # it may have had no CPU meanwhile
                self.assertIn(terminal.end(), (0, 3), terminal.output)
                self.assertNotIn(b"\x1b", terminal.output)
        done = subprocess.run([FPLESS, "profile", "--no-table-cache", "-o", self.path("b.folded"),
                               *target], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=PATIENCE_S, check=False)
        self.assertNotIn(b"\x1b", done.stderr)


if __name__ == "__main__":
    main()
