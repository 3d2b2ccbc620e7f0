#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How complete are the stacks of real programs? One line per program, as interface.md defines the figures.

usage: run.py FPLESS [--only NAME,...] [--seconds 10] [--hz 499] [--perf] [--input DIR]

--perf adds perf's frame-pointer and dwarf,65528 stacks of the same programs, attached with -p (perf 6.1 breaks after
an exec inside its own session); a perf stack counts as complete when one of its last two frames is a
known outermost function.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import workloads

OUTERMOST = re.compile(r"^(_start|__libc_start_.*|clone3|__clone3?|start_thread|_dl_start_user|_dl_start)$")


def profile(fpless, command, options, folder):
    stats = os.path.join(folder, "stats.json")
    folded = os.path.join(folder, "out.folded")
    with open(folded, "wb") as out, open(os.devnull, "wb") as null:
        words = [fpless, "profile", "-F", str(options.hz), "-d", str(options.seconds), "-q", "-f", "--stats", stats]
        run = subprocess.Popen([*words, *options.extra, "--", *command], stdout=out, stderr=null, stdin=null,
                               start_new_session=True)
        run.wait()
        # The end of a run ends the command, not what the command has started.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    with open(stats) as file:
        return json.load(file)


def report(name, s):
    judged = s["user_samples"] - s["stop"]["exiting"] - s["stop"]["execing"]
    untabled = s["stop"]["no_table"] + s["stop"]["no_mapping"]
    others = {k: v for k, v in s["stop"].items() if v and k not in ("outermost", "exiting", "execing")}
    books = s["shown"] + s["idle"] + s["filtered"] + sum(s["lost"].values())
    print("\t".join(map(str, (
        name, s["user_samples"], "%.3f" % (100 * s["complete"] / max(judged, 1)), s["stop"]["exiting"], s["stop"]["execing"],
        "%.3f" % (100 * untabled / max(judged, 1)), "%.1f" % (s["frames"] / max(s["user_samples"], 1)),
        sum(s["lost"].values()), "closed" if books == s["fired"] else "OPEN %d" % (s["fired"] - books),
        json.dumps(others), json.dumps({k: v for k, v in s["frames_by_origin"].items() if v})))), flush=True)


def busiest(pid):
    """The process of the tree under @pid that has used the most CPU lately: perf -p follows no children."""
    def cpu():
        used, parents = {}, {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = open("/proc/%s/stat" % entry).read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            used[int(entry)], parents[int(entry)] = int(fields[11]) + int(fields[12]), int(fields[1])
        return used, parents
    before, _ = cpu()
    time.sleep(0.3)
    after, parents = cpu()
    tree = {pid}
    for _ in range(5):
        tree |= {p for p, parent in parents.items() if parent in tree}
    return max((p for p in tree if p in after), key=lambda p: after[p] - before.get(p, 0))


def perf(command, graph, folder):
    """(samples, complete %, frames per sample) of perf attached to the busiest process of @command."""
    data = os.path.join(folder, "perf.data")
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen(command, stdout=null, stderr=null, stdin=null, start_new_session=True)
        try:
            time.sleep(1)
            # -N -B: some builds of perf 6.1 abort while they store build-ids.
            record = ["unshare", "-m", "perf", "record", "-q", "-N", "-B", "-e", "cpu-clock:u", "-F", "99", "-o", data]
            subprocess.run([*record, "-p", str(busiest(child.pid)), "--call-graph", graph, "--", "sleep", "2"],
                           stdout=null, stderr=null)
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    script = subprocess.run(["unshare", "-m", "perf", "script", "-F", "comm,ip,sym", "-i", data], capture_output=True,
                            text=True, errors="replace").stdout
    samples = complete = frames = 0
    for block in script.split("\n\n"):
        lines = [l.split() for l in block.splitlines() if l.startswith(("\t", " ")) and l.strip()]
        if not lines:
            continue
        samples += 1
        frames += len(lines)
        # Stripped programs have no name for _start: its callee's name stands for it.
        complete += any(OUTERMOST.match(words[1]) for words in lines[-2:] if len(words) > 1)
    return samples, 100 * complete / max(samples, 1), frames / max(samples, 1), os.path.getsize(data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("--extra", type=lambda text: text.split(), default=[], help="more options for fpless profile")
    parser.add_argument("--input", help="keep generated inputs here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.input or scratch
        if not os.path.exists(os.path.join(folder, "repo")):
            os.makedirs(folder, exist_ok=True)
            workloads.make_inputs(folder)
        print("program\tuser_samples\tcomplete_pct\texiting\texecing\tno_table+no_mapping_pct\tframes\tlost\tbooks\tstops\torigins")
        for name, command in workloads.workloads(folder):
            if options.only and name not in options.only.split(","):
                continue
            report(name, profile(os.path.abspath(options.fpless), command, options, scratch))
            for graph in ("fp", "dwarf,65528") if options.perf else ():
                samples, complete, frames, size = perf(command, graph, scratch)
                print("  perf %s\t%d\t%.1f\tframes %.1f\tbytes/sample %d" % (graph, samples, complete, frames, size // max(samples, 1)),
                      flush=True)


if __name__ == "__main__":
    sys.exit(main())
