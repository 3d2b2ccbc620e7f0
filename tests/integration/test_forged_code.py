#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that look as if PCRE2 or qemu made their code, and lie about it. Arguments: FPLESS FIXTURES FORGED_CODE."""

import os
import shutil
import subprocess
import sys

from fpless_run import TIMEOUT_S
from root_case import RootCase, fixture, main

FORGED = os.path.realpath(sys.argv[3])
CHAIN = ("main", "__libc_start_call_main", "__libc_start_main", "_start")  # what all of its code is called by
# The loop of forged_code's function: dec ecx, jnz, by what is before it in the page.
LOOP, BARE_LOOP = (0x1d, 0x1f), (0x15, 0x17)


class ForgedCode(RootCase):
    def test_lies_harm_nobody_else(self):
        kinds = subprocess.run([FORGED, "--kinds"], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        processes = {}
        # two files of different content: copies of one file go by its first name
        files = {"pcre2": shutil.copy("/bin/true", self.path("libpcre2-forged.so")),
                 "qemu": shutil.copy("/bin/false", self.path("qemu-forged"))}
        for kind in kinds.stdout.splitlines():
            processes[self.start(FORGED, files["qemu" if kind.startswith("qemu") else "pcre2"], kind).pid] = kind
        chain = self.start(fixture("chain"), "600000")
        run = self.profile_while_busy([*processes, chain.pid], 60, "-F", "999", "--by", "pid",
                                      "-p", ",".join(map(str, [*processes, chain.pid])))
        samples = {}
        for stack in run.stacks:
            samples.setdefault(stack["pid"], []).append(stack)
        for pid, kind in processes.items():
            made = [stack for stack in samples.get(pid, []) if stack["user"] and "object" not in stack["user"][0]]
            complete = [stack for stack in made if stack["stop"] == "outermost"]
            nr, whole = (sum(stack["count"] for stack in of) for of in (made, complete))
            print(f"{kind}: {nr} samples of its code, {whole} complete")
            self.assertTrue(os.path.exists(f"/proc/{pid}"), kind)
            self.assertGreater(nr, 0, kind)
            self.assertEqual({tuple(frame["symbol"] for frame in stack["user"][1:]) for stack in complete} - {CHAIN}, set(), kind)
            if kind == "honest":
                self.assert_share(whole, nr, 0.9)
            elif kind != "changes":
                # where the function begins and ends, its return address is found without the memory that lies
                loop = BARE_LOOP if kind == "frame" else LOOP
                inside = [stack for stack in complete if int(stack["user"][0]["addr"], 16) & 0xfff in loop]
                self.assertEqual(inside, [], kind)
        bystander = samples[chain.pid]
        nr = sum(stack["count"] for stack in bystander)
        self.assert_share(sum(stack["count"] for stack in bystander if stack["stop"] == "outermost"), nr, 0.9)


if __name__ == "__main__":
    main()
