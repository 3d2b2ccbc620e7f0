#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole machine: what fpless sees of it, and what that costs. Every figure of docs/performance.md, "The whole machine".

usage: run.py FPLESS [--only storm,make,copies,idle,large,births] [--rounds N] [--hz 999]

Prints, as TSV: bench, figure, value, bound, and whether it is kept. Exit status 1 when a bound is missed. A machine that
does other work meanwhile makes wall times and shares worse, not better.
"""

import argparse
import os
import sys
import tempfile

import births
import build
import copies
import idle
import large
import storm
from measure import Figures

BENCHES = {"storm": (storm.bench, 3), "make": (build.bench, 3), "copies": (copies.bench, 1), "idle": (idle.bench, 3),
           "large": (large.bench, 3), "births": (births.bench, 1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--only", default=",".join(BENCHES))
    parser.add_argument("--rounds", type=int, default=0, help="of each bench; else as many as each needs")
    parser.add_argument("--hz", type=int, default=999, help="of storm and copies")
    parser.add_argument("--seconds", type=float, default=10, help="of each round of storm")
    parser.add_argument("--units", type=int, default=96, help="make: translation units")
    parser.add_argument("--functions", type=int, default=6, help="make: functions in each")
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--program", help="copies: what is copied; python3")
    parser.add_argument("--processes", type=int, default=500, help="idle")
    parser.add_argument("--megabytes", type=int, default=230, help="large: size of the binary")
    parser.add_argument("--births", type=int, default=20, help="births: new programs a second")
    parser.add_argument("--births-ms", type=int, default=20, help="births: CPU time of each")
    parser.add_argument("--births-seconds", type=int, default=120)
    options = parser.parse_args()
    rounds = options.rounds
    figures = Figures()
    print("bench\tfigure\tvalue\tbound\tkept")
    for name in options.only.split(","):
        bench, usual = BENCHES[name]
        options.rounds = rounds or usual
        figures.say(name, "load", open("/proc/loadavg").read().split()[0])
        with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
            bench(os.path.realpath(options.fpless), folder, figures, options)
    sys.exit(figures.missed > 0)


if __name__ == "__main__":
    main()
