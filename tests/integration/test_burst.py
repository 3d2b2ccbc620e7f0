#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples that come by the thousand while tables are awaited: one for each page fault of a program."""

import ctypes
import fcntl
import os
import shlex
import shutil
import signal
import struct
import subprocess

from fpless_run import TIMEOUT_S, Run
from root_case import BPF_PROG_TYPE_PERF_EVENT, FPLESS, LIBC, RootCase, is_dead, main
from waiting import wait_for

PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS = 1, 2
PERF_ATTR_DISABLED, PERF_ATTR_ENABLE_ON_EXEC = 1 << 0, 1 << 12
PERF_ATTR_BYTES = 112
PERF_FLAG_FD_CLOEXEC = 8
PERF_EVENT_IOC_SET_BPF = 0x40042408
SYS_PERF_EVENT_OPEN, SYS_PIDFD_GETFD = 298, 438

# many places while the interpreter starts, then few
FAULTS = 'my $x = "x" x 4_000_000; my @a; push @a, "y" x 3000 for 1..1000;'


def sampler_of(pid):
    """The sampling program of a run of fpless, as a descriptor of ours; None: it is not loaded yet."""
    try:
        pidfd = os.pidfd_open(pid)
        fds = os.listdir(f"/proc/{pid}/fdinfo")
    except OSError:
        return None
    try:
        for fd in fds:
            try:
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                    if f"prog_type:\t{BPF_PROG_TYPE_PERF_EVENT}\n" in file.read():
                        return LIBC.syscall(SYS_PIDFD_GETFD, pidfd, int(fd), 0)
            except OSError:
                pass  # closed meanwhile
    finally:
        os.close(pidfd)
    return None


def count_faults(pid, program):
    """Runs the program at each page fault of the process from its next exec on; a descriptor."""
    attr = struct.pack("<IIQQQQQ", PERF_TYPE_SOFTWARE, PERF_ATTR_BYTES, PERF_COUNT_SW_PAGE_FAULTS, 1, 0, 0,
                       PERF_ATTR_DISABLED | PERF_ATTR_ENABLE_ON_EXEC)
    attr = ctypes.create_string_buffer(attr, PERF_ATTR_BYTES)
    event = LIBC.syscall(SYS_PERF_EVENT_OPEN, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)
    if event < 0:
        raise OSError("perf_event_open")
    fcntl.ioctl(event, PERF_EVENT_IOC_SET_BPF, program)
    return event


class Burst(RootCase):
    def run_burst(self, blind, env=None):
        """A copy of perl, unknown to fpless; @blind: fpless is stopped until the program has ended."""
        perl = self.path("perl")
        shutil.copy(shutil.which("perl"), perl)
        for name in ("pid", "go"):
            os.mkfifo(self.path(name))
        script = (f"echo $$ >{self.path('pid')}; read x <{self.path('go')}; "
                  f"exec {shlex.join([perl, '-e', FAULTS])}")
        process = self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "-F", "99", "-U", "--",
                             "/bin/sh", "-c", script, stderr=subprocess.PIPE,
                             env={**os.environ, **(env or {})})
        with open(self.path("pid"), encoding="ascii") as file:
            pid = int(file.read())
        program = sampler_of(process.pid)
        self.assertIsNotNone(program)
        event = count_faults(pid, program)
        if blind:
            process.send_signal(signal.SIGSTOP)
        with open(self.path("go"), "w", encoding="ascii") as file:
            file.write("x\n")
        if blind:
            wait_for("the program ends", lambda: is_dead(pid), TIMEOUT_S)
        process.send_signal(signal.SIGCONT)
        stderr = process.communicate(timeout=TIMEOUT_S)[1]
        faults = struct.unpack("<Q", os.read(event, 8))[0]
        for fd in (event, program):
            os.close(fd)
        run = Run.of_folder(self.folder, process.returncode, stderr)
        self.assertEqual(run.faults(), [])
        self.assertGreater(faults, 2000)  # the program's pages: the same in each run
        # each fault is a sample, beside those of the clock
        self.assertEqual(sum(run.stats["lost"].values()), 0, run.stats["lost"])
        self.assertGreaterEqual(run.stats["shown"], faults)
        return run

    @staticmethod
    def judged(stats):
        return stats["user_samples"] - stats["stop"]["exiting"] - stats["stop"]["execing"]

    def test_its_stacks_are_complete(self):
        stats = self.run_burst(False).stats
        self.assert_share(stats["complete"], self.judged(stats), 0.995, stats["stop"])
        self.assertEqual(stats["stop"]["no_table"], 0)

    def test_full_ring_is_counted_by_name(self):
        """Some 130 snapshots with all the environment would fill the ring."""
        stats = self.run_burst(True, {"PADDING": "x" * 20000}).stats
        self.assertEqual(stats["stop"]["no_table"], 0, stats["stop"])
        self.assert_share(stats["complete"], self.judged(stats), 0.3, stats["stop"])


if __name__ == "__main__":
    main()
