#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an agent costs, and its store: run as root, on a quiet machine.

usage: run.py BUILD [--window 10/60] [--seconds 240] [--settle 120] [--windows 8640]

Runs `fpless agent` beside nothing, and beside two programs that compute and one that begins short programs. Prints, each time, the
CPU time of all its processes after --settle seconds, in percent of one CPU, by process, and its memory. Then makes a day
of the windows that the busy one has written (bench_store), and asks it.
"""

import argparse
import glob
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

BUSY = "n = 0\nwhile True: n = (n * 7919 + 1) % 10007"
SHORT = "while :; do /bin/true; sleep 0.05; done"


def processes(pid):
    """It and all below it."""
    found = [pid]
    for parent in found:
        for path in glob.glob(f"/proc/{parent}/task/*/children"):
            try:
                with open(path, encoding="ascii") as file:
                    found += [int(child) for child in file.read().split()]
            except OSError:
                pass
    return found


def used(pid):
    """({name and pid: ns of CPU time}, KiB of memory) of all of them, their ended children included."""
    times, memory = {}, 0
    for one in processes(pid):
        try:
            with open(f"/proc/{one}/stat", encoding="utf-8") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            fields = rest.split()
            ticks = sum(int(field) for field in fields[11:15])
            with open(f"/proc/{one}/smaps_rollup", encoding="utf-8") as file:
                memory += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
        times[f"{name} {one}"] = ticks * 10**9 // os.sysconf("SC_CLK_TCK")
    return times, memory


def measure(options, store, *more):
    """One agent; prints what it costs once it has settled."""
    with subprocess.Popen([os.path.join(options.build, "fpless"), "agent", "-q", "--store", store, "--window",
                           options.window, *more], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as agent:
        try:
            time.sleep(options.settle)
            began, (before, _) = time.monotonic(), used(agent.pid)
            time.sleep(options.seconds)
            took_ns, (after, memory) = (time.monotonic() - began) * 1e9, used(agent.pid)
        finally:
            agent.send_signal(signal.SIGTERM)
            agent.wait()
    if agent.returncode:
        sys.exit(f"fpless agent: status {agent.returncode}")
    costs = {name: 100 * (ns - before.get(name, 0)) / took_ns for name, ns in after.items()}
    with open("/proc/loadavg", encoding="ascii") as file:
        load = file.read().split()[0]
    print(f"{sum(costs.values()):.2f} % of a CPU, {memory / 1024:.0f} MiB, load {load}: " +
          ", ".join(f"{name} {cost:.2f}" for name, cost in costs.items() if cost >= 0.01), flush=True)


def ask(options, store, *question):
    """What an answer takes: of the clock, and of a CPU."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.path.join(options.build, "fpless"), "query", *question, "--store", store], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"query {' '.join(question)}: {took:.2f} s, {cpu:.2f} s of CPU", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--window", default="10/60")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--settle", type=float, default=120)
    parser.add_argument("--windows", type=int, default=8640)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        print("idle: ", end="")
        measure(options, os.path.join(work, "idle"))
        busy = [subprocess.Popen(command, stdin=subprocess.DEVNULL)
                for command in ([sys.executable, "-c", BUSY], [sys.executable, "-c", BUSY], ["sh", "-c", SHORT])]
        try:
            print("busy: ", end="")
            measure(options, os.path.join(work, "busy"), "-o", os.path.join(work, "w-%t.pb.gz"))
        finally:
            for process in busy:
                process.kill()
                process.wait()
        files = sorted(glob.glob(os.path.join(work, "w-*.pb.gz")))
        print(f"a pprof: {sum(map(os.path.getsize, files)) / len(files) / 1000:.1f} kB, of {len(files)}", flush=True)
        day = os.path.join(work, "day")
        subprocess.run([os.path.join(options.build, "tests/bench/agent/bench_store"), day, str(options.windows), *files], check=True)
        for question in (("list",), ("top", "--from", "-24h"), ("top", "--from", "-1h"), ("diff", "--from", "-1h")):
            ask(options, day, *question)


if __name__ == "__main__":
    main()
