#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file system that is full: one line, exit 6, and what there is afterwards is whole."""

import os
import re
import subprocess

from fpless_run import TIMEOUT_S, skip
from root_case import FPLESS, RootCase, fixture, main

FORMATS = ("folded", "jsonl", "perf", "speedscope.json", "json")
ROOM = 64 << 10  # of the file system
STACKS = 30000


def mounts():
    """May a file system be mounted here, in a namespace of its own?"""
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return done.returncode == 0


class FullDisk(RootCase):
    def setUp(self):
        super().setUp()
        self.recording = self.path("big.folded")
        with open(self.recording, "w", encoding="ascii") as file:
            file.writelines(f"task {i};main;function_{i * 7919 % 100003};leaf_{i * 31337 % 99991} {i % 5 + 1}\n"
                            for i in range(STACKS))
        os.mkdir(self.path("full"))
        os.mkdir(self.path("kept"))

    def on_full_disk(self, *args, before="", room=ROOM):
        """Runs fpless where `full` is a small file system; what is in it afterwards goes to `kept`."""
        script = (f"mount -t tmpfs -o size={room} none '{self.path('full')}' || exit 77\n{before}\n"
                  '"$@"; status=$?\n' f"cp -a '{self.path('full')}/.' '{self.path('kept')}/'; exit $status")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", FPLESS, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertNotEqual(done.returncode, 77, done.stderr)
        return done

    def test_what_does_not_fit_is_not_there(self):
        for name in FORMATS:
            with self.subTest(format=name):
                target = self.path("full/x." + name)
                done = self.on_full_disk("report", "-q", "-o", target, self.recording,
                                         before=f"echo before >'{target}'")
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertEqual(done.stderr, f"fpless: {target}: No space left on device\n")
                with open(self.path("kept/x." + name), encoding="ascii") as file:
                    self.assertEqual(file.read(), "before\n")
                self.assertEqual(os.listdir(self.path("kept")), ["x." + name])
                os.unlink(self.path("kept/x." + name))

    def test_of_a_pprof_what_fits_is_a_profile(self):
        whole = self.path("whole.folded")
        self.assertEqual(self.fpless("report", "-q", "-o", whole, "-o", self.path("whole.pb.gz"),
                                     self.recording).returncode, 0)
        done = self.on_full_disk("report", "-q", "-o", self.path("full/x.pb.gz"), "-o", self.path("other.folded"),
                                 self.recording, room=os.path.getsize(self.path("whole.pb.gz")) // 2)
        self.assertEqual(done.returncode, 6, done.stderr)
        said = re.fullmatch(r"fpless: .*/full/x\.pb\.gz: (\d+) of (\d+) samples are in it: No space left on device\n",
                            done.stderr)
        self.assertTrue(said, done.stderr)
        again = self.fpless("report", "-f", self.path("kept/x.pb.gz"))
        self.assertEqual(again.returncode, 0, again.stderr)
        kept = set(again.stdout.splitlines())
        with open(whole, "rb") as file:
            lines = file.read().splitlines()
        self.assertLess(len(kept), len(lines))
        self.assertTrue(kept)
        self.assertLessEqual(kept, set(lines))
        self.assertEqual(sum(int(line.rsplit(b" ", 1)[1]) for line in kept), int(said[1]))
        self.assertEqual(sum(int(line.rsplit(b" ", 1)[1]) for line in lines), int(said[2]))
        # outputs elsewhere are written all the same
        with open(self.path("other.folded"), "rb") as file:
            self.assertEqual(file.read().splitlines(), lines)

    def test_a_run_says_it_too(self):
        done = self.on_full_disk("profile", "-q", "-F", "99", "-o", self.path("full/x.jsonl"), "--", fixture("chain"),
                                 "300", before=f"head -c {ROOM} /dev/zero >'{self.path('full')}/filler' 2>&-")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^fpless: .*/full/x\.jsonl: No space left on device$")
        self.assertEqual(os.listdir(self.path("kept")), ["filler"])


if __name__ == "__main__":
    if not mounts():
        skip("no file system may be mounted")
    main()
