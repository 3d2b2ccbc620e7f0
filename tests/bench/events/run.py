#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an event costs the program that makes it: a system call with a tracepoint, warm, with and without a sampler.

usage: run.py BUILD [--fpless PATH] [--frames 16] [--rounds 7] [--calls 200000]

BUILD is a build folder with bench_events in it. Per variant: ns of a call (median of the rounds, variants by turns), what it
is over a tracepoint with an empty program, and how many times that is what a stack by frame pointers costs, which
bpf_get_stackid counts in the kernel as bpftrace and bcc do. Prints TSV.
"""

import argparse
import os
import signal
import statistics
import subprocess
import time

EVENT = "syscalls:sys_enter_getppid"
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def variants(fpless, other):
    """{name: (program of bench_events, options of fpless for a pid)}"""
    profile = [fpless, "profile", "-q", "-f", "-U", "-e", EVENT]
    return {
        "no tracepoint": ("none", None),
        "empty program": ("nothing", None),
        "frame pointers, bpf_get_stackid": ("count_stack", None),
        "fpless -U": ("none", lambda pid: [*profile, "-p", str(pid)]),
        "fpless, not a target": ("none", lambda pid: [*profile, "-p", str(other)]),
        "fpless, fails --filter": ("none", lambda pid: [*profile, "--filter", "__syscall_nr == 1", "-p", str(pid)]),
    }


def measure(bench, program, sampler, frames, calls):
    child = subprocess.Popen([bench, program, str(frames), "2", str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, bufsize=1)
    profiler = None
    try:
        assert child.stdout.readline() == "ready\n", program
        if sampler:
            profiler = subprocess.Popen(sampler(child.pid), stdin=subprocess.DEVNULL, **QUIET)
            time.sleep(1)
        times = []
        for _ in range(2):  # the first makes rows and the stack known
            child.stdin.write("go\n")
            times.append(float(child.stdout.readline()))
        return times[-1]
    finally:
        if profiler:
            profiler.send_signal(signal.SIGINT)
            profiler.wait()
        child.kill()
        child.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--fpless")
    parser.add_argument("--frames", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=200000)
    options = parser.parse_args()
    bench = os.path.join(options.build, "tests/bench/events/bench_events")
    fpless = options.fpless or os.path.join(options.build, "fpless")
    other = subprocess.Popen(["sleep", "1000"])
    try:
        found = {name: [] for name in variants(fpless, other.pid)}
        for _ in range(options.rounds):
            for name, (program, sampler) in variants(fpless, other.pid).items():
                found[name].append(measure(bench, program, sampler, options.frames, options.calls))
    finally:
        other.kill()
        other.wait()
    median = {name: statistics.median(times) for name, times in found.items()}
    empty = median["empty program"]
    peer = median["frame pointers, bpf_get_stackid"] - empty
    print("variant\tns_call\tover_empty\tratio\tload")
    for name, ns in median.items():
        print("%s\t%.0f\t%.0f\t%.2f\t%s" % (name, ns, ns - empty, (ns - empty) / peer,
                                             open("/proc/loadavg").read().split()[0]))


if __name__ == "__main__":
    main()
