#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files whose code was made to cost its analyst dear, and runs, beside a program that is profiled."""

import os
import shlex
import signal
import subprocess
import sys
import threading

from fpless_run import Run
from root_case import FPLESS, RootCase, fixture, main

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from hostile_code import GOOD, GOOD_AT, write_file

MAPPER = f"""
import ctypes, mmap, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
spins = []
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        start = libc.mmap(None, ctypes.c_size_t(0x1000), mmap.PROT_READ | mmap.PROT_EXEC,
                          mmap.MAP_PRIVATE, file.fileno(), ctypes.c_long({GOOD_AT}))
    spins.append(ctypes.CFUNCTYPE(None, ctypes.c_uint)(start + {len(GOOD)}))
while time.process_time() < 60:
    for spin in spins:
        spin(100000000)
"""
TIMEOUT_S = 600  # of one run of fpless, whose workers compute for seconds
REFUSED = "unwind rows not synthesised: over budget"


class HostileCode(RootCase):
    def run_beside(self, names):
        """A run of `chain` beside a program that spins in the files, until fpless has said of each
        that it costs too much."""
        waited_for = {write_file(self.folder, name, spin=True) for name in names}
        mapper = shlex.join([sys.executable, "-c", MAPPER, *sorted(waited_for)])
        script = f"{mapper} >/dev/null 2>&1 & exec {shlex.join([fixture('chain'), '60000'])} 2>/dev/null"
        process = self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "-F", "499",
                             "--", "sh", "-c", script, stderr=subprocess.PIPE)
        hung = threading.Timer(TIMEOUT_S, process.kill)
        hung.start()
        stderr = b""
        for line in process.stderr:
            stderr += line
            done = {path for path in waited_for if f"{path}: {REFUSED}".encode() in line}
            waited_for -= done
            if done and not waited_for:
                process.send_signal(signal.SIGINT)
        process.wait()
        hung.cancel()
        self.assertEqual(waited_for, set(), stderr)
        # rows around samples cost too much, too, several times
        self.assertEqual(stderr.count(REFUSED.encode()), len(names), stderr)
        return Run.of_folder(self.folder, process.returncode, stderr)

    def test_its_rows_are_refused_and_other_files_keep_theirs(self):
        names = ["overlaps", "gigabyte"]
        run = self.run_beside(names)
        self.assertEqual(run.faults(), [])
        self.assertEqual(run.stats["tables"]["synth_refused"], len(names))
        self.assert_chain_is_complete(run, fixture("chain"))


if __name__ == "__main__":
    main()
