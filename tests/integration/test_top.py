#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fpless top: what it shows are the samples of the run, each once; books close, however it ends."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess

from root_case import FPLESS, RootCase, die_with_the_tests, fixture, is_dead, children, main
from terminal import PATIENCE_S, Terminal

RED = b"\x1b[31m"
# The first line of the closing report.
SUMMARY = re.compile(rb"fpless: ([\d,]+) samples? in [^\r\n]* lost\r?\n")
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

    def test_what_samples_weigh_is_shown(self):
        """2,000 calls of take(0), take(1) ... take(99)."""
        probe = f"uprobe:{fixture('probed')}:take"
        _, blocks = self.top("-e", probe, "--weight", "arg0", "--unit", "bytes", "--since-start", "--ring-memory", "256M",
                             "--", fixture("probed"), "2000")
        last = blocks[-1]
        self.assertEqual((last.words["type"], last.words["unit"], last.number_of("weight"), last.number_of("samples")),
                         ("arg0", "bytes", 20 * sum(range(100)), 2000))
        self.assertEqual([row[2:] for row in last.rows if row[-1] == "take"], [["99000", "99000", "probed", "take"]])

    def test_a_clock_weighs_nothing(self):
        _, blocks = self.top("--", fixture("chain"), "300")
        self.assertNotIn("weight", blocks[-1].words)

    def begin(self, *args):
        """top with a pipe, whose first block with samples has come: (process, what was read). How long
        that takes is the machine's business."""
        process = self.start(FPLESS, "top", "--no-table-cache", "--interval", "0.2", *args,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        text = b""
        while not re.search(rb"^top .* samples=[1-9]", text, re.M):
            line = process.stdout.readline()
            self.assertTrue(line, text)
            text += line
        return process, text

    def assert_samples_are_those_of(self, run, blocks):
        books = run.books
        for word, counted in (("samples", books["shown"]), ("fired", books["fired"]),
                              ("idle", books["idle"]), ("filtered", books["filtered"]),
                              ("lost", sum(books["lost"].values()))):
            self.assertEqual(sum(block.number_of(word) for block in blocks), counted, word)
        self.assertEqual([block.number for block in blocks], list(range(1, len(blocks) + 1)))

    def test_blocks_of_waits_add_up_to_their_weights(self):
        for options in ([], ["--exact", "-m", "100"]):
            with self.subTest(options):
                run, blocks = self.top("--offcpu", "--interval", "0.3", *options, "-d", "600", "--", fixture("waits"), "1000",
                                       "wait_20ms", "wait_1ms", "wait_50us")
                weight = sum(stack["weight"] for stack in run.stacks)
                self.assertEqual(sum(block.number_of("weight") for block in blocks), weight)
                self.assertEqual(weight, run.stats["times"]["sampled"])
                rows = {row[5]: int(row[3]) for block in blocks for row in block.rows}
                self.assertGreater(rows.get("wait_20ms", 0), 0, rows)
                self.assertNotIn("schedule", rows)  # the kernel's way to the sampler is cut

    def test_rows_of_wall_time_are_of_one_state(self):
        run, blocks = self.top("--wall", "--interval", "0.3", "-F", "997", "--rows", "1000000", "-d", "600", "--no-inline", "--",
                               fixture("waits"), "1000", "wait_20ms", "wait_1ms", "wait_not")
        sums, framed = collections.Counter(), collections.Counter()
        for stack in run.stacks:
            sums[stack["state"]] += stack["weight"]
            framed[stack["state"]] += stack["weight"] if stack["user"] or stack["kernel"] else 0
        self.assertGreater(min(sums["on-cpu"], sums["blocked"]), 0, sums)
        for state in ("on-cpu", "runnable", "blocked", "throttled", "frozen"):
            self.assertEqual(sum(block.number_of(state) for block in blocks), sums[state], state)
            self.assertEqual(sum(int(row[2]) for block in blocks for row in block.rows if row[6] == state), framed[state], state)
        self.assertEqual(sum(block.number_of("weight") for block in blocks), sum(sums.values()))
        self.assertEqual({(block.words["event"], block.words["type"], *block.columns) for block in blocks},
                         {("wall", "wall", *COLUMNS, "OBJECT", "FUNCTION", "STATE")})
        totals = collections.Counter()
        for block in blocks:
            for row in block.rows:
                totals[row[5], row[6]] += int(row[3])
        # what it waits for is none of its time on a CPU
        self.assertGreater(totals["wait_20ms", "blocked"], 0, totals)
        self.assertGreater(totals["wait_not", "on-cpu"], 0, totals)
        self.assertEqual(totals["wait_not", "blocked"], 0, totals)

    def test_states_are_told_apart_by_label(self):
        for options, wanted in ((["--wall", "--by", "comm"], False), (["--offcpu", "--state", "S,D,R", "--by", "state"], True)):
            with self.subTest(options):
                _, blocks = self.top(*options, "-d", "600", "--", fixture("waits"), "300", "wait_20ms")
                self.assertEqual("STATE" in blocks[-1].columns, wanted)

    def test_blocks_add_up_to_the_books(self):
        for options in (["-F", "999"], ["-F", "4999", "--stack-memory", "64K"],
                        ["-F", "999", "--snapshot", "0"], ["-F", "999", "-U"],
                        ["-F", "999", "-K"], ["-F", "4999", "--max-depth", "1"],
                        ["-F", "999", "--comm", "chain"]):
            with self.subTest(options):
                run, blocks = self.top("--interval", "0.3", *options, "-d", "600", "--",
                                       fixture("vfork"), "150", fixture("chain_nopie"))
                self.assert_samples_are_those_of(run, blocks)

    def test_rows_are_the_functions_of_the_run(self):
        run, blocks = self.top("--since-start", "--rows", "1000000", "--interval", "0.5", "-F",
                               "999", "-d", "600", "--no-inline", "--", fixture("chain"), "1000")
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
        run, blocks = self.top("--since-start", "--view", "stacks", "-F", "999", "-U", "-d", "600",
                               "--no-inline", "--", fixture("chain"), "500")
        self.assertEqual(blocks[-1].columns, [*COLUMNS, "TASK", "STACK"])
        task, stack = blocks[-1].rows[0][4:]
        self.assertEqual(task, "chain")
        self.assertRegex(stack, r"(^|;)main;.*;spin$")
        self.assert_all_since_start(run, blocks[-1])

        run, blocks = self.top("--since-start", "--view", "processes", "--rows", "1000", "-F",
                               "999", "-d", "600", "--", fixture("vfork"), "150",
                               fixture("chain_nopie"))
        self.assertEqual(blocks[-1].columns, [*COLUMNS, "PID", "COMMAND"])
        counted = {}
        for stack in run.stacks:
            if stack["user"] or stack["kernel"]:
                counted[stack["pid"]] = counted.get(stack["pid"], 0) + stack["count"]
        self.assertEqual({int(row[4]): int(row[3]) for row in blocks[-1].rows}, counted)

    def test_a_filter_shows_what_matches(self):
        run, blocks = self.top("--match", "^spin$", "--since-start", "-F", "999", "-d", "600", "--",
                               fixture("chain"), "300")
        self.assertEqual([row[5] for row in blocks[-1].rows], ["spin"])
        self.assert_all_since_start(run, blocks[-1])

    def test_it_ends_after_as_many_blocks_as_asked_for(self):
        done = self.fpless("top", "--no-table-cache", "--count", "3", "--interval", "0.2", "-F", "99",
                           "-d", "600", "--", fixture("chain"), "60000")
        self.assertIn(done.returncode, (0, 3), done.stderr)  # it may have had no CPU meanwhile
        self.assertEqual([block.number for block in blocks_of(done.stdout)], [1, 2, 3])
        self.assertIn(b"ended by signal", done.stderr)

    def assert_closed(self, stderr):
        """Of books that do not close the report has a line."""
        self.assertRegex(stderr, SUMMARY)
        self.assertNotIn(b"  books", stderr)

    def test_a_signal_ends_it_with_a_last_block(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process, text = self.begin("-F", "499", "--", fixture("chain"), "600000")
                process.send_signal(number)
                rest, stderr = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 0, stderr)
                self.assert_closed(stderr)
                shown = int(SUMMARY.search(stderr)[1].replace(b",", b""))
                self.assertEqual(sum(block.number_of("samples") for block in blocks_of(text + rest)),
                                 shown)

    def test_a_reader_that_goes_away_ends_it(self):
        process, _ = self.begin("-F", "499", "--", fixture("chain"), "600000")
        process.stdout.close()
        stderr = process.stderr.read()
        self.assertEqual(process.wait(PATIENCE_S), 0, stderr)
        self.assert_closed(stderr)

    def test_a_reader_that_stops_reading_does_not_stop_it(self):
        process, _ = self.begin("--rows", "100000", "-F", "999", "--", fixture("chain"), "600000")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assert_closed(process.stderr.read())

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
                done = self.fpless("top", "--no-table-cache", "-q", "-F", "499", "--",
                                   fixture("chain"), "300", env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(len(blocks_of(done.stdout)), 0)
                self.assertNotIn(b"\x1b", done.stdout + done.stderr)

    def test_targets_are_those_of_profile(self):
        busy = self.start(fixture("chain"), "600000")
        other = self.start(fixture("threads"), "600000")
        process, text = self.begin("--view", "processes", "-F", "499", "-p", str(busy.pid))
        process.send_signal(signal.SIGINT)
        rest, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, stderr)
        pids = {int(row[4]) for block in blocks_of(text + rest) for row in block.rows}
        self.assertEqual(pids, {busy.pid}, other.pid)
        done = self.fpless("top", "-p", "4194303", "--count", "1")
        self.assertEqual((done.returncode, done.stdout), (3, b""), done.stderr)


class OnTerminal(RootCase):
    def open(self, *args, columns=80, lines=24, term="xterm", env=None):
        """top on a terminal of its own."""
        given = {"LC_ALL": "C.UTF-8", **(env or {}), **({"TERM": term} if term is not None else {})}
        env = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")}
        env.update(given)
        terminal = Terminal([FPLESS, "top", "--no-table-cache", *args], columns, lines, env,
                            die_with_the_tests)
        self.addCleanup(terminal.close)
        return terminal

    def open_busy(self, *args, **more):
        """One that shows `chain`, whose hottest function is spin."""
        terminal = self.open("--interval", "0.2", "-F", "499", *args, "--", fixture("chain"),
                             "600000", **more)
        terminal.wait_for_text("chain", "spin")
        return terminal

    def assert_ended_well(self, terminal):
        """The terminal is as it was, and the closing report is the last that is said."""
        self.assertEqual(terminal.end(), 0, terminal.output[-2000:])
        self.assertEqual(terminal.mode(), terminal.before)
        said = SUMMARY.search(terminal.output)
        self.assertTrue(said, terminal.output[-2000:])
        self.assertNotIn(b"\x1b", terminal.output[said.start():])

    def assert_fits(self, terminal):
        for line in terminal.screen.text():
            self.assertLessEqual(len(line), terminal.screen.columns)

    def test_it_shows_what_is_hot_and_ends_by_its_key(self):
        terminal = self.open_busy()
        terminal.wait_for("heads", lambda text: "samples in" in text[0]
                          and "*SELF% TOTAL% OBJECT" in text[2])
        terminal.keys("q")
        self.assert_ended_well(terminal)

    def test_keys(self):
        terminal = self.open_busy()
        terminal.keys("s")
        terminal.wait_for_text("SELF% *TOTAL%")
        terminal.keys("s")
        terminal.wait_for_text("*SELF% TOTAL%")
        terminal.keys("/^sp")
        terminal.wait_for_text("/^sp")
        terminal.keys("in$\r")
        terminal.wait_for_text("functions", "/^spin$/")
        terminal.wait_for("spin alone",
                          lambda lines: "spin" in lines[3] and not any(lines[4:-1]))
        terminal.keys("/(\r")
        terminal.wait_for_text("/^spin$(/: ")
        terminal.keys("\x1b")  # no filter any more
        terminal.wait_for_text("chain", "main")
        terminal.keys("h")
        terminal.wait_for_text("any key: back")
        terminal.keys("h")
        terminal.wait_for_text("chain", "main")
        terminal.keys("w")
        terminal.wait_for_text("since start")
        terminal.keys("k")
        terminal.wait_for_text("without the kernel")
        terminal.keys("+")
        terminal.wait_for_text("every 0.25 s")
        terminal.keys("-")
        terminal.wait_for_text("every 0.1 s")
        terminal.keys("\x03")
        self.assert_ended_well(terminal)

    def test_views(self):
        terminal = self.open_busy("--match", "spin")
        terminal.keys("\t")
        terminal.wait_for_text("TASK", "STACK")
        terminal.wait_for_text("chain", "spin < ")
        terminal.keys("\r")
        terminal.wait_for_text("frames of a stack")
        terminal.wait_for_text("chain", "main")
        terminal.keys("\x1b")
        terminal.wait_for_text("TASK", "STACK")
        terminal.keys("1")
        terminal.wait_for_text("functions", "/spin/")
        terminal.wait_for_text("chain", "spin")
        terminal.keys("f")
        terminal.wait_for_text("called by")
        terminal.wait_for_text("hottest stacks")
        terminal.keys("\x1b\x1b")  # back, and no filter
        terminal.wait_for_text("100.0 % shown")
        terminal.keys("P")
        terminal.wait_for_text("PID", "COMMAND")
        terminal.wait_for_text("100.0", "chain")
        terminal.keys("\x1b[B\x1b[A\r")
        terminal.wait_for_text("functions of pid")
        terminal.wait_for_text("chain", "spin")
        terminal.keys("q")
        self.assert_ended_well(terminal)

    def test_a_pause_stops_the_rows_and_not_the_counting(self):
        terminal = self.open_busy("--since-start")
        terminal.keys("p")
        terminal.wait_for("PAUSED", lambda lines: re.match(r"PAUSED  \d+ samples in", lines[0]))
        paused = terminal.screen.text()[0].removeprefix("PAUSED").split()[0]
        terminal.keys("p")

        def goes_on(lines):
            words = lines[0].split()
            return words and words[0].isdigit() and int(words[0]) > int(paused)

        terminal.wait_for("more samples", goes_on)
        terminal.keys("r")
        terminal.keys("q")
        self.assert_ended_well(terminal)

    def test_it_follows_the_size_of_the_terminal(self):
        terminal = self.open_busy()
        for columns, lines in ((20, 5), (300, 100), (1, 1), (2, 2), (40, 3), (80, 24)):
            with self.subTest(columns=columns, lines=lines):
                terminal.resize(columns, lines)
                if lines > 3:
                    terminal.wait_for("samples and spin", lambda text: "samples" in text[0]
                                      and any("spin" in line for line in text[1:]))
                elif columns > 10:
                    terminal.wait_for_text("FUNCTION")
                self.assert_fits(terminal)
        terminal.keys("q")
        self.assert_ended_well(terminal)

    def test_it_begins_on_a_small_terminal(self):
        terminal = self.open("--interval", "0.2", "-F", "499", "--", fixture("chain"), "600000",
                             columns=20, lines=5)
        terminal.wait_for("a share and a function",
                          lambda lines: any(re.match(r" *\d+\.\d spin$", line) for line in lines))
        terminal.keys("q")
        self.assert_ended_well(terminal)

    def test_signals_end_it_and_the_books_close(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                terminal = self.open_busy()
                terminal.process.send_signal(number)
                self.assert_ended_well(terminal)

    def test_a_terminal_that_is_hung_up_ends_it(self):
        stats = self.path("stats.json")
        terminal = self.open_busy("--stats", stats)
        inside = children(terminal.process.pid)
        self.assertTrue(inside)
        terminal.hang_up()
        self.assertEqual(terminal.process.wait(PATIENCE_S), 0)
        with open(stats, encoding="utf-8") as file:
            books = json.load(file)
        self.assertEqual(books["fired"], books["shown"] + books["idle"] + books["filtered"]
                         + sum(books["lost"].values()))
        self.assertEqual([pid for pid in inside if not is_dead(pid)], [])

    def test_a_terminal_that_cannot_be_drawn_on_gets_blocks(self):
        for term in (None, "", "dumb", "nonsense"):
            with self.subTest(term):
                terminal = self.open("-F", "499", "-q", "--", fixture("chain"), "300", term=term)
                self.assertEqual(terminal.end(), 0, terminal.output)
                self.assertIn(b"top 1 time=", terminal.output)
                self.assertIn(b"\tspin\r\n", terminal.output)
                self.assertNotIn(b"\x1b", terminal.output)

    def test_a_command_does_not_write_on_the_screen(self):
        terminal = self.open("--interval", "0.2", "-F", "499", "--", "sh", "-c",
                             "while :; do echo garbage; echo garbage >&2; read -r line; done")
        terminal.wait_for_text("samples in")
        terminal.wait_for("samples", lambda lines: lines[0].split()[:1] not in ([], ["0"]))
        terminal.keys("q")
        self.assert_ended_well(terminal)
        self.assertNotIn(b"garbage", terminal.output)

    def test_a_name_cannot_write_on_the_screen(self):
        hostile = self.path("\x1b[31mred\n\u6f22\u5b57")
        shutil.copy(fixture("chain"), hostile)
        terminal = self.open("--interval", "0.2", "-F", "499", "--", hostile, "600000", columns=100)
        terminal.wait_for_text("\\x1b[31mred\\x0a\u6f22\u5b57", "spin")
        terminal.keys("P")
        terminal.wait_for_text("100.0", "\\x1b[31mred\\x0a")
        terminal.keys("q")
        self.assert_ended_well(terminal)
        self.assertNotIn(b"\x1b[31mred", terminal.output)

    def test_colours_need_a_terminal_or_request(self):
        for args, env, coloured in (([], {}, True), (["--color", "never"], {}, False),
                                    ([], {"NO_COLOR": "1"}, False),
                                    (["--color", "always"], {"NO_COLOR": "1"}, True)):
            with self.subTest(args=args, env=env):
                terminal = self.open_busy(*args, env=env)
                terminal.keys("\x1b[B")  # off the hottest row
                terminal.keys("s")
                terminal.wait_for_text("SELF% *TOTAL%")
                if coloured:
                    terminal.wait_for("red", lambda _: RED in terminal.output)
                terminal.keys("q")
                self.assert_ended_well(terminal)
                self.assertEqual(RED in terminal.output, coloured)


if __name__ == "__main__":
    main()
