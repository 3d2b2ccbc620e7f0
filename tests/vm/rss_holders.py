# SPDX-License-Identifier: Apache-2.0
"""In a guest: the resident memory of a program by stack is what the kernel's smaps_rollup says of it."""

import os
import shlex

from fpless_run import Run

MIB = 1 << 20
SHARE = 0.08  # a kernel before 6.2 tells of up to 64 pages of each kind later


class RssHolders:
    def __init__(self, fpless, fixtures):
        self.fpless, self.program = fpless, os.path.join(fixtures, "rss")

    def script(self):
        folder = "/out/rss"
        run = shlex.join([self.fpless, "profile", "--rss", "--no-cache", *Run.outputs(folder), "--", self.program, "give"])
        return (f"mkdir -p {folder}\n"
                f"{run} > {folder}/stdout 2> {folder}/stderr; echo $? > {folder}/status\n")

    def judge(self, out):
        folder = os.path.join(out, "rss")
        text = {}
        for name in ("status", "stdout", "stderr"):
            with open(os.path.join(folder, name), "rb") as file:
                text[name] = file.read()
        run = Run.of_folder(folder, int(text["status"]), text["stderr"])
        if run.faults():
            return [f"rss: {fault}" for fault in run.faults()]
        if run.meta["event"] != "rss":
            return [f"rss: sampled {run.meta['event']}: {run.stderr}"]
        pid, kib = map(int, text["stdout"].split())
        held = sum(stack["weight"] for stack in run.stacks if stack["pid"] == pid)
        second = sum(stack["weight"] for stack in run.stacks
                     if "take_second" in [frame.get("symbol") for frame in stack["user"]])
        print(f"rss: {held} bytes held, {kib << 10} resident, {second} by the second of two")
        faults = []
        if abs(held - (kib << 10)) > SHARE * (kib << 10):
            faults.append(f"rss: {held} bytes held of {kib << 10}")
        if abs(second - 8 * MIB) > SHARE * 8 * MIB:
            faults.append(f"rss: {second} bytes held by the second of two that took 8 MiB")
        return faults
