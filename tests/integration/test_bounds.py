#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does not fit is named, with the option that makes room; what is left out is left out aloud."""

import os
import shutil
import struct
import subprocess
import sys

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench/machine"))
from large_object import make_object  # noqa: E402

# Calls the code of one object after the other: FILE OFFSET SIZE SECONDS (of CPU time), again and again.
DRIVER = """
import ctypes, mmap, os, sys, time
for path, offset, size, seconds in zip(*[iter(sys.argv[1:])] * 4):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    fd = os.open(path, os.O_RDONLY)
    code = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(libc.mmap(None, int(size), 5, 2, fd, int(offset)))
    end = time.process_time() + float(seconds)
    while time.process_time() < end:
        code(3000000)
"""


class LevelCase(RootCase):
    def level(self, run, name):
        return run.stats["maps"][name]


class Maps(LevelCase):
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

    @staticmethod
    def chains(run):
        return {stack["pid"] for stack in run.stacks if stack["comm"] == "chain"}

    def test_more_processes_than_there_is_room_for(self):
        shell = 'for i in $(seq 40); do "$0" 60 & done; wait'
        run = self.profile("-F", "499", "--max-processes", "16", "--", "sh", "-c", shell, fixture("chain"))
        self.assertGreater(self.level(run, "targets")["refused"], 0)
        self.assert_said(run, "targets", "--max-processes")
        again = self.profile("-F", "499", "--", "sh", "-c", shell, fixture("chain"))
        self.assertEqual(self.level(again, "targets")["refused"], 0)
        # each of 60 ms at 499 Hz; those that were refused are not there
        self.assertLess(len(self.chains(run)), 40)
        self.assertEqual(len(self.chains(again)), 40)

    def test_more_mappings_than_there_is_room_for(self):
        run = self.profile("-F", "499", "--max-mappings", "256", "--", fixture("many_maps"), "400", "2000")
        self.assertGreater(self.level(run, "mappings")["refused"], 0)
        self.assert_said(run, "mappings", "--max-mappings")
        self.assertGreater(run.stats["frames_by_origin"]["cfi_user"], 0)

    def test_thirty_thousand_mappings(self):
        run = self.profile("-F", "499", "--", fixture("many_maps"), "3500", "30000")  # half of it in mmap
        self.assertEqual(self.level(run, "mappings")["refused"], 0)
        spins = [stack for stack in run.stacks if not stack["kernel"] and len(stack["user"]) > 1
                 and stack["user"][-2].get("symbol", "").startswith("__libc_start")]
        self.assertTrue(spins)
        self.assertEqual({stack["stop"] for stack in spins}, {"outermost"})
        self.assert_share(sum(stack["count"] for stack in spins), run.stats["user_samples"], 0.3)


def tiny_object(number):
    """An ELF file without CFI, and with a build-id of its own."""
    note = struct.pack("<3I", 4, 20, 3) + b"GNU\0" + number.to_bytes(20, "little")
    headers = b"".join(struct.pack("<IIQQQQQQ", kind, 5, off, off, off, size, size, 4096 if kind == 1 else 4)
                       for kind, off, size in ((1, 0, 4096), (4, 0x200, len(note))))
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    return (head + headers).ljust(0x200, b"\0") + note.ljust(0xe00, b"\0")


# Maps all files of a folder executable, shows itself until fpless has a descriptor for each, then
# runs a program.
MAPPER = """
import mmap, os, sys, time
for name in os.listdir(sys.argv[1]):
    fd = os.open(os.path.join(sys.argv[1], name), os.O_RDONLY)
    globals()[name] = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    os.close(fd)
late = time.monotonic() + 300
while len(os.listdir(f"/proc/{os.getppid()}/fd")) < 10000 and time.monotonic() < late:
    time.sleep(0.2)
os.spawnv(os.P_WAIT, sys.argv[2], sys.argv[2:])
"""


class Size(LevelCase):
    def assert_whole(self, run, path, ms):
        """The code of the file was called for so much CPU time, at 499 Hz."""
        stops = {}
        for stack in run.stacks:
            if stack["user"] and stack["user"][0].get("object") == path:
                stops[stack["stop"]] = stops.get(stack["stop"], 0) + stack["count"]
        self.assert_ticks(run, sum(stops.values()), ms * 499 // 1000, 0.5, stops)
        self.assertEqual(set(stops), {"outermost"}, stops)

    def test_ten_thousand_objects(self):
        folder = self.path("objects")
        os.mkdir(folder)
        for i in range(10000):
            with open(os.path.join(folder, f"o{i}"), "wb") as file:
                file.write(tiny_object(i + 1))
        program = shutil.copy(fixture("chain"), self.path("last"))
        with open(program, "r+b") as file:  # an object of its own: it has another owner
            os.fchown(file.fileno(), 70000, 70000)
        os.chmod(program, 0o755)
        run = self.profile("-F", "499", "--", sys.executable, "-c", MAPPER, folder, program, "500")
        level = self.level(run, "objects")
        self.assertGreater(level["entries"], 10000)
        self.assertEqual(level["refused"], 0)
        self.assert_whole(run, program, 500)

    def test_an_object_of_two_gigabytes(self):
        path = self.path("large.so")
        offset, size = make_object(path, 1, hole=2 << 30)
        self.assertGreater(os.stat(path).st_size, 2 << 30)
        run = self.profile("-F", "499", "--", sys.executable, "-c", DRIVER, path, str(offset), str(size), "1.5")
        self.assert_whole(run, path, 1500)

    def sample_crowd(self, *args):
        """It begins when there are tables of its files: among ten thousand threads the workers that make them get little
        CPU time, and stacks would wait for tables without room (`burst`)."""
        go, said = self.path("go"), self.path("stderr")
        with open(said, "wb") as stderr:
            process = self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "-vv", "-F", "999", "--",
                                 fixture("crowd"), *args, go, stdout=subprocess.PIPE, stderr=stderr)

        def has_tables():
            with open(said, encoding="utf-8") as file:
                text = file.read()
            return all(f"{name}: object " in text for name in (fixture("crowd"), "/libc.so.6"))

        self.wait_while_it_runs(process, "tables", has_tables)
        with open(go, "wb"):
            pass
        stdout, _ = process.communicate(timeout=2 * TIMEOUT_S)
        with open(said, "rb") as file:
            run = Run.of_folder(self.folder, process.returncode, file.read())
        run.stdout = stdout
        self.assertEqual(run.faults(), [])
        return run

    def test_a_thousand_processes_of_ten_threads(self):
        run = self.sample_crowd("4000", "1000", "10")
        self.assertIn(b"0 failed", run.stdout)
        self.assertEqual({name: level["refused"] for name, level in run.stats["maps"].items() if level["refused"]}, {})
        self.assert_ticks(run, len({stack["pid"] for stack in run.stacks}), 1000, 0.96)  # of 4 ms at 999 Hz
        spins = {}
        for stack in run.stacks:
            if stack["user"] and stack["user"][0]["symbol"] == "spin":
                spins[stack["stop"]] = spins.get(stack["stop"], 0) + stack["count"]
        self.assert_ticks(run, sum(spins.values()), 4000, 0.25, spins)  # of 4 s at 999 Hz
        self.assert_share(spins["outermost"], sum(spins.values()), 0.99, spins)


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

        def sample(length):
            words = [str(word) for part in ((*first, 3 * length), (*second, 5 * length)) for word in part]
            return self.profile("-F", "499", "--no-cache", "--table-memory", "1M", "--", sys.executable, "-c", DRIVER, *words)

        def both_had_a_table(run):
            return {first[0], second[0]} <= {stack["user"][0].get("object") for stack in run.stacks
                                             if stack["user"] and stack["stop"] != "no_table"}

        run = self.until_seen("samples of either with its table", sample, both_had_a_table)
        self.assertGreater(run.stats["tables"]["evicted"], 0)
        self.assertIn("table room ", run.stderr)
        self.assertIn("more --table-memory", run.stderr)
        self.assertLessEqual(run.stats["tables"]["bytes"], 1 << 20)

    def test_table_that_can_never_fit_is_named_and_evicts_none(self):
        path = self.path("huge.so")
        offset, size = make_object(path, 70)
        run = self.profile("-F", "499", "--no-cache", "--table-memory", "1M", "--",
                           sys.executable, "-c", DRIVER, path, str(offset), str(size), "1.5")
        self.assertEqual(run.stats["tables"]["refused"], 1)
        self.assertEqual(run.stats["tables"]["evicted"], 0)
        self.assertGreater(run.stats["tables"]["refused_bytes"], 1 << 20)
        self.assertIn(path, run.stderr)


if __name__ == "__main__":
    main()
