#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Called wakeuptime it takes the options of bcc's tool and prints what that prints: who wakes a thread up, the thread, and for
how long it had waited."""

import bisect
import ctypes
import re
import subprocess
import time

from bcc_case import BccCase
from root_case import LIBC, die_with_the_tests, main
from waiting import wait_for

WRITER = "$0 = 'pipe_writer'; $| = 1; while (1) { select undef, undef, undef, 0.005; print 'x' }"
READER = "$0 = 'pipe_reader'; 1 while sysread STDIN, $byte, 1"
INTERRUPTS = ("[irq]", "[softirq]")
SYS_MEMBARRIER, MEMBARRIER_CMD_GLOBAL = 324, 1
LONG_US = 4000


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().rstrip("\n")


def kernel_functions():
    """Addresses, ascending, and the names at each."""
    names = {}
    with open("/proc/kallsyms", encoding="ascii") as file:
        for address, _, name in (line.split()[:3] for line in file):
            names.setdefault(int(address, 16), set()).add(name)
    return sorted(names), names


class BccWakeuptime(BccCase):
    TOOL = "wakeuptime"

    def setUp(self):
        super().setUp()
        self.writer = self.start("perl", "-e", WRITER, stdout=subprocess.PIPE)
        self.addCleanup(self.writer.stdout.close)
        self.reader = subprocess.Popen(["perl", "-e", READER], stdin=self.writer.stdout, preexec_fn=die_with_the_tests)
        self.addCleanup(self.reader.wait)
        self.addCleanup(self.reader.kill)
        for process, name in (self.writer, "pipe_writer"), (self.reader, "pipe_reader"):
            wait_for(name, lambda pid=process.pid, name=name: name_of(pid) == name)

    def test_a_reader_is_woken_up_by_who_writes(self):
        begin = time.monotonic()
        stacks = self.folded("-p", str(self.reader.pid), "1")
        elapsed_us = (time.monotonic() - begin) * 1e6
        for stack in stacks:
            waker, *frames, target = stack.split(";")
            self.assertEqual((waker, target), ("pipe_writer", "pipe_reader"), stack)
            # the kernel's frames alone, root first
            self.assertIn("do_syscall_64", frames[:2], stack)
            self.assertTrue([name for name in frames if name.endswith("pipe_write")], stack)
        self.assertLess(sum(stacks.values()), elapsed_us)

    def test_a_sleeper_is_woken_up_by_an_interrupt(self):
        begin = time.monotonic()
        stacks = self.folded("-m", str(LONG_US), "-p", str(self.writer.pid), "1")
        elapsed_us = (time.monotonic() - begin) * 1e6
        self.assertLessEqual(set(stacks), {f"{irq};pipe_writer" for irq in INTERRUPTS})
        # of one thread: microseconds, neither more than there were nor less than one wait that was asked for
        self.assertTrue(LONG_US <= sum(stacks.values()) < elapsed_us, stacks)

    def test_text_equals_bcc_s(self):
        text = self.bcc("-v", "-p", str(self.reader.pid), "1")
        head, blank, *lines = text.split("\n")
        self.assertEqual((head, blank), ("Tracing blocked time (us) by kernel stack for 1 secs.", ""))
        blocks = "\n".join(lines).split("\n\n")
        self.assertEqual(blocks.pop(), "Detaching...\n")
        self.assertTrue(blocks)
        addresses, names = kernel_functions()
        values = []
        for block in blocks:
            found = re.fullmatch(r"    target:          pipe_reader\n((?:    [0-9a-f]{16} \S+\n)+)"
                                 r"    waker:           pipe_writer\n        (\d+)", block)
            self.assertTrue(found, block)
            values.append(int(found[2]))
            frames = [line.split() for line in found[1].splitlines()]
            for address, name in frames:
                at = addresses[bisect.bisect_right(addresses, int(address, 16) - 1) - 1]
                self.assertIn(name, names[at], block)
            functions = [name for _, name in frames]
            self.assertIn("do_syscall_64", functions[-2:], block)  # leaf first
        self.assertEqual(values, sorted(values))

    def targets(self, *args):
        """Of all threads, while threads of the kernel are woken up, too: each of these calls waits for one."""
        tool = self.start(self.tool(), "-f", *args, "1", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while tool.poll() is None:
            LIBC.syscall(*map(ctypes.c_long, (SYS_MEMBARRIER, MEMBARRIER_CMD_GLOBAL, 0, 0)))
        with tool.stdout as out:
            stacks = out.read().decode("utf-8").splitlines()
        self.assertEqual(tool.returncode, 0)
        return {stack.rsplit(" ", 1)[0].rsplit(";", 1)[1] for stack in stacks}

    def test_user_threads_alone(self):
        everyone, users = self.targets(), self.targets("-u")
        for targets in everyone, users:
            self.assertLessEqual({"pipe_reader", "pipe_writer"}, targets)
        kernel = re.compile(r"(rcu_|kworker/|ksoftirqd/|migration/|kcompactd|kswapd|jbd2/).*")
        self.assertTrue([name for name in everyone if kernel.fullmatch(name)], everyone)
        self.assertFalse([name for name in users if kernel.fullmatch(name)], users)


if __name__ == "__main__":
    main()
