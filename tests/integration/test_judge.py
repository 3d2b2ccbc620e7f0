# SPDX-License-Identifier: Apache-2.0
"""usage: test_judge.py FPLESS FIXTURES

`fpless verify --live` steps programs whose frames are known: it accuses the rows that are wrong, no
others, and leaves what it judged as it was."""

import os
import re
import signal
import subprocess
import time

from root_case import FPLESS, RootCase, die_with_the_tests, fixture, is_dead, main
from waiting import wait_for

TIMEOUT_S = 600
WHOLE = ("--burst", "100000000", "-d", "200")  # from the first instruction to the last
ACCUSATION = re.compile(r"^  (\S+) (\S+) 0x([0-9a-f]+)\.\.0x([0-9a-f]+) DISAGREE: (.+) of a row from "
                        r"(\w+), (\d+) times$", re.M)


class Report:
    """What a run printed, with its books checked."""

    def __init__(self, text):
        self.text = text
        steps = re.search(r"^steps (\d+) = judged (\d+) \+ skipped (\d+)$", text, re.M)
        assert steps, text
        self.steps, self.judged, self.skipped_sum = (int(nr) for nr in steps.groups())
        self.origins = {key: [int(nr) for nr in numbers] for key, *numbers in re.findall(
            r"^  (\w+) +(\d+)  agree (\d+), wrong (\d+), registers lost in (\d+)(?:, .*)?$", text, re.M)}
        self.skipped = self._numbers("skipped:")
        self.frames = self._numbers(r"frames entered \d+:")
        self.accusations = ACCUSATION.findall(text)
        self._check()

    def _numbers(self, heading):
        section = re.search(f"^{heading}\n((?:  .*\n)*)", self.text, re.M)
        return {key: int(nr) for key, nr in re.findall(r"^  (\w+) +(\d+)  ", section[1], re.M)}

    def _check(self):
        wrong = sum(numbers[2] for numbers in self.origins.values())
        total = re.search(r"^total: (\d+) judged, (\d+) agreements, (\d+) disagreements$", self.text,
                          re.M)
        entered = re.search(r"^frames entered (\d+):", self.text, re.M)
        sums = [
            (self.steps, self.judged + self.skipped_sum),
            (self.skipped_sum, sum(self.skipped.values())),
            (self.judged, sum(numbers[0] for numbers in self.origins.values())),
            (self.judged, sum(numbers[1] for numbers in self.origins.values()) + wrong),
            ([int(nr) for nr in total.groups()], [self.judged, self.judged - wrong, wrong]),
            (wrong, sum(int(accusation[6]) for accusation in self.accusations)),
            (int(entered[1]), sum(self.frames.values())),
        ]
        for got, expected in sums:
            assert got == expected, (got, expected, self.text)


class Judge(RootCase):
    def judge(self, *args, status=(0,)):
        """Runs to its end, with one of these statuses. Returns (report, what it said)."""
        done = subprocess.run([FPLESS, "verify", "--live", *args], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False)
        text, said = done.stdout.decode(), done.stderr.decode()
        self.assertIn(done.returncode, status, text + said)
        return Report(text), said

    def target(self, mode, program="judged_static"):
        """A process that goes on until its input ends."""
        process = subprocess.Popen([fixture(program), mode, "0"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, preexec_fn=die_with_the_tests)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for("the program runs", lambda: os.readlink(f"/proc/{process.pid}/exe") ==
                        fixture(program))
        return process

    def assert_unharmed(self, process, mode):
        """It comes to its end as if nobody had looked."""
        self.assertEqual(tracer(process.pid), 0)
        out, _ = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, out), (0, f"ok {mode}\n".encode()))

    def test_code_without_cfi_is_judged_by_its_rows(self):
        report, said = self.judge(*WHOLE, "--", fixture("judged_static"), "bare", "1")
        self.assertIn("ok bare\n", said)
        self.assertEqual(report.accusations, [])
        self.assertGreater(report.origins["synth"][0], 1000)
        self.assertGreater(report.origins["cfi"][0], 1000)
        self.assertRegex(report.text, r"judged_static: \d+ steps, (\d+) without CFI; \1 of them "
                                      r"\(100.0 %\) at a row")

    def test_a_wrong_cfa_is_accused(self):
        report, said = self.judge(*WHOLE, "--", fixture("judged_static"), "cfa", "1", status=(5,))
        self.assertIn("ok cfa\n", said)
        # five calls, three instructions between push and pop
        self.assertEqual([accusation[1:2] + accusation[4:] for accusation in report.accusations],
                         [("wrong_cfa", "CFA", "cfi", "15")])
        is_, says = re.search(r"CFA is 0x(\w+), the row says 0x(\w+);", report.text).groups()
        self.assertEqual(int(is_, 16) - int(says, 16), 8)
        self.assertIn(": cfa=rsp+8\n", report.text)

    def test_a_wrong_register_is_accused(self):
        report, _ = self.judge(*WHOLE, "--", fixture("judged_static"), "register", "1", status=(5,))
        self.assertEqual([accusation[1:2] + accusation[4:] for accusation in report.accusations],
                         [("wrong_register", "r12", "cfi", "15")])
        self.assertIn(": cfa=rsp+16 r12=c-24\n", report.text)
        self.assertIn("r12 is 0x1234, the row says 0x5678;", report.text)

    def test_what_is_neither_call_nor_return_is_not_accused(self):
        report, said = self.judge(*WHOLE, "--", fixture("judged"), "all", "1")
        self.assertIn("ok all\n", said)
        self.assertEqual(report.accusations, [])
        self.assertGreater(report.origins["plt"][0], 0)
        self.assertEqual(report.origins["signal"][0], 4)  # two handlers, two instructions each
        for reason in ("unwound", "switched", "ra_changed", "ra_copied", "elsewhere"):
            self.assertIn(reason, report.skipped)
        for end in ("returned", "unwound", "replaced"):
            self.assertIn(end, report.frames)

    def test_exceptions_are_not_accused(self):
        report, _ = self.judge(*WHOLE, "-d", "20", "--steps", "100000", "--",
                               fixture("exceptions"), "1")
        self.assertEqual(report.accusations, [])

    def test_other_contexts_are_not_accused(self):
        done = subprocess.run([FPLESS, "verify", "--live", *WHOLE, "--", fixture("judged_static"),
                               "contexts", "2"], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertIn(b"ok contexts\n", done.stderr)
        # glibc's own CFI of swapcontext is wrong about r12: docs/cfi-bugs.md
        self.assertEqual({accusation[1] for accusation in Report(done.stdout.decode()).accusations}
                         - {"swapcontext"}, set())

    def test_another_program_is_judged_from_its_first_instruction(self):
        report, said = self.judge(*WHOLE, "--", fixture("judged_static"), "exec")
        self.assertIn("ok bare\n", said)
        self.assertGreater(report.origins["synth"][0], 3000)

    def test_a_program_that_is_killed_is_reported(self):
        report, said = self.judge(*WHOLE, "--", fixture("judged_static"), "die", "1")
        self.assertIn("killed by signal 9", said)
        self.assertIn("the process ended", report.text)
        self.assertGreater(report.origins["synth"][0], 1000)

    def test_a_process_goes_on_as_it_was(self):
        process = self.target("all", "judged")
        report, _ = self.judge("-d", "200", "--steps", "10000", "--burst", "2000", str(process.pid))
        self.assertEqual(report.accusations, [])
        self.assertGreaterEqual(report.judged, 10000)
        self.assert_unharmed(process, "all")

    def test_threads_are_all_judged(self):
        process = self.target("threads")
        report, _ = self.judge("-d", "200", "--steps", "5000", "--burst", "500", str(process.pid))
        self.assertRegex(report.text, r"^pid \d+: [2-9] threads, ")
        self.assert_unharmed(process, "threads")

    def test_code_that_was_asked_for_is_waited_at(self):
        process = self.target("bare")
        report, _ = self.judge("--object", "judged_stat*", "--synth-only", "--steps", "2000",
                               "-d", "200", "--burst", "500", str(process.pid))
        self.assertGreaterEqual(report.origins["synth"][0], 2000)
        self.assertIn("the requested number of instructions was judged", report.text)
        self.assert_unharmed(process, "bare")

    def test_an_interrupt_ends_it_and_prints(self):
        process = self.target("all")
        fpless = self.start(FPLESS, "verify", "--live", "--burst", "100000000", "--steps",
                            "1000000000", str(process.pid), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
        wait_for("it is attached", lambda: tracer(process.pid) != 0)
        time.sleep(0.5)  # whatever it is at then
        fpless.send_signal(signal.SIGINT)
        out, said = fpless.communicate(timeout=TIMEOUT_S)
        self.assertIn(fpless.returncode, (0, 3), out + said)  # 3: before anything was judged
        self.assertIn("interrupted", Report(out.decode()).text)
        self.assert_unharmed(process, "all")

    def test_a_command_that_outlives_the_run_is_ended(self):
        # 3: it got no CPU within the second
        report, said = self.judge("-d", "1", "--", fixture("judged_static"), "bare", "1000000000", status=(0, 3))
        self.assertIn("the time is over", report.text)
        self.assertIn("ended by signal 15 with the run", said)

    def test_a_stopped_process_stays_stopped(self):
        process = self.target("bare")
        os.kill(process.pid, signal.SIGSTOP)
        wait_for("it is stopped", lambda: state(process.pid) == "T")
        _, said = self.judge("-d", "0.3", str(process.pid), status=(3,))
        self.assertIn("nothing was judged", said)
        wait_for("it is stopped", lambda: state(process.pid) == "T")
        os.kill(process.pid, signal.SIGCONT)
        self.assert_unharmed(process, "bare")

    def test_a_process_that_is_stopped_meanwhile_stays_stopped(self):
        process = self.target("bare")
        fpless = self.start(FPLESS, "verify", "--live", "-d", "4", "--burst", "2000",
                            str(process.pid), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for("it is attached", lambda: tracer(process.pid) != 0)
        os.kill(process.pid, signal.SIGSTOP)
        out, said = fpless.communicate(timeout=TIMEOUT_S)
        self.assertIn(fpless.returncode, (0, 3), out + said)
        wait_for("it is stopped", lambda: state(process.pid) == "T")
        os.kill(process.pid, signal.SIGCONT)
        self.assert_unharmed(process, "bare")

    def test_a_process_that_sleeps_is_left_alone(self):
        process = self.start("sleep", "1000")
        wait_for("it sleeps", lambda: state(process.pid) == "S")
        _, said = self.judge("-d", "0.3", str(process.pid), status=(3,))
        self.assertIn("nothing was judged", said)
        self.assertEqual(tracer(process.pid), 0)
        self.assertFalse(is_dead(process.pid))

    def test_unjudgeable_process_is_refused(self):
        process = self.target("bare")
        first = self.start(FPLESS, "verify", "--live", "-d", "30", str(process.pid),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("it is attached", lambda: tracer(process.pid) != 0)
        self.assert_refused(self.fpless("verify", "--live", str(process.pid)), 2, "traces it",
                            str(first.pid))
        first.send_signal(signal.SIGINT)
        first.wait(timeout=TIMEOUT_S)
        self.assert_unharmed(process, "bare")
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assert_refused(self.fpless("verify", "--live", str(gone.pid)), 3, "no such process")
        self.assert_refused(self.fpless("verify", "--live", "--", "/no/such/program"), 2,
                            "/no/such/program")


def stat_field(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return re.search(f"^{key}:\\s*(\\S+)", file.read(), re.M)[1]


def tracer(pid):
    return int(stat_field(pid, "TracerPid"))


def state(pid):
    """Its letter; a tracer's stop is no other one than a signal's."""
    return stat_field(pid, "State").upper()


if __name__ == "__main__":
    main()
