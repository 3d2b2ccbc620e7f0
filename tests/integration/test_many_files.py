#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user who maps thousands of files uses up nobody else's room: programs that begin meanwhile have whole stacks."""

import os
import shlex

from pending_case import CALLER, PendingCase, slow_file
from root_case import fixture, main
from test_few_files import allow_files

MANY_FILES = fixture("many_files")
NR_MAPPED = 4000
NR_VICTIMS = 6
# objects are what 96 + 4 for each CPU leave of it
LIMIT = 96 + 4 * os.cpu_count() + 96


class ManyFiles(PendingCase):
    def storm(self):
        folder = self.path("storm")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        return shlex.join([MANY_FILES, folder, str(NR_MAPPED)])

    def test_programs_that_begin_meanwhile_are_profiled(self):
        os.chmod(self.folder, 0o711)
        victims = [slow_file(self.path(f"victim{i}"), i + 1) for i in range(NR_VICTIMS)]
        each = "; ".join(f"sleep 0.2; {shlex.join([CALLER, '100', '0', path])}" for path in victims)
        run = self.end(self.begin(f"{self.storm()} & {each}; wait", preexec_fn=lambda: allow_files(LIMIT)))
        for path in victims:
            self.assertTrue(self.of(run, path), path)
            self.assert_whole(run, path)
        closed = [line for line in run.stderr.splitlines() if "files that nothing maps any more were closed" in line]
        self.assertTrue(closed, run.stderr[-4000:])


if __name__ == "__main__":
    main()
