#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program that starts many processes pays for being profiled: CPU time of the shell and its children, fpless left out.

usage: run.py FPLESS... [--processes 300] [--rounds 9]

A shell starts /bin/true again and again: alone, under `perf record` where that is installed, and under each FPLESS, which
take turns. Prints, as TSV, the median CPU time of a process, what the profiler adds to it, and the median of the ratios to the
run alone in the same round.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from shell_times import read_times  # noqa: E402


def variants(builds, folder):
    """Name and words before the command of each."""
    yield "none", ()
    if shutil.which("perf"):
        yield "perf record", ("perf", "record", "-q", "-B", "-N", "-F", "99", "-e", "cpu-clock", "-o", os.path.join(folder, "perf.data"), "--")
    for build in builds:
        yield build, (build, "profile", "-q", "-F", "99", "-o", os.path.join(folder, "out.folded"), "--")


def cpu_us(before, nr_processes, folder):
    """CPU time of a process of the command, which the shell reads when it has waited for all."""
    said = os.path.join(folder, "times")
    shell = f'for ((i = 0; i < {nr_processes}; i++)); do /bin/true; done; times >"$0"'
    subprocess.run((*before, "bash", "-c", shell, said), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return sum(read_times(said)) / nr_processes * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless", nargs="+")
    parser.add_argument("--processes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        words = dict(variants(options.fpless, folder))
        found = {name: [] for name in words}
        for _ in range(options.rounds):
            for name, before in words.items():
                found[name].append(cpu_us(before, options.processes, folder))
    print("profiler\tus_process\tadded_us\tratio")
    for name, us in found.items():
        print("%s\t%.0f\t%.0f\t%.3f" % (name, statistics.median(us),
                                       statistics.median(one - none for one, none in zip(us, found["none"])),
                                       statistics.median(one / none for one, none in zip(us, found["none"]))))


if __name__ == "__main__":
    main()
