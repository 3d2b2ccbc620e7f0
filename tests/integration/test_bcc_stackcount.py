#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Called fpless-bcc-stackcount it takes the options of bcc's stackcount, and prints what that prints: as many events as there were."""

import os
import re
import signal
import subprocess

from root_case import FPLESS, RootCase, fdinfos, fixture, main

TOOL = os.path.join(os.path.dirname(FPLESS), "fpless-bcc-stackcount")
PROGRAM, NR, AHEAD = fixture("sources"), 300, 3
PROBE, TRACEPOINTS = "2", "5"  # types of BPF programs
TRACEPOINT = "syscalls:sys_enter_getppid"


def nr_run(pid):
    """How often a program of probes or tracepoints, which the process has open, has been run."""
    return max((int(info["run_cnt"]) for info in fdinfos(pid) if info.get("prog_type") in (PROBE, TRACEPOINTS)), default=0)


class BccStackcount(RootCase):
    def run_as(self, name):
        """Runs the program under that name, in which each event comes NR times; its pid."""
        path = self.path(name)
        if not os.path.lexists(path):
            os.symlink(PROGRAM, path)
        with subprocess.Popen([path, str(NR), "10"]) as program:
            return program.pid

    def count(self, *args):
        """What it prints of runs of the program, of which the one called `last` is sampled throughout, and that one's pid."""
        self.count_bpf_runs()
        tool = self.start(TOOL, *args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(AHEAD):  # the first that is seen may come before the gate is open
            self.wait_while_it_runs(tool, "samples", lambda: self.run_as("first") and nr_run(tool.pid) > NR)
        pid = self.run_as("last")
        tool.send_signal(signal.SIGINT)
        with tool.stdout as out:
            text = out.read().decode()
        self.assertEqual(tool.wait(60), 0)
        return text, pid

    def test_calls_of_a_function_by_process(self):
        text, pid = self.count(f"{PROGRAM}:taken")
        self.assertTrue(text.startswith(f'Tracing 1 functions for "{PROGRAM}:taken"... Hit Ctrl-C to end.\n\n'), text)
        self.assertTrue(text.endswith("\n\nDetaching...\n"), text)
        self.assertRegex(text, rf"\n\n  taken\n  calls\n  come_by_all\n(  \w+\n)+    last \[{pid}\]\n    {NR}\n\n")

    def test_a_usdt_probe_folded(self):
        text, _ = self.count("-f", f"u:{PROGRAM}:fixture:marked")
        self.assertRegex(text, rf"(?m)^last;(\w+;)+marks {NR}$")
        self.assertEqual({line.split(";")[0] for line in text.splitlines()}, {"first", "last"})

    def test_a_tracepoint_delimited_with_the_time(self):
        if self.fpless("events", TRACEPOINT).returncode:
            self.skipTest("this kernel has no tracepoints of system calls")
        text, pid = self.count("-dT", "t:" + TRACEPOINT)
        self.assertRegex(text, r"\n\n\d\d:\d\d:\d\d\n")
        block = re.search(rf"((?:  \S+\n)+)    --\n((?:  \S+\n)+)    last \[{pid}\]\n    {NR}\n\n", text)
        self.assertTrue(block, text)
        self.assertIn("  asks\n  come_by_all\n", block[2])

    def test_kernel_stacks_of_all_processes_are_one(self):
        if self.fpless("events", TRACEPOINT).returncode:
            self.skipTest("this kernel has no tracepoints of system calls")
        text, _ = self.count("-K", "-f", "t:" + TRACEPOINT)
        nr = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
        self.assertGreaterEqual(nr, NR)  # others may ask, too
        self.assertFalse([line for line in text.splitlines() if line.startswith(("first;", "last;"))])


if __name__ == "__main__":
    main()
