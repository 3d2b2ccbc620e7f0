#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often does diff call a change real where there is none, and how often does it find one that is there?

usage: noise.py FPLESS [--only PROGRAM] [--runs N] [--hz HZ] [--rounds N] [--keep FOLDER] [--record FILE.tsv]

A program of a dozen functions (mix), and perl, are recorded N times (40) each, and mix once more N/4 times
with one function made 5, 10 and 20 per cent slower; of a program of six threads (waits) `fpless offcpu` records
how long it waits, N times. Needs root. Then diffs between equal runs: pairs, and
groups of 3 and of 5 drawn at random; and between equal and changed ones. A line of TSV per kind of diff:
program, what changed, runs a side, whether by shares, diffs, those with anything called real, functions
called real of those tested, and, of changed ones, those in which the function was found.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
static volatile uint64_t sink;
static uint64_t memory[1 << 18];
#define WORK(name, many, step) \\
	__attribute__((noinline)) static void name(uint64_t times) \\
	{ \\
		uint64_t at = times; \\
		for (uint64_t i = 0; i < times * (many); i++) \\
			at = at * 6364136223846793005u + memory[(at >> 40) * (step) & 0x3ffff]; \\
		sink = at; \\
	}
WORK(f0, 400, 0) WORK(f1, 300, 1) WORK(f2, 200, 3) WORK(f3, 150, 0) WORK(f4, 100, 7) WORK(f5, 80, 1)
WORK(f6, 60, 0) WORK(f7, 40, 5) WORK(f8, 25, 1) WORK(f9, 15, 0) WORK(f10, 8, 3) WORK(f11, 4, 1)
__attribute__((noinline)) static void low(uint64_t n) { f6(n); f7(n); f8(n); f9(n); f10(n); f11(n); }
__attribute__((noinline)) static void high(uint64_t n, uint64_t more) { f0(n); f1(n); f2(n); f3(n * more / 100); f4(n); f5(n); }
int main(int argc, char **argv)
{
	uint64_t rounds = strtoull(argv[1], NULL, 0), more = argc > 2 ? strtoull(argv[2], NULL, 0) : 100;
	for (uint64_t i = 0; i < rounds; i++) {
		high(1000, more);
		low(1000);
	}
}
"""
WAITS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define WAIT(name, us) \\
	__attribute__((noinline)) static void name(void) \\
	{ \\
		usleep((us) / 2 + (unsigned int)rand() % (us)); \\
		__asm__ volatile(""); \\
	}
WAIT(w50, 50) WAIT(w200, 200) WAIT(w1000, 1000) WAIT(w3000, 3000) WAIT(w9000, 9000) WAIT(w20000, 20000)
static void (*const waits[])(void) = { w50, w200, w1000, w3000, w9000, w20000 };
static void *several(void *first)
{
	for (long i = (long)first; ; i++)
		waits[i % 3 * 2 + (i >> 3) % 2]();
	return NULL;
}
int main(void)
{
	pthread_t thread;
	for (long i = 0; i < 6; i++)
		pthread_create(&thread, NULL, several, (void *)i);
	sleep(2);
	return 0;
}
"""
PERL = "my %h; for my $r (1 .. 6) { for my $i (1 .. 60000) { $h{$i % 997} .= join q(,), $i, sqrt $i; } " \
       "for my $k (sort keys %h) { $h{$k} =~ s/1\\d/x/g; $h{$k} = substr $h{$k}, 0, 50 } }"


def record(args, how, command, path):
    subprocess.run([args.fpless, *how, "-q", "-o", path, "--", *command], check=True,
                   stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def compile_to(binary, source):
    if not os.path.exists(binary):
        subprocess.run(["cc", "-O1", "-g", "-pthread", "-x", "c", "-", "-o", binary], input=source.encode(), check=True)


def record_all(args, folder):
    """{(program, slower): [paths]}; what is there from an earlier run is kept."""
    mix, waits = os.path.join(folder, "mix"), os.path.join(folder, "waits")
    compile_to(mix, SOURCE)
    compile_to(waits, WAITS)
    clock = ["profile", "-F", str(args.hz)]
    wanted = [("mix", 0, args.runs), ("perl", 0, args.runs), ("waits", 0, args.runs)]
    wanted += [("mix", more, args.runs // 4) for more in (5, 10, 20)]
    runs = {}
    for number in range(args.runs):  # in turn, so that a slow drift of the machine is in all of them
        for program, more, nr in wanted:
            if number >= nr or args.only not in (None, program):
                continue
            path = os.path.join(folder, "%s-%d-%d.pb.gz" % (program, more, number))
            how, command = {"mix": (clock, [mix, str(args.rounds), str(100 + more)]), "perl": (clock, ["perl", "-e", PERL]),
                            "waits": (["offcpu"], [waits])}[program]
            if not os.path.exists(path):
                record(args, how, command, path)
            runs.setdefault((program, more), []).append(path)
    return runs


def diff(args, before, after, shares):
    done = subprocess.run([args.fpless, "diff", "-q", "--json", *["-n"] * shares, *before, "--", *after],
                          check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)


def is_real(change):
    return change["verdict"] != "noise"


def row(args, program, more, nr, shares, pairs):
    diffs = with_real = real = tests = found = 0
    for before, after in pairs:
        told = diff(args, before, after, shares)
        called = sum(is_real(f[key]) for f in told["functions"] for key in ("self", "total"))
        diffs += 1
        with_real += called > 0
        real += called
        tests += told["noise"]["function_tests"]
        found += any(f["function"] == "f3" and is_real(f["self"]) for f in told["functions"])
    return "%s\t+%d%%\t%d\t%s\t%d\t%d\t%d/%d\t%s" % (
        program, more, nr, "shares" if shares else "time", diffs, with_real, real, tests,
        found if more else "-")


def judge(args, runs):
    rng = random.Random(7)
    for (program, more), paths in runs.items():
        equal = runs[program, 0]
        for nr in (1, 3, 5):
            pairs = []
            if nr > len(paths) or 2 * nr > len(equal):
                continue
            for number in range(args.runs // 2 if not more else 10):
                if more:
                    pairs.append((rng.sample(equal, nr), rng.sample(paths, nr)))
                elif nr == 1:
                    pairs.append((equal[2 * number:2 * number + 1], equal[2 * number + 1:2 * number + 2]))
                else:
                    drawn = rng.sample(equal, 2 * nr)
                    pairs.append((drawn[:nr], drawn[nr:]))
            for shares in (False, True):
                yield row(args, program, more, nr, shares, [p for p in pairs if p[0] and p[1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("fpless")
    parser.add_argument("--only", choices=("mix", "perl", "waits"))
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--hz", type=int, default=4999)
    parser.add_argument("--rounds", type=int, default=700, help="length of the C program's runs")
    parser.add_argument("--keep", help="keep recordings here, and use those that are")
    parser.add_argument("--record")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        lines = ["program\tchange\truns\tby\tdiffs\twith_real\treal/tests\tfound"]
        for line in judge(args, record_all(args, folder)):
            print(line, flush=True)
            lines.append(line)
    if args.record:
        with open(args.record, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
