#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CPU `fpless top -a` uses on a busy machine, start and end of the run left out.

usage: run.py FPLESS [--hz 99] [--short 10] [--long 40] [--rounds 3] [--busy 2]

Starts --busy programs that compute, runs `fpless top -a` for --short and for --long seconds on a terminal and as blocks
of text, and `fpless profile -a` beside them, in turns. Prints, as TSV, for each round the slope between short and long:
user and system time of fpless and its helpers in per cent of one core.
"""

import argparse
import os
import pty
import statistics
import subprocess
import sys
import threading

BUSY = "n = 0\nwhile True: n = (n * 7919 + 1) % 10007"


def read_all(fd):
    """Until it is hung up: what is drawn must not wait."""
    try:
        while os.read(fd, 1 << 16):
            pass
    except OSError:
        pass


def run(command, seconds, on_terminal):
    """CPU seconds of one run."""
    command = [*command, "-q", "-a", "-d", str(seconds)]
    if on_terminal:
        master, slave = pty.openpty()
        reader = threading.Thread(target=read_all, args=(master,))
        reader.start()
        child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                 env=dict(os.environ, TERM="xterm", LINES="50", COLUMNS="120"))
        os.close(slave)
    else:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if on_terminal:
        reader.join()
        os.close(master)
    if status:
        sys.exit("%s: status %d" % (command, status))
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--hz", type=int, default=99)
    parser.add_argument("--short", type=int, default=10)
    parser.add_argument("--long", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=2)
    options = parser.parse_args()
    hz = ["-F", str(options.hz)]
    kinds = {
        "screen": ([options.fpless, "top", *hz], True),
        "plain": ([options.fpless, "top", "--plain", *hz], False),
        "profile": ([options.fpless, "profile", *hz, "-o", "/dev/null", "--format", "folded"], False),
    }
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
    slopes = {kind: [] for kind in kinds}
    try:
        print("round\t" + "\t".join("%s_cpu_pct" % kind for kind in kinds) + "\tload")
        for i in range(options.rounds):
            for kind, (command, on_terminal) in kinds.items():
                short, long = (run(command, seconds, on_terminal) for seconds in (options.short, options.long))
                slopes[kind].append(100 * (long - short) / (options.long - options.short))
            print("%d\t%s\t%s" % (i + 1, "\t".join("%.2f" % slopes[kind][-1] for kind in kinds),
                                  open("/proc/loadavg").read().split()[0]), flush=True)
        print("median\t%s" % "\t".join("%.2f" % statistics.median(slopes[kind]) for kind in kinds))
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
