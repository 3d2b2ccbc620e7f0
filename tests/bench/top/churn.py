#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CPU live naming costs where programs come and go: several commands at once, beside the same load.

usage: churn.py [--seconds 15] [--rounds 4] LABEL=COMMAND...

Each command is a run of fpless whose duration is written @D, such as

    new='build/release/fpless top --plain -a -q -d @D' old='OLD_FPLESS top --plain -a -q -d @D'

All of them run at once, each in a cgroup of its own (cpuacct of version 1, or version 2), beside programs that are compiled and
run one after the other. Prints, as TSV, of each command user and system time, helpers included, in per cent of one CPU,
from the sixth second on, and the median ratio to the first one. On a busy machine read the ratios.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

WARM_S = 6
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define F(n) static int f##n(const void *a, const void *b) { return *(const int *)a %% (n + 2) - *(const int *)b %% (n + 2); }
%s
int main(void) { int *v = malloc(4 * 20000); for (int i = 0; i < 20000; i++) v[i] = rand(); %s printf("%%d", v[0]); }
"""
SCRIPTS = ("import json, re; json.dumps([re.sub('a', 'b', str(i)) for i in range(20000)])",
           "import zlib; [zlib.compress(bytes(range(256)) * 40) for _ in range(200)]",
           "sorted(str(i * 7919 % 10007) for i in range(60000))")


class Group:
    """A cgroup and the CPU time of what is in it."""

    def __init__(self, name):
        self.old = os.path.isdir("/sys/fs/cgroup/cpuacct")
        self.path = os.path.join("/sys/fs/cgroup/cpuacct" if self.old else "/sys/fs/cgroup", f"fpless-{os.getpid()}-{name}")
        os.mkdir(self.path)

    def enter(self):
        with open(self.path + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def cpu_s(self):
        if self.old:
            with open(self.path + "/cpuacct.usage", encoding="ascii") as file:
                return int(file.read()) / 1e9
        with open(self.path + "/cpu.stat", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("usage_usec")) / 1e6

    def remove(self):
        os.rmdir(self.path)


def load(folder):
    """Compiles and runs, until it is killed: what is compiled differs each time."""
    nr = 0
    while True:
        functions = range(nr % 7, nr % 7 + 20)
        text = PROGRAM % ("\n".join(f"F({n})" for n in functions), " ".join(f"qsort(v, 20000, 4, f{n});" for n in functions))
        with open(f"{folder}/a.c", "w", encoding="ascii") as file:
            file.write(text)
        for command in (["cc", "-O2", "-o", f"{folder}/a{nr % 4}", f"{folder}/a.c"], [f"{folder}/a{nr % 4}"],
                        [sys.executable, "-c", SCRIPTS[nr % len(SCRIPTS)]]):
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        nr += 1


def one_round(commands, groups, seconds):
    """CPU per cent of each command."""
    children = [subprocess.Popen(shlex.split(text.replace("@D", str(seconds + WARM_S + 2))), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=groups[label].enter)
                for label, text in commands.items()]
    time.sleep(WARM_S)
    before, began = {label: group.cpu_s() for label, group in groups.items()}, time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    ret = {label: 100 * (group.cpu_s() - before[label]) / took for label, group in groups.items()}
    for child in children:
        if child.wait():
            sys.exit(f"{child.args}: status {child.returncode}")
    return ret


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("commands", nargs="+", metavar="LABEL=COMMAND")
    options = parser.parse_args()
    commands = dict(text.split("=", 1) for text in options.commands)
    groups = {label: Group(label) for label in commands}
    first, rounds = next(iter(commands)), []
    with tempfile.TemporaryDirectory() as folder:
        worker = os.fork()
        if not worker:
            load(folder)
        try:
            print("round\t" + "\t".join(f"{label}_cpu_pct" for label in commands) + "\tload")
            for i in range(options.rounds):
                rounds.append(one_round(commands, groups, options.seconds))
                print(f"{i + 1}\t" + "\t".join(f"{rounds[-1][label]:.2f}" for label in commands) +
                      f"\t{os.getloadavg()[0]:.1f}", flush=True)
        finally:
            os.kill(worker, 9)
            os.waitpid(worker, 0)
            for group in groups.values():
                group.remove()
    print("median\t" + "\t".join(f"{statistics.median(r[label] for r in rounds):.2f}" for label in commands))
    print("ratio\t" + "\t".join(f"{statistics.median(r[label] / r[first] for r in rounds):.2f}" for label in commands))


if __name__ == "__main__":
    main()
