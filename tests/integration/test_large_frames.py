#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames larger than what is copied of a stack, before there are tables: nothing is lost."""

import os
import shlex
import signal
import subprocess

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, is_dead, main
from waiting import wait_for

MS = 60  # some 60 snapshots: the ring holds 33 that share nothing


class LargeFrames(RootCase):
    def run_blind(self, name, *options):
        """The stacks in spin() of a program during all of which fpless was stopped: each comes from a
        snapshot. As (stack, names leaf first)."""
        for fifo in ("pid", "go"):
            os.mkfifo(self.path(fifo))
        script = (f"echo $$ >{self.path('pid')}; read x <{self.path('go')}; "
                  f"exec {shlex.join([fixture(name), str(MS)])}")
        process = self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "-F", "999", "-U",
                             *options, "--", "/bin/sh", "-c", script, stderr=subprocess.PIPE)
        with open(self.path("pid"), encoding="ascii") as file:
            pid = int(file.read())
        process.send_signal(signal.SIGSTOP)
        with open(self.path("go"), "w", encoding="ascii") as file:
            file.write("x\n")
        wait_for("the program ends", lambda: is_dead(pid), TIMEOUT_S)
        process.send_signal(signal.SIGCONT)
        run = Run.of_folder(self.folder, process.wait(TIMEOUT_S), process.stderr.read())
        self.assertEqual(run.faults(), [])
        stacks = [(stack, [frame["symbol"] for frame in stack["user"]]) for stack in run.stacks]
        stacks = [(stack, names) for stack, names in stacks if names and names[0] == "spin"]
        self.assert_ticks(run, sum(stack["count"] for stack, _ in stacks), MS, 0.7)  # of a sample each ms
        for stack, _ in stacks:
            self.assertEqual({frame["origin"] for frame in stack["user"]}, {"cfi_user"})
        return stacks

    def check(self, stacks, *callers):
        for stack, names in stacks:
            self.assertEqual(stack["stop"], "outermost")
            self.assertEqual(names[:1 + len(callers)], ["spin", *callers])

    def test_of_the_first_thread(self):
        """The end of its stack the kernel knows. What changes in main() does not keep the rest from
        being shared."""
        self.check(self.run_blind("bigframe"), "inner", "middle", "main")

    def test_of_a_thread(self):
        """The end of its stack is before its variables. Its buffer never stays the same."""
        self.check(self.run_blind("bigthread", "--ring-memory", "32M"), "near_leaf", "large", "worker")

    def test_of_frames_that_end_in_the_hole(self):
        """Their frame pointers lead to what is needed of it."""
        self.check(self.run_blind("bignest", "--ring-memory", "32M"), "nest", "nest", "nest", "main")

    def test_a_smaller_copy_is_of_one_piece(self):
        for stack, names in self.run_blind("bigframe", "--snapshot", "32K"):
            self.assertEqual((stack["stop"], names), ("read_fault", ["spin", "inner"]))


if __name__ == "__main__":
    main()
