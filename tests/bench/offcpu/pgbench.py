#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of a transaction of `pgbench -S` and of its server, beside fpless offcpu -a and without.

usage: pgbench.py BUILD [--rounds 12]

Two clients ask one server all the time. Slices of three seconds with fpless and without take turns, and each one with is held against
the two around it, since a shared machine is now faster, now slower. BUILD has bench_hooks, too, which holds empty programs at the same
hooks: the least. Prints TSV: the median of the ratios, and between which it lies with 95 % (by the signs of the differences, whatever their
distribution); fails where even the lower one is above 1.02.
"""

import argparse
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(BENCH, "mixed"))
import loads  # noqa: E402

RATIO = 1.02
CLIENTS = 2
SLICE_S, BEGIN_S, END_S = 3, 2, 1  # measured; left out while programs are attached, and taken away
VARIANTS = {"empty programs": None, "offcpu -a": (), "offcpu -a --totals": ("--totals",), "offcpu -a --exact": ("--exact",)}
JUDGED = "offcpu -a"
PROGRESS = re.compile(r"progress: .* s, ([0-9.]+) tps")


class Load:
    """A server of postgres and its clients, which tell each second how fast they were."""

    def __init__(self, folder):
        self.server = None
        where = loads.Postgres(folder).serve(self.spawn)
        # pylint: disable-next=consider-using-with
        self.client = subprocess.Popen(["pgbench", "-S", "-n", "-c", str(CLIENTS), "-P", "1", "-T", "100000", *where],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.at = self.cpu_ns = 0

    def spawn(self, words, **options):
        self.server = subprocess.Popen(words, **options)
        return self.server

    def end(self):
        self.client.kill()
        self.server.send_signal(signal.SIGINT)
        self.server.wait()

    def read_cpu_ns(self):
        """CPU time of the client and of all processes of the server, by the scheduler."""
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as file:
            pids = [self.client.pid, self.server.pid, *map(int, file.read().split())]
        total = 0
        for pid in pids:
            for tid in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0])
        return total

    def second(self):
        """Microseconds of CPU of a transaction in the next second."""
        for line in self.client.stderr:
            found = PROGRESS.match(line)
            if found:
                break
        else:
            sys.exit("pgbench has ended")
        at, cpu_ns = time.monotonic(), self.read_cpu_ns()
        ret = (cpu_ns - self.cpu_ns) / 1000 / (at - self.at) / float(found.group(1))
        self.at, self.cpu_ns = at, cpu_ns
        return ret

    def slice(self):
        return statistics.mean(self.second() for _ in range(SLICE_S))

    def skip(self, seconds):
        for _ in range(seconds):
            self.second()


def beside(load, build, words, folder):
    """A slice of @load with what @words of VARIANTS say beside it."""
    seconds = str(BEGIN_S + SLICE_S)
    if words is None:
        command = [os.path.join(build, "tests/bench/offcpu/bench_hooks"), "sleep", seconds]
    else:
        command = [os.path.join(build, "fpless"), "offcpu", "-q", "-a", *words, "-o", os.path.join(folder, "out.jsonl"), "-d", seconds]
    with subprocess.Popen(command) as child:
        load.skip(BEGIN_S)
        ret = load.slice()
        if child.wait():
            sys.exit(f"{command}: status {child.returncode}")
    load.skip(END_S)
    return ret


def between(values):
    """The median of @values lies between these two with 95 %."""
    rank = max(0, int(len(values) / 2 - 1.96 * math.sqrt(len(values)) / 2))
    return sorted(values)[rank], sorted(values)[-1 - rank]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    loads.find_postgres()
    ratios = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        os.chmod(folder, 0o755)
        load = Load(folder)
        try:
            load.skip(3)
            before = load.slice()
            for _ in range(options.rounds):
                for name, words in VARIANTS.items():
                    us = beside(load, options.build, words, folder)
                    behind = load.slice()
                    ratios[name].append(us / ((before + behind) / 2))
                    before = behind
        finally:
            load.end()
    print("variant\tratio\tat_least\tat_most")
    print("none, %.1f us a transaction\t1\t1\t1" % before)
    for name, found in ratios.items():
        print("%s\t%.3f\t%.3f\t%.3f" % (name, statistics.median(found), *between(found)))
    return "above the bound" if between(ratios[JUDGED])[0] > RATIO else 0


if __name__ == "__main__":
    sys.exit(main())
