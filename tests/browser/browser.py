# SPDX-License-Identifier: Apache-2.0
"""
Pages in a Chromium without a screen, for tests: opened from a file, clicked, typed to, looked at.

    with Browser() as browser:
        with browser.open("x.html") as page:
            page.click("#zoom")
            page.wait("document.title === 'zoomed'")

Nothing that a page does may go wrong unseen: an error on its console, an exception that nobody catches, a request for
anything but the page itself (of a server: what is below it), and what its content security policy stops make `page.check()` raise PageError; it is called
when the page is closed.
"""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from devtools import Devtools, DevtoolsError

# Limits, not expectations: the machine may do ten other things.
START_S, WAIT_S = 60, 60
STARTS = 3

FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-breakpad", "--disable-crash-reporter", "--disable-client-side-phishing-detection",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication",
    "--no-first-run", "--no-default-browser-check", "--no-proxy-server", "--metrics-recording-only", "--mute-audio",
    "--hide-scrollbars", "--force-color-profile=srgb", "--enable-precise-memory-info", "--password-store=basic",
    "--use-mock-keychain", "--lang=en-US", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
)

# name: (code, Windows virtual key code, text)
KEYS = {
    "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, ""), "Backspace": ("Backspace", 8, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""), "Home": ("Home", 36, ""), "End": ("End", 35, ""),
}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


class PageError(AssertionError):
    """A page did what it must not, or did not do what was waited for."""


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


def need_chromium():
    """Ends the test with a reason where there is no browser; in continuous integration that is a failure."""
    if find_chromium():
        return
    if os.environ.get("CI") == "true":
        sys.exit("no chromium here: tools/setup.sh test installs it")
    print("SKIP: no chromium here (tools/setup.sh test)")
    sys.exit(77)


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


class Browser:
    """A Chromium of its own, with a profile that ends with it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-browser-")
        self.process = self.devtools = None
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
        for attempt in range(STARTS):
            try:
                self._launch(os.path.join(self.folder, f"profile{attempt}"))
                self.devtools.call("Target.getTargets", seconds=START_S)
                return
            except (DevtoolsError, OSError) as error:
                self._end()
                said = self._said()
                if attempt + 1 == STARTS:
                    raise DevtoolsError(f"chromium did not start: {error}\n{said}") from error

    def _launch(self, profile):
        os.makedirs(profile)
        # Whoever runs the tests may have no home, or one that is not to be written to.
        environment = dict(os.environ, HOME=profile, XDG_CONFIG_HOME=profile, XDG_CACHE_HOME=profile,
                           XDG_RUNTIME_DIR=profile, TMPDIR=self.folder, LANG="C.UTF-8", LC_ALL="C.UTF-8")
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
            environment.pop(name, None)
        browser_in, to_browser = os.pipe()
        from_browser, browser_out = os.pipe()
        # Chromium reads commands from 3 and writes answers to 4, which may be taken here: copies from 20 on go to a shell that
        # puts them there. sh may know no descriptors from 10 on.
        copies = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (browser_in, browser_out)]
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", 'exec "${@:3}" 3<&"$1" 4>&"$2"', "bash", *map(str, copies),
                 find_chromium(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, pass_fds=copies,
                start_new_session=True)
        for fd in (browser_in, browser_out, *copies):
            os.close(fd)
        self.devtools = Devtools(to_browser, from_browser)

    def _said(self):
        try:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
                return log.read()[-4000:]
        except OSError:
            return ""

    def _end(self):
        if self.process:
            # The session is the browser's own: its helpers go with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
        if self.devtools:
            self.devtools.close()
            self.devtools = None

    def close(self):
        self._end()
        for _ in range(20):  # helpers may still be writing into it
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
            time.sleep(0.1)

    def open(self, path, width=1280, height=800, dark=False, fragment="", wait=True):
        """A page that shows the file @path, or what a server has at that URL, loaded unless not @wait."""
        url = path if path.startswith("http://") else pathlib.Path(path).resolve().as_uri()
        page = Page(self, url + ("#" + fragment if fragment else ""))
        try:
            page.resize(width, height)
            page.use_dark(dark)
            page.navigate()
            if wait:
                page.wait("document.readyState === 'complete'", "the page to load")
        except BaseException:
            page.leave()
            raise
        return page


class Page:
    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        self.problems = []
        self.expected = 0
        call = browser.devtools.call
        self.target = call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = call("Target.attachToTarget", {"targetId": self.target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.check()
        finally:
            self.leave()

    def leave(self):
        with contextlib.suppress(DevtoolsError):
            self.browser.devtools.call("Target.closeTarget", {"targetId": self.target})

    def call(self, method, params=None, seconds=120):
        return self.browser.devtools.call(method, params, self.session, seconds)

    def navigate(self):
        result = self.call("Page.navigate", {"url": self.url})
        if result.get("errorText"):
            raise PageError(f"{self.url}: {result['errorText']}")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def use_dark(self, dark):
        """What the reader prefers: prefers-color-scheme. Motion is reduced, so that nothing has to be waited out."""
        self.call("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})

    # What the page did wrong.

    def _take_events(self):
        for event in self.browser.devtools.take_events():
            if event.get("sessionId") != self.session:
                continue
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                said = details.get("exception", {}).get("description") or details.get("text")
                self.problems.append(f"exception: {said}")
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                said = " ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"])
                self.problems.append(f"console: {said}")
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                entry = params["entry"]
                self.problems.append(f"{entry['source']}: {entry['text']}")
            elif method == "Network.requestWillBeSent" and not self._is_own(params["request"]["url"]):
                self.problems.append(f"request: {params['request']['url'][:200]}")
            elif method == "Audits.issueAdded" and "contentSecurityPolicyIssueDetails" in params["issue"]["details"]:
                self.problems.append(f"policy: {json.dumps(params['issue']['details'])[:400]}")
            elif method == "Page.javascriptDialogOpening":
                self.problems.append(f"dialog: {params.get('message')}")
                self.call("Page.handleJavaScriptDialog", {"accept": False})
            elif method == "Inspector.targetCrashed":
                self.problems.append("the page crashed")

    def _is_own(self, url):
        own = self.url.split("#")[0]
        if own.startswith("http://") and url.startswith(own):
            return True  # what its server has
        return url.split("#")[0] == own or url == "about:blank"

    def take_problems(self):
        """What went wrong since the last time, a line each; it counts no more."""
        self._take_events()
        problems, self.problems = self.problems, []
        return problems

    def check(self):
        with contextlib.suppress(DevtoolsError, PageError):
            self.settle()
        problems = self.take_problems()
        if problems:
            raise PageError("\n".join(problems))

    # What is asked of it.

    def evaluate(self, expression, seconds=120):
        """The value of a JavaScript expression (what it promises, if it is a promise), as JSON has it."""
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True,
                                                "userGesture": True}, seconds)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise PageError(f"{expression}: {details.get('exception', {}).get('description') or details['text']}")
        return result["result"].get("value")

    def wait(self, condition, what=None, seconds=WAIT_S):
        """Waits until a JavaScript expression is true, and returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                # of an element, that it is there
                value = self.evaluate(f"(value => value instanceof Node ? true : value)({condition})")
                if value:
                    return value
            except PageError:
                value = "an exception"
            except DevtoolsError as error:  # between two documents there is none to ask
                value = str(error)
            if time.monotonic() > deadline:
                problems = "".join("\n" + line for line in self.take_problems())
                raise PageError(f"waited {seconds} s for {what or condition}, got {value!r}{problems}")
            time.sleep(0.02)

    def settle(self):
        """Waits until what was changed is laid out and drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def place_of(self, selector, where=""):
        """The middle, in the window, of the first element of @selector whose text holds @where; waits for one that
        is there and can be hit, and has it scrolled to."""
        found = self.wait(
            f"""(() => {{
                const wanted = [...document.querySelectorAll({json.dumps(selector)})]
                    .find(e => e.textContent.includes({json.dumps(where)}));
                if (!wanted) return null;
                wanted.scrollIntoView({{ block: "nearest", inline: "nearest" }});
                const box = wanted.getBoundingClientRect();
                if (!box.width || !box.height) return null;
                return {{ x: box.left + box.width / 2, y: box.top + box.height / 2 }};
            }})()""", f"{selector} {where!r} to be seen")
        return found["x"], found["y"]

    # What a reader does with it.

    def _mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def move(self, x, y):
        self._mouse("mouseMoved", x, y)

    def click_at(self, x, y, times=1, button="left"):
        self.move(x, y)
        for number in range(1, times + 1):
            self._mouse("mousePressed", x, y, button=button, clickCount=number)
            self._mouse("mouseReleased", x, y, button=button, clickCount=number)

    def click(self, selector, where="", times=1, button="left"):
        """Clicks into the middle of the first element of @selector whose text holds @where."""
        self.click_at(*self.place_of(selector, where), times=times, button=button)

    def drag(self, from_x, to_x, y):
        """Presses the button at one place and lets it go at another."""
        self.move(from_x, y)
        self._mouse("mousePressed", from_x, y, button="left", clickCount=1)
        for step in (1, 2, 3):
            self._mouse("mouseMoved", from_x + (to_x - from_x) * step / 3, y, button="left", buttons=1)
        self._mouse("mouseReleased", to_x, y, button="left", clickCount=1)

    def hover(self, selector, where=""):
        self.move(*self.place_of(selector, where))

    def press(self, key, *modifiers):
        """Presses a key: a name of KEYS, or one character. press("ArrowUp", "Shift")"""
        flags = sum(MODIFIERS[name] for name in modifiers)
        if key in KEYS:
            code, number, text = KEYS[key]
        else:
            code, number, text = "", ord(key.upper()) if key.isalnum() else 0, key
        params = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": flags}
        with_text = {"text": text} if text and not flags & ~MODIFIERS["Shift"] else {}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown" if with_text else "rawKeyDown", **params, **with_text})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **params})

    def type(self, text):
        """What a reader types into what has the focus."""
        for character in text:
            self.press(character)

    # What can be measured.

    def screenshot(self, path, whole=False):
        """A PNG of what is seen; of the @whole page, however long."""
        self.settle()
        data = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def heap_bytes(self):
        """The heap of JavaScript in use, with what its arrays hold, garbage collected before."""
        self.call("HeapProfiler.collectGarbage")
        usage = self.call("Runtime.getHeapUsage")
        return usage["usedSize"] + usage.get("backingStorageSize", 0)


def keep_screenshots(page, name):
    """Where FPL_SCREENSHOTS names a folder, put what is seen there as NAME.png."""
    folder = os.environ.get("FPL_SCREENSHOTS")
    if folder:
        os.makedirs(folder, exist_ok=True)
        page.screenshot(os.path.join(folder, name + ".png"))
