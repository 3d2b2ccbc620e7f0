#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several sources in one run: each has the samples that it would have alone, and the books of all together close."""

import gzip
import json
import os
import re
import sys

from root_case import RootCase, main

OPENAT, WRITE = "syscalls:sys_enter_openat", "syscalls:sys_enter_write"
NR_CALLS, BYTES, NR_PAGES = 2000, 517, 1500
ROOM = ("--ring-memory", "256M")

# Opens a file, writes to another one, and touches pages: so many times each.
WORK = """
import mmap, os, sys
nr, folder, size, pages = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
path = os.path.join(folder, "opened")
open(path, "w").close()
out = os.open(os.path.join(folder, "written"), os.O_WRONLY | os.O_CREAT)
data = b"x" * size
def opens():
    for i in range(nr):
        os.close(os.open(path, os.O_RDONLY))
def writes():
    for i in range(nr):
        os.write(out, data)
def touches():
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(pages):
        memory[i * mmap.PAGESIZE] = 1
opens()
writes()
touches()
"""

# System calls as fast as they go, for so many seconds, and what the program has counted of them.
FAST = """
import os, sys, time
end, nr, null = time.monotonic() + float(sys.argv[1]), 0, os.open("/dev/null", os.O_WRONLY)
while time.monotonic() < end:
    for i in range(1000):
        os.write(null, b"")
    nr += 1000
print(nr, file=open(sys.argv[2], "w"))
"""


def by_event(stacks, key="count"):
    sums = {}
    for stack in stacks:
        sums[stack["event"]] = sums.get(stack["event"], 0) + stack[key]
    return sums


class Several(RootCase):
    def setUp(self):
        super().setUp()
        if self.fpless("events", OPENAT).returncode:
            self.skipTest("this kernel has no tracepoints of system calls")

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def work(self, *options):
        command = ("--", sys.executable, "-S", "-c", WORK, str(NR_CALLS), self.folder, str(BYTES), str(NR_PAGES))
        run = self.profile(*options, *ROOM, *command)
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        return run

    def three(self, *options):
        return self.work("-e", "cpu-clock", "-F", "999", "-e", "page-faults", "-e", OPENAT, "--filter",
                         f'filename == "{self.folder}/opened" && flags & 0x80000 && !(flags & 1)', *options)

    def test_each_has_the_samples_it_would_have_alone(self):
        run = self.three("-e", WRITE, "--filter", f"count == {BYTES}", "--weight", "count", "--unit", "bytes")
        counts, weights = by_event(run.stacks), by_event(run.stacks, "weight")
        self.assertLessEqual(counts[OPENAT], NR_CALLS)
        self.assertGreaterEqual(counts[OPENAT] + run.stats["missed"], NR_CALLS)
        self.assertEqual(weights[WRITE], BYTES * counts[WRITE])
        self.assertGreaterEqual(counts[WRITE] + run.stats["missed"], NR_CALLS)
        self.assertGreaterEqual(counts["page-faults"] + run.stats["missed"], NR_PAGES)
        self.assertEqual(weights["cpu-clock"], counts["cpu-clock"] * 1001001)
        self.assertEqual({source["event"]: source["shown"] for source in run.stats["sources"]}, counts)
        self.assertEqual(run.meta["event"], f"cpu-clock,page-faults,{OPENAT},{WRITE}")
        self.assertEqual((run.meta["weight_unit"], run.meta["hz"]), ("mixed", 0))
        self.assertEqual(run.stats["missed"],
                         run.stats["expected"] + run.stats["counted"] - run.stats["fired"])

    def test_the_books_close_at_speed(self):
        counted = self.path("counted")
        run = self.profile("-e", "cpu-clock", "-F", "4999", "-e", WRITE, "-e", "page-faults", "--", sys.executable,
                           "-S", "-c", FAST, "3", counted)
        counts = by_event(run.stacks)
        with open(counted, encoding="utf-8") as file:
            made = int(file.read())
        lost = sum(run.stats["lost"].values())
        self.assertGreater(counts["cpu-clock"], 0)
        # what else the interpreter writes is less than what the kernel may have left out
        self.assertGreaterEqual(counts[WRITE] + lost + run.stats["missed"], made)
        self.assertLessEqual(counts[WRITE], made + 10)
        self.assertEqual(run.stats["fired"], run.stats["shown"] + run.stats["idle"] + run.stats["filtered"] + lost)
        print(f"{made / 3:.0f} writes/s, missed {run.stats['missed']} of "
              f"{run.stats['expected'] + run.stats['counted']}")

    def test_files_and_formats_tell_them_apart(self):
        names = [self.path(name) for name in ("a.pb.gz", "a.perf", "a.json.gz", "a.svg", "a.speedscope.json")]
        run = self.three("--by", "event,comm", *(word for name in names for word in ("-o", name)))
        counts = by_event(run.stacks)
        folded = {}
        for line in self.text("out.folded").splitlines():
            labels, number = line.split(";", 1)[0], int(line.rsplit(" ", 1)[1])
            folded[labels] = folded.get(labels, 0) + number
        self.assertEqual(folded, counts)
        perf = self.text("a.perf")
        self.assertEqual(len(re.findall(r": page-faults: \n", perf)), counts["page-faults"])
        self.assertEqual(len(re.findall(r": cpu-clock: \n", perf)), counts["cpu-clock"])
        with gzip.open(names[2]) as file:
            json.loads(file.read())
        for name in (self.path("out.jsonl"), names[0]):
            again = self.path("again.jsonl")
            self.assertEqual(self.fpless("report", name, "-o", again).returncode, 0)
            with open(again, "rb") as left, open(self.path("out.jsonl"), "rb") as right:
                self.assertEqual(left.read(), right.read(), name)
        for event, count in counts.items():
            one = self.path("one.jsonl")
            self.assertEqual(self.fpless("report", names[0], "--event", event, "-o", one).returncode, 0)
            lines = [json.loads(line) for line in self.text("one.jsonl").splitlines()]
            self.assertEqual(lines[0]["event"], event)
            self.assertEqual(sum(line["count"] for line in lines if line["type"] == "stack"), count)

    def test_events_of_one_unit_have_a_sum(self):
        run = self.work("-e", f"page-faults,{OPENAT}")
        self.assertEqual((run.meta["weight_type"], run.meta["weight_unit"]), ("events", "count"))
        self.assertNotIn("by_count", run.meta)
        self.assertNotIn("expected", run.stats)
        text = self.fpless("report", self.path("out.jsonl")).stdout.decode()
        self.assertIn(" events", text.splitlines()[0])

    def test_one_in_so_many_is_of_its_event(self):
        run = self.work("-e", OPENAT, "-c", "10", "-e", WRITE, "--filter", f"count == {BYTES}", "-e", "page-faults",
                        "-c", "3")
        counts, weights = by_event(run.stacks), by_event(run.stacks, "weight")
        self.assertEqual(weights[OPENAT], 10 * counts[OPENAT])
        self.assertEqual(weights[WRITE], counts[WRITE])
        self.assertEqual(weights["page-faults"], 3 * counts["page-faults"])
        self.assertGreater(counts[WRITE], counts[OPENAT])
        # those that only are counted are in no book
        self.assertEqual(run.stats["missed"], run.stats["counted"] - run.stats["fired"])
        self.assertLess(run.stats["missed"], run.stats["counted"] // 10)

    def test_stacks_are_told_apart_by_a_field(self):
        run = self.work("-e", OPENAT, "-e", f"{WRITE},cpu-clock", "--by", "filename,comm")
        keys = {}
        for stack in run.stacks:
            self.assertEqual("key" in stack, stack["event"] == OPENAT)
            keys[stack.get("key")] = keys.get(stack.get("key"), 0) + stack["count"]
        self.assertEqual(run.meta["key"], "filename")
        opened = f"{self.folder}/opened"[:63]
        self.assertGreaterEqual(keys[opened] + keys.get("[unread]", 0) + run.stats["missed"], NR_CALLS)
        self.assertLessEqual(keys[opened], NR_CALLS + 1)
        folded = self.text("out.folded").splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded if line.startswith(opened + ";python")),
                         keys[opened])
        run = self.work("-e", OPENAT, "--by", "dfd")
        self.assertIn("-100", {stack["key"] for stack in run.stacks})
        self.assertIn("dfd -100;", self.text("out.folded"))
        for args, says in ((("-e", OPENAT, "--by", "no_field"), "--by no_field: no event has such a number or text"),
                           (("-e", "cpu-clock", "--by", "dfd"), "--by dfd: expected comm, pid")):
            refused = self.fpless("profile", *args, "--", "true")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(says, refused.stderr.decode())

    def test_times_and_streams_say_which(self):
        run = self.three("--timeline")
        of_stacks = [stack["event"] for stack in run.stacks]
        times = {}
        for line in self.text("out.jsonl").splitlines():
            line = json.loads(line)
            for stack in line["stack"] if line["type"] == "samples" else ():
                times[of_stacks[stack]] = times.get(of_stacks[stack], 0) + 1
        self.assertEqual(times, by_event(run.stacks))
        run = self.fpless("profile", "-e", f"cpu-clock,{OPENAT}", "--stream=json", "--", sys.executable, "-S", "-c", "1")
        events = {json.loads(line).get("event") for line in run.stdout.splitlines()}
        self.assertIn(OPENAT, events)
        self.assertLessEqual(events, {OPENAT, "cpu-clock"})

    def test_other_verbs_take_them(self):
        out, args = self.path("several.jsonl"), ("-e", "cpu-clock", "-e", OPENAT, "-e", "page-faults")
        self.other_verbs_take(args, (sys.executable, "-S", "-c", WORK, "50", self.folder, "1", "10"), out,
                              (("compare", (), b"complete"), ("top", ("--plain", "--since-start"), b"open"),
                               ("record", ("-o", out), b""), ("profile", ("--max-overhead", "5"), b"open")),
                              (("report", (out,)), ("diff", (out, out)), ("diff", (out, out, "--event", OPENAT)),
                               ("script", (out,)), ("report", (out, out, "--event", "page-faults"))))


if __name__ == "__main__":
    main()
