# SPDX-License-Identifier: Apache-2.0
"""What the tests that run fpless as root share. Arguments of each: FPLESS FIXTURES."""

import atexit
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from elf_names import ElfNames
from fpless_run import TIMEOUT_S, Run, need_root

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

import side_by_side  # noqa: E402
from chance import share_fault  # noqa: E402
from waiting import cpu_ms, wait_for  # noqa: E402

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
BPF_PROG_TYPE_PERF_EVENT = "7"
SYS_BPF, BPF_ENABLE_STATS, BPF_STATS_RUN_TIME = 321, 32, 0

DOUBLED_MAX = 4

CHANGED = []  # of sysctls: (path, text before), in the order of changes
BEFORE_END = []  # called first where the tests are ended from outside

FPLESS, FIXTURES = (os.path.realpath(path) for path in sys.argv[1:3])


def fixture(name):
    return os.path.join(FIXTURES, name)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def put_back(nr_left=0):
    while len(CHANGED) > nr_left:
        write(*CHANGED.pop())


def die_with_the_tests():
    """In a child: it ends with this process, whatever ends that."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def children(pid):
    try:
        tids = os.listdir(f"/proc/{pid}/task")
        return [int(child) for tid in tids
                for child in pathlib.Path(f"/proc/{pid}/task/{tid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def end_all():
    """Ends what the tests began and has not ended, and what that began: orphans come to this process."""
    for _ in range(100):
        left = [pid for pid in children(os.getpid()) if not is_dead(pid)]
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def fdinfos(pid):
    """What the kernel says of each file the process has open: {key: text}."""
    try:
        fds = os.listdir(f"/proc/{pid}/fdinfo")
    except OSError:
        return
    for fd in fds:
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                yield dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        except OSError:
            pass  # closed meanwhile


def nr_fired(pid):
    """How often the BPF program of perf events, which the process has open, has been run while the kernel counts."""
    return max((int(info["run_cnt"]) for info in fdinfos(pid)
                if info.get("prog_type") == BPF_PROG_TYPE_PERF_EVENT), default=0)


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def end(signal_nr, _frame):
    """The machine is left as it was where a run of the tests is ended from outside, too."""
    for call in BEFORE_END:
        call()
    put_back()
    end_all()
    os._exit(128 + signal_nr)


class RootCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, text, *flags):
        """The path of a C program."""
        gcc = shutil.which("gcc")
        if not gcc:
            self.skipTest("no gcc")
        with open(self.path(name + ".c"), "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run([gcc, "-O1", "-o", self.path(name), self.path(name + ".c"), *flags], check=True)
        return self.path(name)

    def sysctl(self, name, value):
        """Until the end of the test."""
        self.assertNotIn(side_by_side.ONLY, os.environ, "a test beside others changes a sysctl")
        path = "/proc/sys/" + name
        with open(path, encoding="ascii") as file:
            before = file.read()
        self.addCleanup(put_back, len(CHANGED))
        CHANGED.append((path, before))
        write(path, str(value))

    def count_bpf_runs(self):
        """The kernel counts how often BPF programs run, until the end of the test: by a descriptor, which is this test's
        own, and not by the sysctl, which another test that runs beside this one would reset."""
        fd = LIBC.syscall(SYS_BPF, BPF_ENABLE_STATS, ctypes.byref(ctypes.c_uint32(BPF_STATS_RUN_TIME)), 4)
        self.assertGreaterEqual(fd, 0, "BPF_ENABLE_STATS")
        self.addCleanup(os.close, fd)

    def profile(self, *args, **more):
        """A run whose books must close."""
        run = Run(FPLESS, self.folder, list(args), **more)
        self.assertEqual(run.faults(), [], run.command)
        return run

    def profile_while_busy(self, pids, ms, *args, verb="profile", threads=False, **more):
        """A run that goes on until each of the processes, or threads, has used so much CPU time in it, which a busy
        machine may be long in giving. Its books must close."""
        with open(self.path("busy.stderr"), "wb+") as stderr, open(self.path("busy.stdout"), "wb+") as stdout:
            process = self.start(FPLESS, verb, *Run.outputs(self.folder), "--no-cache", *args, stdout=stdout, stderr=stderr,
                                 **more)
            self.wait_until_sampling(process)
            self.wait_until_used(process, pids, ms, threads)
            process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT_S)
            for file in (stderr, stdout):
                file.seek(0)
            run = Run.of_folder(self.folder, process.returncode, stderr.read())
            run.stdout = stdout.read()
        self.assertEqual(run.faults(), [], run.stderr)
        return run

    def fpless(self, *args, **more):
        """Runs fpless; its status and output are the test's business."""
        return subprocess.run([FPLESS, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S, check=False, **more)

    def other_verbs_take(self, events, command, out, runs, files):
        """Each (verb, options, says) of @runs samples the words @events while the command runs, and says so; each (verb,
        inputs) of @files reads @out, which one of the runs has written."""
        for verb, options, says in runs:
            with self.subTest(verb):
                run = self.fpless(verb, *events, *options, "--", *command)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn(says, run.stdout + run.stderr)
        self.assertTrue(os.path.exists(out))
        for verb, inputs in files:
            with self.subTest(verb):
                run = self.fpless(verb, *inputs)
                self.assertEqual(run.returncode, 0, run.stderr)

    def start(self, *args, **more):
        more.setdefault("preexec_fn", die_with_the_tests)
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_while_it_runs(self, process, what, condition, seconds=TIMEOUT_S, every_s=0.01):
        """The first true value of condition(), which a process that has ended cannot give any more."""
        def look():
            value = condition()
            if not value:
                self.assertIsNone(process.poll(), what() if callable(what) else what)
            return value

        return wait_for(what, look, seconds, every_s)

    def wait_until_sampling(self, process, nr_more=1):
        """Until a run of fpless, which begins or goes on, has fired so many times from now on."""
        self.count_bpf_runs()
        before = nr_fired(process.pid)
        self.wait_while_it_runs(process, f"{nr_more} samples", lambda: nr_fired(process.pid) >= before + nr_more)

    def wait_until_gate(self, run, nr_links):
        """Until a run of fpless has attached so many programs and waits for samples. What its programs do does not tell: a
        source without a switch runs them before the run's gate is open."""
        def is_attached():
            try:
                links = [os.readlink(f"/proc/{run.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{run.pid}/fd")]
            except OSError:
                return False
            return sum("bpf_link" in link for link in links) >= nr_links

        def rests():
            before = cpu_ms(run.pid)
            time.sleep(1)
            return cpu_ms(run.pid) == before

        self.wait_while_it_runs(run, "the programs are attached", is_attached)
        self.wait_while_it_runs(run, "it waits for samples", rests)  # it opens the gate some ms after the last one

    def wait_until_used(self, process, pids, ms, threads=False):
        """Until each of the processes, or threads, has used so much more CPU time, while a run of fpless goes on."""
        wanted = {pid: cpu_ms(pid, threads) + ms for pid in pids}
        self.wait_while_it_runs(process, f"processes use {ms} ms of CPU time: {pids}",
                                lambda: all(cpu_ms(pid, threads) >= end for pid, end in wanted.items()))

    def until_seen(self, what, run, seen):
        """The result of run(length), which samples for so many times its usual length, 1, 2, 4 and so on, until
        seen(result): for what one run may miss by chance."""
        for doubled in range(DOUBLED_MAX + 1):
            result = run(1 << doubled)
            if seen(result):
                return result
        self.fail(f"not in {1 << DOUBLED_MAX} times the usual length: {what}")

    def assert_share(self, count, nr, share, said=None):
        """At least this share of @nr samples is of the kind of these @count: refuted where chance alone would give so few
        less often than once in a million times."""
        fault = share_fault(count, nr, share)
        self.assertIsNone(fault, f"{fault}: {said}")

    def assert_ticks(self, run, count, nr, share, said=None):
        """At least this share of @nr ticks of the clock is among these @count samples. A virtual machine may be given fewer
        ticks than its programs are charged CPU time for: the run says how many it expected, and how many came."""
        self.assert_share(count, nr, share * min(1, run.stats["fired"] / run.stats["expected"]), said)

    def assert_chain_is_complete(self, run, program):
        """@program is a copy of `chain`: all its stacks from spin on are whole."""
        names = ElfNames(fixture("chain"))
        leaves = [stack for stack in run.stacks if stack["user"]
                  and stack["user"][0].get("object") == program
                  and "spin" in names.aliases(int(stack["user"][0]["vaddr"], 16))]
        self.assertTrue(leaves)
        self.assertEqual({(stack["stop"], len(stack["user"])) for stack in leaves},
                         {("outermost", 9)})

    def assert_refused(self, done, status, *words):
        """One line on stderr that names what it is about; nothing on stdout."""
        text = done.stderr.decode("utf-8", "backslashreplace")
        self.assertEqual((done.returncode, done.stdout), (status, b""), text)
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in words:
            self.assertIn(word, text)


def main(at_a_time=1):
    """@at_a_time: so many of the tests run side by side. Not those of a file where one changes what others see, by a sysctl,
    or judges what else runs on the machine."""
    need_root()
    if side_by_side.ONLY in os.environ:
        die_with_the_tests()
    signal.signal(signal.SIGTERM, end)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    atexit.register(end_all)
    os.environ.pop("LD_BIND_NOW", None)
    side_by_side.main(at_a_time, verbosity=2)
