#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of JavaScript are named without flags, and as node's own perf map names them."""

import pathlib
import re
import shutil
import subprocess
import unittest

from root_case import RootCase, main
from waiting import wait_for

NODE = shutil.which("node")

PROGRAM = """'use strict';
class Point { constructor(x) { this.x = x; } norm() { return Math.sqrt(this.x * this.x); } }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const twice = (list) => list.map((x) => x * 2).filter(function odd(x) { return x % 3; }).length;
const table = { method(n) { let s = 0; for (let i = 0; i < n; i++) s += new Point(i).norm(); return s; } };
function* squares(n) { for (let i = 0; i < n; i++) yield i * i; }
function sorted(n) {
    const list = [];
    for (let i = 0; i < n; i++) list.push((i * 7919) % 1000);
    return list.sort(function compare(x, y) { return x - y; })[0];
}
const made = new Function('n', 'let s = 0; for (let i = 0; i < n; i++) s += i; return s');
function round() {
    let s = fib(16) + twice([1, 2, 3, 4]) + table.method(300) + sorted(300) + made(500);
    for (const square of squares(200)) s += square;
    return s;
}
function busy(ms) {
    let s = 0;
    while (process.cpuUsage().user / 1000 < ms) s += round();
    return s;
}
console.log(busy(Number(process.argv[2])));
"""
CPU_MS = 3000
FUNCTIONS = {"fib": 3, "busy": 18}  # others may be inlined

# "JS:*fib /tmp/x.js:3:13": how it was compiled, name, file, line and column
ENTRY = re.compile(r"(?:JS|LazyCompile|Function|Eval|Script):[~*^+']*(.*?) ?([^ ]*?)(?::(\d+):\d+)?$")


def script_frames(run):
    return [(stack["count"], frame) for stack in run.stacks for frame in stack["user"] if frame["origin"] == "script"]


@unittest.skipUnless(NODE, "no node (nodejs)")
class NodeIsNamed(RootCase):
    def program(self):
        path = self.path("program.js")
        with open(path, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        return path

    def test_functions_have_name_file_and_line_without_a_flag(self):
        path = self.program()
        run = self.profile("-F", "499", "--", NODE, path, str(CPU_MS))
        frames = script_frames(run)
        for name, line in FUNCTIONS.items():
            mine = [frame for _, frame in frames if frame["symbol"] == name and frame.get("file") == path]
            self.assertTrue(mine, name)
            self.assertEqual({frame["line"] for frame in mine}, {line}, name)
        self.assertTrue(any(frame["symbol"] == "fib" for _, frame in frames))
        native = self.profile("-F", "499", "--no-script", "--", NODE, path, "500")
        self.assertEqual(script_frames(native), [])

    def test_names_are_those_of_the_perf_map(self):
        path = self.program()
        run = self.profile("-F", "499", "--script=all", "--", NODE, "--perf-basic-prof", "--interpreted-frames-native-stack",
                           "--no-logfile-per-isolate", f"--logfile={self.path('v8.log')}", path, str(CPU_MS))
        for pid in {stack["pid"] for stack in run.stacks}:
            self.addCleanup(pathlib.Path(f"/tmp/perf-{pid}.map").unlink, missing_ok=True)
        same, other = 0, []
        for stack in run.stacks:
            frames = stack["user"]
            for before, frame in zip(frames, frames[1:]):
                entry = ENTRY.match(frame["symbol"] or "")
                if "object" in frame or not entry or before["origin"] != "script":
                    continue
                wanted, line = entry[1] or "(anonymous)", entry[3]
                if before["symbol"] == wanted and (not before.get("line") or str(before["line"]) == line):
                    same += stack["count"]
                else:
                    other.append((frame["symbol"], before["symbol"], before.get("line")))
        print(f"{same} frames have the name that the perf map has, {len(other)} another one")
        self.assertGreater(same, 100)
        self.assertEqual(other, [])

    def test_functions_of_a_thread_that_sleeps(self):
        """Once node's whole table is kept."""
        path = self.path("sleeper.js")
        with open(path, "w", encoding="ascii") as file:
            file.write("'use strict';\nfunction inner(n) {\n    if (n) return inner(n - 1);\n    console.log('x');\n"
                       "    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);\n}\n"
                       "class Job {\n    work() { return inner(3); }\n}\nfunction outer() { return [1].map(() => new Job().work()); }\nouter();\n")

        def sample(length):
            done = self.fpless("profile", "-q", "-F", "499", "-o", self.path("kept.folded"), "--", NODE, self.program(), str(CPU_MS * length))
            self.assertEqual(done.returncode, 0, done.stderr)
            sleeper = self.start(NODE, path, stdout=subprocess.PIPE)
            self.addCleanup(sleeper.stdout.close)
            sleeper.stdout.readline()
            wait_for("a sleeping thread", lambda: self.state(sleeper.pid) == "S")
            text = self.fpless("stack", "-U", str(sleeper.pid)).stdout.decode()
            sleeper.kill()
            return re.findall(r"^ +\d+ {2,}(.+) \(\[javascript\]\) \[script\](?: \[(\d+) times\])?$", text, re.MULTILINE)

        found = self.until_seen("functions of a thread that sleeps", sample, lambda seen: seen)
        self.assertEqual(found[:4], [(f"inner {path}:2", "4"), (f"work {path}:8", ""), (f"(anonymous) {path}:10", ""), (f"outer {path}:10", "")])

    def state(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(") ")[2][0]


if __name__ == "__main__":
    main()
