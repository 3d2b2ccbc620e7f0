# SPDX-License-Identifier: Apache-2.0
"""In a guest: fpless offcpu on the fixture `waits`, judged by what its threads measured."""

import os
import re
import shlex

import waits
from fpless_run import Run

FOLDER = "/out/offcpu"
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
        run = shlex.join([self.fpless, "offcpu", "--exact", "--no-cache", *Run.outputs(FOLDER), "--", self.program, MS])
        return f"mkdir -p {FOLDER}; dmesg > {FOLDER}/log.before\n" \
               f"{run} > {FOLDER}/stdout 2> {FOLDER}/stderr; echo $? > {FOLDER}/status\n" \
               f"dmesg > {FOLDER}/log.after\n"

    @staticmethod
    def read(out, name):
        with open(os.path.join(out, "offcpu", name), "rb") as file:
            return file.read()

    def judge(self, out):
        folder = os.path.join(out, "offcpu")
        run = Run.of_folder(folder, int(self.read(out, "status")), self.read(out, "stderr"))
        faults = run.faults() or waits.book_faults(run) + self.judge_weights(run, waits.own(self.read(out, "stdout").decode()))
        before = set(self.read(out, "log.before").splitlines())
        faults += [f"kernel log: {line.decode('utf-8', 'replace')}" for line in self.read(out, "log.after").splitlines()
                   if line not in before and TROUBLE.search(line.decode("utf-8", "replace"))]
        return ["offcpu: " + fault for fault in faults]

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
        print(f"offcpu: {run.stats['shown']} waits, {times}")
        return faults
