#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_live.py FPLESS FIXTURES

`fpless verify --live` as a user meets it: what it refuses, in which words, and its exit status. What
it judges is integration.judge's."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from waiting import wait_for  # noqa: E402

FPLESS, FIXTURES = (os.path.realpath(path) for path in sys.argv[1:3])
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_PTRACER, ANY = 1, 0x59616D61, ctypes.c_ulong(-1)
PTRACE_TRACEME = 0
NOBODY = 65534
CALLS = "while True: len(str(abs(-7)))"
ROUNDS = "300000"  # of judged: 40 ms of CPU time, and some five bursts


def can_trace():
    """Whether this machine lets anybody trace anything: containers may not, nor the strictest Yama."""
    child = os.fork()
    if not child:
        os._exit(0 if LIBC.ptrace(PTRACE_TRACEME, 0, None, None) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def to_be_judged():
    """In a child: it ends with the tests, and any process of the user may trace it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    LIBC.prctl(PR_SET_PTRACER, ANY, 0, 0, 0)


def status_of(pid):
    """/proc/PID/status as a dictionary; empty: there is none."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except OSError:
        return {}


class Live(unittest.TestCase):
    def run_it(self, *args, stdout=subprocess.PIPE, fpless=FPLESS, **more):
        return subprocess.run([fpless, "verify", *args], stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE, timeout=240, check=False, **more)

    def assert_refused(self, done, status, *words):
        """One line on stderr, which has the words; nothing on stdout."""
        text = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout, len(text.splitlines())), (status, b"", 1), text)
        for word in words:
            self.assertIn(word, text)

    def assert_ended(self, done, status, *words):
        """A run with a report and, on stderr, the words."""
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, done.stdout.decode() + text)
        self.assertRegex(done.stdout.decode(), r"(?m)^total: \d+ judged, \d+ agreements, \d+ disagreements$")
        for word in words:
            self.assertIn(word, text)

    def start(self, *args, **more):
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, preexec_fn=to_be_judged, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Usage(Live):
    def test_invalid_options_are_refused_in_one_line(self):
        most = "expected a number from 1 to 1000000000000"
        for args, said in (
                (["--live"], "--live: expected a process id, or -- and a command"),
                (["--live", "--"], "--live: expected a process id, or -- and a command"),
                (["--live", "--synth-only"], "--live: expected a process id, or -- and a command"),
                (["--live", "1", "2"], "'2': unexpected: expected one process"),
                (["--live", "1", "--", "true"], "'true': unexpected: expected one process"),
                (["--live", "true"], "--live 'true': not a process id (a command goes behind --)"),
                (["--live", "/bin/true"], "--live '/bin/true': not a process id"),
                (["--live", ""], "--live '': not a process id"),
                (["--live", "0"], "--live '0': not a process id"),
                (["--live", "1x"], "--live '1x': not a process id"),
                (["--live", "0x10"], "--live '0x10': not a process id"),
                (["--live", "2147483648"], "--live '2147483648': not a process id"),
                (["--live", "--steps", "0", "1"], f"--steps 0: {most}"),
                (["--live", "--steps", "-1", "1"], f"--steps -1: {most}"),
                (["--live", "--steps", "1e6", "1"], f"--steps 1e6: {most}"),
                (["--live", "--steps", "1000000000001", "1"], f"--steps 1000000000001: {most}"),
                (["--live", "--steps=", "1"], f"--steps : {most}"),
                (["--live", "--burst", "0", "1"], f"--burst 0: {most}"),
                (["--live", "--burst", "many", "1"], f"--burst many: {most}"),
                (["--live", "--burst", "99999999999999999999", "1"], f"99999999999999999999: {most}"),
                (["--live", "-d", "0", "1"], "-d 0: expected seconds above 0"),
                (["--live", "-d", "-3", "1"], "-d -3: expected seconds above 0"),
                (["--live", "-d", "1x", "1"], "-d 1x: expected seconds above 0"),
                (["--live", "--object", "", "1"], "--object: an empty pattern matches no file"),
                (["--live", "-j", "2", "1"], "--live: expected before PID or --, and without files, -j and -t"),
                (["--live", "-t", "2", "--", "true"], "without files, -j and -t"),
                ([FPLESS, "--live", "1"], "--live: expected before PID or --"),
                (["-d", "1", FPLESS], "need --live"),
                (["--steps", "1", FPLESS], "need --live"),
                (["--burst", "1", FPLESS], "need --live"),
                (["--object", "x", FPLESS], "need --live"),
                (["--synth-only", FPLESS], "need --live"),
        ):
            with self.subTest(args):
                self.assert_refused(self.run_it(*args), 1, "fpless verify: ", said)

    def test_argp_errors_are_usage_errors(self):
        for args, said in ((["--live", "--steps"], b"requires an argument"),
                           (["--live=1"], b"doesn't allow an argument"),
                           (["--live", "--setps", "1"], b"unrecognized option")):
            with self.subTest(args):
                done = self.run_it(*args)
                self.assertEqual((done.returncode, done.stdout), (1, b""))
                self.assertIn(said, done.stderr)

    def test_help_has_the_options_and_the_exit_statuses(self):
        done = self.run_it("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for option in ("--live", "--steps=N", "--burst=N", "--object=PATTERN", "--synth-only", "-d"):
            self.assertRegex(done.stdout.decode(), f"(?m)^ +.*{option}\\b")
        text = " ".join(done.stdout.decode().split())
        for status in ("0 no disagreement", "1 usage", "2 a file or process could not be judged",
                       "3 --live: the process is gone", "5 a disagreement", "6 output"):
            self.assertIn(status, text)


class Targets(Live):
    def test_a_command_that_cannot_be_executed_is_refused(self):
        for command, said in (("no-such-program", "no-such-program: No such file or directory: no folder of"),
                              ("/no/such/program", "/no/such/program: No such file or directory"),
                              ("/etc/passwd", "/etc/passwd: Permission denied"),
                              (FIXTURES, f"{FIXTURES}: Permission denied"),
                              ("", "No such file or directory")):
            with self.subTest(command):
                self.assert_refused(self.run_it("--live", "--", command), 2, said)

    def test_a_process_that_is_gone_is_refused(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assert_refused(self.run_it("--live", str(gone.pid)), 3, f"pid {gone.pid}: no such process")

    def test_zombie_process_is_gone(self):
        ended = subprocess.Popen(["true"])
        self.addCleanup(ended.wait)
        wait_for("it ends", lambda: status_of(ended.pid).get("State", "")[:1] == "Z")
        self.assert_refused(self.run_it("--live", str(ended.pid)), 3, f"pid {ended.pid}: it has ended")

    def test_a_thread_is_no_process(self):
        over = threading.Event()
        thread = threading.Thread(target=over.wait)
        thread.start()
        try:
            self.assert_refused(self.run_it("--live", str(thread.native_id)), 3,
                                f"pid {thread.native_id}: a thread of process {os.getpid()}")
        finally:
            over.set()
            thread.join()

    def test_fpless_does_not_judge_itself(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" verify --live $$', FPLESS], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=240, check=False)
        self.assert_refused(done, 2, "fpless cannot judge itself")

    def test_a_kernel_thread_is_refused(self):
        if status_of(2).get("Name") != "kthreadd":
            self.skipTest("no kernel thread is seen from here")
        # other users are told that they may not, whatever it is
        words = ["a kernel thread"] if os.geteuid() == 0 else []
        self.assert_refused(self.run_it("--live", "2"), 2, "pid 2: ", *words)

    def test_one_that_is_traced_by_another_is_refused(self):
        traced = self.start(sys.executable, "-c", "import ctypes, os, signal\n"
                            f"ctypes.CDLL(None).ptrace({PTRACE_TRACEME}, 0, None, None)\n"
                            "os.kill(os.getpid(), signal.SIGSTOP)")
        os.waitpid(traced.pid, os.WUNTRACED)
        self.assert_refused(self.run_it("--live", str(traced.pid)), 2,
                            f"pid {traced.pid}: process {os.getpid()} traces it")

    def test_who_may_not_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("not root: nobody else to be")
        folder = tempfile.mkdtemp(prefix="fpless-test-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        fpless = shutil.copy(FPLESS, folder)
        os.chmod(fpless, 0o755)
        nobody = {"fpless": fpless, "cwd": "/", "user": NOBODY, "group": NOBODY, "extra_groups": []}
        try:
            able = self.run_it("--help", **nobody).returncode == 0
        except OSError:
            able = False
        if not able:
            self.skipTest("nobody cannot run programs here")
        target = self.start("sleep", "1000")
        done = self.run_it("--live", str(target.pid), **nobody)
        self.assert_refused(done, 2, f"pid {target.pid}: ", "Operation not permitted")


class Judged(Live):
    """Exit statuses of runs that have something to report."""

    whole = ("--live", "--burst", "100000000", "-d", "200")

    def test_a_command_that_agrees_is_0(self):
        self.assert_ended(self.run_it(*self.whole, "--", "true"), 0)

    def test_what_there_is_none_of_has_no_heading(self):
        done = self.run_it(*self.whole, "--", "true")
        self.assert_ended(done, 0)
        text = done.stdout.decode()
        self.assertRegex(text, r"^pid \d+: 1 thread, (1 burst|\d+ bursts), \d+ at a breakpoint, ")
        if "without CFI; " not in text:
            self.assertNotIn("by file:", text)

    def test_the_command_has_its_own_options_and_status(self):
        done = self.run_it("--live", "--", "sh", "-c", "echo $0; exit 7", "--burst")
        self.assert_ended(done, 0, "--burst\n", "sh: exited with status 7")
        self.assertNotIn(b"--burst", done.stdout)

    def test_a_process_that_runs_is_0_and_goes_on(self):
        process = self.start(sys.executable, "-c", CALLS)
        self.assert_ended(self.run_it("--live", "--steps", "100", "-d", "100", str(process.pid)), 0)
        self.assertEqual(status_of(process.pid)["TracerPid"], "0")
        self.assertIsNone(process.poll())

    def test_a_process_that_sleeps_is_3(self):
        process = self.start("sleep", "1000")
        wait_for("it sleeps", lambda: status_of(process.pid).get("Name") == "sleep" and
                        status_of(process.pid)["State"][:1] == "S")
        self.assert_ended(self.run_it("--live", "-d", "0.2", str(process.pid)), 3,
                          f"pid {process.pid}: nothing was judged")

    def test_no_judged_request_exits_with_3(self):
        asked = "no requested code was judged"
        for args, said in (
                (["--object", "no-such-*"], "no instruction of a file that matches --object no-such-*"),
                (["--object", "\x1b[31m"], "matches --object \\x1b[31m"),
                (["--synth-only", "--object", "lib?c.so.x"], "no row made from code of a file that matches")):
            with self.subTest(args):
                self.assert_ended(self.run_it("--live", *args, "--", "true"), 3, asked, said)

    def test_a_row_that_is_wrong_is_5(self):
        done = self.run_it(*self.whole, "--", os.path.join(FIXTURES, "judged_static"), "cfa", "1")
        self.assert_ended(done, 5, "ok cfa")
        self.assertIn(b"DISAGREE: CFA of a row from cfi", done.stdout)
        # also where it is not what was asked for: the burst that meets it is not the first, which ends after 20000 steps
        done = self.run_it(*self.whole, "--object", "no-such-*", "--",
                           os.path.join(FIXTURES, "judged_static"), "cfa", ROUNDS)
        self.assert_ended(done, 5)

    def test_a_report_that_cannot_be_written_is_6(self):
        with open("/dev/full", "wb") as full:
            done = self.run_it("--live", "--", "true", stdout=full)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn(b"stdout: the output could not be written", done.stderr)


def main():
    if not can_trace():
        print("SKIP: ptrace is refused here: only what is refused before it is tested")
        for case in (Targets, Judged):
            case.setUp = lambda self: self.skipTest("ptrace is refused here")
        done = unittest.main(argv=sys.argv[:1], exit=False)
        sys.exit(77 if done.result.wasSuccessful() else 1)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
