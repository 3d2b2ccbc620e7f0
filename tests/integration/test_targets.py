#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only the samples of the targets are shown, whatever they are named by, told apart by what was asked
for, and the books close."""

import errno
import json
import os
import signal
import subprocess
import unittest

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, main, write
from waiting import wait_for

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

    def busy_script(self, script):
        """A python program that prints the number of a thread first: it, and the number."""
        process = self.busy("python3", "-c", script, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        return process, int(process.stdout.readline())

    def threads(self):
        """The fixture with four busy threads, all of them there."""
        process = self.busy(fixture("threads"), "600000")
        self.wait_while_it_runs(process, "its threads", lambda: len(threads_of(process.pid)) == 5)
        return process

    def depths(self, run):
        """How deep `descend` is where it is deepest: each thread of the fixture has its own."""
        return self.depths_of(run.stacks)

    def depths_of(self, stacks):
        return {sum(frame["symbol"] == "descend" for frame in stack["user"]) for stack in stacks
                if any(frame["symbol"] == "spin" for frame in stack["user"])}


class Threads(TargetCase):
    def test_only_the_threads_named_are_shown(self):
        process = self.threads()
        self.busy()
        found = set()
        for tid, verb in zip(threads_of(process.pid)[1:], ["profile", "compare"] * 2):
            run = self.profile_while_busy([tid], 200, "-F", "999", "-t", str(tid), verb=verb, threads=True)
            self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})
            depths = self.depths(run)
            self.assertEqual(len(depths), 1, depths)
            found |= depths
        self.assertEqual(found, DEPTHS)
        tids = threads_of(process.pid)
        run = self.profile_while_busy(tids[1:], 100, "-F", "999", "-t", ",".join(map(str, tids)), threads=True)
        self.assertEqual(self.depths(run), DEPTHS)

    def test_of_the_processes_named_beside_them(self):
        first, second = self.threads(), self.threads()
        tids = [threads_of(process.pid)[1] for process in (first, second)]
        run = self.profile_while_busy([first.pid], 100, "-F", "999", "-p", str(first.pid), "-t",
                                      ",".join(map(str, tids)))
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
        tid = threads_of(process.pid)[2]
        run = self.profile_while_busy([tid], 100, "-F", "499", "-t", f"{tid},4194303", threads=True)
        self.assertGreater(run.books["shown"], 0)
        self.assertIn("goes on without it", run.stderr)

    def test_the_run_ends_with_the_last_of_them(self):
        # The thread that the process lives on without, and then its first.
        go, stats = self.path("go"), self.path("stats.json")
        script = ("import os, threading\n"
                  "def spin(path):\n"
                  "    while not os.path.exists(path): pass\n"
                  f"thread = threading.Thread(target=spin, args=({go!r},))\n"
                  "thread.start()\n"
                  "print(thread.native_id, flush=True)\n"
                  "spin('/no/such')\n")
        process, tid = self.busy_script(script)
        running = self.start(FPLESS, "profile", "-q", "-f", "--stats", stats, "-F", "499", "-t", str(tid),
                             stdout=subprocess.DEVNULL)
        self.wait_until_sampling(running)
        self.wait_until_used(running, [tid], 100, threads=True)
        write(go, "")
        self.assertEqual(running.wait(TIMEOUT_S), 0)
        with open(stats, encoding="utf-8") as file:
            self.assertGreater(json.load(file)["shown"], 0)
        self.assertIsNone(process.poll())
        other = self.busy(fixture("chain"), "2000")
        run = self.profile("-F", "499", "-d", "600", "-t", f"{other.pid},{other.pid}")
        self.assertEqual({stack["pid"] for stack in run.stacks}, {other.pid})

    def test_of_a_process_whose_first_thread_has_ended(self):
        script = ("import ctypes, threading\n"
                  "def spin():\n"
                  "    while True: pass\n"
                  "thread = threading.Thread(target=spin)\n"
                  "thread.start()\n"
                  "print(thread.native_id, flush=True)\n"
                  "ctypes.CDLL(None).syscall(60, 0)\n")
        _, tid = self.busy_script(script)
        run = self.profile_while_busy([tid], 100, "-F", "499", "-t", str(tid), threads=True)
        self.assertGreater(run.books["shown"], 0)


class Cpus(TargetCase):
    def test_only_the_cpus_named_are_sampled(self):
        cpus = online_cpus()
        first, second = self.busy(), self.busy()
        os.sched_setaffinity(first.pid, {cpus[0]})
        os.sched_setaffinity(second.pid, {cpus[-1]})
        run = self.profile_while_busy([first.pid], 200, "-F", "499", "-C", str(cpus[0]))
        self.assertEqual((run.stats["cpus"], run.meta["cpus"]), (1, 1))
        self.assertLessEqual(run.stats["fired"], run.stats["expected"] + 1)  # the clock's, and the one at its start
        pids = {stack["pid"] for stack in run.stacks}
        self.assertIn(first.pid, pids)
        self.assertEqual(second.pid in pids, cpus[0] == cpus[-1])
        run = self.profile("-F", "499", "-d", "0.5", "-C", f"{cpus[0]},{cpus[0]}-{cpus[-1]}")
        self.assertEqual(run.stats["cpus"], len(cpus))

    def test_a_process_that_begins_on_another_cpu_is_known(self):
        cpus = online_cpus()
        run = self.profile("-F", "999", "-d", "600", "-C", str(cpus[-1]), "--",
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
        for user, verb in ((str(NOBODY), "profile"), ("nobody", "compare")):
            run = self.profile_while_busy([mine.pid, theirs.pid, setuid.pid], 100, "-F", "499", "-u", user, "-p",
                                          f"{mine.pid},{theirs.pid},{setuid.pid}", verb=verb)
            self.assertEqual({stack["pid"] for stack in run.stacks}, {theirs.pid, setuid.pid})
        run = self.profile_while_busy([mine.pid, theirs.pid, setuid.pid], 100, "-F", "499", "-u", "nobody")
        self.assertLessEqual({theirs.pid, setuid.pid}, {stack["pid"] for stack in run.stacks})
        self.assertNotIn(mine.pid, {stack["pid"] for stack in run.stacks})
        run = self.profile_while_busy([mine.pid, theirs.pid], 100, "-F", "499", "-u", "0", "-p", f"{mine.pid},{theirs.pid}")
        self.assertEqual({stack["pid"] for stack in run.stacks}, {mine.pid})
        self.assertGreater(run.books["filtered"], 0)

    def test_user_without_processes(self):
        done = self.fpless("profile", "-q", "-d", "0.2", "-u", "4294967294")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"no samples", done.stderr)


def cgroup_mount():
    """Where cgroup v2 is mounted and new groups may be made; None: nowhere."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, right = line.split(" - ")
            if right.split()[0] == "cgroup2" and os.access(left.split()[4], os.W_OK):
                return left.split()[4]
    return None


class CgroupCase(TargetCase):
    def setUp(self):
        super().setUp()
        self.mount = cgroup_mount()
        if not self.mount:
            self.skipTest("no cgroup v2 to make groups in")

    def group(self, name):
        """A new cgroup: its path below the mount."""
        path = f"/fpless-test-{os.getpid()}-{name}"
        os.mkdir(self.mount + path)
        self.addCleanup(self.remove, self.mount + path)
        return path

    def remove(self, folder):
        def is_removed():
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                return False
            return True

        wait_for(f"the last task of {folder} has gone", is_removed)

    def enter(self, path):
        """For Popen's preexec_fn: be in the cgroup from the start."""
        def move():
            with open(f"{self.mount}{path}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
        return move


class Cgroups(CgroupCase):
    def test_exactly_the_subtree_is_shown(self):
        top = self.group("top")
        below, beside = self.group("top/below"), self.group("beside")
        pids = {path: self.busy(preexec_fn=self.enter(path)).pid
                for path in (top, below, beside)}
        cases = [(top, {top, below}), (top[1:], {top, below}), (self.mount + top, {top, below}),
                 (self.mount + below + "/", {below}), ("/", set(pids))]
        for (path, members), verb in zip(cases, ["profile", "compare"] + ["profile"] * 3):
            with self.subTest(path, verb=verb):
                run = self.profile_while_busy(pids.values(), 100, "-F", "499", "--cgroup", path, verb=verb)
                shown = {stack["pid"] for stack in run.stacks}
                self.assertEqual(shown & set(pids.values()), {pids[member] for member in members})
                self.assertTrue(path == "/" or len(shown) == len(members))

    def test_it_is_where_the_task_is_at_the_moment(self):
        path = self.group("moved")
        process = self.busy()
        self.assertEqual(self.fpless("profile", "-q", "-F", "499", "-d", "0.4", "--cgroup", path,
                                     "-o", self.path("1.jsonl")).returncode, 3)
        with open(f"{self.mount}{path}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(process.pid))
        run = self.profile_while_busy([process.pid], 100, "-F", "499", "--cgroup", path)
        self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})

    def test_cgroup_v1_is_refused(self):
        self.assert_refused(self.fpless("profile", "-q", "1", "--cgroup", "/no/such"), 3,
                            "--cgroup /no/such: no such cgroup below")
        self.assert_refused(self.fpless("profile", "-q", "1", "--cgroup", self.folder), 3,
                            "no such cgroup below")
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            for line in file:
                left, right = line.split(" - ")
                if right.split()[0] == "cgroup":
                    self.assert_refused(self.fpless("profile", "-q", "1", "--cgroup",
                                                    left.split()[4]), 2, "a cgroup of v1")
                    break

    def test_without_the_mount_it_cannot_be_said(self):
        command = ["unshare", "-m", "sh", "-c",
                   f'umount -l {self.mount} && exec "$0" profile -q -d 1 --cgroup /x', FPLESS]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"cgroup v2 is not mounted", done.stderr)


class Labels(CgroupCase):
    def heads(self, tids, labels, *args):
        """The first frames of the folded lines, with their counts."""
        self.run_ = self.profile_while_busy(tids, 100, "-F", "999", *args, "--by", labels, threads=True)
        heads = {}
        with open(self.run_.folded_path, encoding="utf-8") as file:
            for line in file:
                stack, count = line.rsplit(" ", 1)
                frames = stack.split(";")
                head = tuple(frames[:3 if "cgroup,cpu" in labels else 1])
                heads[head] = heads.get(head, 0) + int(count)
        self.assertEqual(sum(heads.values()), self.run_.books["shown"])
        return heads

    def test_stacks_are_told_apart_by_what_was_asked_for(self):
        process = self.threads()
        pid, comm = process.pid, "threads"
        tids = threads_of(pid)[1:]
        target = ("-p", str(pid))
        self.assertEqual(set(self.heads(tids, "comm", *target)), {(comm,)})
        self.assertEqual(set(self.heads(tids, "pid", *target)), {(f"{pid}",)})
        self.assertEqual(set(self.heads(tids, "pid,comm", *target)), {(f"{comm}-{pid}",)})
        self.assertEqual(set(self.heads(tids, "tid", *target)), {(f"{pid}/{tid}",) for tid in tids})
        self.assertEqual({stack["tid"] for stack in self.run_.stacks}, set(tids))
        heads = self.heads(tids, "comm,tid", *target)
        self.assertEqual(set(heads), {(f"{comm}-{pid}/{tid}",) for tid in tids})
        # Each thread has a depth of its own, so its stacks are not another's.
        for tid in tids:
            depths = self.depths_of(stack for stack in self.run_.stacks if stack["tid"] == tid)
            self.assertEqual(len(depths), 1)
        cpus = self.heads(tids, "cpu", *target)
        self.assertLessEqual(set(cpus), {(f"cpu {cpu}",) for cpu in online_cpus()})
        self.assertEqual({(f"cpu {stack['cpu']}",) for stack in self.run_.stacks}, set(cpus))
        run = self.profile_while_busy([pid], 100, "-F", "999", *target)
        self.assertEqual({key for stack in run.stacks for key in ("tid", "cpu", "cgroup")
                          if key in stack}, set())

    def test_of_a_comparison(self):
        process = self.threads()
        run = self.profile_while_busy(threads_of(process.pid)[1:], 100, "-F", "999", "-p", str(process.pid), "--by", "tid,cpu",
                                      "--out-dir", self.path("pair"), verb="compare", threads=True)
        self.assertEqual({stack["tid"] for stack in run.stacks}, set(threads_of(process.pid)[1:]))
        for name in ("cfi", "fp"):
            with open(os.path.join(self.path("pair"), name + ".folded"), encoding="utf-8") as file:
                lines = [line.split(";") for line in file]
            self.assertEqual({line[1].split("/")[0] for line in lines}, {str(process.pid)})

    def test_cgroups_have_their_paths_even_when_they_have_gone(self):
        process = subprocess.Popen(
            [FPLESS, "profile", "-F", "999", "-d", "600", *self.outputs(), "--by",
             "cgroup,cpu,comm,pid"], stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        before = self.group("before")  # while it starts, or before that
        first = self.busy(preexec_fn=self.enter(before))
        self.wait_until_sampling(process)
        self.wait_until_used(process, [first.pid], 100)
        gone = [self.group(f"gone{i}") for i in range(8)]
        for path in gone:
            subprocess.run([fixture("chain"), "100"], preexec_fn=self.enter(path), check=True)
            os.rmdir(self.mount + path)
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
        run = Run.of_folder(self.folder, process.wait(TIMEOUT_S), stderr)
        self.assertEqual(run.faults(), [])
        shown = {stack["cgroup"] for stack in run.stacks}
        self.assertLessEqual({before, *gone}, shown)
        with open(run.folded_path, encoding="utf-8") as file:
            heads = {tuple(line.split(";")[:2]) for line in file}
        self.assertLessEqual({path for path, _ in heads}, shown)
        self.assertEqual({cpu.split()[0] for _, cpu in heads}, {"cpu"})

    def outputs(self):
        return Run.outputs(self.folder)


class Names(TargetCase):
    def rename(self):
        """A program whose name alternates between two."""
        script = ("import time\n"
                  "while True:\n"
                  "    for name in ('odd-one', 'even-one'):\n"
                  "        open('/proc/self/comm', 'w').write(name)\n"
                  "        end = time.process_time() + 0.02\n"
                  "        while time.process_time() < end: pass\n")
        return self.renamed(script)

    def renamed(self, script):
        """A program that changes its name, once it has done so."""
        process = self.busy("python3", "-c", script)
        def name():
            with open(f"/proc/{process.pid}/comm", encoding="ascii") as file:
                return file.read()

        self.wait_while_it_runs(process, "its own name", lambda: not name().startswith("python"))
        return process

    def test_only_names_that_match_are_shown_at_every_moment(self):
        process = self.rename()
        other = self.busy()
        cases = [("^odd-one$", {"odd-one"}), ("^(odd|even)-", {"odd-one", "even-one"}),
                 ("^chain$|odd", {"odd-one", "chain"}), ("^OdD", None)]
        for (regex, names), verb in zip(cases, ["profile", "compare"] * 2):
            with self.subTest(regex, verb=verb):
                if names is None:
                    self.assertEqual(self.fpless("profile", "-q", "-d", "0.3", "--comm",
                                                 regex).returncode, 3)
                    continue
                # each of its names lasts for 20 ms of its CPU time
                run = self.profile_while_busy([process.pid, other.pid], 300, "-F", "999", "--comm", regex, verb=verb)
                self.assertEqual({stack["comm"] for stack in run.stacks}, names)
                self.assertGreater(run.books["filtered"], 0)
        run = self.profile_while_busy([process.pid], 300, "-F", "999", "--comm", "odd", "-p", str(process.pid))
        self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})

    def test_more_names_than_the_kernel_side_is_told_of(self):
        script = ("i = 0\n"
                  "while True:\n"
                  "    i += 1\n"
                  "    open('/proc/self/comm', 'w').write(f'{\"yn\"[i % 2]}{i}')\n"
                  "    for _ in range(300): pass\n")
        process = self.renamed(script)
        for more in ((), ("--stack-memory", "64K"), ("--snapshot", "0")):
            run = self.profile_while_busy([process.pid], 1000, "-F", "4999", "--comm", "^y[0-9]+$", *more)
            self.assertEqual({stack["comm"][0] for stack in run.stacks}, {"y"})
            self.assertEqual(run.books["lost"]["no_frames"], 0)

    def test_with_a_command_and_with_every_other_choice(self):
        run = self.profile("-F", "999", "-d", "600", "--comm", "^chain", "--", fixture("vfork"),
                           "300", fixture("chain_nopie"))
        self.assertEqual({stack["comm"] for stack in run.stacks}, {"chain_nopie"})
        process = self.threads()
        tid = threads_of(process.pid)[1]
        cpus = ",".join(map(str, online_cpus()))
        run = self.profile_while_busy([tid], 100, "-F", "999", "-p", str(process.pid), "-t", str(tid), "-C", cpus, "-u", "0",
                                      "--comm", "thr", "-U", "--by", "tid", threads=True)
        self.assertEqual({stack["tid"] for stack in run.stacks}, {tid})


class KernelThreads(TargetCase):
    def test_have_their_kernel_stacks_and_are_no_user_samples(self):
        """What is written to a terminal is handed on by a kworker."""
        script = ("import os, tty\n"
                  "master, slave = os.openpty()\n"
                  "tty.setraw(slave)\n"
                  "while os.write(slave, b'x' * 1000): os.read(master, 1000)\n")
        process = self.busy("python3", "-c", script)
        run = self.profile_while_busy([process.pid], 500, "-F", "999", "--comm", "^k")
        self.assertEqual(run.status, 0)
        mine = [stack for stack in run.stacks if stack["stop"] is None]
        self.assertTrue(mine)
        for stack in mine:
            self.assertEqual(stack["user"], [])
        self.assertEqual(run.books["shown"] - run.books["user_samples"],
                         sum(stack["count"] for stack in mine))
        self.assertTrue(any(stack["kernel"] for stack in mine))
        done = self.fpless("profile", "-q", "-U", "-d", "0.3", "--comm", "^kworker")
        self.assertEqual(done.returncode, 3)

    def test_one_of_them_is_a_target_like_any_other(self):
        done = self.fpless("profile", "-q", "-d", "0.2", "-p", "2")
        self.assertIn(done.returncode, (0, 3))
        self.assertNotIn(b"No such process", done.stderr)


class ManyProcesses(TargetCase):
    def test_all_are_shown_and_the_last_ends_the_run(self):
        sleepers = [self.start("sleep", "600").pid for _ in range(300)]
        process = self.busy()
        pids = ",".join(map(str, sleepers + [process.pid, 4194303]))
        run = self.profile_while_busy([process.pid], 100, "-F", "499", "-p", pids)
        self.assertIn(process.pid, {stack["pid"] for stack in run.stacks})
        self.assertIn("goes on without it", run.stderr)

        running = self.start(FPLESS, "profile", "-F", "499", "-d", "600", "-p", pids,
                             "-o", self.path("x.folded"), stderr=subprocess.PIPE)
        self.addCleanup(running.stderr.close)
        self.wait_until_sampling(running)
        process.kill()
        process.wait()
        for pid in sleepers:
            os.kill(pid, signal.SIGKILL)
        self.assertIn(running.wait(TIMEOUT_S), (0, 3))


if __name__ == "__main__":
    main()
