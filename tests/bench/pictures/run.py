#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a picture of many stacks costs to write, beside folded stacks of the same.

usage: run.py FPLESS [--stacks 200000] [--depth 30] [--rounds 5]

Makes folded stacks, no two alike, that branch as those of programs do, and has each format written from them. Prints,
as TSV: CPU seconds of the median round, those beyond reading (what writing nothing but a count of it costs is taken
off), their ratio to writing folded stacks, the peak of memory, and the size of the file.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile


def write_stacks(path, nr, depth):
    """Names that a frame may call are few, and which they are depends on who calls."""
    numbers = random.Random(1)
    seen = set()
    with open(path, "w", encoding="ascii") as file:
        while len(seen) < nr:
            frames, at = [], 0
            for level in range(numbers.randrange(depth // 2, depth * 3 // 2)):
                choice = min(int(numbers.expovariate(1.2)), 5)
                at = (at * 7 + choice + level) % 5003
                frames.append(f"namespace::function_{at}(int, char const*)")
            stack = ";".join(frames)
            if stack not in seen:
                seen.add(stack)
                file.write(f"program;{stack} {numbers.randrange(1, 20)}\n")


def run(fpless, source, *options):
    """(CPU seconds, peak of memory in MiB)"""
    child = subprocess.Popen([fpless, "report", "-q", *options, source], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{fpless}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fpless")
    parser.add_argument("--stacks", type=int, default=200000)
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "in.folded")
        write_stacks(source, options.stacks, options.depth)
        kinds = {
            "reading": ("--stats", "-"),
            "folded": ("-o", os.path.join(work, "out.folded")),
            "svg": ("-o", os.path.join(work, "out.svg")),
            "svg --reverse": ("--reverse", "-o", os.path.join(work, "reverse.svg")),
        }
        figures = {kind: [] for kind in kinds}
        for _ in range(options.rounds):
            for kind, arguments in kinds.items():
                figures[kind].append(run(options.fpless, source, *arguments))
        medians = {kind: statistics.median(cpu for cpu, _ in values) for kind, values in figures.items()}
        beyond = {kind: cpu - medians["reading"] for kind, cpu in medians.items()}
        print("written\tcpu_s\tbeyond_reading_s\tratio_to_folded\tpeak_mib\tbytes")
        for kind, arguments in kinds.items():
            ratio = beyond[kind] / beyond["folded"] if beyond["folded"] > 0 else 0
            size = os.path.getsize(arguments[-1]) if arguments[-1] != "-" else 0
            print(f"{kind}\t{medians[kind]:.2f}\t{beyond[kind]:.2f}\t{ratio:.2f}\t"
                  f"{max(mib for _, mib in figures[kind]):.0f}\t{size}")


if __name__ == "__main__":
    main()
