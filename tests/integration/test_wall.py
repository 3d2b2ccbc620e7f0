#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of threads by state: equal to what they measure themselves, and to books that close in ns."""

import collections
import json
import subprocess
import sys

import pprof_file
import waits
from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, is_dead, main
from chance import is_too_few, is_too_many  # root_case knows where

WAITS = fixture("waits")
HZ = 997
STATES = ("on-cpu", "runnable", "blocked")
NR_BUSY = 3  # on one CPU, beside one that sleeps
BUSY = [WAITS, "busy", "1500", str(NR_BUSY)]
# Its first thread has ended, the other one sleeps.
LEADERLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""
SWITCH_NS = 5000  # the kernel's own count of a thread's delay is as much beside the truth, a switch


def own_sums(text):
    """What all threads of each function measured: {function: Own}."""
    found = {}
    for words in map(str.split, text.splitlines()):
        if len(words) == 5 and words[0].startswith("wait_"):
            before = found.get(words[0], waits.Own(0, 0, 0, 0))
            found[words[0]] = waits.Own(*(a + b for a, b in zip(before, map(int, words[1:]))))
    return found


def by_state(stacks, key="weight"):
    """{state: {function: sum}}."""
    return {state: waits.sums([stack for stack in stacks if waits.state(stack) == state], key) for state in STATES}


class Wall(RootCase):
    def run_of(self, *args, verb="wall"):
        run = self.profile("--ring-memory", "256M", *args, verb=verb)
        self.assertEqual(waits.book_faults(run), [], run.command)
        return run

    def busy(self, *args, verb="wall"):
        run = self.run_of(*args, "--", *BUSY, verb=verb)
        return run, own_sums(run.stdout.decode()), by_state(run.stacks)

    def assert_runnable(self, own, weights, run, nr_threads):
        """Each thread's error is one period at most; those that are interrupted switch once a tick at most."""
        mine = own["wait_busy"]
        slack = waits.slack_ns(mine, run.stats["times"]) + nr_threads * waits.PERIOD_NS
        slack += SWITCH_NS * run.stats["times"]["runnable_waits"]
        self.assertGreater(mine.delay_ns, 4 * slack)  # else nothing could fail
        self.assertLessEqual(abs(weights["runnable"]["wait_busy"] - mine.delay_ns), slack, (mine, weights))

    def test_each_state_is_what_the_threads_measured(self):
        run, own, weights = self.busy("-F", str(HZ))
        self.assert_runnable(own, weights, run, NR_BUSY)
        blocked = own["wait_20ms"].clock_ns - own["wait_20ms"].cpu_ns - own["wait_20ms"].delay_ns
        self.assertLessEqual(abs(weights["blocked"]["wait_20ms"] - blocked),
                             waits.slack_ns(own["wait_20ms"], run.stats["times"]) + waits.PERIOD_NS
                             + SWITCH_NS * own["wait_20ms"].nr)
        self.assertEqual(weights["blocked"]["wait_busy"], 0)

    def test_on_cpu_is_what_a_profile_of_the_clock_finds(self):
        run, own, weights = self.busy("-F", str(HZ))
        counts, times = by_state(run.stacks, "count"), run.stats["times"]
        nr = sum(counts["on-cpu"].values())
        self.assertEqual(sum(weights["on-cpu"].values()), nr * (1_000_000_000 // HZ))
        self.assert_share(counts["on-cpu"]["wait_busy"], nr, own["wait_busy"].cpu_ns / times["on_cpu"], times)
        # by the clock as by switches: a tick falls on a target with the share that these have of the machine
        ticks = run.stats["expected"]
        share = times["on_cpu"] * HZ / 1e9 / ticks
        self.assertFalse(is_too_many(nr, ticks, share), (nr, ticks, share))
        self.assertFalse(is_too_few(nr + run.stats["missed"], ticks, share), (nr, ticks, share))

    def test_one_that_is_interrupted_is_runnable_where_it_was(self):
        run, _, _ = self.busy()
        stacks = [stack for stack in run.stacks if stack["state"] == "runnable" and waits.function(stack) == "wait_busy"]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertNotIn("[runnable]", [frame.get("symbol") for frame in stack["kernel"]])
            leaf = stack["user"][0]
            self.assertTrue(leaf.get("exact"), leaf)

    def test_one_that_was_woken_up_is_runnable_where_it_slept(self):
        run, _, _ = self.busy("--exact", "--by", "state,comm")  # its waits may be a period together, or not
        stacks = [stack for stack in run.stacks if stack["state"] == "runnable" and waits.function(stack) == "wait_20ms"]
        self.assertTrue(stacks)
        woken = [stack for stack in stacks if stack["kernel"] and stack["kernel"][0].get("symbol") == "[runnable]"]
        self.assertTrue(woken)
        for stack in woken:
            self.assertIsNone(stack["kernel"][0].get("addr"))
            self.assertIn("nanosleep", json.dumps(stack["user"]) + json.dumps(stack["kernel"]))

    def test_offcpu_samples_runnable_time_where_it_is_asked_for(self):
        run, own, weights = self.busy("--state", "R", verb="offcpu")
        self.assert_runnable(own, weights, run, NR_BUSY)
        self.assertEqual(sum(weights["blocked"].values()) + sum(weights["on-cpu"].values()), 0)
        self.assertEqual(run.stats["times"]["unwanted"] + run.stats["times"]["asleep"]
                         + run.stats["times"]["carried"] - run.stats["times"]["first_carry"],
                         run.stats["times"]["blocked"])
        run, _, weights = self.busy(verb="offcpu")
        self.assertEqual(sum(weights["runnable"].values()), 0)
        self.assertGreater(run.stats["times"]["runnable_unwanted"], 0)

    def test_each_wait_of_both_kinds(self):
        run, own, weights = self.busy("--exact", "--state", "S,D,R", verb="offcpu")
        self.assert_runnable(own, weights, run, 0)
        self.assertEqual(run.stats["times"]["carried"] + run.stats["times"]["runnable_carried"], 0)

    def test_files_keep_the_state(self):
        out, text, again = self.path("a.pb.gz"), self.path("a.perf"), self.path("again.jsonl")
        run = self.run_of("-o", out, "-o", text, "--", WAITS, "300", "wait_20ms", "wait_not")
        wanted = collections.Counter()
        for stack in run.stacks:
            wanted[stack["state"]] += stack["weight"]
        self.assertEqual(set(wanted) - {*STATES, "throttled", "frozen"}, set())
        self.assertGreater(wanted["on-cpu"], 0)
        self.assertGreater(wanted["blocked"], 0)
        self.assertEqual(pprof_file.sums(pprof_file.read(out))[0]["wall"], sum(wanted.values()))
        for path in self.path("out.jsonl"), out, text:
            done = self.fpless("report", path, "-o", again, "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(again, encoding="utf-8") as file:
                meta, *records = [json.loads(line) for line in file]
            found = collections.Counter()
            for record in records:
                if record["type"] == "stack":
                    found[record["state"]] += record["weight" if "weight_unit" in meta else "weight_ns"]
            self.assertEqual(found, wanted, path)
        # the outermost frame of a folded line
        folded = self.fpless("report", self.path("out.jsonl"), "-f", "-q")
        self.assertEqual(folded.returncode, 0, folded.stderr)
        self.assertEqual({line.split(";")[0] for line in folded.stdout.decode().splitlines()}, set(wanted))

    def test_waits_are_chosen_and_time_on_a_cpu_is_kept(self):
        run = self.run_of("--exact", "-m", "10000", "--", WAITS, "400", "wait_20ms", "wait_50us", "wait_not")
        weights, counts = by_state(run.stacks), by_state(run.stacks, "count")
        self.assertGreater(weights["on-cpu"]["wait_not"], 0)
        # all are long enough, but for one that the end of the run may cut
        self.assertGreaterEqual(counts["blocked"]["wait_20ms"], waits.own(run.stdout.decode())["wait_20ms"].nr - 1)
        self.assertGreaterEqual(weights["blocked"]["wait_50us"], 10_000_000 * counts["blocked"]["wait_50us"])
        self.assertGreater(run.stats["times"]["unwanted"], 0)
        self.assertNotIn("period", run.stats["times"])

    def test_samples_are_told_as_they_come(self):
        done = self.fpless("wall", "-q", "--stream=json", "--", WAITS, "300", "wait_20ms", "wait_not")
        self.assertEqual(done.returncode, 0, done.stderr)
        records = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
        found = collections.Counter(record.get("state") for record in records)
        self.assertGreater(found["blocked"], 0, found)
        self.assertGreater(found["on-cpu"], 0, found)
        self.assertNotIn("event", records[0])

    def test_the_report_says_the_sums(self):
        run = self.run_of("-v", "--", WAITS, "200", "wait_20ms")
        self.assertRegex(run.stderr, r"on CPU [\d.]+ s, runnable [\d.]+ s, blocked [\d.]+ s, unseen [\d.]+ s")
        self.assertEqual(run.stderr.count(": closed"), 3)

    def test_a_program_that_runs(self):
        process = self.start(WAITS, "60000", "wait_20ms", "wait_not", stdout=subprocess.DEVNULL)
        run = self.profile_while_busy([process.pid], 500, "--ring-memory", "256M", "-p", str(process.pid), verb="wall")
        self.assertEqual(waits.book_faults(run), [], run.stderr)
        weights = by_state(run.stacks)
        self.assertGreater(weights["blocked"]["wait_20ms"], 0)
        self.assertGreater(weights["on-cpu"]["wait_not"], 0)

    def test_a_thread_that_has_ended_has_no_books(self):
        """It never switches again: once it has gone, nothing could close them."""
        process = self.start(sys.executable, "-S", "-c", LEADERLESS)
        self.wait_while_it_runs(process, "its first thread ends", lambda: is_dead(process.pid))
        run = self.start(FPLESS, "wall", *Run.outputs(self.folder), "-p", str(process.pid), stderr=subprocess.PIPE)
        self.wait_until_sampling(run)
        process.kill()
        said = run.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(run.returncode, 0, said)
        self.assertEqual(Run.of_folder(self.folder, 0, said).stats["times"]["threads"], 1)


if __name__ == "__main__":
    main()
