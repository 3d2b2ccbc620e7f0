#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where few files may be open, there is a profile all the same: of the objects for which there was one."""

import os
import resource
import shlex
import subprocess

from cgroup2 import Cgroup2
from fpless_run import TIMEOUT_S, Run
from pending_case import CALLER, PendingCase, slow_file
from root_case import FPLESS, LIBC, die_with_the_tests, main

PR_CAPBSET_DROP, CAP_SYS_RESOURCE = 24, 24
# what src/profile/finder.c leaves to others than objects, and some
LIMIT = 96 + 4 * os.cpu_count() + 18
NR_FILES = 30
USER = 61234  # in no /etc/passwd


def allow_files(limit):
    die_with_the_tests()
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    # who may raise limits would
    LIBC.prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)


class FewFiles(PendingCase):
    def setUp(self):
        super().setUp()
        self.slow_files = [slow_file(self.path(f"file{i}"), i + 1) for i in range(NR_FILES)]

    def begin_with_few(self, verb, *args, last=""):
        with open(self.stderr, "wb") as file:
            return self.start(FPLESS, verb, "--no-cache", "-F", "499", *args, "--", CALLER, "20", "0",
                              *self.slow_files[:-1], last + self.slow_files[-1], stderr=file,
                              stdout=subprocess.DEVNULL, preexec_fn=lambda: allow_files(LIMIT))

    def run_with_few(self, refusal):
        """A run whose program ends when a file was refused: a file's owner is known while it is mapped."""
        process = self.begin_with_few("profile", *Run.outputs(self.folder), last="=")
        self.wait_for(process, "nothing was refused", lambda: refusal in self.said())
        self.go(f"{self.slow_files[-1]}.go")
        return self.end(process)

    def assert_said_once(self, text):
        lines = [line for line in text.splitlines() if "Too many open files" in line]
        self.assertEqual(len(lines), 1, text)
        self.assertIn("raise the limit (ulimit -n)", lines[0])

    def test_of_too_many_files_the_first_have_names_and_tables(self):
        run = self.run_with_few("Too many open files")
        self.assert_said_once(run.stderr)
        self.assertGreater(run.stats["tables"]["objects"], 10)
        for path in self.slow_files[:8]:
            self.assert_whole(run, path)
        self.assert_charged(run, 0, "root")

    def assert_charged(self, run, uid, name=None):
        """The closing report and --stats say whose files had no room, and what gives more."""
        user = f"{uid} ({name})" if name else uid
        by_user = run.stats["no_room"]["by_user"]
        nr = by_user[str(uid)]["files"]
        self.assertIn(f"  no room      user {user}: {nr} mappings of files not opened (more ulimit -n)\n", run.stderr)
        self.assertGreater(nr, 0)
        self.assertEqual(run.stats["no_room"]["files"], sum(of["files"] for of in by_user.values()))

    def test_a_user_has_half_of_what_may_be_open(self):
        for path in self.slow_files:
            os.chown(path, USER, USER)
        run = self.run_with_few(f"user {USER} has ")
        self.assert_charged(run, USER)
        # their stacks are blamed on the same limit
        self.assertIn("files were not opened for want of room", run.stderr)
        self.assert_whole(run, self.slow_files[0])

    def test_a_cgroup_of_root_has_half_of_what_may_be_open(self):
        try:
            cgroup = Cgroup2()
        except OSError as error:
            self.skipTest(f"no cgroup: {error}")
        self.addCleanup(cgroup.close)
        victim, last = slow_file(self.path("victim"), NR_FILES + 1), self.slow_files[-1]
        greedy = cgroup.shell(CALLER, "1", "0", *self.slow_files[:-1], f"={last}")
        other = shlex.join([CALLER, "100", "0", victim])
        process = self.begin(f"{greedy} & {self.until('go')}; {other}; touch {last}.go; wait",
                             preexec_fn=lambda: allow_files(LIMIT))
        self.wait_for(process, "nothing was refused", lambda: f"cgroup {cgroup.name} has " in self.said())
        self.go()
        run = self.end(process)
        self.assert_whole(run, victim)
        [entry] = run.stats["no_room"]["by_cgroup"]
        self.assertEqual(entry["cgroup"], cgroup.name)
        self.assertIn(f"  no room      cgroup {cgroup.name}: {entry['files']} mappings of files not opened (more ulimit -n)\n",
                      run.stderr)

    def test_who_names_them_live_keeps_fewer(self):
        process = self.begin_with_few("top", "--plain", "--interval", "0.5")
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0, self.said())
        self.assert_said_once(self.said())
        lines = [line for line in self.said().splitlines() if "names come from" in line]
        self.assertEqual(len(lines), int(LIMIT < 152), self.said())


if __name__ == "__main__":
    # A high descriptor of who starts the tests would give fpless a large table of descriptors. A small one has to grow
    # while several threads run, which makes an open(2) sleep: that is no sign of a lock of cgroups.
    os.closerange(3, 1 << 20)
    main()
