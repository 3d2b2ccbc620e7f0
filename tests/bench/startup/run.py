#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run costs before and after what it samples, and for each process that begins meanwhile.

usage: run.py FPLESS [OLD_FPLESS] [--rounds 9] [--births 300]

CPU time of fpless and of all it starts but the command, in ms: medians, and quartiles of the first. The builds given
take turns; "ratio" is the median over the rounds of each round's ratio to the last one given. TSV.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "machine"))
from measure import Timed  # noqa: E402

SPIN = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"  # 0.1 s or more: it is sampled
BIRTHS = SPIN + "; i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done"


def cpu_ms(timed, fpless, *args, command=None):
    """Of `fpless profile` alone, where there is a @command for the shell."""
    words = ["--", *timed.words, "sh", "-c", command] if command else []
    child = subprocess.Popen([fpless, "profile", "-q", *args, *words], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):  # 3: nobody else ran in that second
        sys.exit("%s: status %d" % (fpless, child.returncode))
    commands = sum(timed.times()[:2]) if command else 0
    return 1000 * (usage.ru_utime + usage.ru_stime - commands)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless", nargs="+")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--births", type=int, default=300)
    options = parser.parse_args()
    builds = [os.path.realpath(path) for path in options.fpless]
    cases = {
        "-f -- a loop of 0.1 s": lambda timed, build: cpu_ms(timed, build, "-f", command=SPIN),
        "-f -a -d 1": lambda timed, build: cpu_ms(timed, build, "-f", "-a", "-d", "1"),
        "-f -- the loop, %d processes" % options.births:
            lambda timed, build: cpu_ms(timed, build, "-f", command=BIRTHS % options.births),
    }
    seen = {what: {build: [] for build in builds} for what in cases}
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        timed = Timed(folder)
        for i in range(options.rounds):
            for what, run in cases.items():
                for build in builds if i % 2 else builds[::-1]:
                    seen[what][build].append(run(timed, build))
    print("run\tfpless\tCPU ms\tquartiles\tratio\tload %s" % open("/proc/loadavg").read().split()[0])
    for what in cases:
        for build, path in zip(builds, options.fpless):
            values, last = seen[what][build], seen[what][builds[-1]]
            quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
            print("%s\t%s\t%.0f\t%.0f to %.0f\t%.2f" % (
                what, path, statistics.median(values), quartiles[0], quartiles[2],
                statistics.median(a / b for a, b in zip(values, last))))
    loop, births = list(cases)[0], list(cases)[2]
    for build, path in zip(builds, options.fpless):
        each = (statistics.median(seen[births][build]) - statistics.median(seen[loop][build])) / options.births
        print("ms a process\t%s\t%.3f" % (path, each))


if __name__ == "__main__":
    main()
