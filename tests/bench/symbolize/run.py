#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: tests/bench/symbolize/run.py [BUILD_DIR] [FILE...]: names per CPU-second, beside other symbolizers.

Each tool names the same random code addresses of a file (names only: no lines, no inlined functions, no
demangling), cold: a new process that opens the file and reads its tables. "fpless" is what users get: a worker reads the
file and its debug file, which is looked for, and sends the names; its CPU time and that of its spawner count. "readers" are
the same tables read in one process. Rounds are interleaved. Prints TSV: file, tool, names per
CPU-second (median, p10, p90), addresses, rounds, ratio of fpless (median of the rounds' ratios).
"""

import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys

ROUNDS = 5
FILES = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3", "/usr/lib/x86_64-linux-gnu/libLLVM-16.so.1"]
# binutils' addr2line needs a second for a few hundred names of a large file
TOOLS = {
    "fpless": (100_000, lambda tool, path: [tool, "-w", path]),
    "readers": (100_000, lambda tool, path: [tool, "-d", path]),
    "llvm-symbolizer": (20_000, lambda _, path: ["llvm-symbolizer", "--obj=" + path, "--functions=linkage",
                                                 "--no-inlines", "--no-demangle", "--no-debuginfod"]),
    "eu-addr2line": (20_000, lambda _, path: ["eu-addr2line", "-S", "-e", path]),
    "addr2line": (500, lambda _, path: ["addr2line", "-f", "-e", path]),
}


def code_addresses(path, nr):
    """Addresses inside of functions, from a fixed seed."""
    ranges = []
    for table in ((), ("-D",)):
        text = subprocess.run(["nm", "-S", "--defined-only", *table, path], capture_output=True, text=True,
                              check=False).stdout
        for match in re.finditer(r"^([0-9a-f]{16}) ([0-9a-f]{16}) [TtWi] ", text, re.M):
            ranges.append((int(match[1], 16), max(int(match[2], 16), 1)))
    pick = random.Random(path)
    return [start + pick.randrange(size) for start, size in pick.choices(ranges, k=nr)]


def cpu_seconds(command, given):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=given, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build/release"
    ours = os.path.join(build, "tests/diff/name_addresses")
    tools = {name: tool for name, tool in TOOLS.items() if name in ("fpless", "readers") or shutil.which(name)}
    print(f"# load {os.getloadavg()[0]:.2f}, {ROUNDS} rounds")
    print("file\ttool\tnames_per_cpu_s\tp10\tp90\taddresses\trounds\tours_ratio")
    for path in sys.argv[2:] or FILES:
        path = os.path.realpath(path)
        if not os.path.exists(path):
            continue
        rates = {name: [] for name in tools}
        asked = code_addresses(path, max(nr for nr, _ in tools.values()))
        for _ in range(ROUNDS):
            for name in random.sample(list(tools), len(tools)):
                nr, command = tools[name]
                given = "".join(f"{vaddr:#x}\n" for vaddr in asked[:nr])
                rates[name].append(nr / max(cpu_seconds(command(ours, path), given), 1e-3))
        for name, values in rates.items():
            deciles = statistics.quantiles(values, n=10)
            ratio = statistics.median(a / b for a, b in zip(rates["fpless"], values))
            print(f"{os.path.basename(path)}\t{name}\t{statistics.median(values):.0f}\t{deciles[0]:.0f}\t"
                  f"{deciles[-1]:.0f}\t{tools[name][0]}\t{len(values)}\t{ratio:.1f}", flush=True)


if __name__ == "__main__":
    main()
