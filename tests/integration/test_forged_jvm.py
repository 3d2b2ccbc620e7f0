#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that look like JVMs, and lie about their types, code and methods. Arguments: FPLESS FIXTURES FORGED_JVM."""

import os
import subprocess
import sys

from fpless_run import TIMEOUT_S
from root_case import RootCase, fixture, main

FORGED = os.path.realpath(sys.argv[3])


class ForgedJvm(RootCase):
    def test_lies_harm_nobody_else(self):
        kinds = subprocess.run([FORGED, "--kinds"], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        processes = {}
        for i, kind in enumerate(kinds.stdout.splitlines()):
            folder = self.path(f"jvm-{i}")
            os.mkdir(folder)
            processes[self.start(FORGED, folder, kind).pid] = kind
        chain = self.start(fixture("chain"), "600000")
        # a busy machine may be long in describing the honest one
        run = self.profile_while_busy([*processes, chain.pid], 150, "-F", "999", "--by", "pid",
                                      "-p", ",".join(map(str, [*processes, chain.pid])))
        samples = {}
        for stack in run.stacks:
            samples.setdefault(stack["pid"], []).append(stack)
        for pid, kind in processes.items():
            stacks = samples.get(pid, [])
            named = sum(stack["count"] for stack in stacks
                        if stack["user"] and stack["user"][0].get("symbol") == "java.lang.String.length")
            whole = sum(stack["count"] for stack in stacks if stack["stop"] == "outermost")
            nr = sum(stack["count"] for stack in stacks)
            print(f"{kind}: {nr} samples, {named} named, {whole} complete")
            self.assertTrue(os.path.exists(f"/proc/{pid}"), kind)
            self.assertGreater(nr, 0, kind)
            if kind == "honest":
                self.assert_share(named, nr, 0.8)
                self.assert_share(whole, nr, 0.7)
        bystander = samples[chain.pid]
        nr = sum(stack["count"] for stack in bystander)
        self.assert_share(sum(stack["count"] for stack in bystander if stack["stop"] == "outermost"), nr, 0.9)


if __name__ == "__main__":
    main()
