#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How complete are the stacks of a whole busy machine? One `fpless profile -a` beside a mixed load.

usage: run.py FPLESS [--seconds 60] [--hz 99] [--only NAME,...] [--keep FILE.jsonl]

Each load has a cgroup of its own, by which its samples are told (--by cgroup); where there is no cgroup v2 to make
groups in, or the program of a load is not installed, that is said. Needs root.
"""

import argparse
import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import loads

LEFT_OUT = ("exiting", "execing")  # nothing to walk: no part of the share
WARM_UP_S = 5
WHERES = 30


def cgroup_mount():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, right = line.split(" - ")
            if right.split()[0] == "cgroup2":
                return left.split()[4]
    sys.exit("run.py: needs cgroup v2, to tell the samples of one load from another's")


class Group:
    """The cgroup of one load."""

    def __init__(self, name):
        self.path = "/fpless-mixed-%d-%s" % (os.getpid(), name)
        self.folder = cgroup_mount() + self.path
        os.mkdir(self.folder)

    def spawn(self, command, **more):
        def enter():
            with open(os.path.join(self.folder, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write("0")
        more.setdefault("stdout", subprocess.DEVNULL)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=enter, start_new_session=True, **more)

    def pids(self):
        with open(os.path.join(self.folder, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]

    def end(self):
        for _ in range(500):
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
                return
            time.sleep(0.02)


def profile(fpless, options, folder):
    out, stats = options.keep or os.path.join(folder, "out.jsonl"), os.path.join(folder, "stats.json")
    run = subprocess.run([fpless, "profile", "-a", "-F", str(options.hz), "-d", str(options.seconds), "--by", "comm,pid,cgroup",
                          "-o", out, "--stats", stats], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    sys.stdout.write(run.stderr.decode("utf-8", "backslashreplace"))
    if run.returncode:
        sys.exit(run.returncode)
    with open(stats, encoding="utf-8") as file, open(out, encoding="utf-8") as lines:
        return json.load(file), [stack for stack in map(json.loads, lines) if stack["type"] == "stack"]


class Sum:
    """Stacks of one load, or of all."""

    def __init__(self):
        self.stops, self.origins = collections.Counter(), collections.Counter()

    def add(self, stack):
        self.stops[stack["stop"]] += stack["count"]
        for frame in stack["user"]:
            self.origins[frame["origin"]] += stack["count"]

    def judged(self):
        return self.stops.total() - sum(self.stops[stop] for stop in LEFT_OUT)

    def line(self, name):
        judged, frames = self.judged(), self.origins.total()
        others = ", ".join("%s %d" % item for item in self.stops.most_common() if item[0] != "outermost")
        origins = ", ".join("%s %.1f %%" % (name, 100 * count / frames) for name, count in self.origins.most_common())
        return "%-10s %7d %8.2f %%  %-40s %s" % (name, self.stops.total(), 100 * self.stops["outermost"] / max(judged, 1),
                                               others or "-", origins)


def last_place(stack):
    """Where the walk could not go on: the object of its outermost frame."""
    if not stack["user"]:
        return "no frame at all"
    return stack["user"][-1].get("object", "code made at run time")


def tell(stats, stacks, names):
    total, by_load, wheres = Sum(), collections.defaultdict(Sum), collections.Counter()
    for stack in stacks:
        if stack["stop"] is None:
            continue
        load = names.get(stack["cgroup"], "others")
        total.add(stack)
        by_load[load].add(stack)
        if stack["stop"] != "outermost" and stack["stop"] not in LEFT_OUT:
            wheres[load, stack["stop"], last_place(stack)] += stack["count"]
    print("\n%-10s %7s %10s  %-40s %s" % ("load", "samples", "complete", "stops but outermost", "origins of frames"))
    for load in [*names.values(), "others"]:
        if load in by_load:
            print(by_load[load].line(load))
    print(total.line("all"))

    print("\nstop           samples    share")
    for stop, count in sorted(stats["stop"].items(), key=lambda item: -item[1]):
        if count:
            print("%-14s %7d %7.3f %%" % (stop, count, 100 * count / stats["user_samples"]))
    print("\norigin         frames     share")
    for origin, count in stats["frames_by_origin"].items():
        print("%-14s %9d %6.3f %%" % (origin, count, 100 * count / max(stats["frames"], 1)))

    print("\nincomplete by load, stop and the object of the outermost frame found")
    for (load, stop, place), count in wheres.most_common(WHERES):
        print("%7d %6.3f %%  %-9s %-12s %s" % (count, 100 * count / max(total.judged(), 1), load, stop, place))
    books = stats["shown"] + stats["idle"] + stats["filtered"] + sum(stats["lost"].values())
    print("\ncomplete: %.2f %% of %d user samples; lost %d; books %s" %
          (100 * total.stops["outermost"] / max(total.judged(), 1), total.judged(), sum(stats["lost"].values()),
           "closed" if books == stats["fired"] else "OPEN by %d" % (stats["fired"] - books)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--hz", type=int, default=99)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="write the stacks here")
    options = parser.parse_args()
    loads.find_postgres()
    folder = tempfile.mkdtemp(prefix="fpless-mixed-")
    os.chmod(folder, 0o755)  # PostgreSQL runs as a user of its own
    groups, names = [], {}
    try:
        for kind in loads.LOADS:
            lacking = loads.missing(*kind.needs)
            if options.only and kind.name not in options.only.split(","):
                continue
            if lacking:
                print("%s: left out: no %s here" % (kind.name, ", ".join(lacking)))
                continue
            groups.append(Group(kind.name))
            names[groups[-1].path] = kind.name
            kind(folder).start(groups[-1].spawn)
            print("%-9s %s" % (kind.name, kind.language), flush=True)
        time.sleep(WARM_UP_S)
        print("load average %.1f on %d CPUs" % (os.getloadavg()[0], os.cpu_count()), flush=True)
        tell(*profile(os.path.abspath(options.fpless), options, folder), names)
    finally:
        for group in groups:
            group.end()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
