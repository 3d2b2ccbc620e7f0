#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_symfs.py FPLESS FIXTURES: names for frames of other tools' pprofs, out of files.

Such a frame is an offset in a file; where code goes in memory the file's program headers say. The
programs here have it elsewhere than their offsets: of another linker, of two segments, not moved."""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

# pylint: disable=wrong-import-position
import pprof_file
from elf_names import ElfNames

FPLESS, FIXTURES = (os.path.realpath(path) for path in sys.argv[1:3])
PROGRAMS = ("chain", "chain_lld", "chain_lldnopie", "chain_nopie", "chain_offset", "chain_static", "chain_twoseg")
TIMEOUT_S = 300
PT_LOAD, PT_NOTE, PF_X, NT_GNU_BUILD_ID = 1, 4, 1, 3
PAGE = 4096
START = 0x7f5500000000  # where a mapping is


class Program:
    """What an ELF file says of its segments, its build-id and its functions."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            image = file.read()
        headers_off, = struct.unpack_from("<Q", image, 32)
        nr, = struct.unpack_from("<H", image, 56)
        self.segments = []  # of code: (offset, vaddr, size)
        self.build_id = ""
        for i in range(nr):
            kind, flags, off, vaddr, _, size = struct.unpack_from("<IIQQQQ", image, headers_off + 56 * i)
            if kind == PT_LOAD and flags & PF_X and size:
                self.segments.append((off, vaddr, size))
            if kind == PT_NOTE:
                self._read_notes(image[off:off + size])
        self.functions = ElfNames(path).functions

    def _read_notes(self, notes):
        at = 0
        while at + 12 <= len(notes):
            name_size, size, kind = struct.unpack_from("<III", notes, at)
            start = at + 12 + (name_size + 3) // 4 * 4
            if kind == NT_GNU_BUILD_ID and notes[at + 12:at + 16] == b"GNU\0":
                self.build_id = notes[start:start + size].hex()
            at = start + (size + 3) // 4 * 4

    def offset(self, vaddr):
        for off, start, size in self.segments:
            if start <= vaddr < start + size:
                return off + vaddr - start
        return None

    def profile(self, path, build_id=None):
        """A pprof with one sample of each of its functions: (bytes, their names)."""
        first = self.segments[0][0] // PAGE * PAGE
        found = [(self.offset(start), names) for start, end, names in self.functions if end - start > 4]
        found = [(off, names) for off, names in found if off is not None]
        addresses = [START + off - first + 2 for off, _ in found]
        return pprof_file.of_code(path, self.build_id if build_id is None else build_id, START, first,
                                  addresses), [names for _, names in found]


class NamesFromFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "root")
        os.mkdir(self.root)

    def report(self, data, *args):
        path = os.path.join(self.folder, "x.pb")
        with open(path, "wb") as file:
            file.write(data)
        done = subprocess.run([FPLESS, "report", "-f", *args, path], stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_each_run_of_a_diff_is_named_by_its_own_files(self):
        paths, functions = [], []
        for name in ("chain", "chain_lld"):
            program = Program(os.path.join(FIXTURES, name))
            data, names = program.profile("/opt/bin/" + name)
            self.put(program, "opt/bin/" + name)
            paths.append(os.path.join(self.folder, name + ".pb"))
            with open(paths[-1], "wb") as file:
                file.write(data)
            functions.append(names)
        lines = os.path.join(self.folder, "lines.folded")
        done = subprocess.run([FPLESS, "diff", "--symfs", self.root, "-o", lines, *paths], stdin=subprocess.DEVNULL,
                              timeout=TIMEOUT_S, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        nr_frames = sum(map(len, functions))
        self.assertIn(f"{nr_frames} frames anew, by the files of 2 objects; no file of 0", done.stderr)
        with open(lines, encoding="utf-8") as file:
            counts = [line.rsplit(" ", 2) for line in file.read().splitlines()]
        for side, names in enumerate(functions, 1):
            self.assert_named("".join(f"{line[0]} {line[side]}\n" for line in counts), names)

    def put(self, program, below):
        path = os.path.join(self.root, below)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(program.path, path)

    def assert_named(self, folded, names):
        """Each function is there, by one of its names, as often as it has been sampled."""
        left = {}
        for line in folded.splitlines():
            name, count = line.rsplit(" ", 1)
            left[name] = left.get(name, 0) + int(count)
        for aliases in names:
            name = next((name for name in aliases if left.get(name)), None)
            self.assertIsNotNone(name, f"none of {aliases} is left in {folded}")
            left[name] -= 1
        self.assertFalse(any(left.values()), left)

    def test_offsets_are_placed_by_the_program_headers(self):
        for name in PROGRAMS:
            with self.subTest(program=name):
                program = Program(os.path.join(FIXTURES, name))
                data, names = program.profile("/opt/bin/" + name)
                self.put(program, "opt/bin/" + name)
                self.assertGreater(len(names), 4)
                done = self.report(data, "--symfs", self.root)
                self.assert_named(done.stdout, names)
                self.assertRegex(done.stderr, rf"names +{len(names)} frames anew, by the files of 1 objects")

    def test_files_are_found_by_build_id_path_and_name(self):
        program = Program(os.path.join(FIXTURES, "chain_lld"))
        by_id = f".build-id/{program.build_id[:2]}/{program.build_id[2:]}"
        for path, place in (("/opt/x", by_id), ("/opt/x", by_id + ".debug"), ("x", by_id), ("/opt/x", "opt/x"),
                            ("/opt/x", "x"), ("x", "x")):
            with self.subTest(path=path, place=place):
                shutil.rmtree(self.root)
                data, names = program.profile(path)
                self.put(program, place)
                self.assert_named(self.report(data, "--symfs", self.root).stdout, names)

    def test_a_debug_file_names_what_another_file_places(self):
        program = Program(os.path.join(FIXTURES, "chain_lld"))
        data, names = program.profile("/opt/x")
        place = os.path.join(self.root, f".build-id/{program.build_id[:2]}/{program.build_id[2:]}.debug")
        os.makedirs(os.path.dirname(place))
        subprocess.run(["objcopy", "--only-keep-debug", program.path, place], check=True, timeout=TIMEOUT_S)
        done = self.report(data, "--symfs", self.root)
        self.assertIn("1 objects with offsets: no file tells where their code goes", done.stderr)
        self.assertNotIn("spin", done.stdout)
        self.put(program, "opt/x")
        subprocess.run(["strip", os.path.join(self.root, "opt/x")], check=True, timeout=TIMEOUT_S)
        self.assert_named(self.report(data, "--symfs", self.root).stdout, names)

    def test_another_build_id_is_refused_and_the_run_goes_on(self):
        programs = [Program(os.path.join(FIXTURES, name)) for name in ("chain", "chain_lld")]
        wrong, _ = programs[0].profile("/opt/wrong", build_id="00" + programs[0].build_id[2:])
        right, names = programs[1].profile("/opt/right")
        self.put(programs[0], "opt/wrong")
        self.put(programs[1], "opt/right")
        other = os.path.join(self.folder, "other.pb")
        with open(other, "wb") as file:
            file.write(wrong)
        done = self.report(right, "--symfs", self.root, other)
        said = [line for line in done.stderr.splitlines() if "not used: its build-id" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], rf"^fpless: .*/opt/wrong: not used: its build-id is {programs[0].build_id}")
        self.assertIn("1 objects have files of other build-ids", done.stderr)
        self.assert_named("\n".join(line for line in done.stdout.splitlines() if not line.startswith("[")), names)
        self.assertIn("[wrong+0x", done.stdout)

    def test_what_is_placed_is_what_fpless_would_have_recorded(self):
        """Named once, it is named again out of a recording, and google/pprof's fields are right."""
        program = Program(os.path.join(FIXTURES, "chain_lld"))
        data, names = program.profile("/opt/x")
        self.put(program, "opt/x")
        recording = os.path.join(self.folder, "run.pb.gz")
        jsonl = os.path.join(self.folder, "run.jsonl")
        self.report(data, "--symfs", self.root, "-o", recording, "-o", jsonl)
        with open(jsonl, encoding="utf-8") as file:
            vaddrs = set(re.findall(r'"object":"/opt/x".*?"vaddr":"(0x[0-9a-f]+)"', file.read()))
        self.assertLessEqual({hex(start + 2) for start, end, _ in program.functions
                              if end - start > 4 and program.offset(start) is not None}, vaddrs)
        again = self.report(pprof_file.without_names(pprof_file.read(recording)), "--symfs", self.root)
        self.assert_named(again.stdout, names)

    def test_hostile_program_headers_place_nothing(self):
        program = Program(os.path.join(FIXTURES, "chain_lld"))
        data, _ = program.profile("/opt/x")
        self.put(program, "opt/x")
        with open(os.path.join(self.root, "opt/x"), "r+b") as file:
            image = bytearray(file.read())
            headers_off, = struct.unpack_from("<Q", image, 32)
            nr, = struct.unpack_from("<H", image, 56)
            for i in range(nr):
                kind, flags = struct.unpack_from("<II", image, headers_off + 56 * i)
                if kind == PT_LOAD and flags & PF_X:
                    struct.pack_into("<QQQQQ", image, headers_off + 56 * i + 8, 2**64 - 1, 2**64 - 1, 0, 2**64 - 1,
                                     2**64 - 1)
            file.seek(0)
            file.write(image)
        self.assertNotIn("spin", self.report(data, "--symfs", self.root).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
