# SPDX-License-Identifier: Apache-2.0
"""In a guest: probes of the kernel and of a program that eight threads run into at once. Calls are counted by who makes them."""

import collections
import os
import shlex

from blocked_time import TROUBLE
from fpless_run import Run

NR = 200  # calls, of threads each
CALLED = "__x64_sys_getppid"


class ProbeCalls:
    def __init__(self, fpless, fixtures):
        self.fpless, self.program = fpless, os.path.join(fixtures, "sources")
        self.runs = {"kprobe": (f"kprobe:{CALLED}", "10"), "kretprobe": (f"kretprobe:{CALLED}", "10"),
                     "threads": (f"uprobe:{self.program}:shared", "threads")}

    def script(self):
        lines = []
        for name, (word, how) in self.runs.items():
            folder = "/out/probes." + name
            run = shlex.join([self.fpless, "profile", "-e", word, "--no-cache", *Run.outputs(folder), "--", self.program,
                              str(NR), how])
            lines += [f"mkdir -p {folder}; dmesg > {folder}/log.before",
                      f"{run} > {folder}/stdout 2> {folder}/stderr; echo $? > {folder}/status",
                      f"dmesg > {folder}/log.after"]
        return "\n".join(lines) + "\n"

    def judge(self, out):
        faults = []
        for name in self.runs:
            faults += [f"{name}: {fault}" for fault in self.judge_run(name, os.path.join(out, "probes." + name))]
        return faults

    def judge_run(self, name, folder):
        text = {}
        for file_name in ("status", "stderr", "log.before", "log.after"):
            with open(os.path.join(folder, file_name), "rb") as file:
                text[file_name] = file.read()
        run = Run.of_folder(folder, int(text["status"]), text["stderr"])
        before = set(text["log.before"].splitlines())
        faults = [f"kernel log: {line.decode('utf-8', 'replace')}" for line in text["log.after"].splitlines()
                  if line not in before and TROUBLE.search(line.decode("utf-8", "replace"))]
        faults += run.faults() or self.judge_books(run)
        if not run.status:
            faults += self.judge_threads(run) if name == "threads" else self.judge_calls(run)
        return faults

    @staticmethod
    def judge_books(run):
        stats, faults = run.stats, []
        if stats["counted"] != stats["fired"] + stats["missed"] or stats["missed"] or sum(stats["lost"].values()):
            faults.append(f"counted {stats['counted']}, fired {stats['fired']}, missed {stats['missed']}, lost {stats['lost']}")
        if stats["complete"] != stats["user_samples"]:
            faults.append(f"not whole: {stats['stop']}")
        return faults

    @staticmethod
    def judge_calls(run):
        """Each call of the one function that makes it is a sample, and has a stack of the kernel."""
        calls = [stack for stack in run.stacks if any(frame.get("symbol") == "asks" for frame in stack["user"])]
        nr = sum(stack["count"] for stack in calls)
        print(f"{run.meta['event']}: {nr} of {NR} calls, {run.stats['complete']} of {run.stats['user_samples']} whole")
        faults = [] if nr == NR and run.stats["shown"] == NR else [f"{nr} samples of {NR} calls, {run.stats['shown']} in all"]
        return faults + ["no frame of the kernel" for stack in calls if not stack["kernel"]]

    @staticmethod
    def judge_threads(run):
        """Each stack has the function of its own thread, and no other's."""
        nr, wrong = collections.Counter(), 0
        for stack in run.stacks:
            bodies = {frame["symbol"] for frame in stack["user"] if (frame.get("symbol") or "").startswith("thread_")}
            nr[stack["comm"]] += stack["count"]
            wrong += 0 if bodies == {stack["comm"]} else stack["count"]
        print(f"{run.meta['event']}: {dict(sorted(nr.items()))}, {wrong} wrong")
        wanted = {f"thread_{number}": NR for number in range(8)}
        return [] if not wrong and nr == wanted else [f"{wrong} wrong, {dict(nr)}"]
