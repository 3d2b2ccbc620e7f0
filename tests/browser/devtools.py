# SPDX-License-Identifier: Apache-2.0
"""The DevTools protocol over the two pipes of Chromium's --remote-debugging-pipe: messages of JSON, each ended by NUL."""

import collections
import json
import os
import select
import time


class DevtoolsError(Exception):
    """What the browser answered, or that it answers no more."""


class Devtools:
    def __init__(self, to_browser, from_browser):
        self.to_browser, self.from_browser = to_browser, from_browser
        self.rest = bytearray()
        self.last_id = 0
        self.answers = {}  # by id of the command
        self.events = collections.deque()
        os.set_blocking(to_browser, False)

    def close(self):
        for fd in (self.to_browser, self.from_browser):
            os.close(fd)

    def _write(self, message, deadline):
        left = memoryview(message)
        while left:
            _, writable, _ = select.select([], [self.to_browser], [], max(0, deadline - time.monotonic()))
            if not writable:
                raise DevtoolsError("the browser does not read")
            try:
                left = left[os.write(self.to_browser, left[:65536]):]
            except BlockingIOError:
                continue
            except OSError as error:
                raise DevtoolsError(f"the browser is gone: {error}") from error

    def _read(self, deadline):
        """Takes what has come; waits for it until @deadline. False: nothing came."""
        readable, _, _ = select.select([self.from_browser], [], [], max(0, deadline - time.monotonic()))
        if not readable:
            return False
        data = os.read(self.from_browser, 1 << 20)
        if not data:
            raise DevtoolsError("the browser has ended")
        at = len(self.rest)
        self.rest += data
        while (end := self.rest.find(b"\0", at)) >= 0:
            message = json.loads(self.rest[:end])
            del self.rest[:end + 1]
            at = 0
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.events.append(message)
        return True

    def call(self, method, params=None, session=None, seconds=120):
        """The result of a command. Raises DevtoolsError where the browser refuses it or does not answer."""
        self.last_id += 1
        number, deadline = self.last_id, time.monotonic() + seconds
        message = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0", deadline)
        while number not in self.answers:
            if not self._read(deadline):
                raise DevtoolsError(f"{method}: no answer in {seconds} s")
        answer = self.answers.pop(number)
        if "error" in answer:
            raise DevtoolsError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def take_events(self, seconds=0):
        """What was told since the last time; waits up to @seconds for the first."""
        deadline = time.monotonic() + seconds
        while self._read(time.monotonic()) or (not self.events and time.monotonic() < deadline
                                               and self._read(deadline)):
            pass
        events = list(self.events)
        self.events.clear()
        return events
