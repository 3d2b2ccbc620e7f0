# SPDX-License-Identifier: Apache-2.0
"""
Pages in a Firefox without a screen, driven over its Marionette protocol with nothing but Python's standard library.

    with Firefox() as firefox:
        firefox.open("x.html", fragment="view=chart", width=1280, dark=True)
        firefox.press("Tab", "Enter")
        firefox.evaluate("document.title")
        firefox.screenshot("x.png")
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_S, WAIT_S = 120, 60
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
        "ArrowDown": "\ue015", "Backspace": "\ue003", "Shift": "\ue008"}
PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False, "app.update.disabledForTesting": True,
    "browser.startup.page": 0, "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "ui.prefersReducedMotion": 1, "browser.aboutwelcome.enabled": False, "toolkit.telemetry.enabled": False, "ui.systemUsesDarkTheme": 0,
    "layout.css.prefers-color-scheme.content-override": 1,
}


class FirefoxError(AssertionError):
    """Firefox did not do what was asked of it, or the page did not do what was waited for."""


class Firefox:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-firefox-")
        self.process = self.socket = None
        self.number = 0
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _start(self):
        profile = os.path.join(self.folder, "profile")
        os.mkdir(profile)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(os.path.join(profile, "user.js"), "w", encoding="ascii") as file:
            for name, value in dict(PREFERENCES, **{"marionette.port": port}).items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        environment = dict(os.environ, HOME=self.folder, XDG_CONFIG_HOME=self.folder, XDG_CACHE_HOME=self.folder, TMPDIR=self.folder,
                           MOZ_HEADLESS="1", LANG="C.UTF-8", LC_ALL="C.UTF-8")
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
            environment.pop(name, None)
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen([shutil.which("firefox-esr"), "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True)
        deadline = time.monotonic() + START_S
        while not self.socket:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=START_S)
            except OSError as error:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise FirefoxError(f"firefox-esr did not start: {error}\n{self._said()}") from error
                time.sleep(0.2)
        self._receive()
        self.call("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": False}}})
        self.call("WebDriver:SetTimeouts", {"script": 1000 * WAIT_S, "pageLoad": 1000 * WAIT_S, "implicit": 0})

    def _said(self):
        with contextlib.suppress(OSError), open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]
        return ""

    def close(self):
        if self.socket:
            self.socket.close()
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for _ in range(20):  # helpers may still be writing into it
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
            time.sleep(0.1)

    # A message is its length in decimal, a colon and JSON.

    def _receive(self):
        head = b""
        while not head.endswith(b":"):
            head += self._read(1)
        return json.loads(self._read(int(head[:-1])))

    def _read(self, length):
        parts = []
        while length:
            part = self.socket.recv(length)
            if not part:
                raise FirefoxError("firefox-esr ended\n" + self._said())
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def call(self, command, parameters=None):
        self.number += 1
        message = json.dumps([0, self.number, command, parameters or {}]).encode()
        self.socket.sendall(str(len(message)).encode() + b":" + message)
        _, _, error, result = self._receive()
        if error:
            raise FirefoxError(f"{command}: {error['error']}: {error['message']}")
        return result

    def open(self, path, width=1280, height=800, dark=False, fragment=""):
        self.call("Marionette:SetContext", {"value": "chrome"})
        # 0: dark, 1: light
        self._run("Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])", 0 if dark else 1)
        self.call("Marionette:SetContext", {"value": "content"})
        self.call("WebDriver:Navigate", {"url": "about:blank"})  # else another fragment would be no other page
        self.call("WebDriver:Navigate", {"url": pathlib.Path(path).resolve().as_uri() + ("#" + fragment if fragment else "")})
        for _ in range(3):  # the window is larger than the page, by what is only known of a page
            inner = self.evaluate("[innerWidth, innerHeight, outerWidth, outerHeight]")
            if inner[:2] == [width, height]:
                break
            self.call("WebDriver:SetWindowRect", {"width": width + inner[2] - inner[0], "height": height + inner[3] - inner[1]})

    def evaluate(self, expression):
        """The value of a JavaScript expression (what it promises, if it is a promise), as JSON has it."""
        return self._run("return " + expression)

    def _run(self, script, *arguments):
        return self.call("WebDriver:ExecuteScript", {"script": script, "args": list(arguments), "sandbox": None, "newSandbox": False})["value"]

    def wait(self, condition, seconds=WAIT_S):
        deadline = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise FirefoxError(f"waited {seconds} s for {condition}")
            time.sleep(0.05)

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def screenshot(self, path):
        data = self.call("WebDriver:TakeScreenshot", {"full": False, "hash": False})["value"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
