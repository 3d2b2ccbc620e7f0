#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run that is cut (--window): each window is a finished profile, whose books close, and together they are the run."""

import collections
import glob
import os
import re
import signal
import subprocess
import sys
import types

import test_locks
import test_offcpu
import test_targets
import test_wakers
import waits
from fpless_run import Run
from root_case import FPLESS, RootCase, fixture, main

NR_PAGES = 3000
MS = 1000000
UID = 64123  # that no process has
NR_WAITS = 13  # threads of the fixture `waits`
LATE = ("no_table", "burst", "no_mapping", "execing")  # a table, or what is mapped, did not come in time
WHOLE = {("outermost", 9)}  # all stacks of chain's innermost function

# Touches so many pages, a hundred at a time.
TOUCH = """
import mmap, sys, time
memory = mmap.mmap(-1, int(sys.argv[1]) * mmap.PAGESIZE)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(int(sys.argv[1])):
    memory[i * mmap.PAGESIZE] = 1
    if i % 100 == 0:
        time.sleep(0.05)
"""

# Many short programs, until it is ended.
SHORT = "while :; do /bin/true; /bin/echo x; done > /dev/null"


class WindowCase(RootCase):
    def windows(self):
        """What was written: a Run of each window, in order of time."""
        runs = []
        for path in sorted(glob.glob(self.path("s-*.json"))):
            folder = self.path("one-" + os.path.basename(path))
            stamp = re.fullmatch(r"s-(.*)\.json", os.path.basename(path)).group(1)
            os.mkdir(folder)
            for to, prefix, extension in (("out", "w", ".jsonl"), ("out", "w", ".folded"), ("stats", "s", ".json")):
                os.link(self.path(f"{prefix}-{stamp}{extension}"), os.path.join(folder, to + extension))
            run = Run.of_folder(folder, 0, b"")
            run.stamp = stamp
            runs.append(run)
        return runs

    def options(self, window, verb):
        return [verb, "--no-cache", "--window", window, "-o", self.path("w-%t.jsonl"), "-o", self.path("w-%t.folded"),
                "--stats", self.path("s-%t.json")]

    def cut(self, window, *args, verb="profile", status=0, **more):
        """The windows of a run, whose books must close, and which must not overlap."""
        done = self.fpless(*self.options(window, verb), *args, **more)
        self.said = done.stdout.decode()
        self.assertEqual(done.returncode, status, done.stderr)
        runs = self.windows()
        self.check(runs)
        return runs

    def check(self, runs):
        for run in runs:
            self.assertEqual(run.faults(), [], run.stamp)
        for i, (one, next_one) in enumerate(zip(runs, runs[1:])):
            before, after = (run.stats["window"] for run in (one, next_one))
            self.assertEqual((before["number"], after["number"]), (i, i + 1))
            self.assertEqual(before["ahead_ns"], 0)
            # the length is told in milliseconds
            self.assertLess(before["start_monotonic_ns"] + (one.stats["duration_ms"] - 1) * MS,
                            after["start_monotonic_ns"])
            self.assertLess(one.meta["start_unix_ns"] + (one.stats["duration_ms"] - 1) * MS,
                            next_one.meta["start_unix_ns"])


class Windows(WindowCase):
    @staticmethod
    def sums(runs):
        return {key: sum(run.stats[key] for run in runs) for key in ("fired", "shown", "filtered", "missed", "complete")}

    def test_together_they_are_the_run(self):
        runs = self.cut("0.5", "-F", "999", "-d", "4", "--", fixture("chain"), "100000000")
        self.assertGreaterEqual(len(runs), 3)
        sums = self.sums(runs)
        # each tick of the run fired, or is missed: those in gaps are counted
        self.assertGreaterEqual(sums["fired"] + sums["missed"], sum(run.stats["expected"] for run in runs))
        # once the table is there, all are whole: a window waits a second for it
        stops = [found for found in map(self.stops_of_spin, runs) if found]
        self.assertIn(WHOLE, stops)
        for found in stops[stops.index(WHOLE):]:
            self.assertEqual(found, WHOLE)
        alone = self.profile("-F", "999", "-d", "4", "--", fixture("chain"), "100000000")
        key, count = self.most(alone.stacks)
        self.assertIn("spin", key)
        # the stack that is nearly all of the one is nearly all of the others
        self.assert_share(count, alone.stats["shown"], 0.9)
        self.assert_share(sum(self.counts(run.stacks).get(key, 0) for run in runs), sums["shown"] - self.nr_late(runs), 0.9)

    def test_what_the_kernel_counts_is_in_one_of_them(self):
        # a sample from before the interpreter's table has no script frame, and so another stack
        args = ["-e", "page-faults", "-U", "--no-script", "--", sys.executable, "-S", "-c", TOUCH, str(NR_PAGES)]
        runs = self.cut("0.3", *args)
        self.assertGreaterEqual(len(runs), 2)
        sums = self.sums(runs)
        for run in runs:
            self.assertEqual(run.stats["counted"], run.stats["fired"] + run.stats["missed"])
        self.assertGreaterEqual(sums["shown"] + sums["missed"], NR_PAGES)
        alone = self.profile(*args)
        self.assertGreaterEqual(alone.stats["shown"], NR_PAGES)
        touched = self.most(alone.stacks)
        # every page that was touched, but for those in gaps
        count = sum(self.counts(run.stacks).get(touched[0], 0) for run in runs)
        self.assertLessEqual(count, touched[1])
        self.assertGreaterEqual(count + sums["missed"], touched[1])

    @staticmethod
    def counts(stacks):
        counts = {}
        for stack in stacks:
            key = tuple(frame["symbol"] or frame.get("vaddr") for frame in stack["user"])
            counts[key] = counts.get(key, 0) + stack["count"]
        return counts

    @staticmethod
    def nr_late(runs):
        """Samples that a window did not wait for long enough."""
        return sum(stack["count"] for run in runs for stack in run.stacks if stack["stop"] in LATE)

    @staticmethod
    def stops_of_spin(run):
        """How the stacks of chain's innermost function end, and how deep they are."""
        return {(stack["stop"], len(stack["user"])) for stack in run.stacks
                if stack["user"] and stack["user"][0].get("symbol") == "spin"}

    def most(self, stacks):
        return max(self.counts(stacks).items(), key=lambda item: item[1])

    def test_code_made_at_run_time_has_its_names(self):
        # each window's, while the program runs on
        runs = self.cut("2.5", "-F", "499", "-d", "10", "--", fixture("jit_named"), "600000", "dump", cwd=self.folder)
        named = 0
        for run in runs:
            called = [frame for stack in run.stacks for callee, frame in zip(stack["user"], stack["user"][1:])
                      if (callee["symbol"] or "").startswith("spin_") and "object" not in frame]
            names = {frame["symbol"] for frame in called}
            # a window waits two seconds for the dump to be opened
            self.assertLessEqual(names, {"jit_a of dump", None}, run.stamp)
            named += names == {"jit_a of dump"}
        self.assertGreaterEqual(named, 2)

    def test_between_windows_lives_are_followed(self):
        # each of the programs begins between two windows, or in one, and is whole in the next
        command = f"for i in 1 2 3 4 5 6 7 8 9; do {fixture('chain')} 400; done"
        runs = self.cut("0.2/0.6", "-F", "999", "--", "sh", "-c", command)
        self.assertGreaterEqual(len(runs), 2)
        for one, next_one in zip(runs, runs[1:]):
            self.assertGreaterEqual(next_one.stats["window"]["start_monotonic_ns"]
                                    - one.stats["window"]["start_monotonic_ns"], 600 * MS)
            self.assertEqual(next_one.stats["window"]["gap_ns"], 0)
        sampled = [run for run in runs if run.stats["shown"]]
        self.assertGreaterEqual(len({stack["pid"] for run in sampled for stack in run.stacks}), 2)
        sums = self.sums(sampled)
        self.assert_share(sums["complete"], sums["shown"] - self.nr_late(sampled), 0.9, sums)

    def test_all_formats_and_where_they_go(self):
        folder, moved = self.path("private"), self.path("moved")
        os.mkdir(folder, 0o700)
        process = self.start(FPLESS, "profile", "--window", "0.3", "-q", "-o", os.path.join(folder, "x-%t.pb.gz"), "-o",
                             os.path.join(folder, "x-%t.folded.zst"), "-o", os.path.join(folder, "%t.html"), "--",
                             fixture("chain"), "100000000", stderr=subprocess.PIPE)
        self.wait_while_it_runs(process, "a window", lambda: glob.glob(folder + "/x-*.pb.gz"))
        # the folder is the one that it was, wherever it is
        os.rename(folder, moved)
        before = len(os.listdir(moved))
        self.wait_while_it_runs(process, "another window", lambda: len(os.listdir(moved)) > before + 3)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, said)
        self.assertFalse(os.path.exists(folder))
        names = os.listdir(moved)
        for name in names:
            self.assertRegex(name, r"^(x-)?20\d{6}T\d{6}\.\d{3}Z\.(pb\.gz|folded\.zst|html)$")
            self.assertEqual(os.stat(os.path.join(moved, name)).st_uid, 0)
        reports = [self.fpless("report", os.path.join(moved, name)) for name in names if name.endswith(".pb.gz")]
        for report in reports:
            # a window of a busy machine may have no sample in it
            self.assertIn(report.returncode, (0, 3), report.stderr)
        self.assertTrue(any(b"spin" in report.stdout for report in reports))

    def test_what_a_run_takes_stays_the_same(self):
        """Hundreds of windows over many short programs: what is held does not grow."""
        # of a user of their own: what others begin meanwhile is not to count
        process = self.start(FPLESS, "profile", "-u", str(UID), "-F", "99", "--window", "0.05", "-q", "-o",
                             self.path("w-%t.folded"), stderr=subprocess.DEVNULL)
        shell = self.start("sh", "-c", SHORT, user=UID, start_new_session=True)
        self.addCleanup(os.killpg, shell.pid, signal.SIGKILL)

        def nr_windows():
            return len(glob.glob(self.path("w-*.folded")))

        def held():
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1)), len(os.listdir(f"/proc/{process.pid}/fd"))

        self.wait_while_it_runs(process, "100 windows", lambda: nr_windows() >= 100)
        kib, fds = held()
        self.wait_while_it_runs(process, "300 windows", lambda: nr_windows() >= 300)
        more_kib, more_fds = held()
        self.assertLess(more_kib, kib + 8192)
        self.assertLess(more_fds, fds + 700)
        process.send_signal(signal.SIGINT)
        process.wait(60)

    def test_what_is_refused(self):
        for args, said in ((["--window", "1"], "needs -o"), (["--window", "1", "-o", self.path("x.folded")], "needs %t"),
                           (["--window", "1/0.5", "-o", self.path("x-%t.folded")], "/EVERY"),
                           (["--window", "0.001", "-o", self.path("x-%t.folded")], "50ms"),
                           (["--window", "1", "-o", self.path("x-%t.folded"), "-f"], "not with -f")):
            done = self.fpless("profile", *args, "-d", "1")
            self.assert_refused(done, 1, "--window", said)
        done = self.fpless("profile", "--window", "1", "-o", self.path("none/x-%t.folded"), "-d", "1")
        self.assert_refused(done, 6, "none/x-%t.folded")


class Waits(WindowCase):
    """Waits are cut with the windows: what is left of one is of the next."""
    def cut_waits(self, window, *args, verb="offcpu"):
        runs = self.cut(window, "--ring-memory", "256M", *args, verb=verb)
        # the last one may have begun when all threads had ended
        runs = [run for run in runs if "times" in run.stats]
        left = [run.stats["times"]["threads_left"] for run in runs]
        for i, run in enumerate(runs):
            # a thread that was exiting when a window ended adds its sums to the next one
            if not left[i] and not left[max(i - 1, 0)]:
                self.assertEqual(waits.book_faults(run, verb == "wakeup"), [], run.stamp)
        if not left[-1]:
            self.assertEqual(waits.book_faults(self.together(runs), verb == "wakeup"), [])
        return runs

    @staticmethod
    def together(runs):
        """The run, as far as waits.book_faults() looks at it."""
        def total(name):
            return {key: sum(run.stats[name][key] for run in runs) for key in runs[0].stats[name]}

        return types.SimpleNamespace(stacks=[stack for run in runs for stack in run.stacks],
                                     stats={"times": total("times"), "lost": total("lost"),
                                            "filtered": sum(run.stats["filtered"] for run in runs)})

    def test_all_of_the_machine(self):
        """Beside many programs that begin and end."""
        shell = self.start("sh", "-c", SHORT, start_new_session=True)
        self.addCleanup(os.killpg, shell.pid, signal.SIGKILL)

        def cut(length):
            self.setUp()
            return self.cut_waits("0.5", "-a", "-d", str(3 * length))

        runs = self.until_seen("a run after which no thread is left whose books are open", cut,
                               lambda runs: len(runs) > 1 and not runs[-1].stats["times"]["threads_left"])
        for run in runs[:-1]:
            self.assertGreater(run.stats["times"]["threads"], 1)

    def test_together_they_are_what_each_thread_measured(self):
        for verb in "offcpu", "wall":
            with self.subTest(verb):
                def cut(length, verb=verb):
                    self.setUp()
                    return self.cut_waits("0.9", "--", fixture("waits"), str(3000 * length), verb=verb)

                runs = self.until_seen("a window whose stacks are whole", cut,
                                       lambda runs: len(runs) > 1 and any(not self.late_ns([run]) for run in runs))
                own = waits.own(self.said)
                weights = collections.Counter()
                for run in runs:
                    weights.update(waits.sums(stack for stack in run.stacks if stack["state"] == "blocked"))
                times = {"unseen": sum(run.stats["times"]["unseen"] for run in runs)}
                # in a gap nothing is measured, and each window begins with a carry of its own
                error_ns = sum(run.stats["window"]["gap_ns"] + waits.PERIOD_NS for run in runs) + self.late_ns(runs)
                for name in test_offcpu.MEASURED:
                    self.assertEqual(waits.weight_faults(name, own[name], weights[name], times, error_ns), [])

    @staticmethod
    def late_ns(runs):
        """What stacks weigh that a window did not wait for long enough: where each CPU is busy."""
        return sum(stack["weight"] for run in runs for stack in run.stacks
                   if stack["state"] == "blocked" and stack["stop"] in LATE)

    def test_one_that_sleeps_throughout_is_in_each(self):
        for window in "0.5", "0.5/1.2":
            with self.subTest(window):
                self.setUp()
                process = self.start(fixture("waits"), "60000", stdout=subprocess.DEVNULL)
                threads = f"/proc/{process.pid}/task"
                self.wait_while_it_runs(process, "its threads", lambda folder=threads: len(os.listdir(folder)) >= NR_WAITS)
                runs = self.cut_waits(window, "-p", str(process.pid), "-d", "3")
                self.assertGreaterEqual(len(runs), 2)
                for run in runs[:-1]:  # the last may be short
                    times, weights = run.stats["times"], waits.sums(run.stacks)
                    # each thread is begun anew
                    self.assertGreaterEqual(times["threads"], NR_WAITS, run.stamp)
                    # two sleep for as long as their books are kept: one alone would be 1.0
                    kept_ns = sum(times[key] for key in ("on_cpu", "runnable", "blocked", "unseen")) / NR_WAITS
                    self.assertGreaterEqual(weights["wait_asleep"] + weights[None], 1.5 * kept_ns)
                    self.assertLessEqual({"wait_20ms", "wait_1ms"}, set(weights))
                process.kill()

    def test_locks_and_those_who_held_them(self):
        runs = self.cut_waits("0.4", "--exact", "--", fixture("waits"), "1200", *test_locks.NAMES, verb="locks")
        self.assertGreaterEqual(len(runs), 3)
        own, sums = waits.own(self.said), collections.Counter()
        for run in runs:
            weights = collections.Counter()
            for stack in run.stacks:
                weights[stack["key"]] += stack["weight"]
                if stack["key"] in test_locks.AT_LOCKS:
                    waiter, waker = test_locks.parts(stack)
                    self.assertIn("wait_at_" + stack["key"][2:], waiter)
                    # a wait that the cut ends has no waker yet
                    self.assertIn("release_" + stack["key"][2:], waker or ["release_" + stack["key"][2:]], run.stamp)
            for lock in run.stats["locks"]:
                # a thread that was woken up and has not run yet at the cut is sampled nowhere
                self.assertGreaterEqual(lock["wait_ns"], weights[lock["lock"]], (run.stamp, lock))
                self.assertLessEqual(lock["wait_ns"], weights[lock["lock"]] + run.stats["times"]["carried"], (run.stamp, lock))
                sums[lock["lock"]] += lock["wait_ns"]
        times = collections.Counter()
        for run in runs:
            times.update({key: run.stats["times"][key] for key in ("unseen", "on_cpu", "runnable")})
        gaps_ns = sum(run.stats["window"]["gap_ns"] for run in runs)
        for lock, members in test_locks.AT_LOCKS.items():
            mine = waits.Own(*map(sum, zip(*(own[name] for name in members))))
            self.assertEqual(waits.waker_faults(lock, mine, sums[lock], times, waits.cpu_ns(self.said), len(members) * gaps_ns), [])

    def test_chains_end_where_a_window_begins(self):
        runs = self.cut_waits("0.25", "--chain", "4", "--", fixture("relay"), "60", verb="wakeup")
        self.assertGreaterEqual(len(runs), 4)
        nr_whole = 0
        for run in runs:
            for stack in run.stacks:
                stacks, threads = test_wakers.parts(stack)
                if stack["key"] != "relay_last" or not test_wakers.hand(stacks[0]):
                    continue
                expected = ["hand_third", "hand_second", "hand_first"][:len(stacks)]
                for name, part in zip(expected, stacks):
                    self.assertIn(test_wakers.hand(part), (name, None), (run.stamp, stack))
                nr_whole += len(stacks) == 4 and threads[2] in test_wakers.INTERRUPTS
        self.assertGreater(nr_whole, 0)


class CgroupNames(test_targets.CgroupCase):
    """Each window has the paths of the cgroups in it, also of one made during the run, and of one that has gone."""
    def heads(self):
        """The first frames of each window that was written, in order of time."""
        windows = []
        for path in sorted(glob.glob(self.path("w-*.folded"))):
            with open(path, encoding="utf-8") as file:
                windows.append({line.split(";")[0] for line in file})
        return windows

    def test_each_window_has_them(self):
        process = self.start(FPLESS, "profile", "-a", "-F", "199", "--by", "cgroup", "--window", "0.3", "-q", "-o",
                             self.path("w-%t.folded"), stderr=subprocess.PIPE)
        self.wait_while_it_runs(process, "a window", self.heads)
        for name in "one", "two":
            path = self.group(name)
            busy = self.busy(preexec_fn=self.enter(path))
            self.wait_while_it_runs(process, f"two windows with {path}",
                                    lambda path=path: sum(path in window for window in self.heads()) >= 2)
            busy.kill()
            busy.wait()
            self.remove(self.mount + path)
            nr = len(self.heads())
            # those in which it was sampled may still be on their way
            self.wait_while_it_runs(process, f"a window without {path}",
                                    lambda path=path, nr=nr: any(path not in window for window in self.heads()[nr:]))
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, said)


if __name__ == "__main__":
    main(at_a_time=2)
