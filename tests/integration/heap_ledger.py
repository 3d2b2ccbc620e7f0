# SPDX-License-Identifier: Apache-2.0
"""The programs heap and tells say what they allocated and freed; sums of a run's stacks are compared with that."""

import re
import subprocess

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase

from chance import is_too_few  # root_case knows where

EACH = ("--sample-bytes", "1", "--ring-memory", "256M")
KINDS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")


def symbols(stack):
    return [frame.get("symbol") for frame in stack["user"]]


def ledger(text):
    """{caller: {kind: sum}} as the program says it."""
    found = {}
    for line in text.decode().splitlines():
        words = line.split()
        if len(words) == 5 and words[1].isdigit():
            found[words[0]] = dict(zip(KINDS, map(int, words[1:])))
    return found


def sums(run, caller):
    return {kind: sum(stack[kind] for stack in run.stacks if caller in symbols(stack)) for kind in KINDS}


class HeapCase(RootCase):
    def heap(self, *options, each=EACH):
        """A run of which nothing is lost."""
        run = self.profile(*each, *options, verb="heap")
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        self.assertEqual(run.stats["missed"], 0)
        gone = run.stats["stop"]["exiting"] + run.stats["stop"]["execing"]
        self.assertFalse(is_too_few(run.stats["complete"], run.stats["user_samples"] - gone, 0.999), run.stats["stop"])
        return run

    def assert_is_ledger(self, run, said, nr=10):
        wanted = ledger(said)
        self.assertEqual(len(wanted), nr, said)
        self.assertEqual({caller: sums(run, caller) for caller in wanted}, wanted)

    def heap_of(self, process, nr_links, nr_lines=10):
        """A run with -p of a process that waits for a byte, and what that said."""
        # pylint: disable-next=consider-using-with
        run = subprocess.Popen([FPLESS, "heap", *Run.outputs(self.folder), "--no-cache", *EACH, "-v", "-p", str(process.pid)],
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        self.wait_until_gate(run, nr_links=nr_links)
        process.stdin.write(b"x")
        process.stdin.flush()
        said = b"".join(process.stdout.readline() for _ in range(nr_lines))
        process.stdin.close()
        stderr = run.communicate(timeout=TIMEOUT_S)[1]
        run = Run.of_folder(self.folder, run.returncode, stderr)
        self.assertEqual(run.faults(), [])
        self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})
        return run, said

    def refused(self, said, *options):
        done = self.fpless("heap", "-q", *options)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(said, done.stderr.decode())
        self.assertEqual(len(re.findall("(?m)^fpless[: ]", done.stderr.decode())), 1, done.stderr)
