#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fpless top: what it shows are the samples of the run, each once; books close, however it ends."""

import os
import signal
import subprocess

from root_case import FPLESS, RootCase, fixture, main

PATIENCE_S = 60  # with a machine that has other things to do
COLUMNS = ["SELF%", "TOTAL%", "SELF", "TOTAL"]


class Block:
    """A block of text: the words of its head, and its rows."""

    def __init__(self, text):
        head, columns, *rows = text.split("\n")
        top, number, *words = head.split(" ")
        assert top == "top", head
        self.number = int(number)
        self.words = dict(word.split("=", 1) for word in words)
        self.columns = [column.strip() for column in columns.split("\t")]
        self.rows = [[cell.strip() for cell in row.split("\t")] for row in rows]

    def number_of(self, word):
        return int(self.words[word])


def blocks_of(stdout):
    text = stdout.decode("utf-8")
    assert text.endswith("\n\n"), text[-200:]
    return [Block(block) for block in text[:-2].split("\n\n")]


class Plain(RootCase):
    def top(self, *args, **more):
        """A run of top whose books close, and its blocks."""
        run = self.profile(*args, verb="top", **more)
        return run, blocks_of(run.stdout)

    def assert_samples_are_those_of(self, run, blocks):
        books = run.books
        for word, counted in (("samples", books["shown"]), ("fired", books["fired"]),
                              ("idle", books["idle"]), ("filtered", books["filtered"]),
                              ("lost", sum(books["lost"].values()))):
            self.assertEqual(sum(block.number_of(word) for block in blocks), counted, word)
        self.assertEqual([block.number for block in blocks], list(range(1, len(blocks) + 1)))

    def test_blocks_add_up_to_the_books(self):
        for options in (["-F", "999"], ["-F", "4999", "--stack-memory", "64K"],
                        ["-F", "999", "--snapshot", "0"], ["-F", "999", "-U"],
                        ["-F", "999", "-K"], ["-F", "4999", "--max-depth", "1"],
                        ["-F", "999", "--comm", "chain"]):
            with self.subTest(options):
                run, blocks = self.top("--interval", "0.3", *options, "-d", "60", "--",
                                       fixture("vfork"), "150", fixture("chain_nopie"))
                self.assert_samples_are_those_of(run, blocks)

    def test_rows_are_the_functions_of_the_run(self):
        run, blocks = self.top("--since-start", "--rows", "1000000", "--interval", "0.5", "-F",
                               "999", "-d", "60", "--no-inline", "--", fixture("chain"), "1000")
        self.assert_all_since_start(run, blocks[-1])
        self.assertEqual(blocks[-1].columns, [*COLUMNS, "OBJECT", "FUNCTION"])
        rows = {row[5]: row for row in blocks[-1].rows if row[4] == "chain"}
        self.assertEqual(blocks[-1].rows[0][4:], ["chain", "spin"])
        self.assertGreater(int(rows["spin"][2]), 0)
        self.assertGreaterEqual(int(rows["main"][3]), int(rows["spin"][3]))

        # self and total follow from the stacks of the run
        self_counts, totals = {}, {}
        for stack in run.stacks:
            frames = stack["kernel"] + stack["user"]
            names = [(f["symbol"], os.path.basename(f.get("object", ""))) for f in frames]
            if names:
                self_counts[names[0]] = self_counts.get(names[0], 0) + stack["count"]
            for name in set(names):
                totals[name] = totals.get(name, 0) + stack["count"]
        for name, row in rows.items():
            if not name.startswith("["):
                self.assertEqual((int(row[2]), int(row[3])),
                                 (self_counts.get((name, "chain"), 0), totals[name, "chain"]), row)

    def assert_all_since_start(self, run, block):
        self.assertEqual(block.number_of("samples"), run.books["shown"])

    def test_stacks_and_processes(self):
        run, blocks = self.top("--since-start", "--view", "stacks", "-F", "999", "-U", "-d", "60",
                               "--no-inline", "--", fixture("chain"), "500")
        self.assertEqual(blocks[-1].columns, [*COLUMNS, "TASK", "STACK"])
        task, stack = blocks[-1].rows[0][4:]
        self.assertEqual(task, "chain")
        self.assertRegex(stack, r"(^|;)main;.*;spin$")
        self.assert_all_since_start(run, blocks[-1])

        run, blocks = self.top("--since-start", "--view", "processes", "--rows", "1000", "-F",
                               "999", "-d", "60", "--", fixture("vfork"), "150",
                               fixture("chain_nopie"))
        self.assertEqual(blocks[-1].columns, [*COLUMNS, "PID", "COMMAND"])
        counted = {}
        for stack in run.stacks:
            if stack["user"] or stack["kernel"]:
                counted[stack["pid"]] = counted.get(stack["pid"], 0) + stack["count"]
        self.assertEqual({int(row[4]): int(row[3]) for row in blocks[-1].rows}, counted)

    def test_a_filter_shows_what_matches(self):
        run, blocks = self.top("--filter", "^spin$", "--since-start", "-F", "999", "-d", "60", "--",
                               fixture("chain"), "300")
        self.assertEqual([row[5] for row in blocks[-1].rows], ["spin"])
        self.assert_all_since_start(run, blocks[-1])

    def test_it_ends_after_as_many_blocks_as_asked_for(self):
        run, blocks = self.top("--count", "3", "--interval", "0.2", "-F", "99", "-d", "60", "--",
                               fixture("chain"), "60000")
        self.assertEqual(len(blocks), 3)
        self.assert_samples_are_those_of(run, blocks)
        self.assertIn("ended by signal", run.stderr)

    def test_a_signal_ends_it_with_a_last_block(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                command = [FPLESS, "top", "--no-table-cache", "--interval", "0.2", "-F", "499",
                           "--stats", self.path("stats.json"), "--", fixture("chain"), "600000"]
                process = self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     bufsize=0)
                first = process.stdout.readline()
                self.assertTrue(first.startswith(b"top 1 "), first)
                process.send_signal(number)
                rest, stderr = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 0, stderr)
                self.assertIn(b": closed\n", stderr)
                blocks = blocks_of(first + rest)
                shown = int(stderr.split(b"shown ")[1].split()[0])
                self.assertEqual(sum(block.number_of("samples") for block in blocks), shown)

    def test_a_reader_that_goes_away_ends_it(self):
        process = self.start(FPLESS, "top", "--no-table-cache", "--interval", "0.2", "--",
                             fixture("chain"), "600000", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        with process.stderr:
            stderr = process.stderr.read()
        self.assertEqual(process.wait(PATIENCE_S), 0, stderr)
        self.assertIn(b": closed\n", stderr)

    def test_a_reader_that_stops_reading_does_not_stop_it(self):
        process = self.start(FPLESS, "top", "--no-table-cache", "--interval", "0.1", "--rows",
                             "100000", "-F", "999", "-d", "3", "--", fixture("chain"), "600000",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process.stdout, process.stderr:
            self.assertEqual(process.wait(PATIENCE_S), 0)
            self.assertIn(b": closed\n", process.stderr.read())

    def test_an_output_that_cannot_be_written_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FPLESS, "top", "--no-table-cache", "--interval", "0.2", "-q",
                                   "--", fixture("chain"), "600000"], stdin=subprocess.DEVNULL,
                                  stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE_S,
                                  check=False)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn(b"stdout: No space left on device", done.stderr)

    def test_without_a_terminal_term_says_nothing(self):
        for term in (None, "", "dumb", "nonsense", "xterm"):
            env = {name: value for name, value in os.environ.items() if name != "TERM"}
            if term is not None:
                env["TERM"] = term
            with self.subTest(term):
                done = self.fpless("top", "--no-table-cache", "-q", "--count", "1", "--interval",
                                   "0.3", "-F", "499", "--", fixture("chain"), "60000", env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(blocks_of(done.stdout)), 1)
                self.assertNotIn(b"\x1b", done.stdout + done.stderr)

    def test_targets_are_those_of_profile(self):
        busy = self.start(fixture("chain"), "600000")
        other = self.start(fixture("threads"), "600000")
        run, blocks = self.top("--view", "processes", "-F", "499", "--count", "2", "--interval",
                               "0.5", "-p", str(busy.pid))
        pids = {int(row[4]) for block in blocks for row in block.rows}
        self.assertEqual(pids, {busy.pid}, other.pid)
        self.assert_samples_are_those_of(run, blocks)
        done = self.fpless("top", "-p", "4194303", "--count", "1")
        self.assertEqual((done.returncode, done.stdout), (3, b""), done.stderr)


if __name__ == "__main__":
    main()
