#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tracepoints as sources: as many samples as the program made system calls, of the fields that were asked for; weights are
sums of a field."""

import json
import os
import re
import subprocess
import sys

from root_case import RootCase, main

NR_CALLS = 3000
BYTES = 517

# Opens two files in turns, and writes so many bytes to a third.
CALLS = """
import os, sys
nr, folder, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for name in ("left.one", "right.two", "bytes"):
    open(os.path.join(folder, name), "w").close()
left, right = (os.path.join(folder, name) for name in ("left.one", "right.two"))
out = os.open(os.path.join(folder, "bytes"), os.O_WRONLY)
data = b"x" * size
def opens():
    for i in range(nr):
        os.close(os.open(left if i % 3 else right, os.O_RDONLY))
def writes():
    for i in range(nr):
        os.write(out, data)
opens()
writes()
"""

# A burst of events of a process that is milliseconds old needs room for as many snapshots.
ROOM = ("--ring-memory", "256M")
OPENAT = "syscalls:sys_enter_openat"
# a line of a format: the event, and the last name of what is declared
FIELD = re.compile(r"([^:]*)/format:\s*field:[^;]*?(\w+)\s*(?:\[[^\]]*\])?;")


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return file.read()


class Tracepoints(RootCase):
    def setUp(self):
        super().setUp()
        if self.fpless("events", OPENAT).returncode:
            self.skipTest("this kernel has no tracepoints of system calls")

    def events(self, *options):
        """A run whose samples are all that were due; the program's calls lie in `folder`."""
        folder = self.path("calls")
        os.makedirs(folder, exist_ok=True)
        run = self.profile(*options, *ROOM, "--", sys.executable, "-S", "-c", CALLS, str(NR_CALLS), folder, str(BYTES))
        gone = run.stats["stop"]["exiting"] + run.stats["stop"]["execing"]
        self.assertEqual(run.stats["complete"], run.stats["user_samples"] - gone, run.stats["stop"])
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        self.assertEqual(run.stats["counted"], run.stats["fired"] + run.stats["missed"])
        self.assertNotIn("expected", run.stats)
        self.assertEqual(run.stats["weight"], sum(stack["weight"] for stack in run.stacks))
        return run

    @staticmethod
    def samples(run):
        return sum(stack["count"] for stack in run.stacks)

    def assert_all(self, run, wanted):
        """So many samples but for those that the kernel says it skipped."""
        self.assertLessEqual(self.samples(run), wanted)
        self.assertGreaterEqual(self.samples(run) + run.stats["missed"], wanted)

    def test_each_call_is_a_sample(self):
        before = mounts()
        run = self.events("-e", OPENAT, "--filter", f'filename ~ "{self.folder}/calls/*" && flags & 0x80000 && !(flags & 1)')
        # the file objects of the program are opened with O_WRONLY | O_CREAT
        self.assert_all(run, NR_CALLS)
        self.assertEqual((run.meta["event"], run.meta["weight_type"], run.meta["weight_unit"]), (OPENAT, OPENAT, "count"))
        self.assertEqual(mounts(), before)

    def test_filters_choose_by_texts_and_numbers(self):
        for filter_, wanted in ((f'filename == "{self.folder}/calls/left.one"', NR_CALLS * 2 // 3 + 1),
                                ('filename ~ "*/calls/right.?wo"', NR_CALLS // 3 + 1),
                                ('filename ~ "*/calls/*" && filename !~ "*.one"', NR_CALLS // 3 + 3),
                                (f'dfd == -100 && (str(filename) ~ "{self.folder}/*/left*" || dfd > 5)', NR_CALLS * 2 // 3 + 1)):
            with self.subTest(filter_):
                run = self.events("-e", OPENAT, "--filter", filter_)
                self.assert_all(run, wanted)

    def test_where_nothing_passes_the_filter_that_is_said(self):
        run = self.fpless("profile", "-e", OPENAT, "--filter", "dfd > 100000", "--", sys.executable, "-S", "-c", "1")
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stderr.decode(), rf"no samples: none of the [0-9]+ {OPENAT} here passed --filter")

    def test_weights_are_sums_of_a_field(self):
        run = self.events("-e", "syscalls:sys_enter_write", "--weight", "count", "--unit", "bytes", "--filter",
                          f"count == {BYTES}")
        self.assert_all(run, NR_CALLS)
        self.assertEqual(run.stats["weight"], BYTES * self.samples(run))
        self.assertEqual((run.meta["weight_type"], run.meta["weight_unit"]), ("count", "bytes"))

    def test_a_result_below_zero_weighs_nothing(self):
        run = self.events("-e", "syscalls:sys_exit_write", "--weight", "ret", "--unit", "bytes", "--filter",
                          f"ret == {BYTES} || ret < 0")
        self.assertEqual(run.stats["weight"] % BYTES, 0)
        self.assertLessEqual(run.stats["weight"], BYTES * NR_CALLS)

    def test_one_in_so_many(self):
        run = self.events("-e", "syscalls:sys_enter_write", "-c", "10", "--filter", f"count == {BYTES}")
        self.assertEqual(run.stats["weight"], 10 * self.samples(run))
        self.assertLess(abs(NR_CALLS - run.stats["weight"]), 10 * os.cpu_count() + run.stats["missed"])
        # events that only were counted are in no book
        self.assertEqual(run.stats["fired"], run.stats["shown"] + run.stats["filtered"] + run.stats["idle"])

    def test_events_of_the_kernel_have_its_stack(self):
        run = self.events("-e", "sched:sched_switch")
        names = {frame["symbol"] for stack in run.stacks for frame in stack["kernel"]}
        self.assertTrue(any("schedule" in (name or "") for name in names), names)

    def test_other_verbs_take_them(self):
        out = self.path("events.jsonl")
        self.other_verbs_take(("-e", OPENAT), (sys.executable, "-S", "-c", CALLS, "50", self.folder, "1"), out,
                              (("compare", (), b"complete"), ("top", ("--plain", "--since-start"), b"open"),
                               ("profile", ("--stream",), b"open"), ("record", ("-o", out), b"")),
                              (("report", (out,)), ("diff", (out, out)), ("script", (out,))))

    def test_the_fields_of_all_events_are_those_of_the_kernel(self):
        folder = self.path("tracefs")
        os.mkdir(folder)
        lines = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tracefs none "$0" && cd "$0/events" && grep -H field: */*/format', folder],
                               check=True, capture_output=True, text=True).stdout.splitlines()
        wanted = {}
        for line in lines:
            event, name = FIELD.match(line).groups()
            fields = wanted.setdefault(event.replace("/", ":"), [])
            if not name.startswith("common_"):
                fields.append(name)
        said = {event["name"]: [field["name"] for field in event["fields"]]
                for event in json.loads(self.fpless("events", "--json", "--fields").stdout) if event["kind"] == "tracepoint"}
        self.assertEqual(said, wanted)

    def test_what_cannot_be_sampled_is_refused_by_name(self):
        for args, says in ((("-e", "sched:no_such_event"), "-e sched:no_such_event: no such tracepoint"),
                           (("-e", "nmi:nmi_handler"), "-e nmi:nmi_handler: registers may be half stored there"),
                           (("-e", OPENAT, "--filter", "flag & 1"), 'column 1: no field "flag": there are'),
                           (("-e", OPENAT, "--weight", "filename"), "--weight filename: no number: const char *"),
                           (("-e", OPENAT, "--weight", "size"), "--weight size: no such field"),
                           (("-e", OPENAT, "--unit", "bytes"), "--unit: is the unit of --weight"),
                           (("-e", OPENAT, "-C", "0"), f"-C: {OPENAT} is sampled on all CPUs"),
                           (("-e", OPENAT, "-F", "99"), f"-F: is for clocks: of {OPENAT}, -c N samples one in N"),
                           (("-e", "page-faults", "--filter", "x"), "--filter: is for tracepoints and probes: page-faults has no fields")):
            with self.subTest(args):
                run = self.fpless("profile", *args, "--", "true")
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(says, run.stderr.decode())
                self.assertEqual(run.stdout, b"")


if __name__ == "__main__":
    main()
