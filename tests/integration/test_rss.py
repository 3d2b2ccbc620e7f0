#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who holds the resident memory: the sum of the stacks of a process is what the kernel's smaps_rollup says, each function holds what
it took, and what was given back is taken off the oldest stacks."""

import errno
import os
import re
import subprocess

import pprof_file
from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, main
from seccomp_filter import refuse_calls

RSS = fixture("rss")
MIB = 1 << 20
SYS_FSOPEN = 430
LIFE_LINKS = 3  # of the programs that follow processes, at least
NOT_ATTRIBUTED = "[not attributed]"


def said(text):
    """{pid: bytes} as the programs say it."""
    return {int(pid): int(kib) << 10 for pid, kib in re.findall(r"(?m)^(\d+) (\d+)$", text.decode())}


def of_process(run, pid):
    return sum(stack["weight"] for stack in run.stacks if stack["pid"] == pid)


def held(run, function, memory=None):
    """Bytes of a function, or of one kind of memory of it."""
    return sum(stack["weight"] for stack in run.stacks
               if function in [frame.get("symbol") for frame in stack["user"]] and memory in (None, stack["key"]))


class Rss(RootCase):
    def rss(self, *command):
        run = self.profile("--rss", "--", RSS, *command)
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        return run

    def assert_near(self, got, wanted, share=0.02):
        self.assertLessEqual(abs(got - wanted), share * wanted, f"{got} for {wanted} bytes")

    def test_the_sum_is_what_is_resident_and_each_function_holds_what_it_took(self):
        path = self.path("file")
        with open(path, "wb") as file:
            file.write(b"x" * (4 * MIB))
        run = self.rss("keep", path)
        [(pid, wanted)] = said(run.stdout).items()
        self.assert_near(of_process(run, pid), wanted)
        for function, memory, size in (("take_anonymous", "anonymous", 16), ("take_shared", "shared memory", 4),
                                       ("take_file", "file-backed", 4)):
            self.assert_near(held(run, function, memory), size * MIB)
            self.assert_near(held(run, function), size * MIB)
        self.assertEqual((run.meta["weight_type"], run.meta["weight_unit"]), ("rss", "bytes"))
        with open(run.folded_path, encoding="utf-8") as file:
            roots = {line.split(";", 1)[0] for line in file}
        self.assertLessEqual(roots, {"anonymous", "file-backed", "shared memory", NOT_ATTRIBUTED})
        self.assertGreaterEqual(roots, {"anonymous", "file-backed", "shared memory"})

    def test_what_was_given_back_is_taken_off_the_oldest_stacks(self):
        run = self.rss("give")
        [(pid, wanted)] = said(run.stdout).items()
        self.assert_near(of_process(run, pid), wanted)
        self.assert_near(held(run, "take_second"), 8 * MIB)
        self.assertLess(held(run, "take_first"), MIB)

    def test_a_program_that_runs(self):
        with subprocess.Popen([RSS, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            with open(self.path("stderr"), "wb") as stderr:
                run = self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "--rss", "-p", str(process.pid),
                                 stderr=stderr)
                self.wait_until_gate(run, LIFE_LINKS + 1)
                process.stdin.write(b"\n")
                process.stdin.flush()
                wanted = said(process.stdout.readline())
                process.stdin.write(b"\n")
                process.stdin.close()
                run.wait(TIMEOUT_S)
            with open(self.path("stderr"), "rb") as stderr:
                run = Run.of_folder(self.folder, run.returncode, stderr.read())
        self.assertEqual(run.faults(), [], run.stderr)
        self.assert_near(of_process(run, process.pid), wanted[process.pid])
        self.assert_near(held(run, "take_second"), 8 * MIB)
        before = sum(stack["weight"] for stack in run.stacks if stack["key"] == NOT_ATTRIBUTED)
        self.assertGreaterEqual(before, 16 * MIB)
        self.assertLess(before, 16 * MIB + 4 * MIB)

    def test_a_child_has_what_it_took_and_what_it_was_born_with(self):
        run = self.rss("fork")
        wanted = said(run.stdout)
        self.assertEqual(len(wanted), 2, run.stdout)
        for pid, size in wanted.items():
            self.assert_near(of_process(run, pid), size)
        self.assert_near(held(run, "take_second"), 16 * MIB)
        self.assert_near(held(run, "take_first"), 8 * MIB)
        [born] = [stack["weight"] for stack in run.stacks if stack["key"] == NOT_ATTRIBUTED and stack["pid"] == max(wanted)]
        self.assert_near(born, 8 * MIB, 0.2)

    def test_a_program_that_was_executed_begins_anew(self):
        run = self.rss("exec")
        [(pid, wanted)] = said(run.stdout).items()
        self.assert_near(of_process(run, pid), wanted)
        self.assertEqual(held(run, "take_anonymous"), 0)

    def test_other_outputs_have_the_same_sum(self):
        pprof = self.path("out.pb.gz")
        run = self.profile("--rss", "-o", pprof, "--", RSS, "give")
        total = sum(stack["weight"] for stack in run.stacks)
        texts = [value for number, value in pprof_file.fields(pprof_file.read(pprof)) if number == pprof_file.STRING]
        self.assertIn(b"rss", texts)
        for path in (run.jsonl_path, pprof):
            read = self.fpless("report", path, "-f")
            self.assertEqual(read.returncode, 0, read.stderr)
            self.assertEqual(sum(int(line.rsplit(b" ", 1)[1]) for line in read.stdout.splitlines()), total, path)

    def test_without_the_tracepoint_page_faults_are_sampled(self):
        run = self.profile("--rss", "--", "setpriv", "true", env=os.environ)  # the tracepoint is there
        self.assertNotIn("page faults", run.stderr)
        if os.path.exists("/sys/kernel/tracing/events"):
            return  # mounted: that it cannot be mounted takes nothing away
        files = Run.outputs(self.folder)
        done = self.fpless("profile", *files, "--rss", "--", "true", preexec_fn=refuse_calls(SYS_FSOPEN, error=errno.ENOSYS))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rb"--rss: tracefs: .*: page faults are sampled in its place: faults, not bytes")
        run = Run.of_folder(self.folder, done.returncode, done.stderr)
        self.assertEqual(run.faults(), [])
        self.assertEqual(run.meta["event"], "page-faults")

    def test_what_it_does_not_go_with_is_refused(self):
        for options, says in ((("-a", "-d", "1"), "wants -p PID"), (("-d", "1"), "wants -p PID"), (("-t", "1"), "wants -p PID"),
                              (("-e", "cs", "--", "true"), "exclude each other"), (("-F", "9", "--", "true"), "-F: "),
                              (("-c", "9", "--", "true"), "-c: "), (("--filter", "x", "--", "true"), "--filter: "),
                              (("-D", "9", "--", "true"), "-D: "), (("--by", "fd", "--", "true"), "--by fd: "),
                              (("-C", "0", "--", "true"), "-C: "), (("--timeline", "--", "true"), "not with"),
                              (("--stream", "--", "true"), "not with"),
                              (("--window", "1", "-o", "x-%t.pb.gz", "--", "true"), "not with")):
            with self.subTest(options):
                done = self.fpless("profile", "--rss", *options)
                self.assertIn(done.returncode, (1, 2, 3), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(says, done.stderr.decode())


if __name__ == "__main__":
    main()
