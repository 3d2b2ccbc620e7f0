#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single samples: their times are kept, and each is printed as it comes; nothing is lost of either."""

import collections
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main

BUSY = [fixture("vfork"), "250", fixture("chain_nopie")]
ROW = re.compile(r"(?P<time>\S+) (?P<comm>\S+) +(?P<pid>\d+) +(?P<tid>\d+) +(?P<cpu>\d+) +"
                 r"(?P<kernel>\d+) +(?P<user>\d+) (?P<top>.+)")


def unix_time(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


def task_of(sample, key):
    return sample["comm"], sample["tid"], sample["cpu"], sample["key"] if key else None


class Stream(RootCase):
    def rows(self, run):
        """The rows of a table, below its head."""
        head, *lines = run.stdout.decode("utf-8").splitlines()
        self.assertEqual(head.split(),
                         ["TIME", "COMM", "PID", "TID", "CPU", "KDEPTH", "UDEPTH", "TOP"])
        rows = [ROW.fullmatch(line) for line in lines]
        self.assertNotIn(None, rows, lines)
        return rows

    def test_every_sample_has_a_row_at_its_time(self):
        for options in (["-F", "999"], ["-F", "4999", "--stack-memory", "64K"],
                        ["-F", "999", "--snapshot", "0"], ["-F", "999", "-U"],
                        ["-F", "999", "-K"], ["-F", "4999", "--max-depth", "1"]):
            with self.subTest(options):
                begin = time.time()
                run = self.profile("--stream=table", *options, "-d", "600", "--", *BUSY)
                rows = self.rows(run)
                stream = run.stats["stream"]
                self.assertEqual(stream["printed"], len(rows))
                self.assertEqual(stream["printed"] + stream["unprinted"], run.books["shown"])
                self.assertGreater(len(rows), 0)
                times = [unix_time(row["time"]) for row in rows]
                self.assertGreaterEqual(min(times), begin - 0.001)
                self.assertLessEqual(max(times), time.time() + 0.001)

    def test_rows_are_the_samples_of_the_stacks(self):
        run = self.profile("--stream=table", "-F", "999", "--by", "pid,tid,cpu", "-d", "600", "--",
                           fixture("threads"), "500")
        rows, counted = {}, {}
        for row in self.rows(run):
            key = (row["comm"], *(int(row[k]) for k in ("pid", "tid", "cpu", "kernel", "user")))
            rows[key] = rows.get(key, 0) + 1
        for stack in run.stacks:
            key = (stack["comm"], stack["pid"], stack["tid"], stack["cpu"], len(stack["kernel"]),
                   len(stack["user"]))
            counted[key] = counted.get(key, 0) + stack["count"]
        self.assertEqual(run.stats["stream"]["unprinted"], 0)
        self.assertEqual(rows, counted)
        self.assertGreater(len({key[2] for key in rows}), 1)

    def test_each_wait_is_printed_with_its_length(self):
        for verb, key in (("offcpu", None), ("wakeup", "wakee")):
            with self.subTest(verb):
                run = self.profile("--stream=json", "--by", "pid,tid,comm,cpu", "-m", "1000", "--",
                                   fixture("waits"), "500", "wait_20ms", "wait_ping", "wait_pong", verb=verb)
                streamed = collections.defaultdict(list)
                for line in run.stdout.decode().splitlines():
                    if line.startswith("{"):  # the fixture says what it measured
                        sample = json.loads(line)
                        streamed[task_of(sample, key)].append(sample["weight"])
                        self.assertFalse([frame for frame in sample["kernel"]
                                          if frame.get("symbol", "").startswith("bpf_trace_run")])
                counted = collections.Counter()
                for stack in run.stacks:
                    counted[task_of(stack, key)] += stack["weight"]
                self.assertEqual({task: sum(waits) for task, waits in streamed.items()}, dict(counted))
                # of one thread's waits each has a length of its own
                self.assertGreater(max(len(set(waits)) for waits in streamed.values()), 1)

    def test_rows_and_blocks_say_how_long_a_wait_was_and_whose(self):
        command = ["-m", "10000", "--", fixture("waits"), "200", "wait_20ms"]
        rows = self.profile("--stream=table", *command, verb="wakeup").stdout.decode()
        head, *lines = [line.split() for line in rows.splitlines() if re.match("TIME|[0-9]{4}-", line)]
        self.assertEqual(head[-3:], ["KEY", "WEIGHT", "TOP"])
        self.assertGreater(len(lines), 0)
        for line in lines:
            self.assertEqual(line[7], "waits")
            self.assertGreaterEqual(int(line[8]), 10_000_000)
        blocks = self.profile("--stream", *command, verb="wakeup").stdout.decode()
        self.assertRegex(blocks, r"COMM: \S+ \(pid=\d+ tid=\d+\) @ CPU \d+, wakee waits, [0-9.]+ ms of blocked time")

    def test_json_holds_the_stacks_of_the_profile(self):
        run = self.profile("--stream=json", "-F", "999", "--by", "tid,cpu", "-d", "600", "--",
                           *BUSY)
        def key_of(stack):
            # BPF programs have names while they are loaded; where code without a name begins
            # is not asked live
            for frame in stack["user"]:
                frame.pop("start", None)
            kernel = [frame["addr"] for frame in stack["kernel"]]
            return json.dumps([stack[k] for k in ("comm", "pid", "tid", "cpu", "stop", "user")]
                              + kernel)

        streamed, counted, last = {}, {}, {}
        for line in run.stdout.splitlines():
            sample = json.loads(line)
            self.assertEqual(sample["type"], "sample")
            self.assertEqual(sample["weight_ns"], 1000000000 // 999)
            key = key_of(sample)
            streamed[key] = streamed.get(key, 0) + 1
            # what was walked in userspace comes when its table is there
            if all(frame["origin"] != "cfi_user" for frame in sample["user"]):
                last.setdefault(sample["cpu"], []).append(sample["time_unix_ns"])
        for stack in run.stacks:
            key = key_of(stack)
            counted[key] = counted.get(key, 0) + stack["count"]
        self.assertEqual(run.stats["stream"]["unprinted"], 0)
        self.assertEqual(streamed, counted)
        for times in last.values():
            self.assertEqual(len(set(times)), len(times))

    def test_names_are_those_of_the_profile(self):
        run = self.profile("--stream=table", "-U", "-F", "999", "-d", "600", "--", fixture("chain"),
                           "500")
        tops = {}
        for row in self.rows(run):
            name = row["top"].split("+")[0]
            tops[name] = tops.get(name, 0) + 1
        leaves = {}
        for stack in run.stacks:
            name = stack["user"][0]["symbol"] if stack["user"] else None
            leaves[name] = leaves.get(name, 0) + stack["count"]
        self.assertEqual(tops["spin"], leaves["spin"])

    def test_names_stay_mangled_where_asked(self):
        for options, name in (((), "middle()"), (("--no-demangle",), "_Z6middlev")):
            run = self.profile("--stream=json", "-U", "-F", "999", "-d", "600", *options, "--", fixture("exceptions"),
                               "300")
            names = {frame.get("symbol") for line in run.stdout.splitlines() for frame in json.loads(line)["user"]}
            self.assertIn(name, names)

    def test_a_block_shows_both_stacks_and_why_one_is_cut(self):
        run = self.profile("--stream", "--max-depth", "3", "-F", "999", "-d", "600", "--",
                           fixture("chain"), "300")
        blocks = run.stdout.decode("utf-8").split("\n\n")[:-1]
        self.assertEqual(len(blocks), run.books["shown"])
        for block in blocks:
            self.assertRegex(block.splitlines()[0], r"^\S+ COMM: .+ \(pid=\d+ tid=\d+\) @ CPU \d+$")
        cut = [block for block in blocks if "spin+0x" in block]
        self.assertTrue(cut)
        for block in cut:
            self.assertIn("  Userspace:\n    0 0x".replace("    0", "      0"), block)
            self.assertIn("incomplete: depth: ", block.splitlines()[-1])
            self.assertIn(f"({fixture('chain')})", block)

    def test_a_name_that_is_not_wanted_is_not_printed(self):
        run = self.profile("--stream=table", "--comm", "^chain_nopie$", "-F", "4999", "-d", "600",
                           "--", *BUSY)
        self.assertEqual({row["comm"] for row in self.rows(run)}, {"chain_nopie"})
        self.assertEqual(run.stats["stream"]["printed"], run.books["shown"])

    def test_names_cannot_reach_the_terminal(self):
        code = "import ctypes, time\n" \
               "ctypes.CDLL(None).prctl(15, b'\\x1b[2J a\\xff', 0, 0, 0)\n" \
               "while time.process_time() < 0.5: pass"
        for form in ("--stream", "--stream=table"):
            run = self.profile(form, "-F", "999", "-d", "600", "--", sys.executable, "-c", code)
            text = run.stdout.decode("ascii")
            self.assertIn("\\x1b[2J", text)
            self.assertTrue(all(c == "\n" or c.isprintable() for c in text))

    def test_samples_come_while_the_run_goes_on(self):
        process = self.start(FPLESS, "profile", "--stream=table", "-F", "99", "--",
                             fixture("chain"), "60000", stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        with process.stdout as out:
            lines = [out.readline() for _ in range(20)]
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            rest = out.read()
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertTrue(all(line.endswith(b"\n") for line in lines))
        self.assertTrue(not rest or rest.endswith(b"\n"))

    def test_a_reader_that_has_had_enough_ends_the_run_well(self):
        folded = self.path("out.folded")
        process = self.start(FPLESS, "profile", "--stream=table", "-F", "999", "-o", folded, "--",
                             fixture("chain"), "60000", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        with process.stderr as err:
            text = err.read().decode("utf-8")
        self.assertEqual(process.wait(TIMEOUT_S), 0, text)
        self.assertRegex(text, r"fpless: [\d,]+ samples? in .* lost\n")
        self.assertNotIn("  books", text)
        self.assertGreater(os.path.getsize(folded), 0)

    def test_a_reader_that_stops_reading_costs_no_sample(self):
        stats = self.path("stats.json")
        read, write = os.pipe()
        process = self.start(FPLESS, "profile", "--stream", "-F", "999", "--stats",
                             stats, "--", fixture("chain"), "1500", stdout=write,
                             stderr=subprocess.PIPE)
        os.close(write)
        with process.stderr as err:
            text = err.read().decode("utf-8")
        status = process.wait(TIMEOUT_S)
        os.close(read)
        self.assertEqual(status, 6, text)
        self.assertRegex(text, r"fpless: [\d,]+ samples? in .* lost\n")
        self.assertNotIn("  books", text)
        self.assertRegex(text, r"stream +\d+ samples printed, \d+ not")

    def test_a_full_disk_ends_the_run_with_its_status(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FPLESS, "profile", "--stream", "-F", "999", "--",
                                   fixture("chain"), "60000"], stdin=subprocess.DEVNULL,
                                  stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 6)
        self.assertIn(b"stdout: No space left on device", done.stderr)

    def test_bad_use_is_refused(self):
        for args, word in ((["--stream=x"], "--stream=x"), (["--stream", "-f"], "--stream"),
                           (["--stream", "-o", "-", "--format", "text"], "--stream"),
                           (["--timeline-memory", "1"], "--timeline-memory")):
            self.assert_refused(self.fpless("profile", *args), 1, word)


class Timeline(RootCase):
    def test_every_sample_has_its_time(self):
        for options in (["-F", "999"], ["-F", "4999", "--stack-memory", "64K"],
                        ["-F", "999", "--snapshot", "0"], ["-F", "999", "-K"],
                        ["-F", "4999", "--comm", "^chain_nopie$"]):
            with self.subTest(options):
                run = self.profile("--timeline", *options, "-d", "600", "--", *BUSY)
                timeline = run.stats["timeline"]
                self.assertEqual(timeline["events"] + timeline["missing"], run.books["shown"])
                self.assertEqual(timeline["missing"], 0)

    def test_of_the_whole_machine(self):
        self.start(fixture("threads"), "60000")
        run = self.profile("--timeline", "-F", "999", "-a", "-I", "-d", "1")
        self.assertEqual(run.stats["timeline"]["events"], run.books["shown"])

    def test_times_beyond_their_memory_are_said(self):
        process = self.start(fixture("threads"), "60000")
        # of some 5000 samples
        run = self.profile_while_busy([process.pid], 1000, "--timeline-memory", "64K", "-F", "4999", "-a")
        timeline = run.stats["timeline"]
        self.assertEqual(timeline["events"], 65536 // 32)
        self.assertGreaterEqual(timeline["memory_full"] + timeline["ring_full"],
                                timeline["missing"])
        self.assertEqual(timeline["events"] + timeline["missing"], run.books["shown"])
        self.assertRegex(run.stderr, r"\d+ without: .*more --timeline-memory\n")

    def test_a_run_without_keeps_none(self):
        run = self.profile("-F", "999", "-d", "600", "--", fixture("chain"), "200")
        self.assertEqual(run.stats["timeline"],
                         {"events": 0, "missing": 0, "ring_full": 0, "memory_full": 0})


if __name__ == "__main__":
    main()
