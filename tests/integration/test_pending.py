#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What may happen to files, tables and those who make them while rows from code are being made."""

import os
import resource
import shlex
import shutil
import signal

from parser_processes import children, readers, status, workers
from pending_case import CALLER, STEPS, Hurry, PendingCase, Slowed, call, slow_file
from root_case import fixture, is_dead, main

from waiting import cpu_ms  # root_case knows where

# Rows that are still being made when something is done about it: a fifth of a second of CPU time on a quiet machine, half a
# second was seen on a busy one; 2 s of it are more than a file may cost.
LONG = 2 * STEPS

def limit_memory(pid):
    """Whoever has its user's number may have the process get no more memory than it has."""
    try:
        said = status(pid)
    except OSError:
        said = {}
    if "VmSize" not in said:
        return  # it was stopped for too long, and given up
    size = int(said["VmSize"].split()[0]) * 1024
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(*map(int, said["Gid"].split()[:3]))
            os.setresuid(*map(int, said["Uid"].split()[:3]))
            resource.prlimit(pid, resource.RLIMIT_AS, (size, size))
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] and not is_dead(pid):
        raise OSError("its memory cannot be limited")


class Workers(PendingCase):
    def lines(self, run, path):
        return [line for line in run.stderr.splitlines() if f"{path}: no rows from its code" in line]

    def run_once(self, hinder, why):
        """The workers that make all rows of the first file are hindered in it, for a reason that is said once;
        those of the second are made all the same."""
        first, second = self.slow("first", LONG), self.slow("second", STEPS + 1)
        process = self.begin(self.script(first, f"{call(second, 100000)} & second=$!; {self.until('made')}; "
                                                "kill $first $second; wait $first $second"))

        def is_over():
            said = self.said()
            return f"{first}: no rows" in said or False in self.tables_in(said, first)

        hinder(process, first, is_over)
        self.go()
        self.wait_for(process, "no whole table", lambda: False in self.tables_in(self.said(), second))
        self.go("made")
        run = self.end(process)
        self.assert_whole(run, second)
        self.assert_right(run, first)
        self.assertFalse(self.tables(run, second)[-1], run.stderr)
        self.assertNotIn(False, self.tables(run, first), run.stderr)
        line, = self.lines(run, first)
        self.assertIn(why, line)

    def hinder_each(self, hinder):
        """Has @hinder(pid) done once to each worker that makes rows of the file. Returns the function that run_once()
        takes, and the set of their pids."""
        met = set()

        def hinder_all(process, path, is_over):
            def look():
                for pid in self.makers(process, path):
                    if pid not in met:
                        met.add(pid)
                        hinder(pid)
                return is_over()

            with Hurry():
                self.wait_for(process, "fpless does not give up", look)

        return hinder_all, met

    def test_worker_killed_again_and_again(self):
        hinder, killed = self.hinder_each(lambda pid: self.signal(pid, signal.SIGKILL))
        self.run_once(hinder, "killed by signal 9")
        self.assertGreater(len(killed), 2)

    def test_one_that_has_no_memory_left(self):
        def limit(pid):
            self.signal(pid, signal.SIGSTOP)
            limit_memory(pid)
            self.signal(pid, signal.SIGCONT)

        self.run_once(self.hinder_each(limit)[0], "out of memory")


class Files(PendingCase):
    """The rows are those of the file that is mapped, or there is one line that says why there are none."""

    @staticmethod
    def complaints(text, path):
        return [line for line in text.splitlines()
                if line.startswith(f"fpless: {path}: ") and "no rows from its code" in line]

    def change(self, how, old, new=None):
        """Has @how done to the file @old while its rows are made; then @new is called, if there is one."""
        cache = self.path("cache")
        process = self.begin(self.script(old, f"kill $first; wait $first; {call(new, 300) if new else ''}"),
                             "--cache", cache)
        pid = self.stop_maker(process, old)
        how()
        self.signal(pid, signal.SIGCONT)
        self.wait_for(process, "no end of it", lambda: self.complaints(self.said(), old)
                      or False in self.tables_in(self.said(), old))
        self.go()
        return self.end(process), lambda: self.end(self.begin(call(old, 300), "--cache", cache))

    def test_another_is_put_in_its_place(self):
        path, other = self.slow("first"), slow_file(self.path("other"), STEPS, deep=True)
        run, again = self.change(lambda: os.rename(other, path), path, path)
        self.assert_whole(run, path)
        self.assertEqual(self.complaints(run.stderr, path), [])
        kinds = {stack["user"][0]["vaddr"] >= "0x11010" for stack in self.of(run, path)}
        self.assertEqual(kinds, {False, True})  # both files
        self.assertIn(False, self.tables(run, path), run.stderr)
        self.assert_whole(again(), path)

    def test_it_is_removed(self):
        path = self.slow("first")
        run, _ = self.change(lambda: os.unlink(path), path)
        self.assert_whole(run, path)
        self.assertEqual(self.complaints(run.stderr, path), [])
        self.assertFalse(self.tables(run, path)[-1], run.stderr)

    def test_it_is_cut_short(self):
        path = self.slow("first")
        run, again = self.change(lambda: os.truncate(path, 0x2000), path)
        self.assertLessEqual(len(self.complaints(run.stderr, path)), 1)
        self.assertTrue(self.of(run, path))
        self.assert_right(run, path)
        self.assert_right(again(), path)

    def test_it_was_written_over_since_it_was_mapped(self):
        """What is read when a sample needs it is not what was mapped: no row of that is used."""
        path, other = self.slow("first"), slow_file(self.path("other"), STEPS, wrong=True)
        process = self.begin(self.script("=" + path, "kill $first; wait $first"), "--cache", self.path("cache"))
        self.wait_for(process, "no table", lambda: f"{path}: object" in self.said())
        with open(other, "rb") as new, open(path, "r+b") as file:
            file.write(new.read())
        with open(path + ".go", "wb"):
            pass
        # samples wait for rows for a moment only: a program that ends before the file was read has no such line
        self.wait_for(process, "no complaint", lambda: self.complaints(self.said(), path))
        self.go()
        run = self.end(process)
        lines = self.complaints(run.stderr, path)
        self.assertEqual(["was written to since it was mapped" in line for line in lines], [True], run.stderr)
        self.assertEqual(set(self.tables(run, path)), {True}, run.stderr)
        stacks = self.of(run, path)
        self.assertIn(1, {len(stack["user"]) for stack in stacks}, run.stderr)
        # a sample of the loop's `ret` needs no row: its caller is on the stack
        self.assertLessEqual({stack["user"][1]["origin"] for stack in stacks if len(stack["user"]) > 1}, {"fp"}, run.stderr)
        self.assert_right(run, path)


class Places(PendingCase):
    """Code whose mapping the kernel side does not know of, or not yet: all its samples are walked in
    userspace, not only the first ones."""

    # for the snapshots of seconds: on a busy machine nobody may take them out for so long
    ROOM = ("--ring-memory", "32M")

    def test_another_is_mapped_where_it_was(self):
        first, second = self.slow("first"), self.slow("second", STEPS + 1)
        script = shlex.join([CALLER, "300", "0", first, "+" + second])
        self.assert_whole(self.end(self.begin(script, *self.ROOM)), second)

    def test_file_mapped_between_looks(self):
        first, second = self.slow("first"), self.slow("second", STEPS + 1)
        process = self.begin(f"exec {shlex.join([CALLER, '200', '0', '=' + first, second])}", *self.ROOM)
        self.wait_for(process, "no table", lambda: f"{first}: object" in self.said())
        caller, = (pid for pid in children(process.pid) if status(pid)["Name"] == "caller")
        process.send_signal(signal.SIGSTOP)
        with open(first + ".go", "wb"):
            pass
        self.wait_for(process, "it does not run", lambda: cpu_ms(caller) >= 350)
        process.send_signal(signal.SIGCONT)
        run = self.end(process)
        self.assert_ticks(run, sum(stack["count"] for stack in self.of(run, second)), 99, 0.5, run.stderr)  # of 200 ms at 499 Hz
        self.assert_whole(run, second)


class Eviction(PendingCase):
    def evict(self, made_before):
        """The first file's table goes for the second's while all rows of the first are being made;
        then it is called again, @made_before: when they were."""
        first = self.slow("first", 2 * STEPS, rows=100000)
        second = self.slow("second", STEPS + 1, rows=400000)
        again = f"{self.until('again')}; {call(first, 100000)} & first=$!; {self.until('whole')}; kill $first; wait $first"
        process = self.begin(self.script(first, f"kill $first; wait $first; {call(second, 100)}; {again}"),
                             "--table-memory", "1M")
        pid = self.maker(process, first)
        evicted = f"{first}: table evicted for that of {second}"
        with Slowed(pid):
            self.go()
            self.wait_for(process, "no eviction", lambda: evicted in self.said())
        if made_before:
            self.wait_for(process, "rows without an end", lambda: pid not in readers(process.pid, first))
        self.go("again")
        self.wait_for(process, "no whole table", lambda: False in self.tables_in(self.said(), first))
        self.go("whole")
        run = self.end(process)
        before, after = (self.tables_in(text, first) for text in run.stderr.split(evicted, 1))
        self.assertNotIn(False, before, run.stderr)
        self.assertEqual(after[-1], False, run.stderr)
        for path in (first, second):
            self.assert_right(run, path)
        last = max(stack["pid"] for stack in self.of(run, first))
        self.assertIn("outermost", {stack["stop"] for stack in self.of(run, first) if stack["pid"] == last})

    def test_it_is_needed_again_while_all_rows_are_being_made(self):
        self.evict(False)

    def test_it_is_needed_again_when_all_rows_were_made(self):
        self.evict(True)


class ShortLives(PendingCase):
    def test_a_file_that_waited_until_its_process_had_gone(self):
        """Nothing stands at its path here, so only the process could lead to it."""
        first, root, over = self.slow("first"), self.path("root"), self.path("over")
        os.mkdir(root)
        shutil.copy2(fixture("chain_static"), os.path.join(root, "program"))
        short = shlex.join(["chroot", root, "/program", "250"])
        process = self.begin(self.script(first, f"{short}; touch {over}; kill $first; wait $first"))
        self.wait_for(process, "no table", lambda: self.tables_in(self.said(), first))
        # whoever reads files reads none for as long as the program lives: that of chroot(1) is the first to wait
        stopped = workers(process.pid)
        for pid in stopped:
            self.signal(pid, signal.SIGSTOP)
        try:
            self.go()
            self.wait_for(process, "the program is not over", lambda: os.path.exists(over))
        finally:
            for pid in stopped:
                self.signal(pid, signal.SIGCONT)
        run = self.end(process)
        stacks = [stack for stack in run.stacks if stack["comm"] == "program" and stack["user"]
                  and stack["stop"] not in ("exiting", "execing")]
        self.assert_ticks(run, sum(stack["count"] for stack in stacks), 124, 0.3, run.stderr)  # of 250 ms at 499 Hz
        self.assertEqual({(stack["stop"], stack["user"][-1].get("object")) for stack in stacks},
                         {("outermost", "/program")}, run.stderr)


if __name__ == "__main__":
    main()
