# SPDX-License-Identifier: Apache-2.0
"""Runs in which rows from code are being made: of files that take a while, called by `caller`."""

import os
import shlex
import signal
import subprocess

from elf_names import ElfNames
from fpless_run import TIMEOUT_S, Run
from parser_processes import is_calm, readers
from root_case import FPLESS, RootCase, fixture

from slow_code import slow_file  # root_case knows where

STEPS = 200000  # a tenth of a second of making rows
CALLER = fixture("caller")


def call(path, ms):
    """The command that calls the code of the file for so long."""
    return shlex.join([CALLER, str(ms), "0", path])


class Hurry:
    """Who looks for something that is soon over must not wait for a CPU meanwhile."""

    def __enter__(self):
        self.before = os.getpriority(os.PRIO_PROCESS, 0)
        self._set(-15)

    def __exit__(self, *_):
        self._set(self.before)

    @staticmethod
    def _set(nice):
        try:
            os.setpriority(os.PRIO_PROCESS, 0, nice)
        except PermissionError:
            pass


class Slowed:
    """Gives a process a few thousandths of a CPU that something else uses. Its CPU time is what it would have
    been, which matters where that is bounded; and it is not stopped, which would be noticed."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        self.cpus = os.sched_getaffinity(self.pid)
        cpu = {min(self.cpus)}
        self.other = subprocess.Popen(["sh", "-c", "while :; do :; done"],
                                      preexec_fn=lambda: os.sched_setaffinity(0, cpu))
        self._set(os.SCHED_IDLE, cpu)

    def __exit__(self, *_):
        self.other.kill()
        self.other.wait()
        self._set(os.SCHED_OTHER, self.cpus)

    def _set(self, policy, cpus):
        try:
            os.sched_setaffinity(self.pid, cpus)
            os.sched_setscheduler(self.pid, policy, os.sched_param(0))
        except ProcessLookupError:
            pass


class PendingCase(RootCase):
    def setUp(self):
        super().setUp()
        self.stderr = self.path("stderr")

    def slow(self, name, steps=STEPS, rows=0):
        return slow_file(self.path(name), steps, rows)

    def begin(self, script, *options, **how):
        """Starts a run of a shell script whose outputs are in the folder."""
        with open(self.stderr, "wb") as file:
            return self.start(FPLESS, "profile", *Run.outputs(self.folder), "-vv",
                              *([] if "--cache" in options else ["--no-cache"]), *options, "-F", "499",
                              "--", "sh", "-c", script, stderr=file, **how)

    def script(self, first, then):
        """Calls the code of @first until the end, and from go() on does @then, too. Ends with 0, whatever it waited for."""
        return f"{call(first, 100000)} & first=$!; {self.until('go')}; {then}\n:"

    def until(self, name):
        """Has a script wait for go()."""
        return f"while [ ! -e {self.path(name)} ]; do sleep 0.02; done"

    def go(self, name="go"):
        with open(self.path(name), "wb"):
            pass

    def said(self):
        with open(self.stderr, encoding="utf-8", errors="backslashreplace") as file:
            return file.read()

    def wait_for(self, process, what, condition, patience_s=TIMEOUT_S):
        return self.wait_while_it_runs(process, lambda: f"{what}: {self.said()}", condition, patience_s, 0.001)

    def end(self, process):
        process.wait(timeout=TIMEOUT_S)
        run = Run.of_folder(self.folder, process.returncode, self.said().encode())
        self.assertEqual(run.faults(), [])
        return run

    @staticmethod
    def makers(fpless, path):
        """Workers that make all rows of the file."""
        return [pid for pid in readers(fpless.pid, path) if is_calm(pid)]

    def maker(self, process, path):
        """Waits for the worker that makes all rows of the file."""
        with Hurry():
            return self.wait_for(process, "no worker makes rows", lambda: self.makers(process, path))[0]

    def stop_maker(self, process, path):
        pid = self.maker(process, path)
        os.kill(pid, signal.SIGSTOP)
        return pid

    @staticmethod
    def signal(pid, number):
        """To a worker, which may have gone: one that is stopped for a second is given up, and another asked."""
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def tables(self, run, path):
        """What was published of the file, in order: is more to come?"""
        return self.tables_in(run.stderr, path)

    @staticmethod
    def tables_in(text, path):
        start = f"fpless: {path}: object "
        return ["to come" in line for line in text.splitlines()
                if line.startswith(start) and ": table of " in line]

    def of(self, run, path):
        """Stacks that end in the code of the file."""
        return [stack for stack in run.stacks
                if stack["user"] and (stack["user"][0].get("object") or "").startswith(path)]

    def assert_right(self, run, path):
        """Each of these stacks is whole, or ends where it begins, however it was walked."""
        names = ElfNames(CALLER)
        for stack in self.of(run, path):
            callers = stack["user"][1:]
            self.assertEqual(bool(callers), stack["stop"] == "outermost", stack)
            if callers:
                # files of the same content are one object, called by the path that was met first
                self.assertEqual(os.path.basename(callers[0].get("object", "")), os.path.basename(CALLER), stack)
                self.assertIn("call", names.aliases(int(callers[0]["vaddr"], 16)), stack)

    def assert_whole(self, run, path):
        self.assertEqual({stack["stop"] for stack in self.of(run, path)}, {"outermost"}, run.stderr)
        self.assert_right(run, path)
