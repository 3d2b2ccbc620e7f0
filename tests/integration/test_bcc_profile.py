#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Called fpless-bcc-profile it takes the options of bcc's profile, and prints what that prints."""

import os
import re
import signal
import subprocess
import sys

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main

BCC = os.path.join(os.path.dirname(FPLESS), "fpless-bcc-profile")
FOLDED = re.compile(r"(?P<stack>.+) (?P<count>\d+)")


class BccProfile(RootCase):
    def bcc(self, *args, status=0):
        done = subprocess.run([BCC, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode("utf-8"), done.stderr.decode("utf-8")

    def folded(self, *args):
        """{stack: count} of a folded run; the lines ascend by count."""
        lines = [FOLDED.fullmatch(line) for line in self.bcc("-f", *args)[0].splitlines()]
        self.assertNotIn(None, lines)
        counts = [int(line["count"]) for line in lines]
        self.assertEqual(counts, sorted(counts))
        stacks = {}
        for line in lines:
            stacks[line["stack"]] = stacks.get(line["stack"], 0) + int(line["count"])
        return stacks

    def blocks(self, text, head):
        """The stacks of a run that is not folded: (frames, comm, pid, count)."""
        first, *lines = text.split("\n")
        self.assertEqual(first, head)
        self.assertEqual(lines[0], "")
        stacks, frames = [], []
        rest = iter(lines[1:])
        for line in rest:
            task = re.fullmatch(r"    -                (.+) \((\d+)\)", line)
            if not task:
                if line:
                    self.assertTrue(line.startswith("    "), line)
                    frames.append(line[4:])
                continue
            count = re.fullmatch(r"        (\d+)", next(rest))
            self.assertTrue(count)
            self.assertEqual(next(rest), "")
            stacks.append((tuple(frames), task[1], int(task[2]), int(count[1])))
            frames = []
        self.assertEqual(frames, [])
        self.assertEqual([s[3] for s in stacks], sorted(s[3] for s in stacks))
        return stacks

    def busy(self, *command):
        """A program that has its samples in a second on a busy machine, too: bcc's tool knows no other end than a time."""
        pid = self.start(*command).pid
        os.setpriority(os.PRIO_PROCESS, pid, -10)
        return pid

    def chain(self):
        return self.busy(fixture("chain"), "60000")

    def test_text_equals_bcc_s(self):
        pid = self.chain()
        text, err = self.bcc("-F", "499", "-p", str(pid), "1")
        self.assertEqual(err, "")
        stacks = self.blocks(text, f"Sampling at 499 Hertz of PID [{pid}] by user + kernel stack "
                                   "for 1 secs.")
        self.assertEqual({(s[1], s[2]) for s in stacks}, {("chain", pid)})
        spinning = [s[0] for s in stacks if s[0][0] == "spin"]
        self.assertEqual(len(spinning), 1)  # one entry, whatever the address in it
        self.assertEqual(spinning[0][-1], "_start")
        self.assertIn("main", spinning[0])

    def test_folded_equals_bcc_s(self):
        stacks = self.folded("-F", "499", "-p", str(self.chain()), "1")
        spinning = [s for s in stacks if s.endswith(";spin")]
        self.assertEqual(len(spinning), 1)
        self.assertTrue(spinning[0].startswith("chain;_start;"), spinning)

    def test_kernel_frames_come_last_delimited_and_marked(self):
        code = "import os\nwhile True: os.stat('/')"
        busy = str(self.busy(sys.executable, "-c", code))
        both = self.folded("-d", "-a", "-F", "999", "-p", busy, "1")
        mixed = [s.split(";") for s in both if ";-;" in s]
        self.assertTrue(mixed)
        for frames in mixed:
            at = frames.index("-")
            self.assertTrue(all(f.endswith("_[k]") for f in frames[at + 1:]), frames)
            self.assertFalse(any(f.endswith("_[k]") for f in frames[1:at]), frames)
        text, _ = self.bcc("-d", "-F", "999", "-p", busy, "1")
        self.assertIn("\n    --\n", text)
        user = self.folded("-U", "-d", "-a", "-F", "999", "-p", busy, "1")
        self.assertFalse([s for s in user if "_[k]" in s or ";-" in s])
        kernel = self.folded("-K", "-a", "-F", "999", "-p", busy, "1")
        self.assertTrue(all(f.endswith("_[k]") for s in kernel for f in s.split(";")[1:]))

    def test_heads_say_what_is_sampled(self):
        pid = self.chain()
        cases = [
            (["-L", str(pid), "-U", "1"],
             f"Sampling at 49 Hertz of TID [{pid}] by user stack for 1 secs."),
            (["-c", "2000000", "-p", f"{pid},1", "-U", "1"],
             f"Sampling at every 2000000 events of PID [{pid}, 1] by user stack for 1 secs."),
            (["--frequency", "199", "-I", "-C", "0", "-K", "1"],
             "Sampling at 199 Hertz of all threads by kernel stack on CPU#0 for 1 secs."),
        ]
        for args, head in cases:
            with self.subTest(args):
                self.assertTrue(self.blocks(self.bcc(*args)[0], head))

    def test_ctrl_c_prints_what_there_is(self):
        pid = self.chain()
        process = self.start(BCC, "-F", "199", "-p", str(pid), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        head = process.stdout.readline().decode("utf-8")
        self.assertEqual(head, f"Sampling at 199 Hertz of PID [{pid}] by user + kernel stack... "
                               "Hit Ctrl-C to end.\n")
        self.wait_until_sampling(process, 300)
        process.send_signal(signal.SIGINT)
        with process.stdout as out:
            text = head + out.read().decode("utf-8")
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertTrue(self.blocks(text, head[:-1]))

    def test_impossible_options_are_reported(self):
        cases = [
            (["--mntnsmap", "/x"], "--mntnsmap"), (["--cgroupmap", "/x"], "--cgroup PATH"),
            (["-U", "-K"], "-U and -K"), (["-p", "1", "-L", "1"], "-p and -L"),
            (["-F", "9", "-c", "9"], "-F and -c"), (["x"], "duration x"), (["0"], "duration 0"),
            (["-p", "x"], "-p x"), (["-c", "1"], "-c 1"), (["1", "2"], "duration"),
        ]
        for args, word in cases:
            with self.subTest(args):
                out, err = self.bcc(*args, status=1)
                self.assertEqual(out, "")
                self.assertIn(word, err)
                self.assertEqual(len(err.splitlines()), 1)


if __name__ == "__main__":
    main()
