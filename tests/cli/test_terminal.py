#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reports look like on a terminal: they fit it, and have colours for those who want them.

usage: test_terminal.py FPLESS
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))

from terminal import PATIENCE_S, Terminal  # pylint: disable=wrong-import-position

FPLESS = os.path.realpath(sys.argv[1])
PROGRESS = re.compile(r"^reading \S*pipe: \d+\.\d MiB$")
STACKS = ("app;main;a_function_with_a_name_that_is_longer_than_any_terminal_of_eighty_columns_is;leaf 70\n"
          "app;main;\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57;\x1b[31mred 20\n"
          "sh;_start;do_syscall_64_[k] 10\n")


class OnTerminal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "a.folded")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(STACKS)

    def env(self, **more):
        env = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")}
        return {**env, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}

    def shown(self, *args, columns=80, **more):
        """What a run writes to a terminal."""
        terminal = Terminal([FPLESS, *args], columns, 200, env=self.env(**more))
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 0, terminal.output)
        return terminal

    def piped(self, *args, **more):
        return subprocess.run([FPLESS, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env=self.env(**more), check=True).stdout

    def test_a_report_fits_the_terminal(self):
        for columns in (20, 43, 44, 80, 300):
            with self.subTest(columns):
                lines = self.shown("report", "-q", self.file, columns=columns).screen.text()
                self.assertIn("100 samples", lines[0])
                rows = [line for line in lines if "%" in line]
                # a line that did not fit would go on in the next one, without a share
                self.assertTrue(any("a_function" in row or "leaf" in row for row in rows), lines)
                tall = len(self.piped("report", "-q", self.file).decode().splitlines())
                self.assertEqual(len("\n".join(lines).rstrip().split("\n")), tall)

    def test_twenty_columns_are_readable(self):
        lines = self.shown("report", self.file, columns=20).screen.text()
        self.assertIn(" 70.0% leaf", lines)
        self.assertIn(" 20.0% \\x1b[31mred", lines)
        self.assertIn("  main", lines)

    def test_elsewhere_the_report_is_whole(self):
        text = self.piped("report", self.file)
        self.assertNotIn(b"\x1b", text)
        self.assertIn(b"longer_than_any_terminal_of_eighty_columns_is  (", text)
        self.assertEqual(text, self.piped("report", self.file, TERM="dumb", LC_ALL="C"))

    def test_colours_need_a_terminal_or_request(self):
        red = b"\x1b[31m   70.0%"
        for args, more, coloured in (([], {}, True), ([], {"NO_COLOR": "1"}, False),
                                     ([], {"NO_COLOR": ""}, True), ([], {"TERM": "dumb"}, False),
                                     (["--color", "never"], {}, False),
                                     (["--color", "always"], {"NO_COLOR": "1"}, True)):
            with self.subTest(args=args, more=more):
                output = self.shown("report", *args, self.file, **more).output
                self.assertEqual(red in output, coloured, output)
                self.assertEqual(b"\x1b" in output, coloured)
        self.assertIn(red, self.piped("report", "--color", "always", self.file))
        plain = self.piped("report", "-o", "-", "--format", "folded", "--color", "always", self.file)
        self.assertNotIn(b"\x1b", plain)

    def test_doctor_marks_its_verdicts(self):
        def doctor(*args, **more):
            done = subprocess.run([FPLESS, "doctor", *args], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env=self.env(**more), check=False)
            self.assertIn(done.returncode, (0, 2))
            return done.stdout

        plain = doctor(FPLESS)
        self.assertNotIn(b"\x1b", plain)
        marked = doctor(FPLESS, "--color", "always")
        self.assertTrue(marked.startswith(b"\x1b[1m" + FPLESS.encode()), marked)
        self.assertEqual(re.sub(rb"\x1b\[[0-9;]*m", b"", marked), plain)
        self.assertNotIn(b"\x1b", doctor(FPLESS, "--json", "--color", "always"))
        lacking = os.path.join(os.path.dirname(self.file), "stripped")
        subprocess.run(["objcopy", "--strip-all", FPLESS, lacking], check=True)
        self.assertRegex(doctor(lacking, "--color", "always"),
                         rb"symbols +\x1b\[33m(none|\.dynsym only).*\x1b\[0m\n")
        self.assertNotIn(b"\x1b", doctor())
        self.assertIn(b"\x1b[32mok  \x1b[0m", doctor("--color", "always"))
        self.assertNotIn(b"\x1b", doctor("--json", "--color", "always"))
        terminal = self.shown("doctor", FPLESS, columns=200)
        self.assertIn(b"\x1b[1m", terminal.output)
        self.assertNotIn(b"\x1b", self.shown("doctor", FPLESS, columns=200, NO_COLOR="1").output)
        process = self.shown("doctor", str(os.getpid()), columns=250)
        self.assertRegex(process.output, rb"\x1b\[1mpid [0-9]+ \(")
        self.assertNotIn(b"\x1b", self.shown("doctor", "--color", "never", str(os.getpid()), columns=250).output)

    def read_slowly(self, *args, **more):
        """A report of a pipe that is written to until there is a line of progress, or a second more than that takes."""
        pipe = os.path.join(os.path.dirname(self.file), "pipe")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
        terminal = Terminal([FPLESS, "report", *args, pipe], 200, 200, env=self.env(**more))
        self.addCleanup(terminal.close)
        writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        end = time.monotonic() + (PATIENCE_S if not args else 2.5)
        seen, lines = False, STACKS.encode() * 100
        at = 0
        while not seen and time.monotonic() < end and terminal.process.poll() is None:
            terminal.pump(0.02)
            seen = any(PROGRESS.match(line) for line in terminal.screen.text())
            try:
                at = (at + os.write(writer, lines[at:])) % len(lines)
            except BlockingIOError:
                pass
        os.set_blocking(writer, True)
        while at:
            at = (at + os.write(writer, lines[at:])) % len(lines)
        os.close(writer)
        self.assertEqual(terminal.end(), 0, terminal.output)
        return seen, terminal

    def test_reading_for_seconds_says_how_far_it_is(self):
        seen, terminal = self.read_slowly()
        lines = terminal.screen.text()
        self.assertTrue(seen, terminal.output)
        self.assertFalse([line for line in lines if PROGRESS.match(line)], lines)
        self.assertRegex(lines[0], r"^\d+ samples")

    def test_reading_is_silent_unless_wanted(self):
        for args, more in ((["-q"], {}), (["--no-progress"], {}), (["-v"], {}), (["--no-lines"], {"TERM": "dumb"})):
            with self.subTest(args=args, more=more):
                seen, terminal = self.read_slowly(*args, **more)
                self.assertFalse(seen)
                self.assertNotIn(b"\x1b[K", terminal.output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
