#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blocked time: sums equal to those that the threads of a program measure themselves, and books that close in ns."""

import json
import os
import re
import signal
import subprocess
import sys

import pprof_file
import waits
from root_case import FPLESS, RootCase, children, fixture, main
from test_sigkill import bpf_ids, still_there
from waiting import executable, wait_for

WAITS = fixture("waits")
MEASURED = ("wait_20ms", "wait_1ms", "wait_50us", "wait_nice", "wait_lock_a", "wait_lock_b", "wait_ping", "wait_pong",
            "wait_vfork")
NR_BIRTHS = 2000

PYTHON = """
import select, subprocess, sys, threading, time
for _ in range(10):
    time.sleep(0.002)
    select.select([], [], [], 0.002)
    threading.Event().wait(0.002)
subprocess.run(["sleep", "0.02"], check=True)
"""
PERL = 'for (1 .. 10) { select(undef, undef, undef, 0.002); system("true"); } sleep 1'


class Offcpu(RootCase):
    slept_before = False  # waits that began before the run have no user stack

    def offcpu(self, *args):
        run = self.profile("--ring-memory", "256M", *args, verb="offcpu")
        stop = run.stats["stop"]
        self.assertEqual(waits.book_faults(run), [], run.command)
        # of a switch that the machine told to no program (decision 0031) no stack was taken where the wait began, either
        not_walked = stop["not_walked"] if self.slept_before and ("-p" in args or run.stats["times"]["unseen"]) else 0
        self.assertEqual(run.stats["complete"], run.stats["user_samples"] - stop["exiting"] - stop["execing"] - not_walked, stop)
        return run

    def program(self, options, ms="1500", *names):
        run = self.offcpu(*options, "--", WAITS, ms, *names)
        return run, waits.own(run.stdout.decode()), waits.sums(run.stacks)

    def assert_weights(self, names, own, weights, run, error_ns=0):
        for name in names:
            self.assertEqual(waits.weight_faults(name, own[name], weights[name], run.stats["times"], error_ns), [])

    def test_each_wait_is_what_its_thread_measured(self):
        run, own, weights = self.program(["--exact"])
        self.assert_weights(MEASURED, own, weights, run)
        # one that runs and one that may run throughout are not blocked
        self.assertEqual((weights["wait_not"], weights["wait_yield"]), (0, 0))
        self.assertGreater(own["wait_yield"].delay_ns, 0)

    def test_sampled_waits_have_the_error_of_a_period_at_most(self):
        run, own, weights = self.program([])
        self.assert_weights(MEASURED, own, weights, run, waits.PERIOD_NS)
        counts = waits.sums(run.stacks, "count")
        self.assertGreater(own["wait_50us"].nr, 4 * counts["wait_50us"])
        self.assertEqual((weights["wait_not"], weights["wait_yield"]), (0, 0))

    def test_waits_of_other_lengths_are_unwanted(self):
        for options, few in (("-m", "10000"), False), (("-M", "5000"), True):
            with self.subTest(options):
                run, own, weights = self.program([*options, "--exact"], "500", "wait_20ms", "wait_50us")
                kept, left = ("wait_50us", "wait_20ms") if few else ("wait_20ms", "wait_50us")
                mine, counts = own[left], waits.sums(run.stacks, "count")
                blocked_ns = mine.clock_ns - mine.cpu_ns - mine.delay_ns
                unwanted_ns = run.stats["times"]["unwanted"]
                self.assertGreaterEqual(unwanted_ns, blocked_ns - waits.slack_ns(mine, run.stats["times"]))
                # a short sleep that a busy machine makes long is not short: few are
                self.assertGreaterEqual(weights[left], 0 if few else 10000000 * counts[left])
                self.assertLess(counts[left], 1 if few else mine.nr / 100)
                self.assertGreater(counts[kept], 0.9 * own[kept].nr)
                self.assert_weights([kept], own, weights, run, max(0, unwanted_ns - blocked_ns) if few else 0)

    def test_states_are_told_apart(self):
        for state, kept, left in ("D", "wait_vfork", "wait_20ms"), ("S", "wait_20ms", "wait_vfork"):
            with self.subTest(state):
                run, own, weights = self.program(["--exact", "--state", state], "400", "wait_vfork", "wait_20ms")
                self.assert_weights([kept], own, weights, run)
                self.assertEqual(weights[left], 0)

    def test_writes_to_a_disk_wait_as_long_as_dd_says(self):
        run = self.offcpu("--exact", "--state", "D", "--", "dd", "if=/dev/zero", "of=" + self.path("out"), "bs=4k", "count=200", "oflag=dsync")
        own_ns = 1e9 * float(re.search(r" copied, ([0-9.e-]+) s", run.stderr).group(1))
        times = run.stats["times"]
        # all that dd took and was neither on a CPU nor waiting for one; fpless has dd's start besides
        self.assertGreaterEqual(times["sampled"], 0.98 * own_ns - times["on_cpu"] - times["runnable"] - times["unseen"], times)
        self.assertLessEqual(times["sampled"], times["blocked"])

    def test_a_running_program_with_one_asleep_throughout(self):
        process = self.start(WAITS, "60000", stdout=subprocess.DEVNULL)
        wait_for("its threads", lambda: len(os.listdir(f"/proc/{process.pid}/task")) >= 13)
        run = self.offcpu("-p", str(process.pid), "-d", "1")
        weights = waits.sums(run.stacks)
        self.assertTrue({"wait_20ms", "wait_1ms"} <= set(weights), weights)
        # two threads sleep from before the run until after it: one alone would be 1.0
        asleep = run.stats["times"]["asleep"] + weights["wait_asleep"] + weights[None]
        self.assertGreaterEqual(asleep, 1.5 * run.meta["duration_ns"])

    def test_all_of_the_machine(self):
        self.start(WAITS, "60000", stdout=subprocess.DEVNULL)
        run = self.profile("-a", "-d", "1", verb="offcpu")
        self.assertEqual(waits.book_faults(run), [])
        self.assertIn("wait_20ms", waits.sums(run.stacks))
        self.assertGreater(run.stats["times"]["threads"], 13)

    def test_threads_that_run_again_before_they_are_visited(self):
        """The run ends while they sleep. Their wait is over when their stacks could be read: it has none."""
        for _ in range(4):
            self.start("sh", "-c", "while :; do sleep 0.0003; done")
        for _ in range(8):
            run = self.profile("--ring-memory", "256M", "-a", "--exact", "-d", "300ms", verb="offcpu")
            self.assertEqual(waits.book_faults(run), [])
            self.assertEqual(run.stats["stop"]["no_user_regs"], 0)

    def test_stacks_of_interpreters_are_whole(self):
        for command in ([sys.executable, "-c", PYTHON], ["perl", "-e", PERL]):
            with self.subTest(command[0]):
                self.assertGreater(self.offcpu("--exact", "--", *command).stats["complete"], 10)

    def test_each_of_many_threads_has_books(self):
        run = self.offcpu("--exact", "--", WAITS, "births", str(NR_BIRTHS))
        self.assertEqual(run.stats["times"]["threads"], NR_BIRTHS + 1)

    def test_children_of_one_layout_are_not_swapped(self):
        run = self.offcpu("--exact", "--", WAITS, "children", "500")
        for name in "child_a", "child_b":
            found = {waits.function(stack) for stack in run.stacks if stack["comm"] == name}
            self.assertEqual(found - {None}, {"wait_" + name})

    def test_a_thread_that_is_not_the_first_executes(self):
        run = self.offcpu("--exact", "--", WAITS, "exec")
        weights = waits.sums(run.stacks)
        self.assertGreaterEqual(weights["wait_before"], 40_000_000)
        self.assertGreaterEqual(weights["wait_after"], 60_000_000)
        self.assertEqual(run.stats["times"]["threads"], 2)

    def test_files_keep_type_unit_and_sums(self):
        out, again = self.path("a.pb.gz"), self.path("again.jsonl")
        run = self.offcpu("-o", out, "--", WAITS, "300", "wait_20ms", "wait_1ms")
        self.assertEqual((run.meta["weight_type"], run.meta["weight_unit"]), ("blocked", "nanoseconds"))
        weight = run.stats["times"]["sampled"]
        self.assertEqual(pprof_file.sums(pprof_file.read(out))[0]["blocked"], weight)
        for path in self.path("out.jsonl"), out:
            done = self.fpless("report", path, "-o", again, "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(again, encoding="utf-8") as file:
                meta, *records = [json.loads(line) for line in file]
            self.assertEqual((meta["event"], meta["weight_type"]), ("blocked", "blocked"), path)
            # a pprof profile does not tell a clock's time from another
            key = "weight" if "weight_unit" in meta else "weight_ns"
            self.assertEqual(sum(record[key] for record in records if record["type"] == "stack"), weight, path)

    def test_a_killed_run_leaves_nothing(self):
        process = self.start(FPLESS, "offcpu", "-q", "-d", "600", "--", WAITS, "60000", stdout=subprocess.DEVNULL)
        wait_for("its links", lambda: sum(kind == "link" for kind, _ in bpf_ids(process.pid)) >= 4
                 and any(executable(pid) == WAITS for pid in children(process.pid)))
        ids, own = bpf_ids(process.pid), children(process.pid)
        process.kill()
        process.wait()
        wait_for(lambda: f"no BPF object of it: {still_there(ids)}", lambda: not still_there(ids))
        for pid in own:
            if executable(pid) == WAITS:
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
