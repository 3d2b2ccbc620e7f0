#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Software events as sources: counts equal to those of the program, of the kernel and of perf; weights; refusals."""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main

NR_PAGES = 20000
NR_SLEEPS = 300
NR_MOVES = 40

# Touches so many fresh pages of 4 KiB, and says how many faults the kernel counted for it meanwhile.
TOUCH = """
import mmap, resource, sys
def faults():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_minflt + use.ru_majflt
nr = int(sys.argv[1])
memory = mmap.mmap(-1, nr * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(15)  # MADV_NOHUGEPAGE
def touch():
    for at in range(0, nr * 4096, 4096):
        memory[at] = 1
before = faults()
touch()
open(sys.argv[2], "w").write(str(faults() - before))
"""

# Leaves its CPU so many times, and says how often the kernel saw it leave.
SLEEP = """
import resource, sys, time
for _ in range(int(sys.argv[1])):
    time.sleep(0.0002)
use = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[2], "w").write(str(use.ru_nvcsw + use.ru_nivcsw))
"""

# Goes to and fro between two CPUs.
MOVE = """
import os, sys
cpus = sorted(os.sched_getaffinity(0))[:2]
for i in range(int(sys.argv[1])):
    os.sched_setaffinity(0, {cpus[i % 2]})
open(sys.argv[2], "w").write("done")
"""

# The kernel's names of what perf's words are.
NAMED = {"page-faults": "PAGE_FAULTS", "minor-faults": "PAGE_FAULTS_MIN", "major-faults": "PAGE_FAULTS_MAJ",
         "context-switches": "CONTEXT_SWITCHES", "cpu-migrations": "CPU_MIGRATIONS"}

WANTED = {"PERF_COUNT_SW_" + word for word in NAMED.values()}

# One event in so many, and as fpless tries whether there is such an event.
EVERY, TRIED_EVERY = 1000, 1000003

NR_STORES = 500

# A burst of faults of a process that is milliseconds old needs room for as many snapshots.
ROOM = ("--ring-memory", "256M")


def said(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def of_comm(run, comm):
    return [stack for stack in run.stacks if stack["comm"] == comm]


class Events(RootCase):
    def events(self, event, program, nr, *options, before=()):
        """The run, and what the program said. @before: what starts the program."""
        out = self.path("said")
        run = self.profile("-e", event, *options, *ROOM, "--", *before, sys.executable, "-c", program, str(nr), out)
        self.assert_books(run)
        return run, said(out)

    def assert_books(self, run):
        """Those that a source of events has beside those of all."""
        self.assertNotIn("expected", run.stats)
        self.assertEqual(run.stats["counted"], run.stats["fired"] + run.stats["missed"])
        self.assertEqual(run.stats["hz"], 0)
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        self.assertEqual(run.stats["weight"], sum(stack["weight"] for stack in run.stacks))
        self.assertEqual({stack["weight"] // stack["count"] for stack in run.stacks}, {run.meta["period"]})
        self.assertEqual({stack["weight"] % stack["count"] for stack in run.stacks}, {0})

    def assert_complete(self, run):
        gone = run.stats["stop"]["exiting"] + run.stats["stop"]["execing"]
        self.assertEqual(run.stats["complete"], run.stats["user_samples"] - gone,
                         [stack for stack in run.stacks if stack["stop"] not in ("outermost", "exiting", "execing")])

    def test_page_faults_are_those_of_the_program(self):
        run, faults = self.events("page-faults", TOUCH, NR_PAGES)
        self.assertEqual((run.meta["event"], run.meta["period"], run.meta["weight_type"], run.meta["weight_unit"]),
                         ("page-faults", 1, "page-faults", "count"))
        self.assert_complete(run)
        # the interpreter takes some memory between its first look and its second
        self.assertLessEqual(NR_PAGES, int(faults))
        self.assertLess(int(faults), NR_PAGES + 100)
        # one instruction in C writes all pages; a fault may come twice where the machine is short of memory
        leaves = collections.Counter()
        for stack in run.stacks:
            leaf = (stack["user"] or [{}])[0]
            leaves[leaf.get("object"), leaf.get("vaddr")] += stack["count"]
        most = max(leaves.values())
        self.assertGreaterEqual(most, NR_PAGES - run.stats["missed"], leaves.most_common(5))
        self.assertLess(most, NR_PAGES + 20, leaves.most_common(5))

    @unittest.skipUnless(shutil.which("perf"), "linux-perf is not installed")
    def test_page_faults_are_those_that_perf_counts(self):
        """Of the same process: perf counts from the exec on, where the process gets its name."""
        for event in ("page-faults", "page-faults:u", "page-faults:k"):
            counts = self.path("perf")
            run, _ = self.events(event, TOUCH, NR_PAGES, before=("perf", "stat", "-x,", "-e", event, "-o", counts, "--"))
            perf = int(re.search(rf"^(\d+),,{event},", said(counts), re.MULTILINE).group(1))
            name = os.path.basename(os.path.realpath(sys.executable))[:15]
            samples = sum(stack["count"] for name in {name, os.path.basename(sys.executable)[:15]}
                          for stack in of_comm(run, name))
            # those of the exec itself, on both sides of the new name
            self.assertLessEqual(abs(samples - perf), 8 + run.stats["missed"], (event, perf))

    @unittest.skipUnless(shutil.which("perf") and shutil.which("strace"), "linux-perf or strace is not installed")
    def test_the_kernel_is_asked_as_perf_asks_it(self):
        """Type, event and each kind of what is excluded, by what strace sees of both."""
        for name in ("page-faults", "minor-faults", "major-faults", "context-switches", "cpu-migrations"):
            for modifier in ("", ":u", ":k", ":uk"):
                if modifier == ":u" and name in ("context-switches", "cpu-migrations"):
                    continue  # refused: they happen in the kernel
                with self.subTest(name + modifier):
                    event = name + modifier
                    ours, perf = self.both_ask(event, lambda line: re.search(r"= \d+$", line) and "sample_period=0" not in line)
                    ours, perf = ([call for call in calls if call["config"] in WANTED] for calls in (ours, perf))
                    self.assertEqual(ours[0], perf[0])
                    self.assertEqual(ours[0]["config"], "PERF_COUNT_SW_" + NAMED[name])

    @unittest.skipUnless(shutil.which("perf") and shutil.which("strace"), "linux-perf or strace is not installed")
    def test_the_kernel_is_asked_for_counters_and_breakpoints_as_perf_asks_it(self):
        """Also where it has none of them: the call is the same."""
        for event in ("instructions", "cache-misses:k", "branch-misses:u", "r1A8", "r1a8:u", "mem:0x1000", "mem:0x1000/8:w",
                      "mem:0x1000:w:u", "mem:0x1000:x"):
            with self.subTest(event):
                ours, perf = self.both_ask(event, lambda line: re.search(rf"sample_period=({EVERY}|{TRIED_EVERY}),", line),
                                           "-c", str(EVERY))
                self.assertEqual(ours[0], perf[0])
                self.assertEqual(ours[0]["type"], "PERF_TYPE_" + ("BREAKPOINT" if event[0] == "m" else
                                                                  "RAW" if event[0] == "r" else "HARDWARE"))

    def both_ask(self, event, is_wanted, *options):
        """What fpless asks the kernel for, and what perf does."""
        ours = self.asked("profile", [FPLESS, "profile", *options, "-e", event, "-q", "-o", self.path("x.folded"), "--", "true"],
                          is_wanted)
        perf = self.asked("perf", ["unshare", "-m", "perf", "record", *options, "-q", "-o", self.path("x.data"), "-e", event, "true"],
                          is_wanted)
        return ours, perf

    def asked(self, name, command, is_wanted):
        """What each call asked that was to open an event, of those whose line is wanted."""
        trace = self.path(name)
        # strace shows calls that it does not know, too: number 335, by which a function with a return probe of another tool
        # returns. A file of each thread: in one for all a call may be in two lines.
        subprocess.run(["strace", "-ff", "-v", "-e", "trace=perf_event_open", "-o", trace, *command], capture_output=True,
                       timeout=TIMEOUT_S, check=False)
        lines = []
        for path in glob.glob(trace + ".*"):
            with open(path, encoding="utf-8") as file:
                lines += file
            os.remove(path)
        return [dict(re.findall(r"\b(type|config|bp_type|bp_addr|bp_len|exclude_\w+)=(\w+)", line)) for line in lines
                if line.startswith("perf_event_open(") and is_wanted(line)]

    def test_stores_to_watched_bytes_are_those_of_the_program(self):
        program = fixture("sources")
        symbols = subprocess.run(["nm", program], capture_output=True, check=True).stdout.decode()
        event = f"mem:0x{re.search(r'(?m)^0*([0-9a-f]+) . watched$', symbols).group(1)}:w"
        done = self.fpless("profile", "-e", event, "-f", "--", "true")
        if b"no debug registers" in done.stderr:
            self.assertEqual(done.returncode, 2)
            self.skipTest(done.stderr.decode())
        run = self.profile("-e", event, *ROOM, "--", program, str(NR_STORES))
        self.assert_books(run)
        self.assert_complete(run)
        self.assertEqual((run.meta["event"], run.meta["weight_unit"]), (event, "count"))
        stores = sum(stack["count"] for stack in run.stacks
                     if stack["user"] and stack["user"][0].get("symbol") == "stores")
        self.assertEqual(stores, NR_STORES - run.stats["missed"])
        run = self.profile("-e", event, "-c", "10", *ROOM, "--", program, str(NR_STORES))
        self.assertGreaterEqual(run.stats["weight"], NR_STORES - 10 * os.cpu_count() - 10 * run.stats["missed"])
        self.assertLessEqual(run.stats["weight"], NR_STORES + 10 * os.cpu_count())

    def test_bytes_that_no_register_is_left_for_are_refused(self):
        events = ",".join(f"mem:{at:#x}:w" for at in range(0x1000, 0x1000 + 4 * 9, 4))
        done = self.fpless("profile", "-e", events, "-f", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, rb"^fpless: mem:0x10\w\w:w: (all debug registers of the CPU are in use|this machine has no debug registers)\n$")

    def test_one_in_ten_weighs_ten(self):
        run, faults = self.events("faults", TOUCH, 2 * NR_PAGES, "-c", "10")
        self.assertEqual((run.meta["event"], run.meta["period"]), ("page-faults", 10))
        self.assertEqual(run.stats["weight"], 10 * run.stats["shown"])
        # each CPU has its own turn of ten, which those of other processes advance, too
        least = int(faults) - 10 * os.cpu_count() - 10 * run.stats["missed"]
        self.assertGreater(run.stats["weight"], 0.95 * least)
        self.assertLess(run.stats["weight"], 1.05 * int(faults) + 20000)

    def test_modes_are_left_out(self):
        for event, kernel in (("page-faults:u", False), ("minor-faults:k", True)):
            run, _ = self.events(event, TOUCH, NR_PAGES)
            self.assertEqual({bool(stack["kernel"]) for stack in run.stacks}, {kernel}, event)

    def test_context_switches_are_those_of_the_program(self):
        run, switches = self.events("cs", SLEEP, NR_SLEEPS)
        self.assertEqual(run.meta["event"], "context-switches")
        self.assert_complete(run)
        samples = sum(stack["count"] for stack in run.stacks)
        self.assertGreaterEqual(samples, int(switches) - run.stats["missed"])
        # it leaves its CPU a few times more on its way out
        self.assertLessEqual(samples, int(switches) + 50)
        waits = sum(stack["count"] for stack in run.stacks
                    if any("nanosleep" in (frame.get("symbol") or "") for frame in stack["kernel"]))
        self.assertGreaterEqual(waits, NR_SLEEPS - run.stats["missed"])

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one CPU alone")
    def test_migrations_are_those_of_the_program(self):
        run, _ = self.events("migrations", MOVE, NR_MOVES)
        self.assertEqual(run.meta["event"], "cpu-migrations")
        samples = sum(stack["count"] for stack in run.stacks)
        self.assertGreaterEqual(samples, NR_MOVES - 1 - run.stats["missed"])

    def test_recordings_keep_the_source(self):
        self.events("page-faults", TOUCH, NR_PAGES, "-c", "7", "-o", self.path("a.pb.gz"))
        for path in (self.path("out.jsonl"), self.path("a.pb.gz")):
            done = self.fpless("report", path, "-o", self.path("again.jsonl"), "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(self.path("again.jsonl"), encoding="utf-8") as file:
                meta = json.loads(file.readline())
            self.assertEqual((meta["event"], meta["period"], meta["weight_type"], meta["weight_unit"], meta["hz"]),
                             ("page-faults", 7, "page-faults", "count", 0), path)
        text = self.fpless("report", self.path("out.jsonl")).stdout
        self.assertRegex(text.splitlines()[0], rb"^[\d,]+ page-faults in \d+ samples: page-faults, one in 7, ")

    def test_every_verb_that_samples_takes_them(self):
        command = ["--", sys.executable, "-c", TOUCH, str(NR_PAGES), self.path("said")]
        for verb, options, said_on in (("top", ["--plain"], "stdout"), ("compare", [], "stdout"),
                                       ("record", ["-o", self.path("r.jsonl")], "stderr")):
            done = self.fpless(verb, "-e", "page-faults", *options, *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"page-faults", getattr(done, said_on), verb)
            self.assertRegex(done.stderr, rb"samples of page-faults in ", verb)
            self.assertNotIn(b"Hz", done.stdout + done.stderr, verb)

    def test_nothing_is_said_of_a_cpu(self):
        done = self.fpless("profile", "-e", "major-faults", "-c", "1000000", "--", "/bin/true")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"the target had too few major-faults: one in 1000000 is sampled (-c)", done.stderr)

    def test_counters_need_a_pmu(self):
        listed = subprocess.run([FPLESS, "events"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout
        here = re.search(r"^cache-misses +yes", listed, re.MULTILINE)
        for event in ("cache-misses", "instructions:u", "r1a8"):
            name = event.split(":", maxsplit=1)[0]
            done = self.fpless("profile", "-e", event, "-d", "0.1")
            if here:
                self.assert_refused(done, 1, f"{name}: needs -c N")
            else:
                self.assert_refused(done, 2, f"{name}: no such counter on this machine: it has no PMU")
        for event in ("page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults"):
            self.assertRegex(listed, rf"(?m)^{event} +yes")


if __name__ == "__main__":
    main()
