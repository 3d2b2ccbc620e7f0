#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of scripts that are read from the programs' memory while they run (--script=lazy): they have the names that they have without it,
or none, and the books say why. Arguments: FPLESS FIXTURES."""

import json
import os
import re

from fpless_run import skip
from root_case import RootCase, fixture, main
from test_script import LUA, PERL, PHP, PYTHON, RUBY, SUPPORT, pythons

import script_judge

LANGUAGES = PYTHON, PHP, LUA, RUBY, PERL
NO_NAME = "[script]"

# A hundred functions, each at work for a while, again and again.
FUNCTIONS = """
import time
def make(i):
    exec(f"def work_{i}(n):\\n    return sum(k * k for k in range(n))\\n", globals())
for i in range(100):
    make(i)
works = [globals()[f"work_{i}"] for i in range(100)]
end = time.process_time() + %f
while time.process_time() < end:
    for work in works:
        work(2000)
"""

# Functions that are made, run for 20 ms and freed, in the same memory; the thread has the name of the one that runs.
SHORT_LIVED = """
import ctypes, time
prctl = ctypes.CDLL(None).prctl
for i in range(%d):
    made = {}
    exec(f"def made_{i}(end):\\n    while time.process_time() < end:\\n        pass\\n", {"time": time}, made)
    prctl(15, b"made_%%d" %% i)
    made[f"made_{i}"](time.process_time() + 0.02)
    prctl(15, b"between")
    del made
"""


class Lazy(RootCase):
    def recorded(self, run):
        with open(run.jsonl_path, encoding="utf-8") as file:
            return [record for record in map(json.loads, file) if record.get("type") == "stack"]

    def check_books(self, run):
        """Each script frame has a name, or a reason why it has none."""
        stats = run.stats
        frames = [(record["count"], frame) for record in self.recorded(run) for frame in record["user"] if frame.get("origin") == "script"]
        unnamed = sum(count for count, frame in frames if frame["symbol"] is None or frame["symbol"] == NO_NAME)
        self.assertEqual(stats["script_frames"]["unnamed"], unnamed)
        self.assertEqual(stats["script_frames"]["named"] + unnamed, sum(count for count, _frame in frames))
        self.assertEqual(sum(stats["script_unnamed"].values()), unnamed)
        self.assertEqual(sum(stats["script_end"].values()), stats["script_chains"]["all"])
        return stats

    def names(self, run):
        """{(function, file, line): samples} of the script frames."""
        found = {}
        for record in self.recorded(run):
            for frame in record["user"]:
                if frame.get("origin") == "script":
                    key = frame["symbol"], frame.get("file"), frame.get("line")
                    found[key] = found.get(key, 0) + record["count"]
        return found

    def test_names_are_those_that_are_sent_at_first_sight(self):
        command = "--", pythons()[0], "-c", FUNCTIONS % 2
        eager = self.profile("-F", "997", *command)
        sent = {key for key in self.names(eager) if key[0].startswith("work_")}
        lazy = self.profile("-F", "997", "--script=lazy", *command)
        stats = self.check_books(lazy)
        names = self.names(lazy)
        read = {key for key in names if key[0].startswith("work_")}
        # a function that was never sampled in one of the runs is not in it
        self.assertGreater(len({key[0] for key in sent} & {key[0] for key in read}), 80, (sent, read))
        self.assertEqual({key for key in read if not re.fullmatch(r"work_\d\d?(\.<locals>\.<genexpr>)?", key[0])}, set())
        self.assertLessEqual({key[1:] for key in read}, {("<string>", line) for line in (1, 2)})
        self.assert_share(stats["script_frames"]["named"], stats["script_frames"]["named"] + stats["script_frames"]["unnamed"], 0.9)

    def test_no_chain_has_a_wrong_function(self):
        """Programs that tell their own stacks, with exec, eval and closures among their calls: a function that was freed has no
        name, and all others are what the program says."""
        for language in LANGUAGES:
            for path, _version in language.found()[:1]:
                with self.subTest(path):
                    truth = self.path(f"truth.{language.name}")
                    run = self.profile("-F", "997", "--script=lazy", "--", path, os.path.join(SUPPORT, language.truth), truth, "2", "10", "3")
                    self.check_books(run)
                    sums = self.judge(truth, run)
                    print(language.name, sums)
                    self.assert_share(sums["right"], sums["judged"], 0.995, sums)
                    self.assertGreater(sums["whole"], 0)

    def judge(self, truth_path, run):
        """The sums of stacks of which each named function is as the program says, and of those with all names."""
        truth = script_judge.chains(truth_path)
        sums = {"judged": 0, "right": 0, "whole": 0}
        for comm, count, frames, _record in script_judge.stacks(run.jsonl_path):
            names = [(name, os.path.basename(file), line) for name, file, line in truth.get(comm, ())]
            at = next((i for i, frame in enumerate(frames) if names and frame[:2] == names[0][:2]), None)
            if at is None:
                continue
            got = [None if frame[0] in (None, NO_NAME) else frame for frame in frames[at + 1:]]
            sums["judged"] += count
            sums["right"] += count * (len(got) == len(names) - 1 and
                                      all(mine in (None, told, (*told[:2], 0)) for mine, told in zip(got, names[1:])))
            sums["whole"] += count * (got == names[1:])
        return sums

    def test_a_function_that_was_freed_has_no_other_s_name(self):
        run = self.profile("-F", "997", "--script=lazy", "--", pythons()[0], "-c", SHORT_LIVED % 150)
        stats = self.check_books(run)
        samples = named = 0
        for record in self.recorded(run):
            for frame in record["user"]:
                if record["comm"].startswith("made_") and frame.get("origin") == "script" and frame["symbol"] not in (None, "<module>"):
                    samples += record["count"]
                    named += record["count"] * (frame["symbol"] != NO_NAME)
                    self.assertIn(frame["symbol"], (record["comm"], NO_NAME))
        self.assertGreater(samples, 100)
        self.assertGreater(stats["script_unnamed"]["changed"] + stats["script_unnamed"]["gone"], 0)
        print(f"{named} of {samples} samples have a name: {stats['script_unnamed']}")

    def test_forged_code_has_its_own_names_alone(self):
        """Code that is freed and rewritten between samples, by a program that means harm; its rule is known."""
        run = self.profile("-F", "997", "--script=lazy", "--", "sh", "-c",
                           "".join(f"{fixture('forged_python')} {case} 400 & " for case in ("reused", "swapped", "lengths", "circle")) + "wait")
        self.check_books(run)
        names = {name for name, _file, _line in self.names(run)}
        self.assertEqual({name for name in names if not re.fullmatch(r"made_\d+|one|two|\[script\]", name)}, set())

    def test_programs_that_have_ended_have_no_names(self):
        def sample(length):
            program = "import time\ndef short():\n    end = time.process_time() + 0.03\n    while time.process_time() < end: pass\nshort()"
            return self.profile("-v", "-F", "1997", "--script=lazy", "--", "sh", "-c",
                                f"for i in $(seq {20 * length}); do {pythons()[0]} -S -c '{program}'; done")

        run, stats = self.until_seen("a function of a program that has ended", lambda length: (run := sample(length), self.check_books(run)),
                                     lambda seen: seen[1]["script_unnamed"]["gone"] > 0)
        names = {name for name, _file, _line in self.names(run)}
        self.assertIn("functions of scripts have no name: gone", run.stderr)
        self.assertLessEqual({name for name in names if name.startswith("sh")}, {"short"})

    def test_windows_and_viewers_have_them(self):
        spin = "import time\ndef spin(end):\n    while time.process_time() < end:\n        pass\nspin(time.process_time() + 3)"
        done = self.fpless("profile", "--window", "0.7", "--script=only,lazy", "-F", "499", "-q", "-o", self.path("w-%t.folded"), "--",
                           pythons()[0], "-c", spin)
        self.assertEqual(done.returncode, 0, done.stderr)
        windows = [name for name in os.listdir(self.folder) if name.startswith("w-")]
        found = [name for name in windows if ";spin (<string>:" in self.text(name)]
        self.assertGreaterEqual(len(found), 3, windows)
        run = self.profile("-F", "499", "--by", "tid,cpu", "--script=lazy", "--stream=json", "--", pythons()[0], "-c", spin)
        streamed = [json.loads(line) for line in run.stdout.splitlines()]
        names = [frame["symbol"] for sample in streamed if sample.get("type") == "sample" for frame in sample["user"]
                 if frame.get("origin") == "script"]
        # Python's own functions as it begins
        self.assertGreater(names.count("spin"), 500)
        self.assertLess(names.count(NO_NAME), names.count("spin"))
        run = self.profile("-F", "499", "--rows", "1000", "--script=lazy", "--", pythons()[0], "-c", spin, verb="top")
        self.assertIn("[python]\tspin (<string>:", run.stdout.decode())

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_what_is_refused(self):
        for verb, option, said in (("profile", "--script=lazy,mix", "expected mix"), ("profile", "--script=mix,all", "expected mix"),
                                   ("profile", "--script=mix,lazy,", "expected mix"), ("profile", "--script=", "expected mix"),
                                   ("profile", "--script=,lazy", "expected mix"), ("compare", "--script=lazy", "not with compare"),
                                   ("stack", "--script=lazy", "lazy is for samples")):
            with self.subTest(option):
                self.assert_refused(self.fpless(verb, option, *(("1",) if verb == "stack" else ("-d", "1"))), 1, "--script", said)


if __name__ == "__main__":
    if not pythons():
        skip("no CPython of a known version")
    main()
