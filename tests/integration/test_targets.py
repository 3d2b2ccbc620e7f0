#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only the samples of the targets are shown, whatever they are named by, and the books close."""

import os
import signal
import subprocess
import unittest

from root_case import FPLESS, RootCase, fixture, main

NOBODY = 65534
DEPTHS = {1, 6, 11, 16}  # frames `descend` has in the four threads of the fixture


def threads_of(pid):
    return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))


def online_cpus():
    return sorted(os.sched_getaffinity(0))


class TargetCase(RootCase):
    def busy(self, *command, **more):
        """A program that keeps a CPU busy until the test ends."""
        return self.start(*(command or (fixture("chain"), "600000")), **more)

    def threads(self):
        """The fixture with four busy threads, all of them there."""
        process = self.busy(fixture("threads"), "600000")
        while len(threads_of(process.pid)) < 5:
            self.assertIsNone(process.poll())
        return process

    def depths(self, run):
        """How deep `descend` is in the stacks, each thread of the fixture has its own."""
        counts = {sum(frame["symbol"] == "descend" for frame in stack["user"])
                  for stack in run.stacks}
        return counts - {0}


class Threads(TargetCase):
    def test_only_the_threads_named_are_shown(self):
        process = self.threads()
        self.busy()
        for verb in ("profile", "compare"):
            found = set()
            for tid in threads_of(process.pid)[1:]:
                run = self.profile("-F", "999", "-d", "0.6", "-t", str(tid), verb=verb)
                self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})
                depths = self.depths(run)
                self.assertEqual(len(depths), 1, depths)
                found |= depths
            self.assertEqual(found, DEPTHS)
        tids = ",".join(map(str, threads_of(process.pid)))
        run = self.profile("-F", "999", "-d", "1", "-t", tids)
        self.assertEqual(self.depths(run), DEPTHS)

    def test_of_the_processes_named_beside_them(self):
        first, second = self.threads(), self.threads()
        tids = [threads_of(process.pid)[1] for process in (first, second)]
        run = self.profile("-F", "999", "-d", "0.5", "-p", str(first.pid),
                           "-t", ",".join(map(str, tids)))
        self.assertEqual({stack["pid"] for stack in run.stacks}, {first.pid})
        self.assertIn("of process", run.stderr)
        self.assert_refused(self.fpless("profile", "-q", "1", "-p", str(first.pid),
                                        "-t", str(tids[1])), 3, str(tids[1]), "does not name")

    def test_that_are_not_there(self):
        self.assert_refused(self.fpless("profile", "-q", "1", "-t", "4194303"), 3,
                            "thread 4194303: no such thread")
        self.assert_refused(self.fpless("profile", "-q", "1", "-t", "4194302,4194303"), 3,
                            "none of 2 threads")
        process = self.threads()
        run = self.profile("-F", "499", "-d", "0.5", "-t",
                           f"{threads_of(process.pid)[2]},4194303")
        self.assertGreater(run.books["shown"], 0)
        self.assertIn("goes on without it", run.stderr)

    def test_the_run_ends_with_the_last_of_them(self):
        # The thread that the process lives on without, and then its first.
        script = ("import threading, time\n"
                  "def spin(s):\n"
                  "    end = time.monotonic() + s\n"
                  "    while time.monotonic() < end: pass\n"
                  "thread = threading.Thread(target=spin, args=(2,))\n"
                  "thread.start()\n"
                  "print(thread.native_id, flush=True)\n"
                  "spin(600)\n")
        process = self.busy("python3", "-c", script, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        tid = int(process.stdout.readline())
        run = self.profile("-F", "499", "-d", "90", "-t", str(tid))
        self.assertGreater(run.books["shown"], 0)
        self.assertIsNone(process.poll())
        other = self.busy(fixture("chain"), "1000")
        run = self.profile("-F", "499", "-d", "90", "-t", f"{other.pid},{other.pid}")
        self.assertEqual({stack["pid"] for stack in run.stacks}, {other.pid})

    def test_of_a_process_whose_first_thread_has_ended(self):
        script = ("import ctypes, threading\n"
                  "def spin():\n"
                  "    while True: pass\n"
                  "thread = threading.Thread(target=spin)\n"
                  "thread.start()\n"
                  "print(thread.native_id, flush=True)\n"
                  "ctypes.CDLL(None).syscall(60, 0)\n")
        process = self.busy("python3", "-c", script, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        tid = int(process.stdout.readline())
        run = self.profile("-F", "499", "-d", "0.5", "-t", str(tid))
        self.assertGreater(run.books["shown"], 0)


class Cpus(TargetCase):
    def test_only_the_cpus_named_are_sampled(self):
        cpus = online_cpus()
        first, second = self.busy(), self.busy()
        os.sched_setaffinity(first.pid, {cpus[0]})
        os.sched_setaffinity(second.pid, {cpus[-1]})
        run = self.profile("-F", "499", "-d", "1", "-C", str(cpus[0]))
        self.assertEqual((run.stats["cpus"], run.meta["cpus"]), (1, 1))
        self.assertLessEqual(run.stats["fired"], 1.1 * run.stats["expected"])
        pids = {stack["pid"] for stack in run.stacks}
        self.assertIn(first.pid, pids)
        self.assertEqual(second.pid in pids, cpus[0] == cpus[-1])
        run = self.profile("-F", "499", "-d", "0.5", "-C", f"{cpus[0]},{cpus[0]}-{cpus[-1]}")
        self.assertEqual(run.stats["cpus"], len(cpus))

    def test_a_process_that_begins_on_another_cpu_is_known(self):
        cpus = online_cpus()
        run = self.profile("-F", "999", "-d", "60", "-C", str(cpus[-1]), "--",
                           "taskset", "-c", str(cpus[0]), "taskset", "-c", str(cpus[-1]),
                           fixture("chain"), "500")
        self.assert_chain_is_complete(run, fixture("chain"))

    def test_that_are_not_there(self):
        done = self.fpless("profile", "-q", "-d", "1", "-C", "8191")
        self.assert_refused(done, 3, "CPU 8191 is not online")


class Users(TargetCase):
    def test_only_tasks_of_the_user_are_shown(self):
        mine = self.busy()
        theirs = self.busy("setpriv", "--reuid", str(NOBODY), fixture("chain"), "600000")
        # Who the task acts as counts, not who started it.
        setuid = self.busy("setpriv", "--euid", str(NOBODY), fixture("chain"), "600000")
        for user in (str(NOBODY), "nobody"):
            for verb in ("profile", "compare"):
                run = self.profile("-F", "499", "-d", "0.6", "-u", user, verb=verb)
                self.assertEqual({stack["pid"] for stack in run.stacks},
                                 {theirs.pid, setuid.pid})
        run = self.profile("-F", "499", "-d", "0.6", "-u", "0", "-p", f"{mine.pid},{theirs.pid}")
        self.assertEqual({stack["pid"] for stack in run.stacks}, {mine.pid})
        self.assertGreater(run.books["filtered"], 0)

    def test_nobody_of_the_user_is_there(self):
        done = self.fpless("profile", "-q", "-d", "0.2", "-u", "4294967294")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"no samples", done.stderr)


class ManyProcesses(TargetCase):
    def test_all_are_shown_and_the_last_ends_the_run(self):
        sleepers = [self.start("sleep", "600").pid for _ in range(300)]
        process = self.busy(fixture("chain"), "1500")
        pids = ",".join(map(str, sleepers + [process.pid, 4194303]))
        run = self.profile("-F", "499", "-d", "0.5", "-p", pids)
        self.assertIn(process.pid, {stack["pid"] for stack in run.stacks})
        self.assertIn("goes on without it", run.stderr)

        running = self.start(FPLESS, "profile", "-F", "499", "-d", "90", "-p", pids,
                             "-o", self.path("x.folded"), stderr=subprocess.PIPE)
        self.addCleanup(running.stderr.close)
        process.wait()
        for pid in sleepers:
            os.kill(pid, signal.SIGKILL)
        self.assertIn(running.wait(60), (0, 3))


if __name__ == "__main__":
    main()
