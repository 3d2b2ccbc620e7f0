#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Programs that attack whoever profiles them cost nobody else a stack: many modes at once, a few seconds. All of them, and for
longer, run in tests/bench/hostile.
"""

import collections
import os
import threading

from attacks import Attacks
from root_case import FIXTURES, RootCase, fixture, main

# each of one process that shares the CPU, without forking
QUIET = ("comm", "exec", "leader_gone", "seccomp_strict", "nondumpable", "signals", "move_code", "exec_only", "stack_anywhere",
         "frames_in_circle", "frames_for_ever", "thread_pointer", "rewrite", "grow", "unlinked", "hostile_path", "long_path",
         "jitdump noise", "perf_map line", "perf_map link", "perf_map fifo", "perf_map sparse")
GOOD_STACK = ("outermost", 9)


class BesideAttacks(RootCase):
    def setUp(self):
        super().setUp()
        try:
            self.attacks = Attacks(FIXTURES, self.folder, nice=19)
            self.addCleanup(self.attacks.close)
            self.attacks.start(*QUIET)
        except OSError as error:
            self.skipTest(f"nothing would bound them: {error}")

    def profile_meanwhile(self, pid, ms, *args):
        """A run until the process has used so much CPU time, beside attacks that are begun again where they end."""
        done = threading.Event()
        said = {}

        def tend():
            while not done.wait(0.2):
                said.update(self.attacks.poll())

        tender = threading.Thread(target=tend)
        tender.start()
        try:
            run = self.profile_while_busy([pid], ms, *args)
        finally:
            done.set()
            tender.join()
        self.assertEqual(said, {})
        return run

    def test_good_programs_stacks_are_whole_and_the_books_close(self):
        good = self.start(fixture("chain"), "100000000")
        # they were there: the kernel, or what it says of their names, shows each
        self.until_seen("more than half of the attacks", lambda length: self.sample(good, length),
                        lambda met: len(met) > len(QUIET) // 2)

    def sample(self, good, length):
        """A run that is judged. Returns the pids of the attacks that it has samples of."""
        run = self.profile_meanwhile(good.pid, 1000 * length, "-a", "-F", "499", "-D", "1000")
        stops = collections.Counter()
        for stack in run.stacks:
            if stack["pid"] == good.pid and stack["user"] and stack["user"][0].get("symbol") == "spin":
                stops[stack["stop"], len(stack["user"])] += stack["count"]
        self.assertEqual(set(stops), {GOOD_STACK}, stops)
        self.assert_ticks(run, stops[GOOD_STACK], 499 * length, 0.5, stops)
        self.assertLess(run.stats["rss_peak_bytes"], 192 << 20)
        # what they call themselves neither ends a line nor speaks to a terminal
        with open(run.folded_path, "rb") as file:
            self.assertNotRegex(file.read(), rb"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])
        return {attack.process.pid for attack in self.attacks.running} & {stack["pid"] for stack in run.stacks}


if __name__ == "__main__":
    main()
