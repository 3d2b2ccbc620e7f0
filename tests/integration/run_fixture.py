#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: run_fixture.py FPLESS FIXTURES EXPECTATION [attach]

Profiles a program with known stacks and compares every sample with them, frame by frame. With
`attach` the program runs already when fpless starts, and is profiled by its pid.

What has to be seen once may be missed by chance: then the program runs for twice as long, until all was seen. What is
wrong ends the test at once.
"""

import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from expectation import Expectation, Judge
from fpless_run import TIMEOUT_S, Files, Run, need_root, skip

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from waiting import cpu_ms, wait_for, wait_until_busy, wait_until_it_runs  # noqa: E402

HZ = 997  # no divisor of the kernel's tick
ROOM = ("--ring-memory", "64M")  # for what is sampled while a busy machine gives fpless no CPU
FAULTS_SHOWN = 12
DOUBLED_MAX = 4
ATTACHED_MS = 1000  # of CPU time


def command(expectation, fixtures, folder):
    words = [word.replace("@DIR@", fixtures).replace("@TMP@", folder) for word in expectation.run]
    words[0] = os.path.join(fixtures, words[0])
    if not os.path.exists(words[0]):
        skip(f"{words[0]} is not built: its compiler or linker is not installed")
    return words


def copies(expectation, words):
    """What a program copies: it gets the original just before the place of the copy."""
    return {word: words[i - 1] for i, (asked, word) in enumerate(zip(expectation.run, words))
            if asked.startswith("@TMP@")}


def report(run, judge, faults):
    stops = collections.Counter()
    for stack in run.stacks:
        stops[str(stack["stop"])] += stack["count"]
    print(f"{judge.judged} samples judged, {judge.wrong} of them wrong (at most "
          f"{judge.expectation.wrong}), {judge.others} others, {judge.kernel_threads} without "
          f"a user part; stops: {dict(stops)}; origins: {run.books and run.books['frames_by_origin']}")
    for pattern, count in zip(judge.expectation.patterns, judge.by_pattern):
        print(f"  {count:6} {pattern.text.strip()}")
    for name, least in judge.expectation.distinct:
        print(f"  {len(judge.leaf_pcs.get(name, ())):6} pcs of {name}, at least {least}")
    for fault in faults[:FAULTS_SHOWN]:
        print("FAULT:", fault)
    if len(faults) > FAULTS_SHOWN:
        print(f"FAULT: and {len(faults) - FAULTS_SHOWN} more")


def attach(fpless, folder, words, length):
    """Profiles a program by pid, for a second of its CPU time."""
    words[1] = str(60000 * length)
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        wait_until_it_runs(process.pid, words[0])
        wait_until_busy(process.pid)  # what it loads at its start is loaded then
        end_ms = cpu_ms(process.pid) + ATTACHED_MS * length
        with open(os.path.join(folder, "stderr"), "wb+") as stderr:
            sampler = subprocess.Popen([fpless, "profile", *Run.outputs(folder), "--no-cache", *ROOM, "-F", str(HZ), "-p",
                                        str(process.pid)], stdin=subprocess.DEVNULL, stderr=stderr)
            try:
                wait_for("the program uses its CPU time", lambda: cpu_ms(process.pid) >= end_ms or
                         sampler.poll() is not None, TIMEOUT_S * length)
                sampler.send_signal(signal.SIGINT)
                status = sampler.wait(TIMEOUT_S)
            finally:
                sampler.kill()
                sampler.wait()
            stderr.seek(0)
            return Run.of_folder(folder, status, stderr.read())
    finally:
        process.kill()
        process.wait()


def launch(fpless, folder, words, length, expectation):
    words[1] = str(int(words[1]) * length)
    return Run(fpless, folder, [*ROOM, "-F", str(HZ), "-d", str(600 * length), *expectation.options, "--", *words])


def sample(fpless, fixtures, folder, judge, length, how):
    """A run so many times as long as the expectation says, judged; and what is wrong with its books."""
    expectation = judge.expectation
    words = command(expectation, fixtures, folder)
    judge.files = Files(fixtures, copies=copies(expectation, words))
    run = attach(fpless, folder, words, length) if how == "attach" else \
        launch(fpless, folder, words, length, expectation)
    for stack in run.stacks:
        judge.add(stack)
    return run, run.faults()


def main():
    fpless, fixtures, path, how = [*sys.argv[1:4], (sys.argv[4:] or ["launch"])[0]]
    fixtures = os.path.realpath(fixtures)
    with open(path, encoding="utf-8") as file:
        judge = Judge(Expectation(file.read()), None)
    need_root()
    for doubled in range(DOUBLED_MAX + 1):
        folder = tempfile.mkdtemp(prefix="fpless-test-")
        try:
            run, faults = sample(fpless, fixtures, folder, judge, 1 << doubled, how)
            judge.length = (2 << doubled) - 1  # all runs together
            faults += judge.wrongs()
            if faults and os.environ.get("FPLESS_TEST_KEEP"):
                shutil.copytree(folder, os.environ["FPLESS_TEST_KEEP"], dirs_exist_ok=True)
        finally:
            shutil.rmtree(folder)
        if faults or not judge.missing():
            break
        print("longer:", *judge.missing(), sep="\n  ")
    faults += judge.missing()
    report(run, judge, faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
