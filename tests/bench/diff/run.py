#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does a diff cost beside reading its files?

usage: run.py FPLESS [--stacks N] [--samples N] [--rounds N] [--record FILE.tsv]

Two sides of 30,000 stacks and 10 million samples are drawn, as folded stacks and as pprof. A line of TSV for
each output: format of the files, output, CPU seconds (median of the rounds), those of adding both up (a report
that writes folded stacks), the median of the rounds' ratios, and peak memory in MB of both.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile


def draw(path, stacks, samples, seed):
    rng, weights = random.Random(seed), random.Random(3)
    shared = random.Random(5)
    with open(path, "w", encoding="ascii") as out:
        total = sum(1 / (i + 1) for i in range(stacks))
        for i in range(stacks):
            depth = shared.randrange(8, 40)
            frames = ["function_%d" % (shared.randrange(4000) // (1 + level)) for level in range(depth)]
            count = samples / total / (i + 1) * weights.uniform(0.5, 1.5)
            count = max(1, round(rng.gauss(count, count ** 0.5)))
            out.write("prog%d;%s;leaf_%d %d\n" % (i % 5, ";".join(frames), i, count))


def cost(command):
    """CPU seconds and peak memory in MB of a process of its own."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(args, folder):
    sides = [os.path.join(folder, name) for name in ("before.folded", "after.folded")]
    for seed, path in enumerate(sides):
        draw(path, args.stacks, args.samples, seed)
        subprocess.run([args.fpless, "report", "-q", path, "-o", path.replace(".folded", ".pb.gz")], check=True)
    for kind in (".folded", ".pb.gz"):
        files = [path.replace(".folded", kind) for path in sides]
        read = [args.fpless, "report", "-q", *files, "--stats", os.devnull, "-o", os.path.join(folder, "x.folded")]
        for output in ("x.txt", "x.json", "x.folded", "x.svg"):
            rounds = []
            for _ in range(args.rounds):
                ours = cost([args.fpless, "diff", "-q", *files, "-o", os.path.join(folder, "d" + output)])
                rounds.append((ours, cost(read)))
            yield "%s\t%s\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f" % (
                kind[1:], output[2:], statistics.median(a[0] for a, _ in rounds),
                statistics.median(b[0] for _, b in rounds), statistics.median(a[0] / b[0] for a, b in rounds),
                max(a[1] for a, _ in rounds), max(b[1] for _, b in rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("fpless")
    parser.add_argument("--stacks", type=int, default=30000)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record")
    args = parser.parse_args()
    lines = ["# load %.1f" % os.getloadavg()[0], "files\toutput\tcpu_s\tread_s\tratio\tmb\tread_mb"]
    with tempfile.TemporaryDirectory() as folder:
        for line in lines:
            print(line)
        for line in measure(args, folder):
            print(line, flush=True)
            lines.append(line)
    if args.record:
        with open(args.record, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
