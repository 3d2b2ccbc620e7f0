#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What are rows made from code worth where the hottest code has no CFI? One line a program.

usage: run.py FPLESS [--only NAME,...] [--seconds 15] [--hz 499] [--input DIR] [--why]

First one as by default with nothing kept of earlier runs ("cold": rows are made while samples come), then three of the same
process at the same time, by tables that the first one kept: as by default, with CFI only (--no-synth --unwind cfi), and
with frame-pointer steps where there is no CFI (--no-synth). Complete is what interface.md says.

"unheard of": of the complete stacks with a frame found by a frame-pointer step, per cent whose callers, as a chain of
return addresses, the default profile has not met in a complete stack. Some are only rare: the same share of the complete
stacks without such a frame is printed beside it.

--why: where the incomplete stacks of the default profiles end. Needs root.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

from workloads import PACKAGES, WORKLOADS, Inputs, Missing, cpu_seconds, running

WAYS = {"default": [], "cfi": ["--no-synth", "--unwind", "cfi"], "fp": ["--no-synth"]}
LEFT_OUT = ("exiting", "execing")  # nothing to walk: no part of the share
CPU_MIN_S = 5
WARM_UP_S = 1
WHERES = 12


class Profile:
    """One way of the three: what --stats says, and its stacks with a user part."""

    def __init__(self, folder, way):
        with open(os.path.join(folder, way + ".json"), encoding="utf-8") as file:
            self.stats = json.load(file)
        with open(os.path.join(folder, way + ".jsonl"), encoding="utf-8") as file:
            stacks = [stack for stack in map(json.loads, file) if stack["type"] == "stack"]
        self.stacks = [stack for stack in stacks if stack["stop"] and stack["stop"] not in LEFT_OUT]
        self.samples = sum(stack["count"] for stack in self.stacks)

    def share(self, holds):
        return 100 * sum(stack["count"] for stack in self.stacks if holds(stack)) / max(self.samples, 1)

    def complete(self):
        stop = self.stats["stop"]
        return 100 * self.stats["complete"] / max(self.stats["user_samples"] - sum(stop[key] for key in LEFT_OUT), 1)

    def stops(self):
        return {key: n for key, n in self.stats["stop"].items() if n and key not in (*LEFT_OUT, "outermost")}

    def books(self):
        stats = self.stats
        off = stats["fired"] - stats["shown"] - stats["idle"] - stats["filtered"] - sum(stats["lost"].values())
        lost = sum(stats["lost"].values())
        return ("closed" if off == 0 else "OPEN %d" % off) + (", lost %d" % lost if lost else "")


def is_complete(stack):
    return stack["stop"] == "outermost"


def has(stack, origin):
    return any(frame["origin"] == origin for frame in stack["user"])


def chain(stack):
    """The callers, as return addresses: the leaf moves with every sample."""
    return tuple((frame["object"], frame.get("vaddr") or frame.get("addr")) for frame in stack["user"][1:])


def unheard_of(default, fp, by_step):
    """Per cent of the complete stacks with a frame-pointer step, or of those without, whose chain is none of the default's."""
    known = {chain(stack) for stack in default.stacks if is_complete(stack)}
    judged = [stack for stack in fp.stacks if is_complete(stack) and has(stack, "fp") == by_step]
    unheard = sum(stack["count"] for stack in judged if chain(stack) not in known)
    return 100 * unheard / max(sum(stack["count"] for stack in judged), 1)


def profile(fpless, pid, ways, options, folder):
    """All @ways at once. Returns the CPU time of the process meanwhile."""
    before, runs = cpu_seconds(pid), []
    for way, words in ways.items():
        out, stats = (os.path.join(folder, way + suffix) for suffix in (".jsonl", ".json"))
        runs.append(subprocess.Popen([fpless, "profile", "-q", "-e", "cpu-clock", "--cache", os.path.join(folder, "cache"),
                                      "-F", str(options.hz), "-d", str(options.seconds), "-p", str(pid), *words, "-o", out,
                                      "--stats", stats], stdin=subprocess.DEVNULL))
    if any([run.wait() for run in runs]):
        sys.exit("run.py: fpless failed")
    return cpu_seconds(pid) - before


def measure(fpless, pid, options, folder):
    """Returns the CPU time of the shorter measurement, and the profiles by name."""
    shutil.rmtree(os.path.join(folder, "cache"), ignore_errors=True)
    cpu = min(profile(fpless, pid, ways, options, folder) for ways in ({"cold": []}, WAYS))
    return cpu, {way: Profile(folder, way) for way in ("cold", *WAYS)}


def print_why(one):
    """Where stacks end: stop, and the frame no caller of which was found."""
    wheres = collections.Counter()
    for stack in one.stacks:
        if not is_complete(stack):
            last = stack["user"][-1] if stack["user"] else {}
            place = "%s+%s" % (os.path.basename(last.get("object") or "?"), last.get("vaddr") or last.get("addr"))
            wheres[stack["stop"], place, last.get("symbol"), "leaf" if len(stack["user"]) == 1 else "caller"] += stack["count"]
    for where, count in wheres.most_common(WHERES):
        print("    %6d  %s" % (count, "  ".join(map(str, where))))


def report(name, least, cpu, ways, why):
    """Prints the line; False: it is below what is asked, or too short to say."""
    default, fp = ways["default"], ways["fp"]
    faults = [] if default.complete() >= least else ["BELOW %d" % least]
    faults += [] if cpu >= CPU_MIN_S else ["SHORT"]
    print("\t".join([name, "%.1f" % cpu, str(default.stats["user_samples"]), *("%.2f" % one.complete() for one in ways.values()),
                     "%.1f" % default.share(lambda stack: has(stack, "synth")), "%.1f" % fp.share(lambda stack: has(stack, "fp")),
                     "%.1f" % unheard_of(default, fp, True), "%.1f" % unheard_of(default, fp, False),
                     "; ".join(sorted({one.books() for one in ways.values()})), *faults]))
    for way, one in ways.items():
        print("    %-8s %s" % (way, json.dumps(one.stops())), flush=True)
        if why and way in ("cold", "default"):
            print_why(one)
    return not faults


def versions():
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False) if os.path.exists("/usr/bin/dpkg-query") else None
    return ", ".join(asked.stdout.split("\n")[:-1]) if asked else "unknown"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--input", help="keep what is made, and the profiles, here")
    parser.add_argument("--why", action="store_true")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else None
    below = []
    print("load %s; %s" % (" ".join("%.1f" % one for one in os.getloadavg()), versions()))
    print("\t".join(["program", "cpu_s", "user_samples", "cold_complete_pct", "complete_pct", "cfi_complete_pct", "fp_complete_pct",
                     "with_synth_pct", "fp_with_step_pct", "steps_unheard_of_pct", "others_unheard_of_pct", "books"]))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.input or scratch
        os.makedirs(folder, exist_ok=True)
        for name, least, command in WORKLOADS:
            if only and not any(word in name for word in only):
                continue
            try:
                with running(command(Inputs(folder)), WARM_UP_S) as pid:
                    cpu, ways = measure(os.path.abspath(options.fpless), pid, options, folder)
            except Missing as missing:
                print("%s\tSKIPPED: %s" % (name, missing))
                continue
            if not report(name, least, cpu, ways, options.why):
                below.append(name)
    if below:
        sys.exit("run.py: below what is asked: " + "; ".join(below))


if __name__ == "__main__":
    main()
