#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What names kept on disk are worth: runs that know none and runs that know them take turns.

usage: run.py FPLESS [--rounds 15] [--seconds 1] [-- COMMAND...]

Naming alone: what `--symfs /` adds to `fpless report` of one recording, without the cache and with it; to look the files up is a
part of it. Then whole runs of `fpless profile` beside COMMAND (a python that imports and compiles, unless given), whose tables
are known in any case: as folded stacks, as text, which asks for lines, and of the whole machine. Prints, as TSV: medians of the CPU time of fpless and all its workers (user
and system, of wait4), the median of the pairs' own ratios, the addresses named from disk and asked of workers.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

LOAD = ("import importlib, sys\nwhile True:\n for m in ('json', 'argparse', 'decimal', 'email.message'):\n"
        "  sys.modules.pop(m, None); importlib.import_module(m)\n compile('x = [i * i for i in range(9)]' * 1, 'x', 'exec')\n")
ASKED = re.compile(rb"(\d+) addresses named from there, (\d+) asked of workers")


def cpu_ms(command):
    """CPU of the command and what it waited for; its stderr."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    if process.returncode:
        sys.exit("%s: %s" % (command, text.decode()))
    return 1000 * (usage.ru_utime + usage.ru_stime), text


def forget_names(cache):
    for name in os.listdir(cache):
        path = os.path.join(cache, name)
        with open(path, "rb") as file:
            if file.read(8) == b"fplnames":
                os.unlink(path)


def say(what, cold, warm, counts):
    print(what, "%.1f" % statistics.median(cold), "%.1f" % statistics.median(warm),
          "%.2f" % statistics.median(w / c for w, c in zip(warm, cold)),
          *("%.0f" % statistics.median(column) for column in zip(*counts)), sep="\t", flush=True)


def naming_alone(options, cache, recording):
    cold, warm, counts = [], [], []
    base = [options.fpless, "report", "-v", "-f", recording]
    for _ in range(options.rounds):
        before = cpu_ms(base)[0]
        cold.append(cpu_ms([*base, "--symfs", "/", "--no-cache"])[0] - before)
        ms, text = cpu_ms([*base, "--symfs", "/", "--cache", cache])
        warm.append(ms - before)
        counts.append([int(n) for n in ASKED.search(text).groups()])
    say("naming alone", cold, warm, counts)


def whole_runs(options, cache, folder, what, more):
    cold, warm, counts = [], [], []
    stats = os.path.join(folder, "stats")
    command = [options.fpless, "profile", "-q", "-F", "999", "-d", str(options.seconds), "--cache", cache, "--stats", stats,
               *more]
    cpu_ms(command)
    for _ in range(options.rounds):
        forget_names(cache)
        cold.append(cpu_ms(command)[0])
        warm.append(cpu_ms(command)[0])
        with open(stats, encoding="utf-8") as file:
            names = json.load(file)["names"]
        counts.append((names["cache_hits"], names["cache_misses"]))
    say(what, cold, warm, counts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:cut])
    folder = tempfile.mkdtemp(prefix="fpless-bench-")
    load = subprocess.Popen(words[cut + 1:] or [sys.executable, "-c", LOAD], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        cache, recording = os.path.join(folder, "cache"), os.path.join(folder, "run.jsonl")
        cpu_ms([options.fpless, "profile", "-q", "-F", "999", "-d", str(options.seconds), "--cache", cache, "-o", recording,
                "-p", str(load.pid)])
        print("what", "without_ms", "with_ms", "x", "from_disk", "asked", sep="\t")
        naming_alone(options, cache, recording)
        whole_runs(options, cache, folder, "profile -f", ["-f", "-p", str(load.pid)])
        whole_runs(options, cache, folder, "profile, text", ["-p", str(load.pid)])
        whole_runs(options, cache, folder, "profile -a -f", ["-a", "-f"])
        print("load", open("/proc/loadavg", encoding="ascii").read().split()[0], sep="\t")
    finally:
        load.kill()
        load.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
