#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks and names of Java, without flags: a chain of methods whose right stack is known, and one that is inlined."""

import glob
import json
import os
import re
import signal
import subprocess
import unittest

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, main
from java_chain import fault_of, java_threads, source
from waiting import wait_until_busy

JVM = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
INLINED = 12


def inlined_source(leaf):
    """A chain that the compiler inlines, which ends in Inlined.leaf; the line that each method calls the next one at."""
    lines, calls = ["public class Inlined {"], {}

    def add(name, params, *body, call):
        lines.append(f"    static long {name}({params}) {{")
        for line in body:
            lines.append(f"        {line}")
            if call in line:
                calls[f"Inlined.{name}"] = len(lines)
        lines.append("    }")

    add("leaf", "long n", "long sum = n;", "for (int i = 0; i < 300; i++)", "    sum = sum * 31 + (sum >>> 7);", "return sum;",
        call="sum >>>")
    for i in reversed(range(INLINED)):
        call = f"m{i + 1:02}(" if i + 1 < INLINED else f"{leaf}("
        above = ["long k = n;", *(f"k ^= k << {k + 1};" for k in range(i % 4))]
        add(f"m{i:02}", "long n", *above, f"long got = {call}k + 1);", "return got ^ k;", call=call)
    add("run", "long n", "long sum = n;", "for (int i = 0; i < 2000; i++)", "    sum += m00(sum + i);", "return sum;", call="m00(")
    add("main", "String[] args", "long sum = 1;", "for (int i = 0;; i++) {", "    sum = run(sum);",
        "    if (i == 1000) System.out.println();", "}", call="run(")
    return "\n".join(lines).replace("static long main", "public static void main") + "\n}\n", calls


def functions(stack):
    """The Java functions of a stack with their lines, leaf first, those that are inlined as if they were not."""
    found = []
    for frame in stack["user"]:
        if frame.get("origin") == "jit":
            found += [(part["symbol"], part.get("line")) for part in [*frame.get("inlined", []), frame]]
    return found


def is_interpreted(found, names):
    """Is a method of the chain not compiled? It has no line then."""
    chain = found[:names.index("Inlined.m00") + 1]
    return any(name == "Interpreter" or (name.startswith("Inlined.") and not line) for name, line in chain[1:])


class JavaCase(RootCase):
    def compiled(self):
        with open(self.path("Chain.java"), "w", encoding="ascii") as file:
            file.write(source())
        subprocess.run([JVM, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", self.folder, self.path("Chain.java")],
                       check=True, timeout=TIMEOUT_S)
        return [JVM, "-XX:-Inline", "-cp", self.folder, "Chain"]

    def running(self):
        """A JVM that has compiled the chain."""
        process = self.start(*self.compiled(), "600000")
        wait_until_busy(process.pid, 1500)
        return process


@unittest.skipUnless(os.path.exists(JVM), "no OpenJDK 17 (openjdk-17-jdk-headless)")
class JavaIsWalked(JavaCase):
    def test_the_chain_is_whole_right_and_named(self):
        run = self.profile("-F", "499", "--", *self.compiled(), "3000")
        stacks = java_threads(run.stacks)
        nr = sum(stack["count"] for stack in stacks)
        whole = [stack for stack in stacks if stack["stop"] == "outermost"]
        print(f"{nr} samples of the chain, {sum(stack['count'] for stack in whole)} of them complete")
        faults = [fault for fault in map(fault_of, whole) if fault]
        self.assertEqual(faults, [])
        self.assert_share(sum(stack["count"] for stack in whole), nr, 0.98)
        self.assertGreater(run.stats["frames_by_origin"]["jit"], nr)
        made = [(stack["count"], frame) for stack in whole for frame in stack["user"] if frame.get("origin") == "jit"]
        named = sum(count for count, frame in made if frame["symbol"])
        self.assert_share(named, sum(count for count, _ in made), 0.97)

    def test_interpreted_methods_are_named(self):
        java, *options = self.compiled()
        run = self.profile("-F", "499", "--", java, "-Xint", *options, "2000")
        stacks = [stack for stack in java_threads(run.stacks) if stack["stop"] == "outermost"]
        self.assertEqual([fault for fault in map(fault_of, stacks) if fault], [])
        nr = sum(stack["count"] for stack in stacks)
        callers = sum(stack["count"] for stack in stacks
                      if all(frame["symbol"] != "Interpreter" for frame in stack["user"][1:]))
        leaves = sum(stack["count"] for stack in stacks if stack["user"][0]["symbol"] != "Interpreter")
        print(f"{nr} samples, in {callers} all callers have names, in {leaves} the leaf does")
        self.assert_share(nr, sum(stack["count"] for stack in java_threads(run.stacks)), 0.98)
        self.assert_share(callers, nr, 0.9)  # what is met in the last second of a JVM is not read
        self.assert_share(leaves, nr, 0.8)
        # a method that is interpreted is told by its Method alone: it begins where that is
        offsets = {frame["offset"] for stack in stacks for frame in stack["user"] if (frame["symbol"] or "").startswith("Chain.")}
        self.assertEqual(offsets, {0})

    def test_a_jvm_that_runs_already_and_one_that_is_not_asked(self):
        process = self.running()
        run = self.profile_while_busy([process.pid], 1000, "-F", "499", "-p", str(process.pid))
        stacks = java_threads(run.stacks)
        whole = [stack for stack in stacks if stack["stop"] == "outermost"]
        self.assertEqual([fault for fault in map(fault_of, whole) if fault], [])
        self.assert_share(sum(stack["count"] for stack in whole),
                          sum(stack["count"] for stack in stacks), 0.97)
        run = self.profile_while_busy([process.pid], 500, "-F", "499", "--no-jit", "-p", str(process.pid))
        self.assertEqual(run.stats["frames_by_origin"]["jit"], 0)
        self.assertEqual(java_threads(run.stacks), [])


@unittest.skipUnless(os.path.exists(JVM), "no OpenJDK 17 (openjdk-17-jdk-headless)")
class NamesAreThereDuringARun(JavaCase):
    def check(self, stacks, share=0.97):
        """The frames of code made at run time in these stacks, once for each sample, are named and in order."""
        stacks = [stack for stack in stacks if stack["stop"] == "outermost"]
        frames = [frame for stack in stacks for _ in range(stack.get("count", 1)) for frame in stack["user"]
                  if frame.get("origin") == "jit"]
        named = [frame["symbol"] for frame in frames if frame.get("symbol")]
        print(f"{len(frames)} frames, {len(named)} of them named")
        self.assertIn("Chain.m00", named)
        self.assert_share(len(named), len(frames), share)
        self.assertEqual([fault for fault in map(fault_of, stacks) if fault], [])

    def test_in_a_stream_in_top_and_in_each_window(self):
        process = self.running()
        for check in (self.check_stream, self.check_top, self.check_windows):
            with self.subTest(check.__name__):
                check(process)

    def check_stream(self, process):
        # with the outputs that a run has at its end: both read the same
        run = self.profile_while_busy([process.pid], 1200, "--stream=json", "-F", "499", "-p", str(process.pid))
        # samples that come before the JVM's memory was opened are told at once
        self.check([json.loads(line) for line in run.stdout.splitlines()], 0.9)
        self.check(run.stacks)

    def check_top(self, process):
        run = self.profile_while_busy([process.pid], 1200, "--plain", "--since-start", "--rows", "1000", "--sort", "total",
                                      "--interval", "0.5", "-F", "499", "-p", str(process.pid), verb="top")
        head, _, *rows = run.stdout.decode().split("\n\n")[-2].split("\n")
        nr = int(re.search(r"samples=(\d+)", head).group(1))
        total = {cells[5].strip(): int(cells[3]) for cells in (row.split("\t") for row in rows)}
        unnamed = sum(int(row.split("\t")[2]) for row in rows if re.match(r"\[?0x", row.split("\t")[5].strip()))
        print(f"{nr} samples, {total.get('Chain.m00')} below m00, {unnamed} in code without a name")
        self.assert_share(total.get("Chain.m00", 0), nr, 0.85)
        self.assert_share(nr - unnamed, nr, 0.9)

    def check_windows(self, process):
        fpless = self.start(FPLESS, "profile", "-q", "--no-cache", "--window", "0.5", "-o", self.path("w-%t.jsonl"), "-F", "499",
                            "-p", str(process.pid))
        self.wait_while_it_runs(fpless, "four windows", lambda: len(glob.glob(self.path("w-*.jsonl"))) >= 4)
        fpless.send_signal(signal.SIGINT)
        self.assertEqual(fpless.wait(TIMEOUT_S), 0)
        stacks = []
        for path in glob.glob(self.path("w-*.jsonl")):
            with open(path, encoding="utf-8") as file:
                stacks += [record for record in map(json.loads, file) if "user" in record and "stop" in record]
        self.check(stacks, 0.95)


@unittest.skipUnless(os.path.exists(JVM), "no OpenJDK 17 (openjdk-17-jdk-headless)")
class WhatIsInlinedIsKnown(RootCase):
    def stacks(self, leaf, *options):
        """Stacks of Inlined as compiled code alone has them, and what each method calls the next one at."""
        source, calls = inlined_source(leaf)
        with open(self.path("Inlined.java"), "w", encoding="ascii") as file:
            file.write(source)
        process = self.start(JVM, "-Xbatch", "-XX:+UnlockDiagnosticVMOptions", *options, self.path("Inlined.java"),
                             stdout=subprocess.PIPE)
        with process.stdout:
            self.assertEqual(process.stdout.readline(), b"\n")  # what is compiled is
        run = self.profile_while_busy([process.pid], 1000, "-F", "499", "-p", str(process.pid))
        stacks = [(stack, functions(stack)) for stack in run.stacks if stack["stop"] == "outermost"]
        return [(stack, found) for stack, found in stacks if any(name == "Inlined.m00" for name, _ in found)], calls

    def test_calls_in_inlined_methods_are_right_to_the_line(self):
        chain = [f"Inlined.m{i:02}" for i in reversed(range(INLINED))] + ["Inlined.run"]
        stacks, calls = self.stacks("leaf", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Inlined.leaf")
        nr = inlined = 0
        for stack, found in stacks:
            names = [name for name, _ in found]
            if names[0] != "Inlined.leaf" or is_interpreted(found, names):
                continue
            self.assertEqual(found[1:1 + len(chain)], [(name, calls[name]) for name in chain])
            self.assertEqual([name for name in names if name.startswith("Inlined.m")],
                             chain[:-1] + ["Inlined.main"] * ("Inlined.main" in names))
            nr += stack["count"]
            inlined += stack["count"] * any(len(frame.get("inlined", [])) >= INLINED - 3 for frame in stack["user"])
        whole = sum(stack["count"] for stack, _ in stacks)
        print(f"{whole} samples below m00, {nr} of them in leaf, {inlined} with all inlined in one frame")
        self.assert_share(nr, whole, 0.9)
        self.assert_share(inlined, nr, 0.9)

    def test_leaves_are_known_where_the_jvm_says_all(self):
        order = ["Inlined.leaf"] + [f"Inlined.m{i:02}" for i in reversed(range(INLINED))] + ["Inlined.run"]
        stacks, calls = self.stacks("leaf", "-XX:+DebugNonSafepoints")
        nr = deep = 0
        for stack, found in stacks:
            names = [name for name, _ in found]
            if is_interpreted(found, names):
                continue
            start = order.index(names[0])
            self.assertEqual(names[:len(order) - start], order[start:])
            self.assertEqual(found[1:len(order) - start], [(name, calls[name]) for name in order[start + 1:]])
            nr += stack["count"]
            deep += stack["count"] * (names[0] == "Inlined.leaf")
        print(f"{nr} samples, {deep} of them in leaf")
        self.assert_share(deep, nr, 0.8)


if __name__ == "__main__":
    main()
