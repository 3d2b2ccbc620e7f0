#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tables kept on disk are worth: none, a cold cache and a warm one take turns.

usage: run.py FPLESS [--rounds 7] [--hz 4999] [-- COMMAND...]

Runs `fpless profile` of a compile (or of COMMAND), of a python that ends at once, and of the whole machine for a second.
Prints, as TSV, the medians over the rounds: CPU time of fpless, its peak memory, the start, how many tables were read and
compiled, and the CPU time of the samples that came before their table (some frame of origin cfi_user). x: median of the
rounds' own ratios to no cache: the machine's other load is the same for a round's three runs, as far as it can be.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = ("#include <regex>\nint main(int n, char **v) { std::regex r(v[0]); "
          "return std::regex_match(v[n - 1], r); }\n")
MODES = ("none", "cold", "warm")
COLUMNS = (("cpu_ms", lambda run: run["user_cpu_ms"]), ("peak_MB", lambda run: run["rss_peak_bytes"] / 1e6),
           ("start_ms", lambda run: run["startup_ms"]), ("before_table_ms", lambda run: run["before_ms"]),
           ("read", lambda run: run["tables"]["cache_hits"]), ("compiled", lambda run: run["tables"]["cache_misses"]))


def before_table_ms(path):
    weight_ns = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack = json.loads(line)
            if stack["type"] == "stack" and any(frame["origin"] == "cfi_user" for frame in stack["user"]):
                weight_ns += stack["weight_ns"]
    return weight_ns / 1e6


def profile(fpless, folder, mode, hz, target):
    """--stats of one run, with the time of the samples that came before their table."""
    cache = os.path.join(folder, "cache")
    if mode == "cold":
        shutil.rmtree(cache, ignore_errors=True)
    options = ["--no-cache"] if mode == "none" else ["--cache", cache]
    out, stats = os.path.join(folder, "out.jsonl"), os.path.join(folder, "stats.json")
    subprocess.run([fpless, "profile", "-q", "-F", str(hz), "-o", out, "--stats", stats, *options, *target],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(stats, encoding="utf-8") as file:
        return json.load(file) | {"before_ms": before_table_ms(out)}


def measure(options, folder, name, target):
    runs = {mode: [] for mode in MODES}
    for _ in range(options.rounds):
        for mode in MODES:  # the cold run fills what the warm one reads
            runs[mode].append(profile(options.fpless, folder, mode, options.hz, target))
    for mode in MODES:
        cells = []
        for column, value in COLUMNS:
            cells.append("%.1f" % statistics.median(map(value, runs[mode])))
            if column not in ("read", "compiled"):
                cells.append("%.2f" % statistics.median(value(run) / max(value(base), 0.1)
                                                        for run, base in zip(runs[mode], runs["none"])))
        print(name, mode, *cells, sep="\t", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hz", type=int, default=4999)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:cut])
    folder = tempfile.mkdtemp(prefix="fpless-bench-")
    try:
        source = os.path.join(folder, "a.cc")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        compiler = shutil.which("clang++") or shutil.which("clang++-16") or "g++"
        command = words[cut + 1:] or [compiler, "-c", "-o", os.path.join(folder, "a.o"), source]
        print("what", "cache", *(cell for column, _ in COLUMNS
                                 for cell in ((column,) if column in ("read", "compiled") else (column, "x"))), sep="\t")
        measure(options, folder, os.path.basename(command[0]), ["-d", "60", "--", *command])
        measure(options, folder, "python3 -c pass", ["-d", "60", "--", sys.executable, "-c", "pass"])
        measure(options, folder, "-a", ["-a", "-d", "1"])
        print("load", open("/proc/loadavg", encoding="ascii").read().split()[0], sep="\t")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
