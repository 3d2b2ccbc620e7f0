#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of scripts in stacks of threads that sleep: fpless stack, and threads that sleep throughout a run. Each program tells its
own stack. Arguments: FPLESS FIXTURES."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

from fpless_run import TIMEOUT_S, skip
from root_case import FPLESS, RootCase, die_with_the_tests, fixture, main
from test_script import LUA, PERL, PHP, PYTHON, RUBY, SUPPORT
from waiting import wait_for

import script_judge

FRAME = re.compile(r"^ +\d+ {2,}(.+) \(\[(\w+)\]\) \[script\](?: \[(\d+) times\])?$", re.MULTILINE)

# Each writes its frames, the innermost first, as JSON, and then waits for a byte; all on one line.
SLEEPERS = {
    "python": """
import json, os, sys, traceback
class Job:
    def inner(self, n):
        if n:
            return self.inner(n - 1)
        tell(); os.read(0, 1)
def tell():
    frame, found = sys._getframe(1), []
    while frame:
        found.append([getattr(frame.f_code, "co_qualname", frame.f_code.co_name), __file__, frame.f_lineno])
        frame = frame.f_back
    os.write(1, json.dumps(found).encode() + b"\\n")
def outer():
    return sorted([1], key=lambda one: exec(compile("Job().inner(3)", __file__, "exec"), globals()))
outer()
""",
    "php": """<?php
function tell() {
    $found = []; $line = 0;
    foreach (array_merge(debug_backtrace(), [["function" => "{main}", "line" => 0]]) as $i => $frame) {
        if ($i) $found[] = [(isset($frame["class"]) ? $frame["class"] . "::" : "") . $frame["function"], __FILE__, $line];
        $line = $frame["line"];
    }
    echo json_encode($found), "\\n";
}
class Job {
    function inner($n) {
        if ($n)
            return $this->inner($n - 1);
        tell(); fread(STDIN, 1);
    }
}
function outer() {
    return (new Job)->inner(3);
}
outer();
""",
    "lua": """
local function tell()
    local found = {}
    for level = 2, 100 do
        local info = debug.getinfo(level, "Sl")
        if not info then break end
        local name = info.what == "main" and "main chunk" or ("function <%s:%d>"):format(info.source:match("[^/]*$"), info.linedefined)
        if info.what ~= "C" then
            found[#found + 1] = ('["%s", "%s", %d]'):format(name, info.source:sub(2), info.currentline)
        end
    end
    print("[" .. table.concat(found, ", ") .. "]")
    io.stdout:flush()
end
local function inner(n)
    if n > 0 then
        return (inner(n - 1))
    end
    tell() io.read(1)
end
local function outer()
    return (pcall(inner, 3))
end
outer()
""",
    "ruby": """
require "json"
def tell
  puts JSON.dump(caller_locations(1).reject { |at| at.label == "each" }.map { |at| [at.label, at.path, at.lineno] })
  $stdout.flush
end
class Job
  def inner(n)
    return inner(n - 1) if n > 0
    tell; $stdin.getc
  end
end
def outer
  [1].each do |one|
    Job.new.inner(3)
  end
end
outer
""",
    "perl": """
use strict;
sub tell_all {
    my @found;
    my (undef, $file, $line) = caller(0);
    for (my $level = 1; my @frame = caller($level); $level++) {
        push @found, sprintf('["%s", "%s", %d]', $frame[3], $file, $line);
        ($file, $line) = @frame[1, 2];
    }
    push @found, sprintf('["(main)", "%s", %d]', $file, $line);
    $| = 1; print "[", join(", ", @found), "]\\n";
}
sub inner {
    my ($n) = @_;
    return inner($n - 1) if $n;
    tell_all(); sysread(STDIN, my $byte, 1);
}
sub outer {
    inner(3);
}
outer();
""",
}


def shown(block):
    """The script frames of a stack as fpless stack prints them: [(text, language)]."""
    return [(text, language) for text, language, times in FRAME.findall(block) for _ in range(int(times or 1))]


class StackScripts(RootCase):
    def begin(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   preexec_fn=die_with_the_tests)
        for end in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(end)
        return process

    def sleeper(self, language, interpreter):
        """A program that sleeps, and what it says of its frames: [(text, language)]."""
        path = self.path(f"sleeper.{language.name}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SLEEPERS[language.name])
        process = self.begin(interpreter, path)
        told = [(f"{function} {file}:{line}", language.name) for function, file, line in json.loads(process.stdout.readline())]
        wait_for("a sleeping thread", lambda: self.state(process.pid) == "S")
        return process, told

    def state(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(") ")[2][0]

    def stack(self, *args, status=0):
        run = subprocess.run([FPLESS, "stack", *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def stacks(self, *args):
        """{pid: text of its stack}, of processes with one thread."""
        run = self.stack(*args)
        self.assertNotIn("native alone", run.stderr)
        return {int(re.search(r"\(pid (\d+)\)", block)[1]): block for block in run.stdout.strip().split("\n\n")}

    def sleepers(self):
        return [(language, path, *self.sleeper(language, path)) for language in (PYTHON, PHP, LUA, RUBY, PERL)
                for path, _version in language.found()]

    def test_functions_are_those_that_the_sleeping_program_tells(self):
        sleepers = self.sleepers()
        self.assertTrue(sleepers)
        stacks = self.stacks("-U", *(process.pid for _language, _path, process, _told in sleepers))
        for _language, path, process, told in sleepers:
            with self.subTest(path):
                self.assertEqual(shown(stacks[process.pid]), told, stacks[process.pid])

    def test_functions_of_programs_that_are_stopped_anywhere(self):
        """In the loop or beside it, where registers have what its frames do not yet; chains of calls of many kinds."""
        programs = []
        for language, path in ((language, found[0][0]) for language in (PYTHON, PHP, LUA, RUBY, PERL) if (found := language.found())):
            truth = self.path(f"truth.{language.name}")
            programs.append((language, truth, self.begin(path, os.path.join(SUPPORT, language.truth), truth, str(TIMEOUT_S), "20", "7")))
        for _language, _truth, process in programs:
            wait_for("a program stopped in a chain of calls", lambda process=process: self.stop_in_a_chain(process.pid))
        blocks = self.stack("-U", *(process.pid for _language, _truth, process in programs)).stdout.strip().split("\n\n")
        # a program may have another thread, which has no such name
        stacks = {int(found[1]): block for block in blocks if (found := re.match(r"n\d+ \(pid (\d+)\)", block))}
        for language, truth, process in programs:
            name = stacks[process.pid].split(" (pid ")[0]
            os.kill(process.pid, signal.SIGCONT)
            with self.subTest(language.name):
                want = wait_for("what the program wrote", lambda truth=truth, name=name: script_judge.chains(truth).get(name))
                want = [(f"{function} {file}:{line}", language.name) for function, file, line in want]
                got = shown(stacks[process.pid])
                self.assertEqual(got[len(got) - len(want) + 1:], want[1:], stacks[process.pid])

    def stop_in_a_chain(self, pid):
        """Returns whether it is in one that has a number, which is the program's name then; else it runs on."""
        if not re.fullmatch(r"n\d\d+", self.comm(pid)):
            return False
        os.kill(pid, signal.SIGSTOP)
        wait_for("a stopped program", lambda: self.state(pid) == "T")
        if re.fullmatch(r"n\d\d+", self.comm(pid)):
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    def comm(self, pid):
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
            return file.read().rstrip("\n")

    def test_functions_of_a_thread_that_sleeps_throughout_a_run(self):
        path = PYTHON.found()[0][0]
        process, told = self.sleeper(PYTHON, path)
        for verb in "offcpu", "wall":
            with self.subTest(verb):
                run = self.profile("-d", "1", "-p", str(process.pid), verb=verb)
                with open(run.jsonl_path, encoding="utf-8") as file:
                    frames = [frame for record in map(json.loads, file) if record.get("type") == "stack" for frame in record["user"]]
                script = [(f"{frame['symbol']} {frame['file']}:{frame['line']}", frame["object"].strip("[]")) for frame in frames
                          if frame.get("origin") == "script"]
                self.assertEqual(script, told)
                self.assertEqual(sum(run.stats["script_end"].values()), run.stats["script_chains"]["all"])

    def test_modes_keep_more_or_fewer_native_frames(self):
        process, told = self.sleeper(PYTHON, PYTHON.found()[0][0])
        loop = "_PyEval_EvalFrameDefault"
        nr_frames = []
        for option in "--script=only", "--script=mix", "--script=all":
            text = self.stacks("-U", option, process.pid)[process.pid]
            self.assertEqual(shown(text), told)
            self.assertEqual(loop in text, option == "--script=all")
            nr_frames.append(text.count("(/"))
        self.assertEqual(nr_frames, sorted(nr_frames))
        self.assertGreater(nr_frames[2], nr_frames[1])
        text = self.stacks("-U", "--no-script", process.pid)[process.pid]
        self.assertEqual(shown(text), [])
        self.assertIn(loop, text)
        text = self.stacks("-U", "--script-lines=no", process.pid)[process.pid]
        # a function has the line that it begins at, or none
        self.assertEqual([re.sub(r":\d+$", "", name) for name, _language in shown(text)],
                         [re.sub(r":\d+$", "", name) for name, _language in told])
        self.assertNotEqual(shown(text), told)

    def test_a_loop_whose_code_does_not_tell_its_place_has_native_frames(self):
        """This one writes nothing into its frames."""
        process = self.begin(fixture("forged_python"), "honest", str(1000 * TIMEOUT_S))
        wait_for("the program itself", lambda: self.comm(process.pid) == "honest")
        os.kill(process.pid, signal.SIGSTOP)
        wait_for("a stopped program", lambda: self.state(process.pid) == "T")
        run = self.stack("-U", process.pid)
        self.assertEqual(shown(run.stdout), [])
        self.assertIn("_PyEval_EvalFrameDefault", run.stdout)
        self.assertIn("its code does not tell where it keeps them", run.stderr)
        self.assertIn("1 frames of interpreters are native alone: their scripts' functions are not where", run.stderr)
        self.assertNotIn("ran before", run.stderr)

    def test_what_is_refused(self):
        self.assertIn("expected mix", self.stack("--script=some", 1, status=1).stderr)
        self.assertIn("expected yes or no", self.stack("--script-lines=some", 1, status=1).stderr)


if __name__ == "__main__":
    if not PYTHON.found():
        skip("no CPython of a known version")
    main()
