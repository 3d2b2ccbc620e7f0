#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fpless heap costs the programs it looks at: ns of a malloc and its free, and CPU time of gcc, python3, sqlite3 and perl at
work, half a second and more of it, without fpless, with the library of --preload, and with breakpoints. A gcc of one small file
is there, too, most of which is its start.

usage: run.py BUILD [--rounds 15]

The variants take turns, breakpoints in three rounds alone; CPU time is that of the program and its children. The first
ratio is the median of those to the run without fpless in the same round, the second one that of the least times: what else
runs on the machine makes a run longer, never shorter. Prints TSV, and fails where --preload is above its bound: 2 ns a pair
that is not sampled; 1.02 of a run at work, in both ratios.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from shell_times import read_times  # noqa: E402

VARIANTS = {  # options of fpless heap, and rounds of malloc and free
    "none": (None, 2_000_000),
    "preload, none sampled": (("--preload", "--sample-bytes", "1G"), 2_000_000),
    "preload": (("--preload",), 2_000_000),
    "breakpoints": ((), 20_000),
}
PAIR_NS, RATIO = 2.0, 1.02
SMALL = "gcc, a small file"  # nothing is asked of it
ROUNDS_MAX = {"breakpoints": 3}  # far above any noise
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
GCC = f"gcc -O2 -D_GNU_SOURCE -I{SOURCE} -I{SOURCE}/src -c -o /dev/null {SOURCE}/src/profile/"
FILES = ("books.c", "catalog.c", "engine.c", "finder.c", "heap_places.c", "kernel_side.c", "pool.c", "samplers.c")
WORK = {
    "gcc": ("sh", "-c", " && ".join(f"{GCC}{name}" for name in FILES)),
    SMALL: tuple(f"{GCC}heap_places.c".split()),
    "python3": ("/usr/bin/python3", "-c", "import json\nfor i in range(300): json.loads(json.dumps([{'n': k, 't': 'x' * 50} for k in range(3000)]))"),
    "sqlite3": ("sqlite3", ":memory:", "create table t(a integer primary key, b text); with recursive c(x) as (select 1 union all select x + 1 "
                "from c where x < 1000000) insert into t select x, 'text ' || (x * 7919 % 100003) from c; create index i on t(b); "
                "select count(distinct substr(b, 1, 7)) from t;"),
    "perl": ("perl", "-e", "for (1 .. 40) { my %h = map { $_ => 'x' x ($_ % 100) } 1 .. 30000; my @s = sort values %h; }"),
}


def variant(build, name, folder):
    """The words before a command."""
    options = VARIANTS[name][0]
    if options is None:
        return ()
    return (os.path.join(build, "fpless"), "heap", "-q", "-o", os.path.join(folder, "out.folded"), *options, "--")


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: it allocated too little for a sample
        sys.exit(f"{' '.join(words)}: {done.returncode}: {done.stderr}")
    return (done.stdout + done.stderr).splitlines()


def cpu_s(words, folder):
    """CPU time of the command itself, which a shell reads of its children."""
    said = os.path.join(folder, "times")
    shell = 'out=$1; shift; "$@" >/dev/null; times >"$out"'
    before = words.index("--") + 1 if "--" in words else 0
    run((*words[:before], "bash", "-c", shell, "bash", said, *words[before:]))
    return read_times(said)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    over = []
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        pairs = os.path.join(folder, "pairs")
        subprocess.run(("gcc", "-O2", "-o", pairs, os.path.join(os.path.dirname(__file__), "pairs.c")), check=True)
        found = {name: [] for name in VARIANTS}
        for _ in range(options.rounds):
            for name, (_, nr) in VARIANTS.items():
                numbers = [line for line in run((*variant(options.build, name, folder), pairs, str(nr))) if line[:1].isdigit()]
                found[name].append(float(numbers[0]))
        print("what\tvariant\tns_pair\tmore")
        for name, ns in found.items():
            print("pairs\t%s\t%.2f\t%.2f" % (name, min(ns), min(ns) - min(found["none"])))
        if min(found["preload, none sampled"]) - min(found["none"]) > PAIR_NS:
            over.append("pairs")
        print("what\tvariant\tcpu_s\tratio\tof_least\tleast\tmost")
        for what, words in WORK.items():
            found = {name: [] for name in VARIANTS}
            for i in range(options.rounds):
                for name in VARIANTS:
                    if i < ROUNDS_MAX.get(name, options.rounds):
                        found[name].append(cpu_s((*variant(options.build, name, folder), *words), folder))
            for name, seconds in found.items():
                ratios = [one / none for one, none in zip(seconds, found["none"])]
                ratio, of_least = statistics.median(ratios), min(seconds) / min(found["none"])
                print("%s\t%s\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f" % (what, name, statistics.median(seconds), ratio, of_least,
                                                            min(ratios), max(ratios)))
                if name == "preload" and what != SMALL and min(ratio, of_least) > RATIO:
                    over.append(what)
    return f"above the bound: {', '.join(over)}" if over else 0


if __name__ == "__main__":
    sys.exit(main())
