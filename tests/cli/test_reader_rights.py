#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_reader_rights.py FPLESS [SANITIZERS]: what verbs may do that read recordings and files of strangers."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from waiting import wait_for  # noqa: E402

FPLESS = os.path.realpath(sys.argv[1])
WAIT_S = 120
FOLDED = b"a;main;f 3\n"


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


class ReaderRights(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.first = self.path("first.folded")
        with open(self.first, "wb") as file:
            file.write(FOLDED)

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self, *args):
        """Reads a file, and then waits for stdin to say more."""
        process = subprocess.Popen([FPLESS, "report", *args, self.first, "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(lambda: [pipe.close() for pipe in (process.stdin, process.stdout, process.stderr)])
        process.stdin.write(FOLDED)
        process.stdin.flush()
        return process

    def wait_until_it_reads(self, process):
        """The filter is the last thing before that; a container has one of its own."""
        before = int(status_of("self")["Seccomp_filters"])

        def has_one_more():
            status = status_of(process.pid)
            self.assertIsNone(process.poll())
            return status if int(status["Seccomp_filters"]) > before else None

        return wait_for("it reads", has_one_more)

    def check(self, *args):
        output = self.path("out.jsonl")
        process = self.begin("-f", "-o", output, *args)
        status = self.wait_until_it_reads(process)
        self.assertEqual({key: status[key] for key in ("Seccomp", "NoNewPrivs", "Threads")},
                         {"Seccomp": "2", "NoNewPrivs": "1", "Threads": "1"})
        for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            self.assertEqual(int(status[key], 16), 0, key)
        out, err = process.communicate(b"b;g 4\n", timeout=WAIT_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out, b"b;g 4\na;main;f 6\n")
        with open(output, "rb") as file:
            self.assertEqual(len(file.readlines()), 4)
        self.assertEqual(sorted(os.listdir(self.folder)), ["first.folded", "out.jsonl"])

    def test_it_reads_and_writes_what_is_open(self):
        self.check()

    def test_it_finds_files_where_it_is_told_to(self):
        self.check("--symfs", "/")

    def test_an_error_leaves_nothing(self):
        process = self.begin("-o", self.path("out.jsonl"))
        self.wait_until_it_reads(process)
        out, err = process.communicate(b"b;g four\n", timeout=WAIT_S)
        self.assertEqual((process.returncode, out), (2, b""), err)
        self.assertIn(b"stdin: line 2", err)
        self.assertEqual(os.listdir(self.folder), ["first.folded"])


# For each row libdw begins anew: seconds. Its rows fill a pipe many times.
ROWS = """
.text
.globl many_rows
.type many_rows, @function
many_rows:
.cfi_startproc
.rept 30000
push %rbx
.cfi_adjust_cfa_offset 8
pop %rbx
.cfi_adjust_cfa_offset -8
.endr
ret
.cfi_endproc
.size many_rows, . - many_rows
.section .note.GNU-stack,"",@progbits
"""


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


@unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
class FileRights(unittest.TestCase):
    """What a verb may do once it reads an ELF file."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="fpless-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.file = os.path.join(cls.folder, "rows.so")
        source = os.path.join(cls.folder, "rows.S")
        with open(source, "w", encoding="ascii") as file:
            file.write(ROWS)
        subprocess.run(["cc", "-shared", "-nostdlib", "-o", cls.file, source], check=True)

    def start(self, *args):
        process = subprocess.Popen([FPLESS, *args], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: [pipe.close() for pipe in (process.stdout, process.stderr)])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_gave_up_rights(self, process, pids, filters):
        """Within the time one of the processes is without any rights, behind so many filters more than this one."""
        before = int(status_of("self")["Seccomp_filters"])
        end = time.monotonic() + WAIT_S
        seen = {}
        while time.monotonic() < end and process.poll() is None:
            for pid in pids():
                try:
                    status = status_of(pid)
                    fds = len(os.listdir(f"/proc/{pid}/fd"))
                except OSError:
                    continue
                if int(status.get("Seccomp_filters", 0)) == before + filters:
                    seen = {key: status[key] for key in ("Seccomp", "NoNewPrivs", "Threads")}
                    seen["rights"] = max(int(status[key], 16) for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"))
                    self.assertLess(fds, 12)
                    self.assertEqual(seen, {"Seccomp": "2", "NoNewPrivs": "1", "Threads": "1", "rights": 0})
                    return
        self.fail(f"no process without rights; exit status {process.poll()}")

    def test_tables(self):
        process = self.start("tables", "--rows", self.file)
        self.assertEqual(process.stdout.read(2), b"0x")  # it waits for more to be read
        self.assert_gave_up_rights(process, lambda: [process.pid], 1)
        out, err = process.communicate(timeout=WAIT_S)
        self.assertEqual((process.returncode, err), (0, b""))
        self.assertGreater(len(out.splitlines()), 50000)  # but for what was read already

    def test_verify(self):
        process = self.start("verify", "-t", "100", self.file)
        self.assert_gave_up_rights(process, lambda: children(process.pid), 1)
        out, err = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(b" 0 disagreements", out)

    def test_doctor(self):
        for _ in range(100):  # it reads for some milliseconds
            process = self.start("doctor", self.file)
            try:
                self.assert_gave_up_rights(process, lambda: [process.pid], 1)
                break
            except AssertionError:
                process.communicate(timeout=WAIT_S)
        else:
            self.fail("its rights were never given up")
        self.assertIn(b"rows.so", process.communicate(timeout=WAIT_S)[0])
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    if sys.argv[2:]:
        print("SKIP: no filter of system calls in a build with sanitizers")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
