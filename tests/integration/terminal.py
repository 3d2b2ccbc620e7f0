# SPDX-License-Identifier: Apache-2.0
"""A terminal for programs under test: what they draw on it, as lines of text."""

import codecs
import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unicodedata

PATIENCE_S = 180  # with a machine that has other things to do
SEQUENCE = re.compile(r"\x1b(?:\[([?>=!]?)([0-9;]*)([@-~])|[()][A-Z0-9]|[=>78DEMc]|\].*?(?:\x07|\x1b\\))",
                      re.DOTALL)


class Screen:
    """As much of an xterm as ncurses needs."""

    def __init__(self, columns, lines):
        self.resize(columns, lines)

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.cells = [[" "] * columns for _ in range(lines)]
        self.row = self.column = 0
        self.top, self.bottom = 0, lines - 1
        self.pending = ""
        self.last = " "
        self.saved = (0, 0)

    def text(self):
        return ["".join(line).rstrip() for line in self.cells]

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    self.pending = text[at:]  # the rest is on its way
                    return
                self.sequence(found)
                at = found.end()
            else:
                self.character(text[at])
                at += 1

    def character(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.index()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char == "\t":
            self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)
        elif char >= " ":
            self.put(char)

    def put(self, char):
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self.column + width > self.columns:
            self.column = 0
            self.index()
        line = self.cells[self.row]
        line[self.column] = self.last = char
        if width == 2:
            line[self.column + 1] = ""
        self.column += width

    def index(self):
        if self.row == self.bottom:
            self.scroll(1)
        else:
            self.row = min(self.lines - 1, self.row + 1)

    def scroll(self, nr, top=None):
        top = self.top if top is None else top
        for _ in range(abs(nr)):
            if nr > 0:
                del self.cells[top]
                self.cells.insert(self.bottom, [" "] * self.columns)
            else:
                del self.cells[self.bottom]
                self.cells.insert(top, [" "] * self.columns)

    def sequence(self, found):
        private, numbers, final = found.groups()
        if final is None:
            if found[0] == "\x1b7":
                self.saved = (self.row, self.column)
            elif found[0] == "\x1b8":
                self.row, self.column = self.saved
            elif found[0] == "\x1bD":
                self.index()
            elif found[0] == "\x1bM":
                if self.row == self.top:
                    self.scroll(-1)
                else:
                    self.row -= 1
            return
        if private:
            return
        numbers = [int(number or 0) for number in numbers.split(";")]
        handle = getattr(self, f"on_{ord(final)}", None)
        if handle:
            self.column = min(self.column, self.columns - 1)
            handle(numbers, max(1, numbers[0]))

    def on_72(self, numbers, _):  # H
        self.row = min(self.lines, max(1, numbers[0])) - 1
        self.column = min(self.columns, max(1, numbers[1] if len(numbers) > 1 else 1)) - 1

    def on_100(self, _, nr):  # d
        self.row = min(self.lines, nr) - 1

    def on_71(self, _, nr):  # G
        self.column = min(self.columns, nr) - 1

    def on_65(self, _, nr):  # A
        self.row = max(0, self.row - nr)

    def on_66(self, _, nr):  # B
        self.row = min(self.lines - 1, self.row + nr)

    def on_67(self, _, nr):  # C
        self.column = min(self.columns - 1, self.column + nr)

    def on_68(self, _, nr):  # D
        self.column = max(0, self.column - nr)

    def on_74(self, numbers, _):  # J
        self.on_75(numbers, 0)
        rows = {0: range(self.row + 1, self.lines), 1: range(self.row), 2: range(self.lines)}
        for row in rows.get(numbers[0], []):
            self.cells[row] = [" "] * self.columns

    def on_75(self, numbers, _):  # K
        begin, end = {0: (self.column, self.columns), 1: (0, self.column + 1)}.get(
            numbers[0], (0, self.columns))
        self.cells[self.row][begin:end] = [" "] * (end - begin)

    def on_88(self, _, nr):  # X
        end = min(self.columns, self.column + nr)
        self.cells[self.row][self.column:end] = [" "] * (end - self.column)

    def on_80(self, _, nr):  # P
        line = self.cells[self.row]
        del line[self.column:self.column + nr]
        line += [" "] * (self.columns - len(line))

    def on_64(self, _, nr):  # @
        line = self.cells[self.row]
        line[self.column:self.column] = [" "] * nr
        del line[self.columns:]

    def on_76(self, _, nr):  # L
        self.scroll(-nr, self.row)

    def on_77(self, _, nr):  # M
        self.scroll(nr, self.row)

    def on_98(self, _, nr):  # b
        for _ in range(nr):
            self.put(self.last)

    def on_114(self, numbers, _):  # r
        self.top = max(1, numbers[0]) - 1
        self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else self.lines) - 1
        self.row = self.column = 0


class Terminal:
    """A process with a terminal of its own."""

    def __init__(self, command, columns=80, lines=24, env=None, preexec=None):
        self.master, slave = pty.openpty()
        self.screen = Screen(columns, lines)
        self.set_size(columns, lines)
        self.before = termios.tcgetattr(slave)
        self.output = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

        def prepare():
            if preexec:
                preexec()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, env=env, preexec_fn=prepare)
        self.slave = slave

    def set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        """Nothing that was drawn stays: a test sees what is drawn for the new size."""
        self.screen.resize(columns, lines)
        self.set_size(columns, lines)

    def pump(self, seconds=0.1):
        """Takes what there is. Returns whether more may come."""
        try:
            if not select.select([self.master], [], [], seconds)[0]:
                return True
            data = os.read(self.master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.output += data
        self.screen.feed(self.decoder.decode(data))
        return bool(data)

    def wait_for(self, what, is_there):
        """Until is_there(lines of the screen)."""
        end = time.monotonic() + PATIENCE_S
        while not is_there(self.screen.text()):
            if time.monotonic() > end or (self.process.poll() is not None and not self.drain()):
                text = "\n".join(self.screen.text())
                raise AssertionError(f"{what}: not on the screen (status {self.process.poll()}):\n{text}")
            self.pump()

    def wait_for_text(self, *words):
        """Until some line has all of the words."""
        self.wait_for(words, lambda lines: any(all(word in line for word in words) for line in lines))

    def drain(self):
        """Takes all there is. Returns whether there was any."""
        before = len(self.output)
        while select.select([self.master], [], [], 0)[0] and self.pump(0):
            pass
        return len(self.output) > before

    def keys(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Waits for the end of the process. Returns its status."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.pump()
        self.drain()
        return self.process.wait(0)

    def mode(self):
        return termios.tcgetattr(self.slave)

    def hang_up(self):
        """As when the window is closed."""
        os.close(self.slave)
        os.close(self.master)
        self.slave = self.master = -1

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self.slave, self.master):
            if fd >= 0:
                os.close(fd)
