#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the second walk costs: `compare` beside `profile` on the same running programs.

usage: run.py BUILD [--only NAME,...] [--hz 999] [--rounds 10] [--seconds 2] [--extra OPTIONS] [--input DIR]

BUILD is a build folder. A program is started once; in each round one run of either verb samples it (-p), and the next
round has them in the other order. Prints TSV, of each program and rate: median ns of a sample of both (sample_ns of
--stats over the samples taken); ratio, the median over the rounds of compare's over profile's, and its quartiles;
frames per user stack of both; the rounds; the load.
"""

import argparse
import collections
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(BENCH, "walker"))
import run as walker  # noqa: E402  the programs, each one process that lives long enough

VERBS = ("profile", "compare")
Figures = collections.namedtuple("Figures", "ns frames")
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def sample(verb, pid, hz, options, folder):
    """Figures of one run; None where it failed: said, and the round does not count."""
    path = os.path.join(folder, "stats.json")
    done = subprocess.run([os.path.join(options.build, "fpless"), verb, "-q", "-f", "-F", str(hz), *options.extra,
                           "-d", str(options.seconds), "--stats", path, "-p", str(pid)], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print("%s: status %d: %s" % (verb, done.returncode, done.stderr), file=sys.stderr)
        return None
    with open(path, encoding="ascii") as file:
        stats = json.load(file)
    samples = stats["shown"] + sum(stats["lost"].values())
    return Figures(stats["sample_ns"] / samples, stats["frames"] / max(stats["user_samples"], 1))


def measure(words, hz, options, folder):
    """[{verb: Figures} of each round]"""
    rounds = []
    target = subprocess.Popen(words, start_new_session=True, **QUIET)
    try:
        time.sleep(1)
        for number in range(options.rounds):
            if target.poll() is not None:
                print("%s ended early: %d rounds of %d" % (words[0], number, options.rounds), file=sys.stderr)
                break
            order = VERBS if number % 2 else VERBS[::-1]
            rounds.append({verb: sample(verb, target.pid, hz, options, folder) for verb in order})
    finally:
        if target.poll() is None:
            target.send_signal(signal.SIGKILL)
        target.wait()
    return [figures for figures in rounds if all(figures.values())]


def report(program, hz, rounds):
    if len(rounds) < 2:
        sys.exit("%s: not enough samples" % program)
    ratios = [figures["compare"].ns / figures["profile"].ns for figures in rounds]
    low, middle, high = statistics.quantiles(ratios, n=4)
    ns, frames = ([statistics.median(getattr(figures[verb], key) for figures in rounds) for verb in VERBS]
                  for key in ("ns", "frames"))
    print("%s\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%d\t%s" % (
        program, hz, *ns, middle, low, high, *frames, len(rounds), open("/proc/loadavg").read().split()[0]), flush=True)
    return middle


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--only", default="gdb,clang++,python3,frames")
    parser.add_argument("--hz", default="999")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--extra", type=lambda text: text.split(), default=[], help="options for both")
    parser.add_argument("--input", help="keep generated inputs here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.input or scratch
        walker.make_inputs(folder)
        programs = walker.commands(folder)
        # with frame pointers, and so deep that the second walk goes as far as it can
        programs["frames"] = [os.path.join(options.build, "fixtures", "frames"), "600000", "200"]
        print("program\thz\tprofile_ns\tcompare_ns\tratio\tlow\thigh\tprofile_frames\tcompare_frames\trounds\tload")
        for name in options.only.split(","):
            for hz in map(int, options.hz.split(",")):
                report(name, hz, measure(programs[name], hz, options, scratch))


if __name__ == "__main__":
    main()
