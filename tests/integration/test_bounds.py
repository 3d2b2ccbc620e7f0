#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does not fit is named, with the option that makes room; what is left out is left out aloud."""

import os
import sys

from root_case import RootCase, fixture, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench/machine"))
from large_object import make_object  # noqa: E402

# Calls the code of one object after the other: FILE OFFSET SIZE SECONDS, again and again.
DRIVER = """
import ctypes, mmap, os, sys, time
for path, offset, size, seconds in zip(*[iter(sys.argv[1:])] * 4):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    fd = os.open(path, os.O_RDONLY)
    code = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(libc.mmap(None, int(size), 5, 2, fd, int(offset)))
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        code(3000000)
"""


class Maps(RootCase):
    def level(self, run, name):
        return run.stats["maps"][name]

    def assert_said(self, run, name, option):
        lines = [line for line in run.stderr.splitlines() if f"map          {name}: " in line]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn(option, lines[0])
        self.assertIn("no room", lines[0])

    def test_all_are_in_the_statistics(self):
        run = self.profile("-F", "499", "--", fixture("chain"), "300")
        for name in ("objects", "mappings", "procs", "mapsets", "targets", "stacks", "ring", "chunks"):
            level = self.level(run, name)
            # Processes that are gone when the run ends may never have been counted.
            if name not in ("procs", "mapsets", "targets"):
                self.assertGreater(level["entries"], 0, name)
            self.assertLessEqual(level["entries"], level["max"], name)
            self.assertGreater(level["bytes"], 0, name)
            self.assertEqual(level["refused"], 0, name)
        self.assertNotIn("map          ", run.stderr)

    def test_more_processes_than_there_is_room_for(self):
        shell = 'for i in $(seq 40); do "$0" 60 & done; wait'
        run = self.profile("-F", "499", "--max-processes", "16", "--", "sh", "-c", shell, fixture("chain"))
        self.assertGreater(self.level(run, "targets")["refused"], 0)
        self.assert_said(run, "targets", "--max-processes")
        again = self.profile("-F", "499", "--", "sh", "-c", shell, fixture("chain"))
        self.assertEqual(self.level(again, "targets")["refused"], 0)
        self.assertGreater(again.stats["shown"], run.stats["shown"])

    def test_more_mappings_than_there_is_room_for(self):
        run = self.profile("-F", "499", "--max-mappings", "256", "--", fixture("many_maps"), "400", "2000")
        self.assertGreater(self.level(run, "mappings")["refused"], 0)
        self.assert_said(run, "mappings", "--max-mappings")
        self.assertGreater(run.stats["frames_by_origin"]["cfi_user"], 0)

    def test_thirty_thousand_mappings(self):
        run = self.profile("-F", "499", "--", fixture("many_maps"), "1500", "30000")
        self.assertEqual(self.level(run, "mappings")["refused"], 0)
        spins = [stack for stack in run.stacks if not stack["kernel"] and len(stack["user"]) > 1
                 and stack["user"][-2].get("symbol", "").startswith("__libc_start")]
        self.assertTrue(spins)
        self.assertEqual({stack["stop"] for stack in spins}, {"outermost"})
        self.assertGreater(sum(stack["count"] for stack in spins), run.stats["user_samples"] / 4)


class TableMemory(RootCase):
    """Two objects whose tables do not fit together are run in turn."""

    def objects(self, nr):
        """(path, offset, size) of each; tables of about 0.75 MiB."""
        made = []
        for i in range(nr):
            path = self.path(f"large{i}.so")
            offset, size = make_object(path, 34)
            with open(path, "r+b") as file:
                file.seek(-8, os.SEEK_END)
                file.write(os.urandom(8))
            if i:  # another identity: the digest is of the CFI
                with open(path, "r+b") as file:
                    file.seek(0x18)
                    file.write((offset + i).to_bytes(8, "little"))
            made.append((path, offset, size))
        return made

    def test_what_is_used_no_more_gives_way(self):
        first, second = self.objects(2)
        words = [str(word) for part in ((*first, 3), (*second, 5)) for word in part]
        run = self.profile("-F", "499", "--no-table-cache", "--table-memory", "1M", "--",
                           sys.executable, "-c", DRIVER, *words)
        leaves = {path: [(stack["stop"], stack["count"]) for stack in run.stacks
                         if stack["user"] and stack["user"][0].get("object") == path]
                  for path in (first[0], second[0])}
        for path, stacks in leaves.items():
            with self.subTest(path):
                whole = sum(count for stop, count in stacks if stop != "no_table")
                self.assertGreater(whole, 0, stacks)
        self.assertGreater(run.stats["tables"]["evicted"], 0)
        self.assertIn("table room ", run.stderr)
        self.assertIn("more --table-memory", run.stderr)
        self.assertLessEqual(run.stats["tables"]["bytes"], 1 << 20)

    def test_one_that_can_never_fit_is_named_and_moves_nobody(self):
        path = self.path("huge.so")
        offset, size = make_object(path, 70)
        run = self.profile("-F", "499", "--no-table-cache", "--table-memory", "1M", "--",
                           sys.executable, "-c", DRIVER, path, str(offset), str(size), "1.5")
        self.assertEqual(run.stats["tables"]["refused"], 1)
        self.assertEqual(run.stats["tables"]["evicted"], 0)
        self.assertGreater(run.stats["tables"]["refused_bytes"], 1 << 20)
        self.assertIn(path, run.stderr)


if __name__ == "__main__":
    main()
