#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Called offcputime it takes the options of bcc's tool, prints what that prints, and the waits are those that threads measure."""

import os
import re
import signal
import subprocess

from bcc_case import BccCase
from root_case import fdinfos, fixture, main
from waiting import wait_for

WAITS = fixture("waits")
SECOND_US = 1_000_000
# What a sum may differ from a second by: waits are cut at both ends, and fpless takes time to begin and to end.
SLACK_US = 300_000


class BccOffcputime(BccCase):
    TOOL = "offcputime"

    def setUp(self):
        super().setUp()
        self.process = self.start(WAITS, "60000", stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_for("its threads", lambda: len(os.listdir(f"/proc/{self.pid}/task")) >= 13)

    @staticmethod
    def of(stacks, name):
        return sum(us for stack, us in stacks.items() if name in stack.split(";"))

    def test_waits_are_what_threads_slept(self):
        stacks = self.folded("-d", "-p", str(self.pid), "1")
        # these threads do nothing but sleep: 20 ms at a time; one sleeps throughout, and main waits for them
        for name in "wait_20ms", "wait_asleep", "main":
            self.assertLess(abs(self.of(stacks, name) - SECOND_US), SLACK_US, name)
        # one runs and one may run throughout
        self.assertEqual((self.of(stacks, "wait_not"), self.of(stacks, "wait_yield")), (0, 0))
        # a thread whose last wait the run cuts may have a CPU again when it is to be walked: that wait has no frames
        self.assertLess(stacks.pop("waits", 0), SLACK_US)
        for stack in stacks:
            self.assertTrue(stack.startswith("waits;"), stack)
            frames = stack.split(";")
            self.assertIn("-", frames)
            self.assertIn(frames[1], ("_start", "clone3"))
            if "wait_20ms" in frames:
                self.assertIn("do_syscall_64", frames[frames.index("-"):])

    def test_text_equals_bcc_s(self):
        text = self.bcc("-U", "-p", str(self.pid), "1")
        head, blank, *lines = text.split("\n")
        self.assertEqual(head, f"Tracing off-CPU time (us) of PID [{self.pid}] by user stack for 1 secs.")
        self.assertEqual(blank, "")
        tids = {int(tid) for tid in os.listdir(f"/proc/{self.pid}/task")}
        blocks = "\n".join(lines).split("\n\n")
        self.assertEqual(blocks.pop(), "")
        seen = set()
        for block in blocks:
            found = re.fullmatch(r"((?:    (?!-)\S.*\n)*)    -                waits \((\d+)\)\n        \d+", block)
            self.assertTrue(found, block)
            if found[1]:  # else it is cut by the end of the run, as above
                seen.add(int(found[2]))
        self.assertGreaterEqual(len(seen & tids), 11)  # one entry each at least, of threads that wait

    def test_targets_states_and_lengths(self):
        tid = next(tid for tid in os.listdir(f"/proc/{self.pid}/task") if tid != str(self.pid))
        self.assertIn(f"({tid})", self.bcc("-t", tid, "1"))
        stacks = self.folded("-U", "--state", "2", "-p", str(self.pid), "1")
        self.assertGreater(self.of(stacks, "wait_vfork"), SECOND_US - SLACK_US)
        self.assertEqual(self.of(stacks, "wait_20ms"), 0)
        stacks = self.folded("-U", "-m", "15000", "-M", "100000", "-p", str(self.pid), "1")
        self.assertGreater(self.of(stacks, "wait_20ms"), SECOND_US - SLACK_US)
        self.assertEqual((self.of(stacks, "wait_1ms"), self.of(stacks, "wait_asleep")), (0, 0))

    def test_threads_of_the_kernel_and_of_users(self):
        kernel = self.folded("-k", "1")
        self.assertTrue(any(stack.startswith("kthreadd;") for stack in kernel), kernel)
        self.assertFalse([stack for stack in kernel if stack.startswith("waits;")])
        user = self.folded("-u", "1")
        self.assertTrue([stack for stack in user if stack.startswith("waits;")])
        self.assertFalse([stack for stack in user if stack.startswith("kthreadd;")])

    def test_ctrl_c_prints_what_there_is(self):
        process = self.start(self.tool(), "-p", str(self.pid), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        head = process.stdout.readline().decode("utf-8")
        self.assertEqual(head, f"Tracing off-CPU time (us) of PID [{self.pid}] by user + kernel stack... "
                               "Hit Ctrl-C to end.\n")
        # the program at the end of a switch runs, and goes on to run
        self.count_bpf_runs()
        wait_for("switches", lambda: max((int(info.get("run_cnt", 0)) for info in fdinfos(process.pid)),
                                         default=0) > 20_000)
        process.send_signal(signal.SIGINT)
        with process.stdout as out:
            self.assertIn("wait_20ms", out.read().decode("utf-8"))
        self.assertEqual(process.wait(30), 0)


if __name__ == "__main__":
    main()
