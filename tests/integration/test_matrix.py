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
PROGRAM = fixture("sources")
COMMAND = ("--", PROGRAM, str(NR), str(MS))
ROOM = ("--ring-memory", "64M")

# Kind: the word, the function that is in its stacks, and the unit of its weights; NR of each but the clock's
KINDS = {
    "clock": ("cpu-clock", "spins", None),
    "page faults": ("page-faults", "faults", "count"),
    "context switches": ("context-switches", "sleeps", "count"),
    "tracepoint": ("syscalls:sys_enter_getppid", "asks", "count"),
    "uprobe": (f"uprobe:{PROGRAM}:taken", "calls", "count"),
    "uretprobe": (f"uretprobe:{PROGRAM}:taken", "calls", "count"),
    "usdt": (f"usdt:{PROGRAM}:fixture:marked", "marks", "count"),
}


def has(stack, function):
    return any(frame.get("symbol") == function for frame in stack["user"])


class Matrix(RootCase):
    def check_stacks(self, word, function, stacks, missed=0):
        """As many samples of the function as it came by the source; of the clock any."""
        nr = sum(stack["count"] for stack in stacks if has(stack, function))
        if word == "cpu-clock":
            self.assertGreater(nr, 0)
        else:
            self.assertGreaterEqual(nr + missed, NR)
            # what else faults or switches in it is rare; the others happen nowhere else
            self.assertLessEqual(nr, NR + (NR if word in ("page-faults", "context-switches") else 0))

    def check_run(self, run, word, function, unit):
        self.assertEqual(run.faults(), [])
        # the kernel counts switches of the whole machine, and runs no program at some of them
        missed = run.stats["missed"] if word == "context-switches" else 0
        self.check_stacks(word, function, run.stacks, missed)
        self.assertEqual((run.meta.get("weight_unit"), run.meta["event"]), (unit, word))
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        if unit:
            self.assertEqual(run.stats["counted"], run.stats["fired"] + run.stats["missed"])
            self.assertEqual(run.stats["missed"], missed)

    def sampled(self, verb, word, function, unit, *options):
        run = Run(FPLESS, self.folder, ["-e", word, *options, *ROOM, *COMMAND], verb=verb)
        self.check_run(run, word, function, unit)
        return run

    def streamed(self, word, function, unit):
        """Each sample is a line."""
        run = self.fpless("profile", "-e", word, "--stream=json", *ROOM, *COMMAND)
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual({key for line in lines for key in line if key.startswith("weight")}, {"weight" if unit else "weight_ns"})
        missed = NR // 2 if word == "context-switches" else 0  # the stream has no books
        self.check_stacks(word, function, [line | {"count": 1} for line in lines if "user" in line], missed)

    def read(self, word, function):
        """Reports and differences of what profile has written."""
        path, again = self.path("kept.jsonl"), self.path("again.jsonl")
        os.rename(self.path("out.jsonl"), path)
        run = self.fpless("report", path, "-o", again)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, "rb") as left, open(again, "rb") as right:
            self.assertEqual(left.read(), right.read())
        text = self.fpless("report", path).stdout.decode()
        self.assertIn(function, text)
        self.assertIn(word, text.splitlines()[0])
        run = self.fpless("diff", path, path)
        self.assertEqual(run.returncode, 0, run.stderr)

    def row(self, kind):
        word, function, unit = KINDS[kind]
        if kind == "tracepoint" and self.fpless("events", word).returncode:
            self.skipTest("this kernel has no tracepoints of system calls")
        if kind.startswith("u") and not os.path.exists("/sys/bus/event_source/devices/uprobe"):
            self.skipTest("this kernel has no uprobes")
        with self.subTest("profile"):
            self.sampled("profile", word, function, unit)
        with self.subTest("report, diff"):
            self.read(word, function)
        with self.subTest("top"):
            run = self.sampled("top", word, function, unit, "--plain", "--since-start")
            self.assertIn(function.encode(), run.stdout)
        with self.subTest("compare"):
            run = self.sampled("compare", word, function, unit, "--json")
            compared = json.loads(run.stdout)
            self.assertEqual(compared["shown"], run.books["shown"])
            self.assertEqual(sum(compared["classes"].values()), run.books["shown"])
        with self.subTest("stream"):
            self.streamed(word, function, unit)
        with self.subTest("bcc-profile"):
            bcc = subprocess.run([FPLESS, "bcc-profile", "-e", word, "1"], capture_output=True, check=False)
            self.assert_refused(bcc, 1, f"-e {word}: bcc's profile samples the CPU's clock alone: fpless profile -e {word}")

    def test_a_field_that_is_a_time_is_read_as_it_was_written(self):
        for more in ((), ("-e", "page-faults")):
            run = Run(FPLESS, self.folder, ["-e", KINDS["uprobe"][0], "--weight", "arg0", "--unit", "ns", *more, *ROOM, *COMMAND])
            self.assertEqual(run.faults(), [])
            self.read(KINDS["uprobe"][0], "calls")

    def test_bcc_profile_samples_the_clock(self):
        process = self.start(PROGRAM, "1", "60000")
        bcc = self.fpless("bcc-profile", "-F", "199", "-f", "-p", str(process.pid), "1")
        self.assertEqual(bcc.returncode, 0, bcc.stderr)
        self.assertIn(b"main;spins ", bcc.stdout)


for number, name in enumerate(KINDS):
    setattr(Matrix, "test_" + name.replace(" ", "_"), lambda self, kind=name: self.row(kind))

if __name__ == "__main__":
    main()
