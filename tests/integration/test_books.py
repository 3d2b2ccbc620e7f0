#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The books close exactly, whatever the rate, the memory and the targets."""

import os
import signal
import subprocess

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main


# Some hundred distinct stacks, short-lived programs, threads: what makes work for the accounts.
BUSY = [fixture("vfork"), "250", fixture("chain_nopie")]


class BooksClose(RootCase):
    def test_at_every_rate_and_with_every_limit(self):
        cases = [
            ["-F", "99"], ["-F", "999"], ["-F", "4999"],
            ["-F", "999", "--table-memory", "1M"],
            ["-F", "4999", "--table-memory", "1M"],
            ["-F", "4999", "--stack-memory", "64K"],
            ["-F", "999", "--stack-memory", "64K"],
            ["-F", "999", "--snapshot", "0"],
            ["-F", "4999", "--snapshot", "0", "--table-memory", "1M", "--stack-memory", "64K"],
            ["-F", "999", "--snapshot", "64K"],
            ["-F", "999", "--max-depth", "1"],
            ["-F", "999", "--unwind", "fp"], ["-F", "999", "--unwind", "cfi"],
            ["-F", "999", "-U"], ["-F", "999", "-K"], ["-F", "999", "-U", "-K"],
        ]
        for options in cases:
            with self.subTest(options):
                run = self.profile(*options, "-d", "600", "--", *BUSY)
                self.assertGreater(run.books["shown"], 0)

    def test_of_both_walks(self):
        cases = [
            ["-F", "999"], ["-F", "4999"],
            ["-F", "4999", "--stack-memory", "64K"],
            ["-F", "999", "--table-memory", "1M", "--snapshot", "64K"],
            ["-F", "4999", "--snapshot", "0", "--table-memory", "1M", "--stack-memory", "64K"],
            ["-F", "999", "-U", "--unwind", "cfi"],
        ]
        for options in cases:
            with self.subTest(options):
                run = self.profile(*options, "-d", "600", "--", *BUSY, verb="compare")
                self.assertGreater(run.books["shown"], 0)
                self.assertTrue([stack for stack in run.stacks if stack["fp"]])
        self.start(fixture("threads"), "60000")
        run = self.profile("-F", "4999", "-I", "-a", "-d", "1", verb="compare")
        self.assertEqual((run.books["filtered"], run.books["idle"]), (0, 0))

    def test_of_the_whole_machine(self):
        threads = self.start(fixture("threads"), "60000")
        for options in (["-F", "999"], ["-F", "999", "-I"], ["-F", "4999", "--snapshot", "0"]):
            with self.subTest(options):
                run = self.profile_while_busy([threads.pid], 300, *options, "-a")
                self.assertEqual(run.books["filtered"], 0)
                self.assertTrue("-I" not in options or run.books["idle"] == 0)
                self.assertIn("threads", {stack["comm"] for stack in run.stacks})

    def test_user_only_and_kernel_only_show_only_that(self):
        run = self.profile("-F", "999", "-U", "-d", "600", "--", fixture("clock"), "300")
        self.assertEqual([stack for stack in run.stacks if stack["kernel"]], [])
        run = self.profile("-F", "999", "-K", "-d", "600", "--", *BUSY)
        self.assertEqual([stack for stack in run.stacks if stack["user"]], [])
        self.assertEqual([stack for stack in run.stacks if not stack["kernel"]], [])


class FiredIsCounted(RootCase):
    def test_as_often_as_the_kernel_ran_the_program(self):
        self.count_bpf_runs()
        self.start(fixture("threads"), "60000")
        for hz, verb in (("99", "profile"), ("999", "profile"), ("4999", "profile"), ("999", "compare")):
            with self.subTest(hz, verb=verb):
                run = self.profile("-F", hz, "-a", "-d", "1", verb=verb)
                self.assertEqual(run.stats["bpf_runs"], run.stats["fired"])


class RunsEnd(RootCase):
    def test_duration_ends_a_command(self):
        run = self.profile("-F", "999", "-d", "1", "--", fixture("chain"), "60000")
        self.assertGreater(run.books["shown"], 0)
        self.assertIn("signal 15", run.stderr)

    def test_interrupt_flushes(self):
        out, stats = self.path("out.jsonl"), self.path("stats.json")
        process = self.start(FPLESS, "profile", "-F", "999", "-o", out, "--stats", stats, "--",
                             fixture("chain"), "60000", stderr=subprocess.DEVNULL)
        self.wait_until_sampling(process, 200)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertGreater(os.path.getsize(out), 0)
        self.assertGreater(os.path.getsize(stats), 0)

    def test_process_is_profiled_by_pid_without_its_children(self):
        process = self.start(fixture("vfork"), "600000", fixture("chain_nopie"))
        run = self.profile_while_busy([process.pid], 200, "-F", "999", "-p", str(process.pid))
        self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})

    def test_exit_of_the_pid_ends_the_run(self):
        process = self.start(fixture("chain"), "3000")
        run = self.profile("-F", "999", "-d", "600", "-p", str(process.pid))
        self.assertGreater(run.books["shown"], 0)


if __name__ == "__main__":
    main()
