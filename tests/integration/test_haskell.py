#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Haskell code as GHC compiles it is walked along its own stack, to the last frame of that, and then to main."""

import shutil
import subprocess

from fpless_run import TIMEOUT_S
from root_case import RootCase, main
from waiting import wait_until_busy

ENOUGH = 100  # samples


class Haskell(RootCase):
    def shellcheck(self):
        """It has no symbols, and lots to say."""
        with open(self.path("long.sh"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
            for i in range(4000):
                file.write(f"f{i}() {{ local a=$1; if [ $a -lt {i} ]; then echo $(f{i // 2} $(($a-1))) | sed 's/{i}/$a/'; fi; }}\n")
        return ["shellcheck", self.path("long.sh")]

    def sample(self, length, *options):
        process = self.start(*self.shellcheck(), stdout=subprocess.DEVNULL)
        wait_until_busy(process.pid, 200)
        run = self.profile_while_busy([process.pid], 500 * length, "-F", "499", *options, "-p", str(process.pid))
        process.kill()
        return [stack for stack in run.stacks if stack["user"] and stack["user"][0].get("object", "").endswith("shellcheck")]

    def until_enough(self, *options):
        return self.until_seen("samples of shellcheck", lambda length: self.sample(length, *options),
                               lambda stacks: sum(stack["count"] for stack in stacks) >= ENOUGH)

    def test_shellcheck(self):
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        shown = subprocess.run(["shellcheck", "--version"], capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(shown.returncode, 0)
        stacks = self.until_enough()
        # until the table of shellcheck is made stacks are copied: that of the thread, not the Haskell stack
        stacks = [stack for stack in stacks if not any(frame["origin"] == "cfi_user" for frame in stack["user"])]
        nr = sum(stack["count"] for stack in stacks)
        whole = [stack for stack in stacks if stack["stop"] == "outermost"]
        print(f"{nr} samples, {sum(stack['count'] for stack in whole)} complete")
        self.assert_share(sum(stack["count"] for stack in whole), nr, 0.97, [stack for stack in stacks if stack["stop"] != "outermost"])
        last = set()
        for stack in whole:
            haskell = [i for i, frame in enumerate(stack["user"]) if frame["origin"] == "synth"]
            if haskell:
                # all Haskell frames follow each other, then comes the caller of StgRun, which has a rule of the same origin
                last.add(stack["user"][haskell[-1] - 1]["vaddr"])
                self.assertLess(haskell[-1], len(stack["user"]) - 1, stack)
        self.assertEqual(len(last), 1)  # stg_stop_thread

    def test_without_rows_from_code(self):
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        stacks = self.until_enough("--no-synth")
        nr = sum(stack["count"] for stack in stacks)
        self.assertLess(sum(stack["count"] for stack in stacks if stack["stop"] == "outermost"), nr / 2)


if __name__ == "__main__":
    main()
