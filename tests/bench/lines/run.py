#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: tests/bench/lines/run.py [--agree] [BUILD_DIR] [FILE...]: inlined functions and lines per CPU-second, beside
other symbolizers, and whether the answers are the same.

Rates: each tool is asked for the functions, files and lines at the same 20,000 random addresses of .text (the slow ones at
the first of them), cold: a new process that opens the file and its debug file. "fpless" is what users get: workers read,
and their CPU time counts; "readers" is the same in one process. Rounds are interleaved. Prints TSV: file, tool, addresses per CPU-second
(median, p10, p90), addresses, rounds, ratio of ours (median of the rounds' ratios).

--agree: the answers at 2,000 random addresses of .text, held against llvm-symbolizer's. Prints TSV: file, class, how many
addresses, an example. `same`: equal in every name, file, line and column. The other classes are explained in CLASSES; any
of UNEXPLAINED is a failure (exit status 1). 77: there is nothing to compare.

Without FILE: python3.11 (python3.11-dbg), libc (libc6-dbg), libstdc++ (libstdc++6-12-dbg), valgrind's memcheck
(valgrind-dbg), those that are installed. Debuginfod is not asked.
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
FILES = ["/usr/bin/python3.11", "/usr/lib/x86_64-linux-gnu/libc.so.6",
         "/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6.0.30", "/usr/libexec/valgrind/memcheck-amd64-linux"]
LLVM = shutil.which("llvm-symbolizer-16") or shutil.which("llvm-symbolizer") or ""
# elfutils' needs half a minute for 20,000, binutils' seconds for a few hundred
TOOLS = {
    "fpless": (20_000, lambda ours, path: [ours, "-w", path]),
    "readers": (20_000, lambda ours, path: [ours, path]),
    "llvm-symbolizer": (20_000, lambda _, path: [LLVM, "--obj=" + path, "--functions=linkage", "--inlines",
                                                 "--no-demangle", "--no-debuginfod"]),
    "eu-addr2line": (2_000, lambda _, path: ["eu-addr2line", "-i", "-f", "-e", path]),
    "addr2line": (200, lambda _, path: ["addr2line", "-i", "-f", "-e", path]),
}
CLASSES = {
    "same": "equal in all",
    "clone": "the function itself is named as the symbol table has it, which says that it is one of several copies "
             "(.constprop.0, .part.0, .cold, .lto_priv.0); llvm-symbolizer has the name of the source",
    "alias": "another name of the symbol table for the same address: which of several is best is decided by "
             "symbolize/name_rule.h",
    "merged": "only the function itself is called otherwise: functions of equal code are one (gcc's -fipa-icf), and the "
              "symbol table names another than the debugging information",
    "symbol": "one has no name for the function itself: the debugging information has none (assembly), or the symbol "
              "table ends its symbol before the address, which the other does not mind",
    "no_line": "the same functions; one side has a line 0, or none, where the table says that there is none",
    "line": "the same functions at another line",
    "more": "frames that the other has not",
    "other": "other functions",
}
UNEXPLAINED = ("no_line", "line", "more", "other")


def text_addresses(path, nr):
    """Random addresses of .text, from a fixed seed."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=False).stdout
    match = re.search(r" \.text +PROGBITS +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", text)
    start, size = int(match[1], 16), int(match[2], 16)
    pick = random.Random(os.path.basename(path))
    return [start + pick.randrange(size) for _ in range(nr)]


def ask(command, addresses):
    """The answer, and the CPU seconds it took."""
    given = "".join(f"{vaddr:#x}\n" for vaddr in addresses)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rates(path, ours):
    tools = {name: tool for name, tool in TOOLS.items()
             if name in ("fpless", "readers") or shutil.which(LLVM if name == "llvm-symbolizer" else name)}
    found = {name: [] for name in tools}
    addresses = text_addresses(path, max(nr for nr, _ in tools.values()))
    for _ in range(ROUNDS):
        for name in random.sample(list(tools), len(tools)):
            nr, command = tools[name]
            found[name].append(nr / max(ask(command(ours, path), addresses[:nr])[1], 1e-3))
    for name, values in found.items():
        deciles = statistics.quantiles(values, n=10)
        ratio = statistics.median(a / b for a, b in zip(found["fpless"], values))
        print(f"{os.path.basename(path)}\t{name}\t{statistics.median(values):.0f}\t{deciles[0]:.0f}\t"
              f"{deciles[-1]:.0f}\t{tools[name][0]}\t{len(values)}\t{ratio:.1f}", flush=True)


def chains(text):
    """Per address the frames (name, file, line, column), innermost first."""
    ret = []
    for block in text.rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        frames = []
        for name, where in zip(lines[::2], lines[1::2]):
            file, line, column = where.rsplit(":", 2)
            frames.append((name, file, int(line), int(column)))
        ret.append(frames)
    return ret


def debug_file(path):
    """The file with the whole symbol table of @path."""
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    match = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", text)
    found = f"/usr/lib/debug/.build-id/{match[1]}/{match[2]}.debug" if match else path
    return found if os.path.exists(found) else path


def symbols(path):
    """Name to addresses."""
    ret = {}
    for command in (["nm", debug_file(path)], ["nm", path], ["nm", "-D", path]):
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for match in re.finditer(r"^([0-9a-f]{16}) \S ([^@\n]+)", text, re.M):
            ret.setdefault(match[2], set()).add(match[1])
    return ret


def class_of(ours, theirs, known):
    """See CLASSES."""
    if ours == theirs:
        return "same"
    names, their_names = [f[0] for f in ours], [f[0] for f in theirs]
    if len(ours) == len(theirs) and names[:-1] == their_names[:-1]:
        if [f[1:] for f in ours] == [f[1:] for f in theirs] and names[-1] in known:
            if re.fullmatch(re.escape(their_names[-1]) + r"(\.[a-z_]+(\.[0-9]+)?)+", names[-1]):
                return "clone"
            if known[names[-1]] & known.get(their_names[-1].split("@")[0], set()):
                return "alias"
        if "??" in (names[-1], their_names[-1]) and [f[1:] for f in ours] == [f[1:] for f in theirs]:
            return "symbol"
        if [f[1:] for f in ours] == [f[1:] for f in theirs]:
            return "merged"
        if names == their_names:
            return "no_line" if any(0 in (a[2], b[2]) and a[2] != b[2] for a, b in zip(ours, theirs)) else "line"
    if len(ours) != len(theirs) and (set(names) <= set(their_names) or set(their_names) <= set(names)):
        return "more"
    return "other"


def agreement(path, ours):
    addresses = text_addresses(path, 2_000)
    one = chains(ask(TOOLS["fpless"][1](ours, path), addresses)[0])
    other = chains(ask(TOOLS["llvm-symbolizer"][1](ours, path), addresses)[0])
    if len(one) != len(addresses) or len(other) != len(addresses):
        sys.exit(f"{path}: {len(addresses)} addresses, {len(one)} and {len(other)} answers")
    seen = {name: [] for name in CLASSES}
    known = symbols(path)
    for vaddr, mine, theirs in zip(addresses, one, other):
        seen[class_of(mine, theirs, known)].append((vaddr, mine, theirs))
    for name, cases in seen.items():
        example = f"{cases[0][0]:#x}: {cases[0][1]} / {cases[0][2]}" if cases and name != "same" else ""
        if cases:
            print(f"{os.path.basename(path)}\t{name}\t{len(cases)}\t{example}", flush=True)
    inlined = sum(len(frames) > 1 for frames in one)
    print(f"{os.path.basename(path)}\tinlined\t{inlined}\taddresses with inlined functions", flush=True)
    return sum(len(seen[name]) for name in UNEXPLAINED)


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--agree"]
    build = args[0] if args else "build/release"
    ours = os.path.join(build, "tests/diff/line_addresses")
    agree = "--agree" in sys.argv
    if agree:
        print("file\tclass\taddresses\texample")
    else:
        print(f"# load {os.getloadavg()[0]:.2f}, {ROUNDS} rounds")
        print("file\ttool\taddresses_per_cpu_s\tp10\tp90\taddresses\trounds\tours_ratio")
    found = [path for path in args[1:] or FILES if os.path.exists(path)]
    if agree and (not found or not LLVM):
        print("SKIP: no llvm-symbolizer, or nothing to ask about")
        sys.exit(77)
    if agree:
        sys.exit(1 if sum(agreement(path, ours) for path in found) else 0)
    for path in found:
        rates(path, ours)


if __name__ == "__main__":
    main()
