#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits whose stacks are taken where they begin, as in kernels that tell nothing where a thread goes on: each test of
offcpu and of wall, and what is special there."""

import json
import subprocess
import sys

import test_offcpu
import test_wall
import waits
from root_case import fixture, main

WAITS = fixture("waits")
BEGIN = ("--stacks-at", "switch")


class Kept:
    def profile(self, *args, **options):
        return super().profile(*BEGIN, *args, **options)

    def fpless(self, verb, *args, **options):
        begin = BEGIN if verb in ("offcpu", "wall") else ()
        return super().fpless(verb, *begin, *args, **options)


class OffcpuKept(Kept, test_offcpu.Offcpu):
    slept_before = True

    def test_what_is_not_sampled_leaves_no_trace(self):
        run = self.offcpu("--", WAITS, "1000", "wait_50us", "wait_1ms", "wait_20ms")
        times, stats = run.stats["times"], run.stats
        self.assertGreater(times["blocks"], 2 * stats["shown"], times)
        self.assertEqual((stats["fired"], stats["filtered"], sum(stats["lost"].values())), (stats["shown"], 0, 0))
        self.assertTrue(all(stack["count"] and stack["weight"] for stack in run.stacks))

    def test_stacks_without_room_are_lost_by_name(self):
        run = self.profile("--ring-memory", "256M", "--exact", "--stack-memory", "64K", "--by", "tid", "--", WAITS, "births",
                           "2000", verb="offcpu")
        lost = run.stats["lost"]
        self.assertGreater(lost["stack_map_full"], 100)
        self.assertEqual(sum(lost.values()), lost["stack_map_full"])
        self.assertEqual(waits.book_faults(run), [])

    def test_one_that_slept_when_the_run_began_has_no_user_stack(self):
        process = self.start(WAITS, "60000", "wait_20ms", stdout=subprocess.DEVNULL)
        self.wait_while_it_runs(process, "its thread waits", lambda: process.poll() is None)
        run = self.profile("--exact", "-p", str(process.pid), "-d", "1", verb="offcpu")
        self.assertEqual(waits.book_faults(run), [])
        unwalked = [stack for stack in run.stacks if stack["stop"] == "not_walked"]
        self.assertLessEqual(sum(stack["count"] for stack in unwalked), 1)  # of the one thread that wakes up
        for stack in unwalked:
            self.assertEqual(stack["user"], [])
            self.assertIn("nanosleep", str(stack["kernel"]))
        counts = waits.sums(run.stacks, "count")
        self.assertGreater(counts["wait_20ms"], 10)

    def test_a_thread_that_is_not_asked_for_is_filtered(self):
        process = self.start(WAITS, "60000", "wait_20ms", "wait_1ms", stdout=subprocess.DEVNULL)
        out = self.path("stats.json")
        done = self.fpless("offcpu", "--exact", "-p", str(process.pid), "--comm", "no_such_name", "-d", "1", "--stats", out)
        self.assertEqual(done.returncode, 3, done.stderr)
        with open(out, encoding="utf-8") as file:
            stats = json.load(file)
        self.assertGreater(stats["filtered"], 10)
        self.assertEqual((stats["fired"], stats["shown"]), (stats["filtered"], 0))

    def test_the_label_of_the_system_call_is_kept(self):
        run = self.offcpu("--by", "syscall", "--", WAITS, "400", "wait_20ms")
        self.assertTrue(any("nanosleep" in stack["key"] for stack in run.stacks
                            if waits.function(stack) == "wait_20ms"), run.stacks[:1])

    def test_waits_with_who_ended_them_are_refused(self):
        for words in ("offcpu", "--wakers"), ("locks",):
            done = super().fpless(words[0], *BEGIN, *words[1:], "--", "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b"sched_exit_tp", done.stderr)


class WallKept(Kept, test_wall.Wall):
    pass


if __name__ == "__main__":
    main()
