#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--max-overhead: sampling becomes rarer, the books and the weights stay right."""

import math
import os
import signal
import subprocess
import sys

import waits
from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, die_with_the_tests, main, write

from chance import CHANCE  # root_case knows where

LIMIT = "0.1"  # percent: exceeded at 4999 Hz by a program that gets a tenth of a CPU

# Computes until there is a file, and for so many seconds of CPU time more, then says how many it was in all.
BUSY = """
import os, sys, time
n, end = 0, None
while end is None or time.process_time() < end:
    for _ in range(1000):
        n = (n * 7919 + 1) % 10007
    if end is None and os.path.exists(sys.argv[2]):
        end = time.process_time() + float(sys.argv[1])
with open(sys.argv[3], "w") as file:
    file.write(str(time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)))
"""

# Waits of a tenth of the time that one sample is for, each at a lock.
WAITERS = """
import threading
def wait():
    never = threading.Lock()
    never.acquire()
    while True:
        never.acquire(timeout=0.001)
for _ in range(30):
    threading.Thread(target=wait).start()
"""


def hurry():
    """In a child: it gets more than a tenth of a CPU on a busy machine, too, where it may."""
    die_with_the_tests()
    try:
        os.nice(-15)
    except PermissionError:
        pass


class MaxOverhead(RootCase):
    def busy(self, seconds, *options, verb="profile", steps_down=False):
        """The run, and the CPU time of its command, ns. @steps_down: the command goes on until it has become rarer,
        which takes windows of a second of the clock."""
        go, out = self.path("go"), self.path("cpu")
        with open(self.path("stderr"), "wb+") as stderr:
            process = self.start(FPLESS, verb, *Run.outputs(self.folder), "--no-cache", *options, "--", sys.executable, "-c",
                                 BUSY, str(seconds), go, out, stdout=subprocess.DEVNULL, stderr=stderr, preexec_fn=hurry)
            if steps_down:
                self.wait_while_it_runs(process, "a change of the frequency",
                                        lambda: b"sampling at" in os.pread(stderr.fileno(), 1 << 20, 0))
            write(go, "")
            process.wait(TIMEOUT_S)
            run = Run.of_folder(self.folder, process.returncode, os.pread(stderr.fileno(), 1 << 20, 0))
        self.assertEqual(run.faults(), [], run.stderr)
        with open(out, encoding="ascii") as file:
            return run, int(file.read())

    def rarer(self, process, verb, *options):
        """A run over the process's waits of which it samples fewer after a while."""
        with open(self.path("stderr"), "wb+") as stderr:
            run = self.start(FPLESS, verb, *Run.outputs(self.folder), "--no-cache", "--max-overhead", LIMIT, "-v", *options, "-p",
                             str(process.pid), stdout=subprocess.DEVNULL, stderr=stderr, preexec_fn=hurry)
            self.wait_while_it_runs(run, "a change", lambda: b"of short waits from here on" in os.pread(
                stderr.fileno(), 1 << 20, 0))
            run.send_signal(signal.SIGINT)
            run.wait(TIMEOUT_S)
            run = Run.of_folder(self.folder, run.returncode, os.pread(stderr.fileno(), 1 << 20, 0))
        self.assertEqual(run.faults(), [], run.stderr)
        self.assertEqual(waits.book_faults(run, of_wakers=verb == "wakeup"), [])
        times = run.stats["times"]
        self.assertGreater(times["period"], waits.PERIOD_NS)
        self.assertRegex(run.stderr, r"short waits +one sample for each 10 ms wanted, for each")
        # by the books the sum of the weights is what was waited but for a period a thread, before and after
        self.assertLess(times["carried"], times["threads"] * times["period"])
        self.assertLess(times["first_carry"], times["threads"] * times["period"])
        return run

    def test_short_waits_become_rarer(self):
        process = self.start(sys.executable, "-c", WAITERS, stdout=subprocess.DEVNULL)
        for verb, *options in (("offcpu",), ("offcpu", "--wakers"), ("wakeup",), ("wakeup", "--chain", "2"), ("locks",)):
            with self.subTest(verb=verb, options=options):
                run = self.rarer(process, verb, *options)
                if verb == "locks":
                    self.assert_pairs_are_right(run)

    def assert_pairs_are_right(self, run):
        """What a lock's stacks weigh differs from its exact sum by a period a thread at most."""
        times = run.stats["times"]
        exact = sum(lock["wait_ns"] for lock in [*run.stats["locks"], run.stats.get("locks_others", {"wait_ns": 0})])
        weight = sum(stack["weight"] for stack in run.stacks)
        slack = times["threads"] * times["period"]
        self.assertGreater(exact, 2 * slack)  # else nothing could fail
        self.assertLessEqual(abs(exact - weight), slack + times["asleep"], times)

    def assert_weights_are_right(self, run, cpu_ns):
        weight_ns = sum(stack["weight_ns"] for stack in run.stacks)
        self.assertEqual(run.stats["weight_ns"], weight_ns)
        # each sample stands for a period, at the end of which the program may be off the CPU: five standard deviations of
        # independent samples are exceeded once in two million times, and a time in which -ln(1e-6) samples are expected
        # passes without one once in a million; ticks that did not come are counted, and may all have been this program's
        spread_ns = math.sqrt(sum(stack["weight_ns"] ** 2 / stack["count"] for stack in run.stacks))
        unseen_ns = -math.log(CHANCE) * max(stack["weight_ns"] / stack["count"] for stack in run.stacks)
        missed_ns = cpu_ns * run.stats["cpus"] * max(0, 1 - run.stats["fired"] / run.stats["expected"])
        self.assertLess(abs(weight_ns - cpu_ns), missed_ns + 5 * spread_ns + unseen_ns, (weight_ns, cpu_ns, run.stderr))
        # what fired is what the clock would give: a fired sample too many is one per change and CPU
        spare = (1 + run.stats["hz_changes"]) * run.stats["cpus"]
        self.assertLessEqual(run.stats["fired"], run.stats["expected"] + spare)

    def test_steps_down_and_says_so(self):
        run, cpu_ns = self.busy(1, "-F", "4999", "--max-overhead", LIMIT, steps_down=True)
        self.assertLess(run.stats["hz_end"], 4999)
        self.assertEqual((run.stats["hz"], run.meta["hz"]), (4999, 4999))
        said = [line for line in run.stderr.splitlines() if "sampling at" in line]
        self.assertEqual(len(said), min(run.stats["hz_changes"], 16))
        self.assertIn(f"  frequency    4999 Hz wanted, {run.stats['hz_end']} at the end",
                      run.stderr)
        weights = {stack["weight_ns"] // stack["count"] for stack in run.stacks}
        self.assertGreater(len(weights), 1)
        self.assert_weights_are_right(run, cpu_ns)

    def test_both_walks(self):
        run, cpu_ns = self.busy(1, "-F", "4999", "--max-overhead", LIMIT, verb="compare", steps_down=True)
        self.assertGreaterEqual(run.stats["hz_changes"], 1)
        self.assert_weights_are_right(run, cpu_ns)

    def test_leaves_alone_what_costs_less(self):
        run, cpu_ns = self.busy(2, "-F", "999", "--max-overhead", "100")
        self.assertEqual((run.stats["hz_changes"], run.stats["hz_end"]), (0, 999))
        self.assertEqual({stack["weight_ns"] // stack["count"] for stack in run.stacks},
                         {run.meta["period_ns"]})
        self.assert_weights_are_right(run, cpu_ns)

    def test_is_a_percentage(self):
        for value in ("0", "-1", "101", "x", ""):
            self.assert_refused(self.fpless("profile", "--max-overhead", value, "1"), 1,
                                "--max-overhead")


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main()
