#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names kept from run to run: what is named once is not asked of a worker again, and is never another's."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main

ASKED = re.compile(r"(\d+) addresses named from there, (\d+) asked of workers")
SETTLED_S = 60


def names_of(folded):
    return {name for line in folded.decode().splitlines() for name in line.rsplit(" ", 1)[0].split(";")}


def read(path):
    with open(path, "rb") as file:
        return file.read()


class NameCache(RootCase):
    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")

    def copy(self, name):
        """A program of its own device, owner and time, old enough to be known again by them."""
        path = self.path(name)
        shutil.copy(fixture(name), path)
        kind = subprocess.run(["stat", "-f", "-c", "%T", path], check=True, capture_output=True, text=True,
                              timeout=TIMEOUT_S).stdout
        if kind.startswith("fuse"):
            self.skipTest("nothing is kept of files on FUSE")
        self.settle(path)
        return path

    @staticmethod
    def settle(path):
        """Until a change to come would leave a trace: a tick, or a second where times have no fraction."""
        until = time.monotonic() + SETTLED_S
        wanted = 0.2 if os.stat(path).st_ctime_ns % 10 ** 9 else 3
        while time.time() - os.stat(path).st_ctime < wanted and time.monotonic() < until:
            time.sleep(0.05)

    def record(self, program, *options, keep=True):
        """A recording of @program, whose names are kept, all of them."""
        recording = self.path("run.jsonl")
        cache = ("--cache", self.cache) if keep else ("--no-cache",)
        done = self.fpless("profile", "-q", "-U", "-F", "999", *cache, *options, "-o", recording,
                           "--", program, "300")
        self.assertEqual((done.returncode, self.lines_about_it(done.stderr)), (0, []))
        return recording

    def lines_about_it(self, stderr):
        return [line for line in stderr.decode().splitlines() if self.cache in line]

    def report(self, recording, *options):
        """(folded, addresses named from disk, addresses asked of workers, complaints)"""
        done = self.fpless("report", "-v", "-f", "--symfs", "/", "--cache", self.cache, *options, recording)
        stderr = done.stderr.decode()
        self.assertEqual(done.returncode, 0, stderr)
        found = ASKED.search(stderr)
        complaints = [line for line in stderr.splitlines() if ": replaced" in line or "are not kept" in line]
        return done.stdout, *(map(int, found.groups()) if found else (0, 0)), complaints

    def named_plainly(self, recording, *options):
        done = self.fpless("report", "-q", "-f", "--symfs", "/", "--no-cache", *options, recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def files(self):
        return sorted(os.path.join(self.cache, name) for name in os.listdir(self.cache))

    def kept_names(self):
        """Tables share the folder."""
        return [path for path in self.files() if os.path.islink(path) or read(path)[:8] == b"fplnames"]


class Warm(NameCache):
    def test_what_was_named_is_not_asked_again(self):
        recording = self.record(self.copy("chain"), keep=False)
        plain = self.named_plainly(recording)
        self.assertIn("spin", names_of(plain))
        folded, known, asked, _ = self.report(recording)
        self.assertEqual((folded, known), (plain, 0))
        recording = self.record(self.path("chain"))
        plain = self.named_plainly(recording)
        folded, known, asked, complaints = self.report(recording)
        self.assertEqual((folded, asked, complaints), (plain, 0, []))
        self.assertGreater(known, 0)

    def test_runs_know_more_and_more(self):
        program = self.copy("chain")
        for _ in range(20):
            run = self.profile("-U", "-F", "999", "--cache", self.cache, "-v", "--", program, "200")
            self.assert_chain_is_complete(run, program)
            counts = run.stats["names"]
            self.assertIn("%d addresses named from there, %d asked" % (counts["cache_hits"], counts["cache_misses"]),
                          run.stderr)
            self.assertEqual(run.stats["tables"]["cache_bytes"], sum(map(os.path.getsize, self.files())))
            if counts["cache_hits"] > 5 * counts["cache_misses"]:  # where it starts is another place each time
                break
        self.assertGreater(counts["cache_hits"], counts["cache_misses"])

    def test_other_forms_of_names_are_kept_apart(self):
        program = self.copy("exceptions")
        recording = self.record(program)
        for options, name in (((), "middle()"), (("--no-demangle",), "_Z6middlev")):
            plain = self.named_plainly(recording, *options)
            self.assertIn(name, names_of(plain))
            folded, known, asked, _ = self.report(recording, *options)
            self.assertEqual((folded, bool(known), bool(asked)), (plain, not options, bool(options)))
        recording = self.record(program, "--no-demangle")
        self.assertEqual(self.report(recording, "--no-demangle")[2], 0)
        self.assertEqual(self.report(recording)[0], self.named_plainly(recording))

    def test_a_stream_knows_them_and_adds_its_own(self):
        program = self.copy("chain")
        command = ["profile", "-v", "--stream", "-U", "-F", "199", "--cache", self.cache, "--stats",
                   self.path("stats"), "--", program, "300"]
        done = self.fpless(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"spin", done.stdout)
        with open(self.path("stats"), encoding="utf-8") as file:
            counts = json.load(file)["names"]
        # the end of the run finds what the stream has learnt
        self.assertGreater(counts["cache_hits"], 0)
        self.assertEqual(self.fpless(*command).returncode, 0)

    def test_reports_keep_nothing(self):
        recording = self.record(self.copy("chain"), keep=False)
        self.assertFalse(os.path.exists(self.cache))
        folded, known, asked, complaints = self.report(recording)
        self.assertEqual((known, asked), (0, 0), complaints)  # there is no cache to speak of
        self.assertEqual(folded, self.named_plainly(recording))
        self.assertFalse(os.path.exists(self.cache))
        os.mkdir(self.cache, 0o700)
        self.assertGreater(self.report(recording)[2], 0)
        self.assertEqual(self.files(), [])


class Void(NameCache):
    def test_a_debug_file_that_comes_or_goes_is_seen(self):
        program = self.copy("chain_split")
        recording = self.record(program)
        without = self.report(recording)
        self.assertNotIn("spin", names_of(without[0]))
        self.assertEqual(without[2], 0)
        self.copy("chain_split.debug")
        folded, _, asked, _ = self.report(recording)
        self.assertIn("spin", names_of(folded))
        self.assertGreater(asked, 0)
        recording = self.record(program)
        folded, _, asked, _ = self.report(recording)
        self.assertIn("spin", names_of(folded))
        self.assertEqual(asked, 0)
        os.unlink(self.path("chain_split.debug"))
        self.assertGreater(self.report(recording)[2], 0)

    def test_a_file_of_another_owner_finds_nothing(self):
        program = self.copy("chain")
        recording = self.record(program)
        self.assertEqual(self.report(recording)[2], 0)
        before = {path: read(path) for path in self.kept_names()}
        os.chown(program, 12345, 12345)
        self.settle(program)
        folded, _, asked, _ = self.report(recording)
        self.assertEqual(folded, self.named_plainly(recording))
        self.assertGreater(asked, 0)
        self.record(program)
        self.assertGreater(len(set(self.kept_names()) - set(before)), 0)


def cut(path):
    os.truncate(path, os.path.getsize(path) - 1)


def put(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def link(path):
    """To what would do, had it been named so."""
    aside = os.path.join(os.path.dirname(path), "..", "aside-" + os.path.basename(path))
    os.rename(path, aside)
    os.symlink(aside, path)


class Damaged(NameCache):
    def test_files_are_made_anew(self):
        program = self.copy("chain")
        ways = {"cut": cut, "a byte": lambda path: put(path, 1200, b"fault"), "a link": link,
                "another owner": lambda path: os.chown(path, 12345, -1),
                "empty": lambda path: os.truncate(path, 0)}
        for what, damage in ways.items():
            with self.subTest(what):
                recording = self.record(program)
                for path in self.kept_names():
                    damage(path)
                folded, known, asked, complaints = self.report(recording)
                self.assertEqual((folded, known, bool(complaints)), (self.named_plainly(recording), 0, True))
                self.assertGreater(asked, 0)
                # the next run puts it right, and says one line
                done = self.fpless("profile", "-q", "-U", "-F", "999", "--cache", self.cache, "-o",
                                   recording, "--", program, "300")
                self.assertEqual(len(self.lines_about_it(done.stderr)), 1, done.stderr)
                folded, _, asked, complaints = self.report(recording)
                self.assertEqual((folded, asked, complaints), (self.named_plainly(recording), 0, []))
                for path in self.files():
                    os.unlink(path)

    def test_files_of_another_version_are_no_fault(self):
        recording = self.record(self.copy("chain"))
        for path in self.kept_names():
            put(path, 16, b"0" * 32)
        folded, known, _, complaints = self.report(recording)
        self.assertEqual((folded, known, complaints), (self.named_plainly(recording), 0, []))

    def test_folder_that_is_not_ones_own_is_not_used(self):
        recording = self.record(self.copy("chain"), keep=False)
        os.mkdir(self.cache, 0o700)
        os.chown(self.cache, 12345, -1)
        folded, known, _, complaints = self.report(recording)
        self.assertEqual((folded, known, len(complaints)), (self.named_plainly(recording), 0, 1))
        self.assertEqual(os.listdir(self.cache), [])


class Elsewhere(NameCache):
    def test_a_full_disk_costs_a_line(self):
        program = self.copy("chain")
        os.mkdir(self.cache, 0o700)
        mount = ["mount", "-t", "tmpfs", "-o", "nr_blocks=1,mode=700", "tmpfs", self.cache]
        if subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no tmpfs can be mounted")
        try:
            for _ in range(2):
                done = self.fpless("profile", "-q", "-f", "-U", "-F", "999", "--cache", self.cache,
                                   "--", program, "300")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("spin", names_of(done.stdout))
                lines = self.lines_about_it(done.stderr)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("No space left", lines[0])
        finally:
            subprocess.run(["umount", self.cache], check=True)

    def test_several_at_once_share_it(self):
        program = self.copy("chain")
        command = [FPLESS, "profile", "-q", "-f", "-U", "-F", "999", "--cache", self.cache, "--",
                   program, "300"]
        for _ in range(2):
            runs = [self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
            for run in runs:
                stdout, stderr = run.communicate(timeout=TIMEOUT_S)
                self.assertEqual((run.returncode, self.lines_about_it(stderr)), (0, []))
                self.assertIn("spin", names_of(stdout))
        recording = self.record(program)
        folded, _, asked, complaints = self.report(recording)
        self.assertEqual((folded, asked, complaints), (self.named_plainly(recording), 0, []))

    def test_killed_run_leaves_whole_files(self):
        program = self.copy("chain")
        for i in range(12):
            process = self.start(FPLESS, "profile", "-q", "-f", "-U", "-F", "999", "--cache",
                                 self.cache, "--", program, "100", stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(0.15 + 0.01 * i)
            process.send_signal(signal.SIGKILL)
            process.wait()
        recording = self.record(program)
        self.assertEqual([path for path in self.files() if len(os.path.basename(path)) != 64], [])
        folded, _, asked, complaints = self.report(recording)
        self.assertEqual((folded, asked, complaints), (self.named_plainly(recording), 0, []))


if __name__ == "__main__":
    main()
