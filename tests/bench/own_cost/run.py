#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CPU fpless itself uses while it samples a busy machine, start and end of the run left out.

usage: run.py FPLESS [--hz 99] [--short 10] [--long 40] [--rounds 3] [--busy 2]

Starts --busy programs that compute, runs `fpless profile -a` for --short and for --long seconds, and prints, as TSV,
for each round the slope between them: user and system time of fpless in percent of one core, its wake-ups per second,
and how many processes began per second meanwhile, which is what most of it depends on: each is read once.
"""

import argparse
import os
import statistics
import subprocess
import sys

BUSY = "n = 0\nwhile True: n = (n * 7919 + 1) % 10007"


def processes():
    """Processes and threads the machine has started."""
    with open("/proc/stat") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("processes "))


def run(fpless, hz, seconds):
    """(seconds, CPU seconds, voluntary context switches, processes begun) of one run."""
    before = processes()
    child = subprocess.Popen([fpless, "profile", "-q", "-a", "-F", str(hz), "-d", str(seconds), "-o", "/dev/null",
                              "--format", "folded"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("%s: status %d" % (fpless, status))
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_nvcsw, processes() - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--hz", type=int, default=99)
    parser.add_argument("--short", type=int, default=10)
    parser.add_argument("--long", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=2)
    options = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
    slopes = []
    try:
        print("round\tcpu_pct\twakeups_per_s\tprocesses_per_s\tload")
        for i in range(options.rounds):
            short = run(options.fpless, options.hz, options.short)
            long = run(options.fpless, options.hz, options.long)
            seconds, *rest = (b - a for a, b in zip(short, long))
            slopes.append([value / seconds for value in rest])
            print("%d\t%.2f\t%.0f\t%.1f\t%s" % (i + 1, 100 * slopes[-1][0], slopes[-1][1], slopes[-1][2],
                                                open("/proc/loadavg").read().split()[0]), flush=True)
        print("median\t%.2f\t%.0f\t%.1f" % (100 * statistics.median(s[0] for s in slopes),
                                           *(statistics.median(s[i] for s in slopes) for i in (1, 2))))
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
