#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Called offwaketime it takes the options of bcc's tool and prints what that prints: where a thread waited, who ended that, and
for how long it was."""

import re
import subprocess

from bcc_case import BccCase
from root_case import fixture, main
from waiting import wait_for

RELAY = fixture("relay")
HANDS = {"relay_second": "hand_first", "relay_third": "hand_second", "relay_last": "hand_third"}
INTERRUPTS = ("[irq]", "[softirq]")


class BccOffwaketime(BccCase):
    TOOL = "offwaketime"

    def setUp(self):
        super().setUp()
        self.relay = self.start(RELAY, "100000")
        wait_for("its processes", lambda: set(HANDS) <= set(self.pids()))

    def pids(self):
        """{name: pid} of the processes that wait for a byte."""
        found = subprocess.run(["ps", "--ppid", str(self.relay.pid), "-o", "comm=,pid="], capture_output=True, check=False)
        return {line.split()[0]: int(line.split()[1]) for line in found.stdout.decode().splitlines()}

    def test_folded_order_is_bcc_s(self):
        pids = self.pids()
        every = [str(self.relay.pid), *map(str, pids.values())]
        seen = set()
        for stack in self.folded("-d", "-p", ",".join(every), "1"):
            target, *frames, waker = stack.split(";")
            at = frames.index("--")
            waiting, waking = frames[:at], frames[at + 1:]
            self.assertEqual(waiting[0], "_start", stack)  # the target from the root on, the kernel's last
            self.assertIn("-", waiting, stack)
            if target == "relay_first":
                self.assertTrue(waker in (*INTERRUPTS, "[none]") and not waking, stack)
            elif waker != "[none]":  # else the run has cut the wait
                self.assertEqual(waking[0], "try_to_wake_up", stack)  # the waker from the leaf on
                self.assertEqual(waking[-1], "_start", stack)
                self.assertLess(waking.index("-"), waking.index(HANDS[target]), stack)
                self.assertEqual(waker, {"relay_second": "relay_first", "relay_third": "relay_second",
                                         "relay_last": "relay_third"}[target])
            seen.add(target)
        self.assertEqual(seen, {"relay_first", *HANDS})

    def test_text_equals_bcc_s(self):
        pids = self.pids()
        text = self.bcc("-U", "-p", f"{pids['relay_second']},{pids['relay_third']}", "1")
        head, blank, *lines = text.split("\n")
        self.assertEqual((head, blank), ("Tracing blocked time (us) by user off-CPU and waker stack for 1 secs.", ""))
        blocks = "\n".join(lines).split("\n\n")
        self.assertEqual(blocks.pop(), "")
        wakers = set()
        for block in blocks:
            found = re.fullmatch(r"    waker:           (\S+) (\d+)\n((?:    \S+\n)*)    --               --\n"
                                 r"((?:    \S+\n)*)    target:          (\S+) (\d+)\n        \d+", block)
            self.assertTrue(found, block)
            self.assertEqual(int(found[6]), pids[found[5]])
            if found[1] == "[none]":
                continue
            if found[3]:  # a target's stack, from the root on; one of another process has none
                self.assertEqual((found[3].split()[0], found[1]), ("_start", "relay_second"))
                self.assertIn("hand_second", found[3])
                self.assertEqual(int(found[2]), pids["relay_second"])
            wakers.add(found[1])
        self.assertEqual(wakers, {"relay_first", "relay_second"})


if __name__ == "__main__":
    main()
