#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that may run and are not let: by the CPU limit of their cgroup, and by its freezer."""

import os
import shlex
import subprocess
import tempfile
import time

import waits
from cgroup2 import Cgroup2
from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, main

WAITS = fixture("waits")
PERIOD_US, QUOTA_US = 100_000, 2_000


class CpuLimit:
    """A cgroup that may use a fiftieth of a CPU, less than even a busy machine gives it: of version 1 or 2, whichever has the controller. OSError: neither."""

    def __init__(self):
        with open("/proc/self/mounts", encoding="ascii") as file:
            mounts = [line.split() for line in file]
        for _, root, kind, options, *_ in mounts:
            if kind == "cgroup" and "cpu" in options.split(","):
                self.path, self.count, self.unit_ns = tempfile.mkdtemp(prefix="fpless-test-", dir=root), "throttled_time", 1
                self.write("cpu.cfs_period_us", PERIOD_US)
                self.write("cpu.cfs_quota_us", QUOTA_US)
                return
            if kind == "cgroup2":
                with open(os.path.join(root, "cgroup.subtree_control"), "a", encoding="ascii") as file:
                    file.write("+cpu")
                self.path, self.count, self.unit_ns = tempfile.mkdtemp(prefix="fpless-test-", dir=root), "throttled_usec", 1000
                self.write("cpu.max", f"{QUOTA_US} {PERIOD_US}")
                return
        raise OSError("no cgroup has a limit of CPU time")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def throttled_ns(self):
        """The kernel's own count."""
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as file:
            return int(dict(line.split() for line in file)[self.count]) * self.unit_ns

    def shell(self, *args):
        return ["sh", "-c", f"echo $$ >{shlex.quote(self.path)}/cgroup.procs && exec \"$@\"", "sh", *args]

    def close(self):
        os.rmdir(self.path)


def weight(run, state):
    return sum(stack["weight"] for stack in run.stacks if stack["state"] == state)


class Held(RootCase):
    def test_a_thread_at_its_cpu_limit_is_throttled(self):
        try:
            limit = CpuLimit()
        except OSError as error:
            self.skipTest(str(error))
        self.addCleanup(limit.close)
        run, kernel_ns = self.until_seen("the thread is throttled", lambda times: self.limited(limit, times),
                                         lambda result: result[1] > 10 * waits.PERIOD_NS)
        times = run.stats["times"]
        held = weight(run, "throttled")
        # beside the kernel's count, which ends before others let the thread have the CPU
        self.assertGreater(times["throttled"], kernel_ns // 2, times)
        self.assertLessEqual(times["throttled"], times["runnable"])
        self.assertGreater(held, kernel_ns // 2 - waits.PERIOD_NS)
        self.assertLessEqual(held, times["throttled"] + waits.PERIOD_NS)
        self.assertRegex(run.stderr, r"throttled +[\d.]+ s of the runnable time")

    def limited(self, limit, times):
        """A run of a thread that never waits, at the limit, and how long the kernel says that it was kept from running."""
        before = limit.throttled_ns()
        run = self.profile("--ring-memory", "256M", "--", *limit.shell(WAITS, str(800 * times), "wait_not"), verb="wall")
        self.assertEqual(waits.book_faults(run), [], run.command)
        return run, limit.throttled_ns() - before

    def test_a_frozen_thread_does_not_sleep(self):
        try:
            cgroup = Cgroup2()
        except OSError as error:
            self.skipTest(str(error))
        self.addCleanup(cgroup.close)
        process = self.start("sh", "-c", "exec " + cgroup.shell(WAITS, "60000", "wait_not"), stdout=subprocess.DEVNULL)
        run = self.start(FPLESS, "wall", *Run.outputs(self.folder), "-p", str(process.pid), stderr=subprocess.PIPE)
        self.wait_until_sampling(run)
        self.freeze(process, cgroup, 1)
        begin = time.monotonic_ns()
        time.sleep(0.3)
        frozen_ns = time.monotonic_ns() - begin
        self.freeze(process, cgroup, 0)
        time.sleep(0.1)
        process.kill()
        said = run.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(run.returncode, 0, said)
        run = Run.of_folder(self.folder, 0, said)
        self.assertEqual(waits.book_faults(run), [], said)
        self.assertGreaterEqual(run.stats["times"]["frozen"], frozen_ns)
        self.assertGreaterEqual(weight(run, "frozen"), frozen_ns - waits.PERIOD_NS, run.stacks)

    def freeze(self, process, cgroup, value):
        with open(cgroup.path + "/cgroup.freeze", "w", encoding="ascii") as file:
            file.write(str(value))

        def is_done():
            with open(cgroup.path + "/cgroup.events", encoding="ascii") as file:
                return f"frozen {value}" in file.read()
        self.wait_while_it_runs(process, "the cgroup has changed", is_done)


if __name__ == "__main__":
    main()
