#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits whose stacks are taken where they begin, as in kernels that tell nothing where a thread goes on: each test of
offcpu, of wall, of locks and of waits with who ended them, and what is special there."""

import json
import os
import subprocess
import sys

import test_locks
import test_offcpu
import test_wakers
import test_wall
import waits
from root_case import fixture, main

WAITS = fixture("waits")
BEGIN = ("--stacks-at", "switch")


class Kept:
    def profile(self, *args, **options):
        return super().profile(*BEGIN, *args, **options)

    def fpless(self, verb, *args, **options):
        begin = BEGIN if verb in ("offcpu", "wall", "locks") else ()
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


class WallKept(Kept, test_wall.Wall):
    pass


class LocksKept(Kept, test_locks.Locks):
    pass


class WakersKept(Kept, test_wakers.Wakers):
    # fpless wakeup takes no stacks of who waits
    test_a_chain_names_who_handed_the_byte_on_in_order = None
    test_a_chain_ends_at_a_thread_of_no_target = None
    test_windows_of_wakeups = None

    def test_one_that_slept_when_the_run_began_has_the_stack_of_its_waker(self):
        process = self.start(WAITS, "60000", "wait_ping", "wait_pong", "wait_20ms", stdout=subprocess.DEVNULL)
        self.wait_while_it_runs(process, "its threads wait", lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 4)
        run = self.profile("--exact", "--wakers", "-p", str(process.pid), "-d", "1", verb="offcpu")
        self.assertEqual(waits.book_faults(run), [])
        unwalked = [stack for stack in run.stacks if stack["stop"] == "not_walked"]
        for stack in unwalked:
            (waiter, *wakers), threads = test_wakers.parts(stack)
            self.assertIn("entry_SYSCALL_64_after_hwframe", waiter)
            self.assertEqual([name for name in waiter if (name or "").startswith("wait_")], [])
            self.assertEqual((len(wakers), len(threads)), (1, 1), stack)
        self.assertGreater(waits.sums(run.stacks, "count")["wait_20ms"], 10)

    def test_windows_of_waits(self):
        process = self.start(WAITS, "60000", "wait_ping", "wait_pong", stdout=subprocess.DEVNULL)
        done = self.fpless("offcpu", "-q", "--exact", "--wakers", "-p", str(process.pid), "--window", "0.3", "-d", "0.9",
                           "-o", self.path("w-%t.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        ended = []
        for name in sorted(name for name in os.listdir(self.folder) if name.startswith("w-")):
            with open(self.path(name), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            stacks = [line for line in lines if line["type"] == "stack"]
            books = lines[-1]
            self.assertEqual(books["fired"], sum(stack["count"] for stack in stacks) + books["idle"] + books["filtered"])
            ended.append(sum(stack["count"] for stack in stacks if waits.function(stack) == "wait_ping"
                             and "pong" in sum(test_wakers.parts(stack)[0][1:], [])))
        self.assertGreaterEqual(len(ended), 2)
        self.assertGreater(min(ended[:2]), 0)


if __name__ == "__main__":
    main()
