#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits with the stacks of those that ended them: fpless offcpu --wakers, and the chains of fpless wakeup --chain."""

import collections
import json
import os
import re
import subprocess
import time

import waits
from cgroup2 import Cgroup2
from root_case import RootCase, fixture, main

WAITS, RELAY = fixture("waits"), fixture("relay")
INTERRUPTS = ("[irq]", "[softirq]")
HANDS = ("hand_first", "hand_second", "hand_third")
NOT_KNOWN = ("[no wait before]", "[not a target]", "[not sampled]", "[lost]")
NR_ROUNDS = 30


def names(frames):
    return [frame.get("symbol") for frame in frames]


def parts(stack):
    """The stacks between the delimiters, that of the sample first; each leaf first, a waker's without its name, which is
    the second value."""
    found, part = [], []
    for name in names(stack["user"]) + ["--"]:
        if name != "--":
            part.append(name)
            continue
        found.append(part)
        part = []
    found.reverse()
    return [found[0]] + [above[:0:-1] for above in found[1:]], [above[0] for above in found[1:]]


def hand(part):
    """The fixture's function that hands on; None: it is another stack."""
    return next((name for name in part if name in HANDS), None)


class Wakers(RootCase):
    def recorded(self, path):
        """The lines of its stacks; a pprof does not say that its nanoseconds are those of threads, and has no squares of weights."""
        with open(path, encoding="utf-8") as file:
            return sorted(re.sub(r'"weight_squares":[^,]*,', "", line).replace('"weight_ns"', '"weight"')
                          for line in file if line.startswith('{"type":"stack"'))

    def assert_read_back(self, run):
        """From each format that keeps all: the same stacks; from the others the same folded text."""
        files = {ext: self.path("out." + ext) for ext in ("pb.gz", "jsonl.zst", "perf", "folded")}
        outputs = [word for path in files.values() for word in ("-o", path)]
        self.assertEqual(self.fpless("report", "-q", "--no-inline", run.jsonl_path, *outputs).returncode, 0)
        for ext in "pb.gz", "jsonl.zst":
            again = self.path("again.jsonl")
            self.assertEqual(self.fpless("report", "-q", files[ext], "-o", again).returncode, 0)
            self.assertEqual(self.recorded(again), self.recorded(run.jsonl_path), ext)
        with open(files["folded"], encoding="utf-8") as file:
            folded = sorted(file.read().splitlines())
        for ext in files:
            self.assertEqual(self.folded(files[ext]), folded, ext)

    def folded(self, path):
        return sorted(self.fpless("report", "-q", "-f", "--no-inline", path).stdout.decode().splitlines())

    def test_who_ended_a_wait_stands_above_it(self):
        run = self.profile("--exact", "--ring-memory", "64M", "--wakers", "--", WAITS, "600", "wait_lock_a", "wait_lock_b",
                           "wait_ping", "wait_pong", "wait_20ms", verb="offcpu")
        self.assertEqual(waits.book_faults(run), [])
        own, times = waits.own(run.stdout.decode()), run.stats["times"]
        ended, weights = collections.defaultdict(collections.Counter), collections.Counter()
        for stack in run.stacks:
            (waiter, *wakers), threads = parts(stack)
            name = next((name for name in waiter if name and name.startswith("wait_")), None)
            weights[name] += stack["weight"]
            ended[name][tuple(wakers[0] if wakers else ()) or tuple(threads)] += stack["weight"]
            if name and threads:
                # the kernel's frames of both are there, next to each other
                self.assertIn("entry_SYSCALL_64_after_hwframe", waiter)
                self.assertIn(threads[0], (*INTERRUPTS, "[thread waits]"))
        for name, function in ("wait_lock_a", "hold"), ("wait_lock_b", "hold"), ("wait_ping", "pong"), ("wait_pong", "ping"):
            # at the end the other thread closes the pipe
            by = sum(weight for frames, weight in ended[name].items() if {function, "close"} & set(frames))
            self.assertGreaterEqual(by, 0.99 * weights[name], (name, ended[name]))
            self.assertEqual(waits.waker_faults(name, own[name], weights[name], times, waits.cpu_ns(run.stdout.decode())), [])
        by_irq = sum(weight for frames, weight in ended["wait_20ms"].items() if frames and frames[0] in INTERRUPTS)
        self.assertGreaterEqual(by_irq, 0.99 * weights["wait_20ms"])
        self.assert_read_back(run)
        picture = self.path("out.svg")
        self.assertEqual(self.fpless("report", "-q", "--min-share", "0", run.jsonl_path, "-o", picture).returncode, 0)
        with open(picture, encoding="utf-8") as file:
            boxes = re.findall(r'<g class="([a-z]+)[^"]*"[^>]*><title>([^\n<]*)', file.read())
        # the holder of a lock may never have had to wait for it
        waited = {"h"} if weights["wait_lock_a"] else set()
        self.assertEqual({color for color, name in boxes if name == "wait_lock_a"}, waited)
        self.assertEqual({color for color, name in boxes if name in ("--", "hold", "pong")}, {"w"})

    def test_labels_of_waits(self):
        command = ("--", WAITS, "300", "wait_ping", "wait_pong", "wait_20ms")
        run = self.profile("--exact", "--by", "comm,waker", *command, verb="offcpu")
        keys = {(waits.function(stack), stack.get("key")) for stack in run.stacks}
        self.assertEqual(run.meta["key"], "waker")
        self.assertIn(("wait_ping", "waits"), keys)
        self.assertTrue({("wait_20ms", irq) for irq in INTERRUPTS} & keys, keys)
        run = self.profile("--exact", "--by", "comm,syscall", *command, verb="offcpu")
        calls = {(waits.function(stack), stack.get("key")) for stack in run.stacks}
        self.assertEqual({call for name, call in calls if name == "wait_ping"}, {"read"})
        self.assertLessEqual({call for name, call in calls if name == "wait_20ms"}, {"nanosleep", "clock_nanosleep"})

    def test_a_chain_names_who_handed_the_byte_on_in_order(self):
        run = self.profile("--chain", "4", "--", RELAY, str(NR_ROUNDS), verb="wakeup")
        self.assertEqual(waits.book_faults(run, of_wakers=True), [])
        weights, whole = collections.Counter(), collections.Counter()
        for stack in run.stacks:
            if stack["key"] != "relay_last" or not hand(parts(stack)[0][0]):
                continue
            stacks, threads = parts(stack)
            hands = [hand(part) for part in stacks]
            expected = ["hand_third", "hand_second", "hand_first"][:len(hands)]
            for name, found in zip(expected, hands):
                self.assertIn(found, (name, None), stack)
            # what is not known of a wait has a name, and nothing stands above it
            self.assertFalse(set(threads[:-1]) & set(NOT_KNOWN), threads)
            weights["all"] += stack["weight"]
            if hands == [*expected, None] and threads[:2] == ["[thread relay_second]", "[thread relay_first]"] \
                    and threads[2] in INTERRUPTS:
                weights["whole"] += stack["weight"]
                whole[tuple(threads)] += 1
        # 20 ms a round, of which each wait is sampled but where the machine kept a process from its CPU
        self.assertGreaterEqual(weights["all"], NR_ROUNDS * 10_000_000, run.stats["times"])
        self.assertGreaterEqual(weights["whole"], 0.5 * weights["all"], weights)
        self.assert_read_back(run)

    def test_a_chain_ends_at_a_thread_of_no_target(self):
        relay = self.start(RELAY, "100000")

        def last():
            found = subprocess.run(["pgrep", "-P", str(relay.pid), "-x", "relay_last"], capture_output=True, check=False)
            return int(found.stdout or 0)
        self.wait_while_it_runs(relay, "its last process", last)
        run = self.profile("--chain", "3", "-p", str(last()), "-d", "0.5", verb="wakeup")
        self.assertEqual(waits.book_faults(run, of_wakers=True), [])
        ends = {tuple(names(stack["user"])[:2]) for stack in run.stacks if stack["comm"] == "relay_third"}
        self.assertEqual(ends, {("[not a target]", "--")})

    def test_filters_judge_who_waits(self):
        try:
            group = Cgroup2()
        except OSError as error:
            self.skipTest(str(error))
        self.addCleanup(group.close)
        inside = self.start("sh", "-c", f"echo $$ >{group.path}/cgroup.procs && exec sleep 1000")
        outside = self.start("sleep", "1000")
        self.wait_while_it_runs(inside, "sleep", lambda: os.readlink(f"/proc/{inside.pid}/exe").endswith("sleep"))
        run = self.profile("-a", "--cgroup", group.name, "--by", "cgroup,comm", "-d", "0.3", verb="offcpu")
        self.assertEqual({stack["cgroup"] for stack in run.stacks}, {group.name})
        self.assertEqual({stack["pid"] for stack in run.stacks}, {inside.pid})
        self.assertEqual([stack["stop"] for stack in run.stacks], ["outermost"])
        self.assertNotEqual(outside.pid, inside.pid)
        relay = self.start("sh", "-c", f"echo $$ >{group.path}/cgroup.procs && exec {RELAY} 100000")
        self.addCleanup(lambda: (relay.kill(), inside.kill(), relay.wait(), inside.wait(), time.sleep(0.1)))
        run = self.profile("-a", "--cgroup", group.name, "-d", "0.5", verb="wakeup")
        self.assertTrue(run.stacks)
        self.assertLessEqual({stack["key"] for stack in run.stacks}, {"relay", "relay_first", "relay_second", "relay_third", "relay_last"})
        run = self.profile("-a", "--comm", "^relay_last$", "-d", "0.5", verb="wakeup")
        self.assertEqual({(stack["comm"], stack["key"]) for stack in run.stacks}, {("relay_third", "relay_last")})

    def test_windows_of_wakeups(self):
        relay = self.start(RELAY, "100000")
        pattern = self.path("w-%t.jsonl")
        done = self.fpless("wakeup", "-q", "-p", str(relay.pid), "--window", "0.3", "-d", "0.9", "-o", pattern)
        self.assertEqual(done.returncode, 0, done.stderr)
        weights = []
        for name in sorted(os.listdir(self.folder)):
            if not name.startswith("w-"):
                continue
            with open(self.path(name), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            stacks = [line for line in lines if line["type"] == "stack"]
            books = lines[-1]
            self.assertEqual(books["fired"], sum(stack["count"] for stack in stacks) + books["idle"] + books["filtered"])
            weights.append(sum(stack["weight"] for stack in stacks))
            self.assertEqual({stack["key"] for stack in stacks}, {"relay_first"})
        self.assertGreaterEqual(len(weights), 2)
        self.assertGreater(min(weights), 0)


if __name__ == "__main__":
    main()
