#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fpless stack: each thread's stack equals that of eu-stack, which stops the process for it. Arguments: FPLESS FIXTURES."""

import collections
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, die_with_the_tests, fixture, main
from waiting import wait_for

HEAD = re.compile(r"^(?P<comm>.*) \(pid (?P<pid>\d+)\)(?:: (?P<nr>\d+) threads|, thread (?P<tid>\d+)), (?P<state>[A-Za-z]) \(.*?\)"
                  r"(?: for (?:(?P<least>[\d.]+ \w+) to )?(?P<most>[\d.]+ \w+))?$")
UNITS_S = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "days": 86400}
FRAME = re.compile(r"^ +\d+ 0x([0-9a-f]{16}) .*?(?: \[(\d+) times\])?$", re.MULTILINE)
EU_FRAME = re.compile(r"^#\d+ +0x([0-9a-f]+)", re.MULTILINE)
THREADS = 40
VFORK = fixture("waits")

PROGRAMS = {
    "python3": ["python3", "-c", "import time\ntime.sleep(1000)"],
    "threads": ["python3", "-c", """
import threading, time
def inner(): time.sleep(1000)
def outer(): inner()
for i in range(%d): threading.Thread(target=outer if i %% 2 else inner, daemon=True).start()
time.sleep(1000)""" % THREADS],
    "perl": ["perl", "-e", "sub inner { sleep 1000 } sub outer { inner() } outer()"],
    "select": ["perl", "-e", "select(undef, undef, undef, 1000)"],
    "child": ["sh", "-c", "sleep 1000; true"],
    "pipe": ["cat"],
}
SLEEPING = {"23", "35", "230", "270"}  # the system calls that sleep: select, nanosleep, clock_nanosleep, pselect6
WAITING = {"child": {"61"}, "pipe": {"0"}}  # wait4, read


def state(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(") ")[2][0]


def at_rest(pid, calls):
    """How often each thread has been switched away from; None: one does not sleep in one of these system calls. A program
    also sleeps while it starts, and may be a script that starts the program."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
            if file.read().split()[0] not in calls:
                return None
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        if not lines["State"].startswith("S"):
            return None
        found[tid] = lines["voluntary_ctxt_switches"], lines["nonvoluntary_ctxt_switches"]
    return found


def eu_stacks(pid):
    """Of each thread, where the code of its frames lies in its page: that is the same in the file and in memory."""
    text = subprocess.run(["eu-stack", "-p", str(pid)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stdout
    return [tuple(int(pc, 16) & 0xFFF for pc in EU_FRAME.findall(part)) for part in text.split("TID ")[1:]]


class Stack(RootCase):
    def stack(self, *args, status=0):
        run = subprocess.run([FPLESS, "stack", *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def begin(self, name):
        """A program, once all its threads sleep and go on sleeping."""
        process = subprocess.Popen(PROGRAMS[name], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   preexec_fn=die_with_the_tests)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        nr, calls, before = THREADS + 1 if name == "threads" else 1, WAITING.get(name, SLEEPING), None
        for _ in range(10 * TIMEOUT_S):
            now = at_rest(process.pid, calls)
            if now and now == before and len(now) == nr:
                return process.pid
            before = now
            time.sleep(0.1)
        self.fail(f"{name} does not come to rest: {before}")

    def heads(self, text):
        found = [HEAD.match(block.split("\n", 1)[0]) for block in text.strip().split("\n\n")]
        self.assertNotIn(None, found, text)
        return found

    def blocks(self, text):
        """[(threads, pages of the pcs of the user frames)]"""
        found = []
        for head, block in zip(self.heads(text), text.strip().split("\n\n")):
            user = block.partition("  Userspace:\n")[2]
            found.append((int(head["nr"] or 1),
                          tuple(int(pc, 16) & 0xFFF for pc, times in FRAME.findall(user)
                                for _ in range(int(times or 1)))))
        return found

    def test_stacks_equal_those_of_eu_stack(self):
        for name in PROGRAMS:
            with self.subTest(name):
                pid = self.begin(name)
                # functions of scripts stand beside them
                got = [frames for nr, frames in self.blocks(self.stack("--script=all", pid).stdout) for _ in range(nr)]
                self.assertEqual(sorted(got), sorted(eu_stacks(pid)))

    def test_equal_stacks_are_printed_once(self):
        pid = self.begin("threads")
        blocks = self.blocks(self.stack("-U", "--no-script", pid).stdout)
        counts = collections.Counter(eu_stacks(pid))
        self.assertEqual(sorted(nr for nr, _ in blocks), sorted(counts.values()))
        self.assertLess(len(blocks), THREADS)

    def test_a_thread_alone(self):
        pid = self.begin("threads")
        self.assertEqual([nr for nr, _ in self.blocks(self.stack("-t", pid).stdout)], [1])

    def test_the_machine_has_all_sleepers(self):
        pids = [self.begin("perl"), self.begin("pipe")]
        text = self.stack("-a").stdout
        for pid in pids:
            self.assertEqual(text.count(f"(pid {pid}), thread {pid}, S (sleeping) for "), 1)

    def sleeps(self, pid):
        """{state: s that a thread has been in it, at most; 0: not told}."""
        found = {}
        for head in self.heads(self.stack(pid).stdout):
            number, unit = (head["most"] or "0 s").split()
            found[head["state"]] = max(found.get(head["state"], 0), float(number) * UNITS_S[unit])
        return found

    def test_the_state_and_for_how_long(self):
        """No thread slept before it began; each sleeps from the first look to the second."""
        begun = time.monotonic()
        pid = self.begin("threads")
        looked, sleeps = time.monotonic(), self.sleeps(pid)
        self.assertEqual(set(sleeps), {"S"})
        self.assertGreater(sleeps["S"], 0)
        self.assertLess(sleeps["S"], 1.1 * (time.monotonic() - begun) + 0.1)
        wait_for("a second", lambda: time.monotonic() > looked + 1)
        least = time.monotonic() - looked
        again = self.sleeps(pid)["S"]
        self.assertGreater(again, 0.9 * least - 0.1)
        os.kill(pid, signal.SIGSTOP)
        wait_for("stopped threads", lambda: {state(pid, tid) for tid in os.listdir(f"/proc/{pid}/task")} == {"T"})
        self.assertEqual(set(self.sleeps(pid)), {"T"})

    def test_time_on_the_cpu_before_is_no_sleep(self):
        process = subprocess.Popen([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass\n"
                                    "print(time.monotonic(), flush=True)\ntime.sleep(1000)"], stdout=subprocess.PIPE, text=True,
                                   preexec_fn=die_with_the_tests)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        begun = float(process.stdout.readline())
        wait_for("a sleeping thread", lambda: state(process.pid, process.pid) == "S")
        sleeps = self.sleeps(process.pid)
        self.assertEqual(set(sleeps), {"S"})
        self.assertLess(sleeps["S"], 1.1 * (time.monotonic() - begun) + 0.1)

    def test_a_parent_of_vfork_is_in_another_state(self):
        process = subprocess.Popen([VFORK, "60000", "wait_vfork"], stdout=subprocess.DEVNULL, preexec_fn=die_with_the_tests)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for("one in state D", lambda: "D" in self.sleeps(process.pid))

    def test_nothing_is_stopped_or_traced(self):
        """The process counts its signals and the stops of its child by itself: none come."""
        pid = self.begin("perl")

        def look():
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                lines = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
            return [lines[key] for key in ("TracerPid", "SigPnd", "ShdPnd", "voluntary_ctxt_switches",
                                           "nonvoluntary_ctxt_switches")]

        before = look()
        self.stack(pid)
        self.assertEqual(look(), before)  # it has not even run
        self.assertEqual(state(pid, pid), "S")

    def test_threads_on_a_cpu_are_counted(self):
        process = subprocess.Popen(["perl", "-e", "1 while 1"], preexec_fn=die_with_the_tests)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        run = subprocess.run([FPLESS, "stack", str(process.pid)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        # it runs, or has been preempted for a moment: then its stack is there
        if "1 of 1 threads were on a CPU" in run.stderr:
            self.assertEqual(run.returncode, 3)
            self.assertEqual(run.stdout, "")
        else:
            self.assertEqual([nr for nr, _ in self.blocks(run.stdout)], [1])

    def test_errors(self):
        self.assertIn("whose stacks", self.stack(status=1).stderr)
        self.assertIn("'1,': expected process ids", self.stack("1,", status=1).stderr)
        self.assertIn("-a excludes", self.stack("-a", 1, status=1).stderr)
        self.stack(4194303, status=3)


if __name__ == "__main__":
    main()
