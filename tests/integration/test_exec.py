#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sample between an exec's new memory and its new registers is `execing`, and never a stack: the
old program's registers say nothing of the new one's memory. Two images take turns on one address."""

import collections

from root_case import RootCase, fixture, main

EXECS = 60
HZ = "4999"


class ExecIsSampled(RootCase):
    def judge(self, run):
        """Every sample is of one image, from its leaf to its end, or says why it is none."""
        stops = collections.Counter()
        for stack in run.stacks:
            if stack["stop"] is None or not stack["comm"].startswith("exec_"):
                continue
            stops[stack["stop"]] += stack["count"]
            if stack["stop"] in ("execing", "exiting"):
                self.assertEqual(stack["user"], [], stack)
                continue
            names = {frame["object"].rsplit("/", 1)[1] for frame in stack["user"]
                     if "/exec_" in frame.get("object", "")}
            self.assertLess(len(names), 2, stack)
            symbols = [frame["symbol"] for frame in stack["user"]]
            for image in ("a", "b"):
                if f"spin_{image}" in symbols:
                    self.assertEqual(symbols[:3], [f"spin_{image}", f"inner_{image}", "main"])
                    self.assertEqual((stack["stop"], symbols[-1]), ("outermost", "_start"))
        return stops

    def judge_execing(self, run):
        """In the kernel, in the middle of the system call."""
        seen = 0
        for stack in run.stacks:
            if stack["stop"] == "execing":
                seen += stack["count"]
                if "entry_SYSCALL_64_after_hwframe" in [f["symbol"] for f in stack["kernel"]]:
                    self.assertTrue(any("exec" in (frame["symbol"] or "")
                                        for frame in stack["kernel"]), stack)
        self.assertEqual(run.books["stop"]["execing"], seen)
        return seen

    def test_of_a_command(self):
        def sample(length):
            run = self.profile("-F", HZ, "-d", "600", "--", fixture("exec_a"), str(EXECS * length), fixture("exec_b"))
            stops = self.judge(run)
            self.assert_share(stops["outermost"], sum(stops.values()), 0.5, stops)
            return self.judge_execing(run)

        self.until_seen("a sample within an exec", sample, bool)

    def test_of_a_process_met_in_the_middle(self):
        """Its first sample may be such a one: the record made then is of neither image."""
        process = self.start(fixture("exec_a"), "100000", fixture("exec_b"))
        for _ in range(3):
            run = self.profile_while_busy([process.pid], 150, "-F", HZ, "-p", str(process.pid))
            stops = self.judge(run)
            self.judge_execing(run)
            wrong = stops["no_mapping"] + stops["bad_ra"] + stops["no_progress"] + stops["read_fault"]
            self.assertEqual(wrong, 0, stops)
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    main()
