# SPDX-License-Identifier: Apache-2.0
"""In a guest: fpless offcpu on the fixture `waits`, judged by what its threads measured: by the best way that the kernel
has to take stacks of waits, and by those that kernels with less take."""

import os
import re
import shlex

import waits
from fpless_run import Run

FOLDER = "/out/offcpu"
WAYS = {"best": (), "kprobe": ("--stacks-at", "kprobe"), "switch": ("--stacks-at", "switch")}
MS = "800"  # of the guest's clock
NR_WAITERS = 9
UNSEEN_MAX = 0.001  # of the threads' time
# Where the host takes a CPU away in an interrupt, the guest counts that neither as CPU time of the thread that
# was interrupted, nor as its delay: what a thread takes for blocked may be longer by so much of its time.
HOST_SHARE = 0.05
TROUBLE = re.compile(r"BUG|WARNING|Call Trace|lockup|stall|Oops|scheduling while atomic")


class BlockedTime:
    def __init__(self, fpless, fixtures):
        self.fpless, self.program = fpless, os.path.join(fixtures, "waits")

    def script(self):
        return "\n".join(self.script_of(way) for way in WAYS)

    def script_of(self, way):
        folder = f"{FOLDER}/{way}"
        run = shlex.join([self.fpless, "offcpu", "--exact", "--no-cache", *WAYS[way], *Run.outputs(folder), "--", self.program,
                          MS])
        return f"mkdir -p {folder}; dmesg > {folder}/log.before\n" \
               f"{run} > {folder}/stdout 2> {folder}/stderr; echo $? > {folder}/status\n" \
               f"dmesg > {folder}/log.after\n"

    def judge(self, out):
        return [fault for way in WAYS for fault in self.judge_way(way, os.path.join(out, "offcpu", way))]

    def judge_way(self, way, folder):
        def read(name):
            with open(os.path.join(folder, name), "rb") as file:
                return file.read()

        print(f"offcpu, {way}:")
        run = Run.of_folder(folder, int(read("status")), read("stderr"))
        faults = run.faults() or waits.book_faults(run) + self.judge_weights(run, waits.own(read("stdout").decode()))
        before = set(read("log.before").splitlines())
        faults += [f"kernel log: {line.decode('utf-8', 'replace')}" for line in read("log.after").splitlines()
                   if line not in before and TROUBLE.search(line.decode("utf-8", "replace"))]
        return [f"offcpu, {way}: {fault}" for fault in faults]

    @staticmethod
    def judge_weights(run, own):
        times, weights, faults = run.stats["times"], waits.sums(run.stacks), []
        judged = [name for name in own if name not in ("wait_not", "wait_yield")]
        for name in judged:
            faults += waits.weight_faults(name, own[name], weights[name], times, int(HOST_SHARE * own[name].clock_ns))
        faults += [f"{name} is not blocked: {weights[name]} ns" for name in ("wait_not", "wait_yield") if weights[name]]
        if len(judged) != NR_WAITERS:
            faults.append(f"only {judged} said what they measured")
        wall = sum(times[key] for key in ("on_cpu", "runnable", "blocked", "unseen"))
        if times["unseen"] > UNSEEN_MAX * wall:
            faults.append(f"unseen: {times}")
        stop = run.stats["stop"]
        if run.stats["complete"] != run.stats["user_samples"] - stop["exiting"] - stop["execing"]:
            faults.append(f"not whole: {stop}")
        print(f"  {run.stats['shown']} waits, {times}")
        return faults
