#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What do report and diff take for recordings of many distinct stacks and names?

usage: run.py FPLESS [--base OTHER_FPLESS] [--stacks N] [--rounds N] [--record FILE.tsv]

Folded files of N (2,000,000) distinct stacks each, 42 MB: `names`, where each stack has two functions of its own, and
`few`, made of 1,200 functions. report as text and folded, and a diff of two such files. With --base both programs run
in turns, --rounds (3) times, and have to write the same bytes. A line of TSV per case: case, seconds and MiB (peak RSS)
of each program, medians, and the ratios of both (1: the same).
"""

import argparse
import filecmp
import multiprocessing
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def write_names(path, stacks, shift):
    with open(path, "w", encoding="ascii") as file:
        for i in range(stacks):
            if not shift or i % 50:
                file.write(f"c;f{i};g{i} {1 + (i + shift) % 7}\n")


def write_few(path, stacks, seed):
    source = random.Random(seed)
    seen = set()
    with open(path, "w", encoding="ascii") as file:
        while len(seen) < stacks:
            stack = tuple(source.randrange(1200) for _ in range(3))
            if stack not in seen:
                seen.add(stack)
                file.write("app;f%d;f%d;f%d %d\n" % (*stack, source.randrange(1, 9)))


def measure(command, output):
    """Seconds, and MiB of the largest RSS."""
    with open(output, "wb") as file:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=file)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
    child.returncode = status
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return seconds, usage.ru_maxrss / 1024


def run_case(args, folder, what, command):
    programs = [args.fpless] + ([args.base] if args.base else [])
    outputs = [os.path.join(folder, f"output{i}") for i in range(len(programs))]
    found = [[] for _ in programs]
    for _ in range(args.rounds):
        for i, program in enumerate(programs):
            found[i].append(measure([program, *command], outputs[i]))
        if args.base and not filecmp.cmp(*outputs, shallow=False):
            raise SystemExit(f"{what}: the outputs differ")
    medians = [[statistics.median(values) for values in zip(*runs)] for runs in found]
    fields = [what] + [f"{value:.1f}" for median in medians for value in median]
    if args.base:
        fields += [f"{new / old:.2f}" for new, old in zip(*medians)]
    return "\t".join(fields)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless", type=os.path.realpath)
    parser.add_argument("--base", type=os.path.realpath)
    parser.add_argument("--stacks", type=int, default=2000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--record")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lines = ["case\tseconds\tMiB" + ("\tbase s\tbase MiB\tratio s\tratio MiB" if args.base else "")]
    print(lines[0], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, write in ("names", write_names), ("few", write_few):
            files = [os.path.join(folder, f"{name}{i}.folded") for i in range(2)]
            for i, file in enumerate(files):
                # elsewhere: a child's peak of memory begins with its parent's
                writer = multiprocessing.Process(target=write, args=(file, args.stacks, i))
                writer.start()
                writer.join()
            memory = ["--memory", "8G"]
            for what, command in (("report text", ["report", "-q", *memory, files[0]]),
                                  ("report folded", ["report", "-q", "-f", *memory, files[0]]),
                                  ("diff text", ["diff", "-q", *memory, *files])):
                lines.append(run_case(args, folder, f"{name}: {what}", command))
                print(lines[-1], flush=True)
            for file in files:
                os.unlink(file)
    if args.record:
        with open(args.record, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
    return 0


sys.exit(main())
