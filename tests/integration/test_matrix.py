#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each verb takes each kind of source: its samples have the function that came by it, its unit and closed books. bcc's profile
knows the clock alone, and refuses the others by name."""

import json
import os
import subprocess

from fpless_run import Run
from root_case import FPLESS, RootCase, fixture, main

NR, MS = 200, 150
OBJECT_BYTES = 64
PROGRAM = fixture("sources")
ROOM = ("--ring-memory", "64M")
TRACEPOINT = "syscalls:sys_enter_getppid"
UPROBE = f"uprobe:{PROGRAM}:taken"

# Kind: the words, the function that each one's stacks have, and the unit of its weights; NR samples of each but the clock's
KINDS = {
    "clock": (("cpu-clock",), ("spins",), None),
    "page faults": (("page-faults",), ("faults",), "count"),
    "context switches": (("context-switches",), ("sleeps",), "count"),
    "tracepoint": ((TRACEPOINT,), ("asks",), "count"),
    "uprobe": ((UPROBE,), ("calls",), "count"),
    "uretprobe": ((f"uretprobe:{PROGRAM}:taken",), ("calls",), "count"),
    "usdt": ((f"usdt:{PROGRAM}:fixture:marked",), ("marks",), "count"),
    "several": (("cpu-clock", "page-faults", UPROBE), ("spins", "faults", "calls"), None),
}


class Told:
    """What the kernel has counted of the program itself."""

    def __init__(self, path):
        with open(path, encoding="ascii") as file:
            self.faults, self.gave_up, self.taken, self.work_us, self.all_us = map(int, file.read().split())


def has(stack, function):
    return any(frame.get("symbol") == function for frame in stack["user"])


def missed_of(run, words):
    """The kernel counts the software events of the whole machine, and runs no program at some of them; of the others it must at all."""
    return run.stats["missed"] if set(words) & {"page-faults", "context-switches"} else 0


def events(words):
    """Their options; a clock ticks often enough to be judged."""
    return [option for word in words for option in ("-e", word)] + (["-F", "997"] if "cpu-clock" in words else [])


class Matrix(RootCase):
    def command(self):
        return ("--", PROGRAM, str(NR), str(MS), self.path("note"))

    def check_word(self, word, function, stacks, missed):
        """As many samples of the function as it came by the source, by its own count or the kernel's."""
        told = Told(self.path("note"))
        nr = sum(stack["count"] for stack in stacks if has(stack, function))
        if word == "cpu-clock":
            self.assert_share(nr, sum(stack["count"] for stack in stacks if stack["comm"] == "sources"),
                              0.9 * told.work_us / told.all_us, vars(told))
            return
        least, most = NR, NR
        if word == "page-faults":  # the program's own code may come by them, too
            most = told.faults
        elif word == "context-switches":
            least, most = told.gave_up, told.gave_up + told.taken
        self.assertLessEqual(nr, most, vars(told))
        self.assertGreaterEqual(nr + missed, least, vars(told))

    def check_stacks(self, words, functions, stacks, missed=0):
        for word, function in zip(words, functions):
            mine = [stack for stack in stacks if stack.get("event", word) == word]
            self.check_word(word, function, mine, missed)

    def sampled(self, verb, kind, *options):
        words, functions, unit = kind
        run = Run(FPLESS, self.folder, [*events(words), *options, *ROOM, *self.command()], verb=verb)
        self.assertEqual(run.faults(), [])
        missed = missed_of(run, words)
        self.check_stacks(words, functions, run.stacks, missed)
        self.assertEqual(run.meta["event"], ",".join(words))
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        if len(words) == 1:
            self.assertEqual(run.meta.get("weight_unit"), unit)
        if unit:
            self.assertEqual(run.stats["counted"], run.stats["fired"] + run.stats["missed"])
            self.assertEqual(run.stats["missed"], missed)
        return run

    def streamed(self, kind):
        """Each sample is a line, and is in what is written at the end."""
        words, functions, unit = kind
        run = self.sampled("profile", kind, "--stream=json")
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        if len(words) == 1:
            self.assertEqual({key for line in lines for key in line if key.startswith("weight")},
                             {"weight" if unit else "weight_ns"})
        samples = [line | {"count": 1} for line in lines if "user" in line]
        self.assertEqual(len(samples), run.stats["shown"])
        self.check_stacks(words, functions, samples, missed_of(run, words))

    def read(self, words, functions):
        """Reports and differences of what a verb has written."""
        path, again = self.path("kept.jsonl"), self.path("again.jsonl")
        os.rename(self.path("out.jsonl"), path)
        run = self.fpless("report", path, "-o", again)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, "rb") as left, open(again, "rb") as right:
            self.assertEqual(left.read(), right.read())
        text = self.fpless("report", path).stdout.decode()
        for function in functions:
            self.assertIn(function, text)
        if words:
            self.assertIn(words[0], text.splitlines()[0])
        run = self.fpless("diff", path, path)
        self.assertEqual(run.returncode, 0, run.stderr)

    def row(self, name):
        kind = words, functions, _ = KINDS[name]
        if TRACEPOINT in words and self.fpless("events", TRACEPOINT).returncode:
            self.skipTest("this kernel has no tracepoints of system calls")
        if words[-1].startswith("u") and not os.path.exists("/sys/bus/event_source/devices/uprobe"):
            self.skipTest("this kernel has no uprobes")
        with self.subTest("profile, stream"):
            self.streamed(kind)
        with self.subTest("report, diff"):
            self.read(words, functions)
        with self.subTest("top"):
            run = self.sampled("top", kind, "--plain", "--since-start")
            self.assertIn(functions[0].encode(), run.stdout)
        with self.subTest("compare"):
            run = self.sampled("compare", kind, "--json")
            compared = json.loads(run.stdout)
            self.assertEqual(compared["shown"], run.books["shown"])
            self.assertEqual(sum(compared["classes"].values()), run.books["shown"])
        with self.subTest("bcc-profile"):
            bcc = subprocess.run([FPLESS, "bcc-profile", "-e", words[-1], "1"], capture_output=True, check=False)
            self.assert_refused(bcc, 1, f"-e {words[-1]}: bcc's profile samples the CPU's clock alone: fpless profile -e {words[-1]}")

    def test_waits(self):
        run = Run(FPLESS, self.folder, ["--exact", *ROOM, *self.command()], verb="offcpu")
        self.assertEqual(run.faults(), [])
        told, waits = Told(self.path("note")), [stack for stack in run.stacks if has(stack, "sleeps")]
        # those that found the time over before they had left the CPU are no waits
        self.assertGreaterEqual(sum(stack["count"] for stack in waits), told.gave_up - run.stats["missed"])
        self.assertLessEqual(sum(stack["count"] for stack in waits), NR)
        self.assertEqual(run.meta["weight_unit"], "nanoseconds")
        self.read((), ("sleeps",))
        run = self.fpless("offcpu", "--exact", "--stream=json", *ROOM, *self.command())
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertLessEqual(sum(has(line, "sleeps") for line in lines if "user" in line), NR)

    def test_allocations(self):
        run = Run(FPLESS, self.folder, ["--sample-bytes", "1", *ROOM, *self.command()], verb="heap")
        self.assertEqual(run.faults(), [])
        kept = [stack for stack in run.stacks if has(stack, "allocates")]
        for key, wanted in (("alloc_objects", NR), ("alloc_space", NR * OBJECT_BYTES), ("inuse_objects", NR),
                            ("inuse_space", NR * OBJECT_BYTES)):
            self.assertEqual(sum(stack[key] for stack in kept), wanted, key)
        self.read((), ("allocates",))

    def test_a_field_that_is_a_time_is_read_as_it_was_written(self):
        for more in ((), ("-e", "page-faults")):
            run = Run(FPLESS, self.folder, ["-e", UPROBE, "--weight", "arg0", "--unit", "ns", *more, *ROOM, *self.command()])
            self.assertEqual(run.faults(), [])
            self.read((UPROBE,), ("calls",))

    def test_bcc_profile_samples_the_clock(self):
        process = self.start(PROGRAM, "1", "60000")
        bcc = self.fpless("bcc-profile", "-F", "199", "-f", "-p", str(process.pid), "1")
        self.assertEqual(bcc.returncode, 0, bcc.stderr)
        self.assertIn(b"main;", bcc.stdout)
        self.assertIn(b";spins ", bcc.stdout)


for title in KINDS:
    setattr(Matrix, "test_" + title.replace(" ", "_"), lambda self, kind=title: self.row(kind))

if __name__ == "__main__":
    main()
