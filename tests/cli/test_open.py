#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_open.py FPLESS

--open: the page is served once on loopback, at an address with a token, to the user it is for; the browser
is xdg-open's, of the user behind sudo; without one the address is printed."""

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

FPLESS = os.path.realpath(sys.argv[1])
FOLDED = "perl;main;work 30\nperl;main;idle 3\n"
ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})")
TIMEOUT_S = 180  # hung, not slow


def fetch(port, path, method="GET"):
    """(status, body) of a path."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


class Open(unittest.TestCase):
    """fpless report; a run that samples goes the same way."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder)
        self.input = os.path.join(self.folder, "in.folded")
        with open(self.input, "w", encoding="utf-8") as file:
            file.write(FOLDED)

    def start(self, *args, verb=("report",), **env):
        """fpless report --open, without a display but for what env says."""
        usual = {key: value for key, value in os.environ.items()
                 if key not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "XDG_RUNTIME_DIR", "SUDO_UID")}
        process = subprocess.Popen([FPLESS, *verb, "-q", "--open", *args, self.input],  # pylint: disable=R1732
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**usual, **env})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def address(self, text):
        """(port, token)."""
        found = ADDRESS.search(text)
        self.assertTrue(found, text)
        return int(found[1]), found[2].decode()

    def opener(self, text):
        """A folder with an xdg-open of these lines: what it writes is in a file each may write to."""
        path = os.path.join(self.folder, "bin", "xdg-open")
        os.mkdir(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        self.said = os.path.join(self.folder, "said")
        with open(self.said, "w", encoding="utf-8"):
            pass
        os.chmod(self.said, stat.S_IRUSR | stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
        return os.path.dirname(path) + ":" + os.environ["PATH"]

    def await_said(self):
        """What xdg-open has written."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            with open(self.said, "rb") as file:
                text = file.read()
            if text.endswith(b"\n"):
                return text
            time.sleep(0.02)
        raise AssertionError("xdg-open was not called")

    def test_address_is_printed_and_answers_once(self):
        """Nothing but the page, at nothing but its address, and nothing after it."""
        process = self.start("-o", os.path.join(self.folder, "page.html"))
        port, token = self.address(process.stderr.readline())
        for path in ("/", "/favicon.ico", f"/{token[:-1]}", f"/{token}x", f"//{token}", "/../in.folded"):
            self.assertEqual(fetch(port, path), (404, b""), path)
        self.assertEqual(fetch(port, f"/{token}", "POST")[0], 404)
        with socket.create_connection(("127.0.0.1", port)):  # one that says nothing keeps no other waiting
            with open(os.path.join(self.folder, "page.html"), "rb") as file:
                self.assertEqual(fetch(port, f"/{token}"), (200, file.read()))
            self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertEqual(process.stdout.read(), b"")
        with self.assertRaises(OSError):
            fetch(port, f"/{token}")

    def test_each_address_is_another(self):
        """Token and all."""
        tokens = set()
        for _ in range(3):
            process = self.start()
            tokens.add(self.address(process.stderr.readline())[1])
            process.send_signal(signal.SIGKILL)
        self.assertEqual(len(tokens), 3)

    @unittest.skipIf(os.geteuid() == 0, "root alone has no browser")
    def test_browser_gets_the_address(self):
        """Which is not printed then."""
        path = self.opener(f'echo "$@" > {self.folder}/said; exec sleep 30\n')
        process = self.start(PATH=path, DISPLAY=":9")
        port, token = self.address(self.await_said())
        self.assertEqual(fetch(port, f"/{token}")[0], 200)
        self.assertEqual((process.wait(TIMEOUT_S), process.stderr.read()), (0, b""))

    def test_failed_browser(self):
        """Then the address is printed, too."""
        path = self.opener(f'echo "$1" > {self.folder}/said; exit 3\n')
        process = self.start(PATH=path, DISPLAY=":9", SUDO_UID="65534")
        said = process.stderr.readline()
        self.assertEqual(self.address(said), self.address(self.await_said()))
        port, token = self.address(said)
        self.assertEqual(fetch(port, f"/{token}")[0], 200)
        self.assertEqual(process.wait(TIMEOUT_S), 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_browser_is_of_the_user_behind_sudo(self):
        """And no other user gets the page, whoever reads the address in /proc."""
        path = self.opener(f'echo "$(id -u) $(id -g) $HOME $XDG_RUNTIME_DIR $1" > {self.folder}/said; exec sleep 30\n')
        process = self.start(PATH=path, DISPLAY=":9", SUDO_UID="65534", SUDO_GID="65534")
        said = self.await_said()
        self.assertTrue(said.startswith(b"65534 65534 /nonexistent /run/user/65534 http://127.0.0.1:"), said)
        port, token = self.address(said)
        ask = ("import socket, sys\n"
               "connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
               "connection.sendall(f'GET /{sys.argv[2]} HTTP/1.1\\r\\n\\r\\n'.encode())\n"
               "print(connection.recv(20).split()[1].decode())\n"
               "while connection.recv(65536): pass\n")

        def status(uid):
            return subprocess.run(["setpriv", f"--reuid={uid}", "--clear-groups", sys.executable, "-c", ask, str(port),
                                   token], check=True, capture_output=True, text=True, timeout=TIMEOUT_S).stdout.strip()

        self.assertEqual(status(65533), "404")
        self.assertEqual(status(65534), "200")
        self.assertEqual((process.wait(TIMEOUT_S), process.stderr.read()), (0, b""))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_alone_has_no_browser(self):
        """It would run with root's rights."""
        path = self.opener(f'echo "$1" > {self.folder}/said\n')
        process = self.start(PATH=path, DISPLAY=":9")
        port, token = self.address(process.stderr.readline())
        self.assertEqual(fetch(port, f"/{token}")[0], 200)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertEqual(os.path.getsize(self.said), 0)

    def test_the_page_of_a_diff(self):
        process = self.start(verb=("diff", self.input))
        port, token = self.address(process.stderr.readline())
        status, body = fetch(port, f"/{token}")
        self.assertEqual(status, 200)
        self.assertIn(b"</html>", body)
        self.assertEqual((process.wait(TIMEOUT_S), process.stdout.read()), (0, b""))

    def test_nothing_is_served_without_samples(self):
        """Nor where an option is wrong."""
        process = self.start("--focus", "no such function")
        self.assertEqual(process.wait(TIMEOUT_S), 3)
        self.assertNotIn(b"http", process.stderr.read())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([FPLESS, "report", "-q", "-o", os.path.join(scratch, "x.html"), "-"], check=False,
                              input=FOLDED, stderr=subprocess.PIPE, text=True)
    if done.returncode == 2 and "without npm" in done.stderr:
        print("SKIP: this fpless writes no pages")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
