#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample of a real program costs in the kernel, cold as well as hot, beside a program in the same windows that
does no more than read one word of the stack for each frame.

usage: run.py BUILD [--fpless PATH,...] [--only NAME,...] [--hz 99,999,4999] [--rounds 3] [--windows 8] [--ms 500]
              [--extra OPTIONS] [--input DIR]

BUILD is a build folder with bench_windows in it. Each --fpless is sampling at once, in the same windows: so two builds
are compared (default: BUILD/fpless alone; the order of starting them rotates with the rounds). By default -U, the user
stack alone; --extra=-UK gives whole samples.

Prints TSV. Of each sampler and rate: frames per sample; ns per sample and per frame (sum of ns over sum of frames, all
windows); floor, the same of the floor program; ratio, the median over windows of (ns per frame) / (floor's ns per
frame); vs_first, the same over the first sampler's; kernel, the kernel's clock of all runs over our own, which leaves
out the entry; samples; the load.
"""

import argparse
import collections
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
import texts  # noqa: E402
from inputs import debug_file  # noqa: E402

Figures = collections.namedtuple("Figures", "samples frames ns all_ns run_ns")


def commands(folder):
    """One process each, that lives longer than the windows: -p follows no children."""
    return {"gdb": ["gdb", "-nx", "-batch", "-x", folder + "/w.gdb"], "python3": ["python3", folder + "/w.py"],
            "perl": ["/usr/bin/perl", folder + "/w.pl"],
            "clang++": ["clang++-16", "-std=c++17", "-O2", "-c", "-o", "/dev/null", folder + "/huge.cc"]}


def make_inputs(folder):
    os.makedirs(folder, exist_ok=True)
    head, body = texts.cpp_source().split("template <int N>", 1)
    huge = head + "".join("namespace n%d {\ntemplate <int N>%s}\n" % (i, body) for i in range(8))
    for name, text in {"w.gdb": texts.GDB % debug_file("/"), "w.py": texts.PYTHON, "w.pl": texts.PERL, "huge.cc": huge}.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)


def run_round(words, hz, options, samplers):
    """{sampler or "floor": [Figures of each window]}"""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = []
    try:
        target = subprocess.Popen(words, start_new_session=True, **quiet)
        started.append(target)
        time.sleep(1)
        for path in samplers:
            started.append(subprocess.Popen([path, "profile", "-q", "-f", "-F", str(hz), *options.extra,
                                             "-p", str(target.pid)], **quiet))
            time.sleep(1)
        helper = os.path.join(options.build, "tests/bench/walker/bench_windows")
        out = subprocess.run([helper, str(target.pid), str(hz), str(options.windows), str(options.ms),
                              *[str(process.pid) for process in started[1:]]],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        if target.poll() is not None:
            sys.exit("%s ended too early" % words[0])
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGINT if process is not started[0] else signal.SIGKILL)
            process.wait()
    found = collections.defaultdict(list)
    for line in out.splitlines():
        _, name, *numbers = line.split("\t")
        found[name if name == "floor" else samplers[int(name)]].append(Figures(*map(int, numbers)))
    return found


def per_frame(figures):
    return figures.ns / figures.frames if figures.frames else 0


def median_ratio(over, under):
    ratios = [per_frame(a) / per_frame(b) for a, b in zip(over, under) if a.frames and b.frames]
    return statistics.median(ratios) if ratios else 0


def report(program, hz, found, samplers):
    for path in samplers:
        windows = found[path]
        total = Figures(*map(sum, zip(*windows)))
        floor = Figures(*map(sum, zip(*found["floor"])))
        print("%s\t%d\t%s\t%.1f\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%d\t%s" % (
            program, hz, os.path.basename(path), total.frames / max(total.samples, 1), total.ns / max(total.samples, 1),
            per_frame(total), per_frame(floor), median_ratio(windows, found["floor"]),
            median_ratio(windows, found[samplers[0]]), total.run_ns / max(total.all_ns, 1), total.samples,
            open("/proc/loadavg").read().split()[0]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--fpless")
    parser.add_argument("--only", default="gdb,clang++,python3,perl")
    parser.add_argument("--hz", default="99,999,4999")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--windows", type=int, default=8)
    parser.add_argument("--ms", type=int, default=500)
    parser.add_argument("--extra", type=lambda text: text.split(), default=["-U"], help="options for fpless profile")
    parser.add_argument("--input", help="keep generated inputs here")
    options = parser.parse_args()
    samplers = (options.fpless or os.path.join(options.build, "fpless")).split(",")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.input or scratch
        make_inputs(folder)
        print("program\thz\tsampler\tframes\tns_sample\tns_frame\tfloor\tratio\tvs_first\tkernel\tsamples\tload")
        for name in options.only.split(","):
            for hz in map(int, options.hz.split(",")):
                found = collections.defaultdict(list)
                for i in range(options.rounds):
                    order = samplers[i % len(samplers):] + samplers[:i % len(samplers)]
                    for source, windows in run_round(commands(folder)[name], hz, options, order).items():
                        found[source] += windows
                report(name, hz, found, samplers)


if __name__ == "__main__":
    main()
