#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A profiler that somebody stops and continues says for how long it was away, and its books close."""

import re
import signal
import subprocess
import time

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, fixture, main

AWAY = re.compile(r"fpless was stopped, or had no CPU, for ([0-9.]+) s: (\d+) samples of this run are lost")
STOPPED_S = 3


class Stopped(RootCase):
    def run_and_stop(self):
        busy = self.start(fixture("chain"), "600000")
        command = [FPLESS, "profile", "--no-cache", "-F", "199", *Run.outputs(self.folder), "-p", str(busy.pid)]
        process = self.start(*command, stderr=subprocess.PIPE)
        self.wait_until_sampling(process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        process.send_signal(signal.SIGCONT)
        self.wait_until_sampling(process, 200)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=TIMEOUT_S)
        return Run.of_folder(self.folder, process.returncode, stderr)

    def test_the_report_says_how_long(self):
        run = self.run_and_stop()
        self.assertEqual(run.faults(), [])
        said = AWAY.search(run.stderr)
        self.assertIsNotNone(said, run.stderr)
        # on a loaded machine it may have had no CPU before and after, too
        self.assertGreater(float(said[1]), STOPPED_S - 0.2)
        self.assertLess(float(said[1]), STOPPED_S + 60)
        self.assertEqual(int(said[2]), run.stats["lost"]["ring_full"])
        self.assertAlmostEqual(float(said[1]), run.stats["away_ms"] / 1000, delta=0.06)


if __name__ == "__main__":
    main()
