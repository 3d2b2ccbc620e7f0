#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_stack_core.py FPLESS FIXTURES: the stacks in core files equal those that eu-stack has of them.

The kernel writes the core files, where it writes them into the folder of the program; gcore writes those of programs that
go on. No root is needed."""

import glob
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from waiting import wait_for, wait_until_busy, wait_until_it_runs  # noqa: E402  pylint: disable=wrong-import-position

FPLESS, FIXTURES = (os.path.realpath(path) for path in sys.argv[1:3])
TIMEOUT_S = 300
ATTEMPTS = 5
FRAME = re.compile(r"^ +\d+ 0x([0-9a-f]{16}) .*?(?: \[(\d+) times\])?$", re.MULTILINE)
EU_FRAME = re.compile(r"^#\d+ +0x([0-9a-f]+)", re.MULTILINE)
THREADS = 12

SLEEPERS = """
import threading, time
def inner(): time.sleep(1000)
def outer(): inner()
for i in range(%d): threading.Thread(target=outer if i %% 2 else inner, daemon=True).start()
open("ready", "w").close()
time.sleep(1000)""" % THREADS
PROGRAMS = {
    "python3": ["/usr/bin/python3", "-c", SLEEPERS],
    "perl": ["perl", "-e", "sub inner { open(F, '>', 'ready'); sleep 1000 } sub outer { inner() } outer()"],
    "sh": ["sh", "-c", "> ready; sleep 1000; true"],
}


def allow_core():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kernel_writes_here():
    """Does the kernel write core files into the folder of the program, and may they be of any size?"""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    return "/" not in pattern and not pattern.startswith("|") \
        and resource.getrlimit(resource.RLIMIT_CORE)[1] == resource.RLIM_INFINITY


def eu_stacks(core):
    """{tid: where the code of its frames lies in its page}: that is the same in the file and in memory."""
    text = subprocess.run(["eu-stack", "-n", "0", "--core", core], capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stdout
    return {int(part.split(":", 1)[0]): tuple(int(pc, 16) & 0xFFF for pc in EU_FRAME.findall(part))
            for part in text.split("TID ")[1:]}


class StackCore(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-core-")
        self.addCleanup(shutil.rmtree, self.folder)

    def stack(self, *args, status=0):
        run = subprocess.run([FPLESS, "stack", *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def blocks(self, text):
        """[(head, pages of the pcs)]"""
        return [(block.split("\n", 1)[0],
                 tuple(int(pc, 16) & 0xFFF for pc, times in FRAME.findall(block) for _ in range(int(times or 1))))
                for block in text.strip().split("\n\n")]

    def begin(self, words):
        """A program, which ends with the test, and so do its children."""
        process = subprocess.Popen(words, cwd=self.folder, preexec_fn=allow_core, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(end_group, process.pid)
        return process

    def begin_fixture(self, path, *args):
        """The same of one of the fixtures, once it is what runs."""
        process = self.begin([path, "59000", *args])  # one that ran for a minute and more would rest for most of it
        wait_until_it_runs(process.pid, path)
        wait_until_busy(process.pid)
        return process

    def core_of(self, process):
        """The core file that the kernel writes when @process dies."""
        process.wait(TIMEOUT_S)
        found = glob.glob(os.path.join(self.folder, "core*"))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def sleeping(self, name):
        """A program whose threads all sleep, or are about to."""
        process = self.begin(PROGRAMS[name])
        wait_for("the program is ready", lambda: os.path.exists(os.path.join(self.folder, "ready")), TIMEOUT_S)
        os.unlink(os.path.join(self.folder, "ready"))
        return process

    def assert_equal(self, core):
        """Each thread has the stack that eu-stack finds, whole."""
        expected, run = eu_stacks(core), self.stack(core)
        self.assertNotIn("incomplete", run.stdout)
        got = []
        for head, frames in self.blocks(run.stdout):
            nr = re.search(r": (\d+) threads?$", head)
            got += [frames] * (int(nr[1]) if nr else 1)
        self.assertEqual(sorted(got), sorted(expected.values()))
        return expected, run

    @unittest.skipUnless(kernel_writes_here(), "the kernel writes core files elsewhere")
    def test_core_files_of_the_kernel(self):
        for name in PROGRAMS:
            with self.subTest(name):
                process = self.sleeping(name)
                process.send_signal(signal.SIGABRT)
                core = self.core_of(process)
                expected, run = self.assert_equal(core)
                self.assertIn(f"(pid {process.pid}), thread {process.pid}: got signal 6 (Aborted)\n", run.stdout.split("\n\n")[0] + "\n")
                self.assertEqual(len(expected), THREADS + 1 if name == "python3" else 1)
                self.cut(core)
                os.unlink(core)

    @unittest.skipUnless(kernel_writes_here(), "the kernel writes core files elsewhere")
    def test_through_a_signal_handler(self):
        """From the function that a handler calls to what the signal interrupted: the program is in its handler mostly."""
        process = self.begin_fixture(os.path.join(FIXTURES, "signal"))
        process.send_signal(signal.SIGABRT)
        self.assert_equal(self.core_of(process))

    @unittest.skipUnless(kernel_writes_here(), "the kernel writes core files elsewhere")
    def test_equal_frames_are_one_line(self):
        """A function that calls itself 400 times is a line, and all its frames are counted."""
        calls = []
        for _ in range(ATTEMPTS):
            process = self.begin_fixture(os.path.join(FIXTURES, "recursion"), "400")
            process.send_signal(signal.SIGABRT)
            core = self.core_of(process)
            _, run = self.assert_equal(core)
            calls = re.findall(r"^ +\d+ 0x[0-9a-f]{16} (recurse\+.*)$", run.stdout, re.MULTILINE)
            if calls:
                break
            os.unlink(core)  # the signal came while main asked for the time, outside of all calls
        # a caller has the address behind its call, a leaf another one
        self.assertEqual(len([call for call in calls if re.search(r" \[\d+ times\]$", call)]), 1, run.stdout)
        self.assertLess(run.stdout.count("\n"), 30)

    @unittest.skipUnless(kernel_writes_here(), "the kernel writes core files elsewhere")
    def test_another_build_is_not_used(self):
        """The program was replaced since: no frame of the new one is shown."""
        program = os.path.join(self.folder, "chain")
        shutil.copy(os.path.join(FIXTURES, "chain"), program)
        process = self.begin_fixture(program)
        process.send_signal(signal.SIGABRT)
        core = self.core_of(process)
        self.assertIn(f"({program})", self.stack(core).stdout)
        os.unlink(program)
        shutil.copy("/bin/true", program)
        run = self.stack(core)
        self.assertIn(f"{program}: another file by now: its build-id is", run.stderr)
        self.assertNotIn(f"({program})", run.stdout)

    @unittest.skipUnless(shutil.which("gcore"), "gcore is not here")
    def test_core_files_of_gcore_and_single_threads(self):
        process = self.sleeping("python3")
        made = subprocess.run(["gcore", "-o", os.path.join(self.folder, "of"), str(process.pid)], capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        core = os.path.join(self.folder, f"of.{process.pid}")
        if not os.path.exists(core):
            self.skipTest("gcore may not attach here: " + made.stderr[-200:])
        expected, run = self.assert_equal(core)
        self.assertNotIn("got signal", run.stdout)
        tid = max(expected)
        (head, frames), = self.blocks(self.stack(core, "-t", tid).stdout)
        self.assertEqual((head.split(", ")[1], frames), (f"thread {tid}", expected[tid]))
        self.assertIn("no such thread", self.stack(core, "-t", 1, status=3).stderr)

    def cut(self, core):
        """A file that ends too early has the stacks it has; one that ends in its headers is refused."""
        size = os.path.getsize(core)
        os.truncate(core, size * 3 // 4)
        self.assertIn(": cut: it lacks ", self.stack(core).stderr)
        os.truncate(core, 300)
        self.assertIn("the file ends before", self.stack(core, status=2).stderr)

    def test_what_is_no_core_file(self):
        for path, said in (("/bin/true", "a program or library, no core file"), ("/etc/passwd", "no core file"),
                           ("/nonexistent", "No such file"), ("/dev/null", "no regular file"), (".", "no regular file")):
            self.assertIn(said, self.stack(path, status=2).stderr)
        self.assertIn("excludes", self.stack("/x", "-a", status=1).stderr)
        self.assertIn("no kernel stacks", self.stack("/x", "-K", status=1).stderr)
        self.assertIn("one core file", self.stack("/x", "/y", status=1).stderr)

    @unittest.skipUnless(kernel_writes_here(), "the kernel writes core files elsewhere")
    def test_damaged_core_files_end_in_a_word(self):
        """200 files, each with 20 bytes of its headers and notes changed: stacks, or one line that says what is wrong."""
        process = self.begin_fixture(os.path.join(FIXTURES, "chain"))
        process.send_signal(signal.SIGABRT)
        core = self.core_of(process)
        with open(core, "rb") as file:
            whole = file.read()
        chance = random.Random(7)
        statuses = set()
        for _ in range(200):
            damaged = bytearray(whole)
            for _ in range(20):
                damaged[chance.randrange(16, 6000)] = chance.randrange(256)
            with open(core, "wb") as file:
                file.write(damaged)
            run = subprocess.run([FPLESS, "stack", core], capture_output=True, timeout=TIMEOUT_S, check=False)
            self.assertIn(run.returncode, (0, 2), run.stderr)
            self.assertTrue(run.stdout or run.stderr)
            statuses.add(run.returncode)
        self.assertEqual(statuses, {0, 2})


if __name__ == "__main__":
    if not shutil.which("eu-stack"):
        print("SKIP: eu-stack, which the stacks are compared with, is not here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
