# SPDX-License-Identifier: Apache-2.0
"""In a guest: a thread at the CPU limit of its cgroup is throttled, however the kernel tells that."""

import os
import shlex

import waits
from fpless_run import Run

NAME, FOLDER = "/limited", "/out/limit"
MS = "300"  # of the guest's clock
LIMIT = "2000 100000"  # us: of a CPU's time, in each such period


class CpuLimit:
    """Runs where /cgroup is mounted: behind cgroup_share.py."""

    def __init__(self, fpless, fixtures):
        self.fpless, self.program = fpless, os.path.join(fixtures, "waits")

    def script(self):
        enter = f"echo $$ >/cgroup{NAME}/cgroup.procs && exec \"$@\""
        run = shlex.join([self.fpless, "wall", "--no-cache", *Run.outputs(FOLDER), "--",
                          "sh", "-c", enter, "sh", self.program, MS, "wait_not"])
        return f"mkdir -p {FOLDER} /cgroup{NAME}; echo +cpu >/cgroup/cgroup.subtree_control; echo {LIMIT} >/cgroup{NAME}/cpu.max\n" \
               f"{run} > {FOLDER}/stdout 2> {FOLDER}/stderr; echo $? > {FOLDER}/status\n" \
               f"cat /cgroup{NAME}/cpu.stat > {FOLDER}/cpu.stat\n"

    @staticmethod
    def judge(out):
        folder = out + FOLDER.removeprefix("/out")
        with open(folder + "/stderr", "rb") as file, open(folder + "/status", encoding="ascii") as status:
            run = Run.of_folder(folder, int(status.read()), file.read())
        faults = run.faults() or waits.book_faults(run)
        if not faults:
            with open(folder + "/cpu.stat", encoding="ascii") as file:
                kernel_ns = int(dict(line.split() for line in file)["throttled_usec"]) * 1000
            times = run.stats["times"]
            print(f"limit: throttled {times['throttled']} ns, by the kernel {kernel_ns}")
            if not kernel_ns or times["throttled"] < kernel_ns // 2 or times["throttled"] > times["runnable"]:
                faults.append(f"throttled, by the kernel {kernel_ns}: {times}")
            if not any(stack["state"] == "throttled" for stack in run.stacks):
                faults.append("no stack is throttled")
        return ["limit: " + fault for fault in faults]
