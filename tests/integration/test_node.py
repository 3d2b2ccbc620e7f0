#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of JavaScript are named without flags, and as node's own perf map names them."""

import pathlib
import re
import shutil
import unittest

from root_case import RootCase, main

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


if __name__ == "__main__":
    main()
