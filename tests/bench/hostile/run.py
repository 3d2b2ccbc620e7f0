#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are programs as complete beside targets that misbehave as without them?

usage: run.py FPLESS FIXTURES [--seconds 300] [--hz 499] [--tasks 32]

Profiles the whole machine, a fifth of the time with two good programs alone (`chain`, whose every stack is known, and python3)
and then with all of tests/integration/hostile.py beside them, a fork bomb of at most --tasks tasks among them. Prints a line
per good program and phase, and the books of each phase. Exit status 1 where a good program has lost more than 0.1 % of
completeness, the books do not close, or fpless failed.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../integration"))

from fpless_run import Run  # noqa: E402
from hostile import Targets  # noqa: E402

TOLERANCE = 0.1  # of a hundred: what begins and ends between the samples of two phases
SETTLE_MS = 5000  # to read the tables of what runs already, in either phase


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("fpless")
    parser.add_argument("fixtures")
    parser.add_argument("--seconds", type=int, default=300, help="of both phases together")
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--tasks", type=int, default=32, help="of the fork bomb")
    return parser.parse_args()


def start_good(fixtures):
    chain = [os.path.join(fixtures, "chain"), Targets.FOREVER_MS]
    python = ["python3", "-c", "import json\nwhile True: json.loads(json.dumps(list(range(99))))"]
    return {name: subprocess.Popen(command, stdin=subprocess.DEVNULL)
            for name, command in (("chain", chain), ("python3", python))}


def profile(args, folder, seconds, targets):
    """A run of @seconds, in which targets that end are started again."""
    command = [args.fpless, "profile", *Run.outputs(folder), "-F", str(args.hz), "-a",
               "-D", str(SETTLE_MS), "-d", str(seconds)]
    with open(os.path.join(folder, "stderr"), "w+b") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=stderr)
        while process.poll() is None:
            time.sleep(0.2)
            targets.poll()
        stderr.seek(0)
        return Run.of_folder(folder, process.returncode, stderr.read())


def completeness(run, pid):
    """(samples that could be complete, % of them that are, {other stop: samples}) of a process."""
    stops = {}
    for stack in run.stacks:
        if stack["pid"] == pid and stack["stop"] not in (None, "exiting", "execing"):
            stops[stack["stop"]] = stops.get(stack["stop"], 0) + stack["count"]
    judged = sum(stops.values())
    complete = stops.pop("outermost", 0)
    return judged, 100 * complete / judged if judged else 0.0, stops


def report(phase, run, good):
    faults = run.faults()
    for fault in faults:
        print(f"{phase}\tFAULT\t{fault}")
    if run.status:
        return None
    found = {}
    for name, process in good.items():
        judged, percent, others = completeness(run, process.pid)
        found[name] = percent
        print(f"{phase}\t{name}\t{judged}\t{percent:.3f} %\t{others or ''}", flush=True)
    stats = run.stats
    others = {stop: count for stop, count in stats["stop"].items() if count and stop != "outermost"}
    lost = {reason: count for reason, count in stats["lost"].items() if count}
    print(f"{phase}\t(all)\t{stats['user_samples']}\t"
          f"{100 * stats['complete'] / max(1, stats['user_samples']):.3f} %\t{others}\t"
          f"lost {lost or 'none'}, peak {stats['rss_peak_bytes'] >> 20} MiB, "
          f"{stats['user_cpu_ms']} ms of CPU, books {'OPEN' if faults else 'closed'}", flush=True)
    return None if faults else found


def main():
    args = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and end what was started
    args.fpless, args.fixtures = map(os.path.realpath, (args.fpless, args.fixtures))
    good = start_good(args.fixtures)
    found = []
    try:
        print("phase\tprogram\tsamples\tcomplete\tother stops")
        for phase, seconds in (("alone", args.seconds // 5), ("beside", args.seconds * 4 // 5)):
            with tempfile.TemporaryDirectory(prefix="fpless-hostile-") as folder:
                targets = Targets(args.fixtures, folder)
                try:
                    if phase == "beside":
                        targets.start()
                        targets.start_bomb(args.tasks)
                    found.append(report(phase, profile(args, folder, seconds, targets), good))
                finally:
                    targets.close()
    finally:
        for process in good.values():
            process.kill()
            process.wait()
    if None in found:
        return 1
    alone, beside = found
    return int(any(beside[name] < alone[name] - TOLERANCE for name in good))


if __name__ == "__main__":
    sys.exit(main())
