#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: run_fixture.py FPLESS FIXTURES EXPECTATION [attach]

Profiles a program with known stacks and compares every sample with them, frame by frame. With
`attach` the program runs already when fpless starts, and is profiled by its pid.
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time

from expectation import Expectation, Judge
from fpless_run import Files, Run, need_root, skip

HZ = 997  # no divisor of the kernel's tick
FAULTS_SHOWN = 12


def command(expectation, fixtures, folder):
    words = [word.replace("@DIR@", fixtures).replace("@TMP@", folder) for word in expectation.run]
    words[0] = os.path.join(fixtures, words[0])
    if not os.path.exists(words[0]):
        skip(f"{words[0]} is not built: its compiler or linker is not installed")
    return words


def copies(expectation, words):
    """What a program copies: it gets the original just before the place of the copy."""
    return {word: words[i - 1] for i, word in enumerate(words)
            if expectation.run[i].startswith("@TMP@")}


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


def attach(fpless, folder, words):
    """Profiles a program by pid, for a second of the time it would run."""
    words[1] = "60000"
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        while os.path.realpath(f"/proc/{process.pid}/exe") != os.path.realpath(words[0]):
            time.sleep(0.01)
        time.sleep(0.1)  # so that what it loads at its start is loaded
        return Run(fpless, folder, ["-F", str(HZ), "-d", "1", "-p", str(process.pid)])
    finally:
        process.kill()
        process.wait()


def main():
    fpless, fixtures, path = sys.argv[1:4]
    fixtures = os.path.realpath(fixtures)
    with open(path, encoding="utf-8") as file:
        expectation = Expectation(file.read())
    need_root()
    folder = tempfile.mkdtemp(prefix="fpless-test-")
    try:
        words = command(expectation, fixtures, folder)
        if sys.argv[4:] == ["attach"]:
            run = attach(fpless, folder, words)
        else:
            run = Run(fpless, folder,
                      ["-F", str(HZ), "-d", "60", *expectation.options, "--", *words])
        judge = Judge(expectation, Files(fixtures, copies=copies(expectation, words)))
        for stack in run.stacks:
            judge.add(stack)
        faults = run.faults() + (judge.finish() if run.status == 0 else [])
        report(run, judge, faults)
        if faults and os.environ.get("FPLESS_TEST_KEEP"):
            shutil.copytree(folder, os.environ["FPLESS_TEST_KEEP"], dirs_exist_ok=True)
        return 1 if faults else 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
