#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user who maps thousands of files uses up nobody else's room: programs that begin meanwhile have whole stacks."""

import os
import re
import resource
import shlex
import subprocess

from pending_case import CALLER, PendingCase, slow_file
from root_case import FPLESS, fixture, main
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

    def test_there_is_room_for_descriptors_from_the_start(self):
        """While threads share their table, its growth would keep the ring waiting."""
        process = self.start(FPLESS, "profile", "-q", "-f", "-d", "600", "-p", str(os.getpid()), stdout=subprocess.DEVNULL)
        self.wait_until_sampling(process)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            room = int(re.search(r"^FDSize:\s+(\d+)$", file.read(), re.M).group(1))
        self.assertGreaterEqual(room, min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


if __name__ == "__main__":
    main()
