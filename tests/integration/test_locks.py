#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Locks that make threads wait: their names, how long that took, who waited, and whose unlocking ended it."""

import collections
import os
import re

import waits
from root_case import RootCase, fixture, main

WAITS = fixture("waits")
AT_LOCKS = {"g_lock_a": ("wait_a1", "wait_a2"), "g_lock_b": ("wait_b1", "wait_b2")}
NAMES = [name for names in AT_LOCKS.values() for name in names]


def names(frames):
    return [frame.get("symbol") for frame in frames]


def parts(stack):
    """The functions of who waited, and those of who ended the wait, leaf first; of the latter None: nothing did."""
    found = names(stack["user"])
    if "--" not in found:
        return found, None
    at = found.index("--")
    return found[at + 1:], found[:at][::-1]


class Locks(RootCase):
    def locks(self, *args):
        run = self.profile("--ring-memory", "64M", *args, verb="locks")
        self.assertEqual(waits.book_faults(run), [], run.command)
        return run, {lock["lock"]: lock for lock in run.stats["locks"]}

    def text(self, run):
        """The table of the recording: {lock: kind}, in its order."""
        report = self.fpless("report", run.jsonl_path)
        self.assertEqual(report.returncode, 0, report.stderr)
        lines = re.findall(r"^ +[0-9.]+ \w+ +\d+  (\w+) +(\S.*)$", report.stdout.decode(), re.MULTILINE)
        return {lock: kind for kind, lock in lines}

    def test_two_locks_of_one_program_are_told_apart(self):
        run, locks = self.locks("--exact", "--", WAITS, "1500", *NAMES, "wait_condition", "wait_signal")
        own, times = waits.own(run.stdout.decode()), run.stats["times"]
        weights, released = collections.Counter(), collections.Counter()
        for stack in run.stacks:
            waiter, waker = parts(stack)
            weights[stack["key"]] += stack["weight"]
            if stack["key"] in AT_LOCKS:
                self.assertIn("wait_at_" + stack["key"][2:], waiter)
                released[stack["key"]] += stack["weight"] * ("release_" + stack["key"][2:] in (waker or ()))
        for lock, members in AT_LOCKS.items():
            mine = waits.Own(*map(sum, zip(*(own[name] for name in members))))
            # one of two always waits, so that a sum of another lock's or a lost one shows
            self.assertGreater(mine.clock_ns, 500_000_000)
            self.assertEqual(waits.waker_faults(lock, mine, locks[lock]["wait_ns"], times, waits.cpu_ns(run.stdout.decode())), [])
            # --exact; a switch that the machine told to no program (decision 0031) is in no stack
            self.assertLessEqual(abs(locks[lock]["wait_ns"] - weights[lock]), times["unseen"])
            self.assertGreaterEqual(released[lock], 0.99 * weights[lock])
        kinds = self.text(run)
        condition = next(lock for lock in locks if lock.startswith("g_condition"))
        self.assertEqual((kinds["g_lock_a"], kinds["g_lock_b"], kinds[condition]), ("mutex", "mutex", "condvar"))
        # it waits throughout, and stands below both all the same
        self.assertGreater(locks[condition]["wait_ns"], max(locks[lock]["wait_ns"] for lock in AT_LOCKS))
        self.assertGreater(list(kinds).index(condition), max(list(kinds).index(lock) for lock in AT_LOCKS))

    def test_sums_are_exact_where_waits_are_sampled(self):
        process = self.start(WAITS, "60000", *NAMES, "wait_in_vain")
        self.wait_while_it_runs(process, "all of its threads", lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 6)
        run, locks = self.locks("-p", str(process.pid), "-d", "1")
        weights, nr = collections.Counter(), collections.Counter()
        vain = []
        for stack in run.stacks:
            weights[stack["key"]] += stack["weight"]
            nr[stack["key"]] += stack["count"]
            if "wait_in_vain" in parts(stack)[0]:
                vain.append(stack)
        # two threads with a carry each: it begins and ends somewhere below a period
        for lock in AT_LOCKS:
            self.assertLessEqual(abs(weights[lock] - locks[lock]["wait_ns"]), 2 * waits.PERIOD_NS)
        self.assertLess(nr["g_lock_a"], locks["g_lock_a"]["waits"])
        # a lock that is never given back: the wait has not ended, and takes the whole run
        self.assertEqual([(stack["key"][:6], parts(stack)[1], stack["stop"]) for stack in vain], [("[anon ", None, "outermost")])
        self.assertEqual(vain[0]["weight"], locks[vain[0]["key"]]["wait_ns"])
        self.assertGreaterEqual(vain[0]["weight"], 900_000_000)
        self.assertEqual(self.text(run)[vain[0]["key"]], "mutex")


if __name__ == "__main__":
    main()
