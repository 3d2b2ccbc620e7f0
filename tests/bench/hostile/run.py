#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are programs as complete beside programs that attack the profiler as without them?

usage: run.py FPLESS FIXTURES [--seconds 3] [--all 60] [--hz 499] [--only MODE,MODE] [--nice N] [--record FILE.tsv]

Profiles the whole machine beside one mode of attack at a time, --seconds each, and beside all of them at once for --all
seconds: tests/integration/hostile.py (programs that misbehave), attacks.py (what an ordinary user's programs do to whoever
profiles them) and a fork bomb, each in a cgroup that bounds its processes. Meanwhile two good programs run, `chain`, whose
every stack is known, and python3. At last fpless itself has 64 MiB and 5 % of a CPU beside a fork bomb and 500 processes.

Prints a line per mode: samples of the good programs, how many of their stacks are whole, where others stop, what was lost,
peak memory and CPU time of fpless. Exit status 1 where a good program's stack is not whole, the books do not close, memory is
beyond --rss MiB (192), or fpless fails; with too little memory and CPU time it has to live and close the books. A mode that
cannot run here says why. --nice is for the attackers, on a machine that others use.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../integration"))

from attacks import CROWDS, Attacks  # noqa: E402
from fpless_run import Run, need_root  # noqa: E402
from hostile import CpuCgroup, MemoryCgroup, PidsCgroup, Targets  # noqa: E402

SETTLE_MS = 500  # before the first sample
SAMPLES_MIN = 50  # of the good programs together: fewer tell nothing
BOMB, ALL, SMALL = "bomb", "all", "small cgroup"
SMALL_BYTES, SMALL_CPU_US, SMALL_S = 64 << 20, 5000, 40
PATIENCE_S = 60  # of a run, beyond its time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("fpless", type=os.path.realpath)
    parser.add_argument("fixtures", type=os.path.realpath)
    parser.add_argument("--seconds", type=int, default=3, help="beside each mode")
    parser.add_argument("--all", type=int, default=60, help="beside all of them")
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--tasks", type=int, default=32, help="of the fork bomb")
    parser.add_argument("--rss", type=int, default=192, help="MiB")
    parser.add_argument("--nice", type=int, default=0, help="of the attackers")
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--record")
    return parser.parse_args()


def start_good(fixtures):
    chain = [os.path.join(fixtures, "chain"), Targets.FOREVER_MS]
    python = ["python3", "-c", "import json\nwhile True: json.loads(json.dumps(list(range(99))))"]
    return {name: subprocess.Popen(command, stdin=subprocess.DEVNULL)
            for name, command in (("chain", chain), ("python3", python))}


class Attackers:
    """The modes named, of either kind, until close()."""

    def __init__(self, args, folder, names):
        self.remarks = {}
        self.targets = Targets(args.fixtures, folder)
        self.attacks = Attacks(args.fixtures, folder, args.nice)
        self.targets.nice = args.nice
        try:
            for name in names:
                if name == BOMB:
                    self.targets.start_bomb(args.tasks)
                else:
                    (self.targets if name in Targets.names else self.attacks).start(name)
        except BaseException:
            self.close()
            raise

    def poll(self):
        self.targets.poll()
        for name, why in self.attacks.poll().items():
            self.remarks.setdefault(name, why)

    def close(self):
        self.attacks.close()
        self.targets.close()


def profile(args, folder, seconds, attackers, options=(), **more):
    """A run of @seconds, in which what has ended is started again."""
    command = [args.fpless, "profile", *Run.outputs(folder), "--no-cache", "-F", str(args.hz), "-a",
               "-D", str(SETTLE_MS), "-d", str(seconds), *options]
    with open(os.path.join(folder, "stderr"), "w+b") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=stderr, **more)
        end = time.monotonic() + seconds + PATIENCE_S
        try:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.2)
                attackers.poll()
        finally:
            process.kill()
            process.wait()
        stderr.seek(0)
        return Run.of_folder(folder, process.returncode, stderr.read())


def completeness(run, pids):
    """(samples of the processes that could be complete, how many are, {other stop: samples})"""
    stops = {}
    for stack in run.stacks:
        if stack["pid"] in pids and stack["stop"] not in (None, "exiting", "execing"):
            stops[stack["stop"]] = stops.get(stack["stop"], 0) + stack["count"]
    judged = sum(stops.values())
    complete = stops.pop("outermost", 0)
    return judged, complete, stops


class Table:
    """The lines, and whether any of them is bad."""

    FIELDS = ("mode", "samples", "whole", "other stops", "lost", "MiB", "CPU ms", "books", "verdict")

    def __init__(self, args, good):
        self.args = args
        self.good = good
        self.bad = False
        self.lines = []
        self.add(self.FIELDS)

    def add(self, fields):
        self.lines.append("\t".join(map(str, fields)))
        print(self.lines[-1], flush=True)

    def not_run(self, mode, why):
        self.add((mode, *["-"] * (len(self.FIELDS) - 2), f"not run: {why}"))

    def judge(self, mode, run, remarks, small=False):
        faults = run.faults()
        if run.status:
            self.add((mode, *["-"] * (len(self.FIELDS) - 2), f"FAILED: {faults[0].strip()[-300:]}"))
            self.bad = True
            return
        judged, complete, stops = completeness(run, {process.pid for process in self.good.values()})
        mebibytes = run.stats["rss_peak_bytes"] >> 20
        why = ["books"] if faults else []
        if not small:
            why += ["stacks"] if complete < judged else []
            why += ["few samples"] if judged < SAMPLES_MIN else []
            why += ["memory"] if mebibytes > self.args.rss else []
        lost = {reason: count for reason, count in run.stats["lost"].items() if count}
        verdict = "FAILED: " + ", ".join(why) if why else "ok"
        for name, remark in remarks.items():
            verdict += f"; {name} ended: {remark}"
        self.add((mode, judged, f"{100 * complete / judged if judged else 0:.2f} %", stops or "-", lost or "-", mebibytes,
                  run.stats["user_cpu_ms"], "; ".join(faults) or "closed", verdict))
        self.bad |= bool(why)


def run_mode(args, table, mode, names, seconds):
    with tempfile.TemporaryDirectory(prefix="fpless-hostile-") as folder:
        try:
            attackers = Attackers(args, folder, names)
        except OSError as error:
            table.not_run(mode, error)
            return
        try:
            run = profile(args, folder, seconds, attackers)
            if mode in attackers.remarks:
                table.not_run(mode, attackers.remarks[mode])
            else:
                table.judge(mode, run, attackers.remarks)
        finally:
            attackers.close()


def run_small(args, table):
    """fpless itself in a cgroup of little, beside a fork bomb and many processes."""
    cgroups = []
    try:
        cgroups += [MemoryCgroup(SMALL_BYTES), CpuCgroup(SMALL_CPU_US)]
    except OSError as error:
        for cgroup in cgroups:
            cgroup.close()
        table.not_run(SMALL, error)
        return
    with tempfile.TemporaryDirectory(prefix="fpless-hostile-") as folder:
        attackers = Attackers(args, folder, (BOMB, CROWDS[0]))
        try:
            run = profile(args, folder, SMALL_S, attackers, preexec_fn=lambda: [cgroup.enter() for cgroup in cgroups])
            table.judge(SMALL, run, attackers.remarks, small=True)
        finally:
            attackers.close()
            for cgroup in cgroups:
                cgroup.close()


def run_all(args, table):
    modes = [*Targets.names, *Attacks.names, BOMB]
    for mode in modes:
        if not args.only or mode in args.only:
            run_mode(args, table, mode, [mode], args.seconds)
    if not args.only or ALL in args.only:
        # so many processes are modes of their own
        run_mode(args, table, ALL, [mode for mode in modes if mode not in CROWDS], args.all)
    if not args.only or SMALL in args.only:
        run_small(args, table)


def main():
    args = parse_arguments()
    need_root()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and end what was started
    good = start_good(args.fixtures)
    try:
        table = Table(args, good)
        run_all(args, table)
    finally:
        for process in good.values():
            process.kill()
            process.wait()
    if args.record:
        with open(args.record, "w", encoding="utf-8") as file:
            file.write("\n".join(table.lines) + "\n")
    return int(table.bad)


if __name__ == "__main__":
    sys.exit(main())
