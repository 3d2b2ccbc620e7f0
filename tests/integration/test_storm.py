#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thousands of short children, each with code whose rows are still to be made."""

import os
import signal
import subprocess

from fpless_run import TIMEOUT_S, Run
from parser_processes import workers
from pending_case import CALLER, STEPS, PendingCase, slow_file
from root_case import FPLESS, main
from waiting import wait_for

CHILDREN = 1500
WORKERS_MAX = 6  # clients of a run: three of the tables, of the catalog, of run-time code, of names
BYTES_MAX = 128 << 20  # of fpless and its workers: 34 MiB are usual


class Storm(PendingCase):
    def setUp(self):
        super().setUp()
        # seconds of CPU time: not with the last priority of a machine that has other things to do
        if os.getpriority(os.PRIO_PROCESS, 0) > 0:
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        # of the same places, with other frames: by another's table one is walked wrongly
        self.slow_files = [slow_file(self.path(f"slow{i}"), STEPS + i // 2, rows=150000, deep=i % 2 == 1)
                           for i in range(4)]
        self.storm = [CALLER, "1", str(CHILDREN), *self.slow_files]

    def sample(self, *args):
        with open(self.stderr, "wb") as file:
            return self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "-F", "499",
                              "--table-memory", "1M", *args, stderr=file)

    def most_workers(self, process):
        """Until it has ended."""
        most = [0]

        def look():
            most.append(len(workers(process.pid)))
            return process.poll() is not None

        wait_for("the run ends", look, 3 * TIMEOUT_S)
        return max(most)

    def judge(self, process):
        most = self.most_workers(process)
        run = self.end(process)
        self.assertLessEqual(most, WORKERS_MAX)
        for path in self.slow_files:
            self.assert_right(run, path)
        return run

    def test_of_a_command(self):
        run = self.judge(self.sample("--", *self.storm))
        self.assertLess(run.stats["rss_peak_bytes"], BYTES_MAX)
        # a child takes 1 ms, and is one of CHILDREN: some are sampled, most are not
        self.assert_ticks(run, len({stack["pid"] for stack in run.stacks}), CHILDREN, 0.15)

    def test_on_the_whole_machine(self):
        process = self.sample("-a", "--comm", "caller", "-d", "100")
        self.assertEqual(subprocess.run(self.storm, check=False, timeout=TIMEOUT_S).returncode, 0)
        process.send_signal(signal.SIGINT)
        self.judge(process)  # of its memory nothing: tables of all else that runs are made, too

    def test_of_one_process_alone(self):
        storm = self.start("sh", "-c", f'{self.until("go")}; exec "$@"', "sh", *self.storm)
        process = self.sample("-vv", "-p", str(storm.pid))
        self.wait_for(process, "nothing is sampled", lambda: ": table of " in self.said())
        self.go()
        run = self.judge(process)
        self.assertLess(run.stats["rss_peak_bytes"], BYTES_MAX)
        self.assertEqual({stack["pid"] for stack in run.stacks}, {storm.pid})


if __name__ == "__main__":
    main()
