#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables kept from run to run: the second run reads what the first compiled, and nothing else."""

import os
import shutil
import signal
import subprocess
import time

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main


class TableCache(RootCase):
    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")
        # of its own device, owner and time: no other test's tables can be taken for its
        self.program = self.path("chain")
        shutil.copy(fixture("chain"), self.program)

    def run_chain(self, *options, ms="200"):
        run = self.profile("-F", "999", "--cache", self.cache, *options, "--",
                           self.program, ms)
        self.assert_chain_is_complete(run, self.program)
        return run

    def tables(self, run):
        return run.stats["tables"]

    def complaints(self, run):
        """Lines about the cache."""
        return [line for line in run.stderr.splitlines() if self.folder in line and line.startswith("fpless: ")
                and "fpless: pid" not in line]

    def files(self):
        return sorted(os.path.join(self.cache, name) for name in os.listdir(self.cache))

    def kept_tables(self):
        """Names share the folder."""
        def is_table(path):
            with open(path, "rb") as file:
                return file.read(8) == b"fpltable"
        return [path for path in self.files() if is_table(path)]

    def assert_cold(self, run, complaints=0):
        self.assertEqual((self.tables(run)["cache_hits"], len(self.complaints(run))),
                         (0, complaints), run.stderr)

    def assert_warm(self, run):
        self.assertGreaterEqual(self.tables(run)["cache_hits"], 3)  # chain, libc, ld.so
        self.assertEqual(self.complaints(run), [])


class Warm(TableCache):
    def test_second_run_compiles_nothing(self):
        # rows from code are made where a sample needs them, which differs from run to run
        cold = self.run_chain("--no-synth")
        self.assert_cold(cold)
        self.assertGreaterEqual(self.tables(cold)["cache_misses"], 3)
        warm = self.run_chain("--no-synth", "-v")
        self.assertGreaterEqual(self.tables(warm)["cache_hits"], 3)
        self.assertEqual(self.tables(warm)["cache_misses"], 0)
        self.assertEqual(self.tables(warm)["rows"], self.tables(cold)["rows"])
        self.assertEqual(self.tables(warm)["cache_bytes"],
                         sum(os.path.getsize(path) for path in self.files()))
        self.assertIn(f"{self.cache}: {self.tables(warm)['cache_hits']} tables read, 0 compiled",
                      warm.stderr)

    def test_is_off_when_told_so_and_without_tables(self):
        run = self.profile("-F", "999", "--no-cache", "--", self.program, "100")
        self.assertEqual({self.tables(run)[key] for key in
                          ("cache_hits", "cache_misses", "cache_bytes")}, {0})
        run = self.profile("-F", "999", "--cache", self.cache, "--unwind", "fp", "--",
                           self.program, "100")
        self.assertEqual(self.kept_tables(), [])

    def test_two_at_once_share_it(self):
        command = [FPLESS, "profile", "-q", "-f", "-F", "999", "--cache", self.cache,
                   "--", self.program, "300"]
        runs = [self.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for _ in range(3)]
        for run in runs:
            _, stderr = run.communicate(timeout=TIMEOUT_S)
            self.assertEqual((run.returncode, self.folder.encode() in stderr), (0, False), stderr)
        self.assert_warm(self.run_chain())

    def test_size_is_kept(self):
        for name in ("threads", "chain_nopie", "bigframe"):
            self.profile("-F", "999", "-d", "1", "--cache", self.cache,
                         "--cache-size", "100K", "--", fixture(name), "100")
            self.assertLessEqual(sum(os.path.getsize(path) for path in self.files()), 100 << 10)
        self.assertNotEqual(self.files(), [])


class Forged(TableCache):
    def test_another_users_copy_neither_reads_nor_spoils_it(self):
        self.assert_cold(self.run_chain())
        mine = {path: os.stat(path).st_mtime_ns for path in self.kept_tables()}
        os.chown(self.program, 12345, 12345)
        run = self.run_chain()
        self.assertGreaterEqual(self.tables(run)["cache_misses"], 1)
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in mine}, mine)
        self.assertEqual(len(self.kept_tables()), len(mine) + 1)

    def test_program_that_was_rebuilt_is_compiled_anew(self):
        self.assert_cold(self.run_chain())
        shutil.copy(fixture("chain_nopie"), self.program)
        run = self.profile("-F", "999", "--cache", self.cache, "--", self.program, "300")
        self.assertGreaterEqual(self.tables(run)["cache_misses"], 1)
        self.assertTrue([s for s in run.stacks if s["stop"] == "outermost"])


def cut(path):
    os.truncate(path, os.path.getsize(path) - 1)


def zero_the_end(path):
    """As a crash of the machine leaves it."""
    size = os.path.getsize(path)
    os.truncate(path, size // 2)
    os.truncate(path, size)


def put(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


class DamagedFiles(TableCache):
    """Each way to be damaged by itself is a unit test."""

    def damage(self, *ways):
        """The lines that a run says in which all tables are damaged, each in the next way."""
        self.assert_cold(self.run_chain())
        for i, path in enumerate(self.kept_tables()):
            ways[i % len(ways)](path)
        run = self.run_chain()
        self.assertEqual(self.tables(run)["cache_hits"], 0)
        self.assert_warm(self.run_chain())
        return self.complaints(run)

    def test_cost_one_line_together(self):
        self.assertEqual(len(self.damage(cut, zero_the_end, lambda path: put(path, 400, b"fault"),
                                         lambda path: os.chown(path, 12345, -1))), 1)

    def test_of_another_version_are_no_fault(self):
        self.assertEqual(self.damage(lambda path: put(path, 16, b"0" * 32)), [])

    def test_one_in_place_of_another(self):
        self.assert_cold(self.run_chain())
        first, *others = self.kept_tables()
        for path in others:
            shutil.copyfile(first, path)
        run = self.run_chain()
        self.assertEqual(len(self.complaints(run)), 1)
        self.assertLessEqual(self.tables(run)["cache_hits"], 1)


class RefusedFolders(TableCache):
    """One line, and the run goes on without."""

    def assert_refused(self, *words):
        run = self.run_chain()
        self.assert_cold(run, complaints=1)
        self.assertEqual(self.tables(run)["cache_misses"], 0)
        for word in words:
            self.assertIn(word, self.complaints(run)[0])

    def test_link(self):
        os.mkdir(self.path("real"), 0o700)
        os.symlink("real", self.cache)
        self.assert_refused("symbolic link")
        self.assertEqual(os.listdir(self.path("real")), [])

    def test_open_to_others(self):
        os.mkdir(self.cache)
        os.chmod(self.cache, 0o750)
        self.assert_refused("mode 750")

    def test_of_another_user(self):
        os.mkdir(self.cache, 0o700)
        os.chown(self.cache, 12345, -1)
        self.assert_refused("user 12345")

    def test_no_folder(self):
        with open(self.cache, "w", encoding="ascii"):
            pass
        self.assert_refused("Not a directory")

    def test_no_parent(self):
        self.cache = self.path("none/cache")
        self.assert_refused("No such file")


class FullDisk(TableCache):
    def test_costs_a_line(self):
        os.mkdir(self.cache, 0o700)
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", self.cache]
        if subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no tmpfs can be mounted")
        try:
            run = self.run_chain()
            self.assert_cold(run, complaints=1)
            self.assertIn("No space left", self.complaints(run)[0])
            # what did fit is whole
            kept = len(self.kept_tables())
            self.assertEqual(self.tables(self.run_chain())["cache_hits"], kept)
        finally:
            subprocess.run(["umount", self.cache], check=True)


class Killed(TableCache):
    def test_leaves_only_whole_tables(self):
        for delay in (0.2, 0.3, 0.4, 0.6):
            process = self.start(FPLESS, "profile", "-q", "-f", "-F", "999", "--cache",
                                 self.cache, "-a", stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertEqual([path for path in self.files() if len(os.path.basename(path)) != 64], [])
        run = self.run_chain()
        self.assertEqual(self.complaints(run), [])


if __name__ == "__main__":
    main()
