#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In a cgroup with too little memory a run says so before it begins, and is not killed."""

import re

from fpless_run import Run, skip
from hostile import MemoryCgroup
from root_case import RootCase, fixture, main

NEEDS = re.compile(r"fpless: needs (\d+) MiB, the cgroup allows 24: lower --stack-memory, --ring-memory, ")
MAY = re.compile(r"fpless: may need (\d+) MiB, the cgroup allows (\d+), .*: --table-memory (\d+)M fits")
LITTLE = ["--stack-memory", "256K", "--ring-memory", "256K", "--max-processes", "1024", "--max-mappings", "16384"]


class SmallCgroup(RootCase):
    def run_in(self, mebibytes, *args):
        cgroup = MemoryCgroup(mebibytes << 20)
        self.addCleanup(cgroup.close)
        busy = self.start(fixture("chain"), "600000")
        done = self.fpless("profile", "--no-cache", "-F", "99", "-d", "1", *Run.outputs(self.folder),
                           "-p", str(busy.pid), *args, preexec_fn=cgroup.enter)
        return Run.of_folder(self.folder, done.returncode, done.stderr)

    def test_impossible_options_are_refused(self):
        run = self.run_in(24)
        self.assertEqual(run.status, 2, run.stderr)
        said = NEEDS.search(run.stderr)
        self.assertIsNotNone(said, run.stderr)
        self.assertGreater(int(said[1]), 24)

    def test_what_it_says_to_lower_helps(self):
        run = self.run_in(24, *LITTLE)
        self.assertEqual(run.faults(), [])
        # tables have room for what is left, or it says how much that is
        said = MAY.search(run.stderr)
        self.assertIsNotNone(said, run.stderr)

    def test_tables_that_may_not_fit_are_a_warning(self):
        said = MAY.search(self.run_in(96).stderr)
        self.assertIsNotNone(said)
        self.assertEqual(int(said[2]), 96)
        self.assertGreater(int(said[1]), 96)

    def test_nothing_is_said_where_they_fit_as_advised(self):
        fits = MAY.search(self.run_in(96).stderr)[3]
        run = self.run_in(96, "--table-memory", fits + "M")
        self.assertEqual(run.faults(), [])
        self.assertNotIn("cgroup", run.stderr)


if __name__ == "__main__":
    try:
        MemoryCgroup(64 << 20).close()
    except OSError as error:
        skip(f"memory cgroups cannot be made: {error}")
    main()
