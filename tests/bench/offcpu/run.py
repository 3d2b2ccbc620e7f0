#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of a switch of two processes on one CPU that hand a byte to and fro, with fpless offcpu and without.

usage: run.py BUILD [--rounds 7] [--switches 100000]

BUILD is a build folder with the fixtures and bench_hooks, which holds empty programs at the same three hooks: the least. The variants take turns; each is judged by the median of its ratios to the run
without fpless in the same round. Prints TSV, and fails where a ratio is above its bound. Where offcputime of libbpf-tools is
in the PATH, it takes its turn, and nothing is asked of it.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PEER = shutil.which("offcputime")
PEER_S = 3  # its programs are attached by then
VARIANTS = {  # options of fpless offcpu, and the bound of the ratio
    "none": (None, None),
    "empty programs": ("empty", None),
    "offcpu --totals": (("--totals",), 1.2),
    "offcpu": ((), 1.25),
    "offcpu --exact -U": (("--exact", "-U"), 1.6),
    "offcpu --exact": (("--exact",), 2.25),
}


def measure(build, options, rounds, out):
    """ns of CPU time a switch."""
    words = [os.path.join(build, "fixtures/pingpong"), str(rounds)]
    if options == "empty":
        words = [os.path.join(build, "tests/bench/offcpu/bench_hooks"), *words]
    elif options is not None:
        words = [os.path.join(build, "fpless"), "offcpu", "-q", "-o", out, *options, "--", *words]
    done = subprocess.run(words, input="go\n", capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode or "ready" not in lines:
        sys.exit(f"{' '.join(words)}: {done.returncode}: {done.stderr}")
    return float(lines[lines.index("ready") + 1])


def measure_peer(build, rounds):
    """The same beside offcputime, which waits of a microsecond and more are sampled by."""
    with subprocess.Popen([os.path.join(build, "fixtures/pingpong"), str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as target:
        target.stdout.readline()
        with subprocess.Popen([PEER, "-m", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as peer:
            time.sleep(PEER_S)
            if peer.poll() is not None:
                sys.exit(f"{PEER}: {peer.stderr.read()}")
            ns = float(target.communicate("go\n")[0])
            peer.send_signal(signal.SIGINT)
    return ns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--switches", type=int, default=100000)
    options = parser.parse_args()
    variants = {**VARIANTS, **({"offcputime -m 1 (libbpf-tools)": ("peer", None)} if PEER else {})}
    found = {name: [] for name in variants}
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        out = os.path.join(folder, "out.folded")
        for _ in range(options.rounds):
            for name, (words, _) in variants.items():
                found[name].append(measure_peer(options.build, options.switches // 2) if words == "peer" else
                                   measure(options.build, words, options.switches // 2, out))
    over = []
    print("variant\tns_switch\tratio\tleast\tmost\tbound\tload")
    for name, (_, bound) in variants.items():
        ratios = [ns / none for ns, none in zip(found[name], found["none"])]
        ratio = statistics.median(ratios)
        with open("/proc/loadavg", encoding="ascii") as file:
            load = file.read().split()[0]
        print("%s\t%.0f\t%.2f\t%.2f\t%.2f\t%s\t%s" % (name, statistics.median(found[name]), ratio, min(ratios), max(ratios),
                                                     bound or "-", load))
        if bound and ratio > bound:
            over.append(name)
    return f"above the bound: {', '.join(over)}" if over else 0


if __name__ == "__main__":
    sys.exit(main())
