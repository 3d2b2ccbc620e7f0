#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks and names of Java, without flags: a chain of methods whose right stack is known."""

import os
import subprocess
import unittest

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, main
from waiting import wait_until_busy

JVM = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
METHODS = 40

# Method i keeps 3 * i % 29 words across its call, so frames are of different sizes; one in four goes through an
# interface, one in four sorts by a comparison that the compiler has inline code for.
HEAD = """import java.lang.management.*;
public class Chain {
    interface Next { long call(long n); }
    static final String[] WORDS = { "delta", "delte", "alpha" };
    static long cpuMs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1000000;
    }
    static long leaf(long n) {
        long sum = n;
        for (int i = 0; i < 200; i++)
            sum = sum * 31 + (sum >>> 7) + WORDS[i & 1].compareTo(WORDS[(int) (sum & 1)]);
        return sum + (long) (Math.sin(sum) * 8);
    }
"""
TAIL = """    static void run(long ms) {
        long sum = 0;
        while (cpuMs() < ms)
            for (int i = 0; i < 2000; i++)
                sum += m00(sum + i);
        System.out.println(sum);
    }
    public static void main(String[] args) throws Exception {
        long ms = Long.parseLong(args[0]);
        Thread thread = new Thread(() -> run(ms));
        thread.start();
        thread.join();
    }
}
"""


def method(i):
    kept = 3 * i % 29
    following = f"m{i + 1:02}" if i + 1 < METHODS else "leaf"
    call = f"((Next) Chain::{following}).call(n + 1)" if i % 4 == 1 and i + 1 < METHODS else f"{following}(n + 1)"
    lines = [f"        long k{k} = n * {k + 3} ^ (n >>> {k % 13 + 1});" for k in range(kept)]
    kept_sum = "".join(f" + k{k}" for k in range(kept))
    return (f"    static long m{i:02}(long n) {{\n" + "\n".join(lines) + f"\n        long got = {call};\n"
            f"        return got{kept_sum};\n    }}\n")


def java_threads(run):
    """Stacks of Java code: those with a frame of the chain, and their counts."""
    return [stack for stack in run.stacks
            if any((frame["symbol"] or "").startswith("Chain.") for frame in stack["user"])]


def fault_of(stack):
    """What is wrong with the order of the chain's methods; None: nothing."""
    names = [frame["symbol"] or "" for frame in stack["user"]]
    chain = [int(name[7:]) for name in names if name.startswith("Chain.m") and name[7:].isdigit()]
    whole = list(range(chain[0], -1, -1)) if chain else []
    until = names.index("Chain.m00") if "Chain.m00" in names else len(names)
    if "Interpreter" in names[:until]:  # some of the methods are not compiled yet
        return None if chain == sorted(set(chain), reverse=True) else " < ".join(names)
    return None if chain == whole and (chain or "Chain.leaf" not in names) else " < ".join(names)


@unittest.skipUnless(os.path.exists(JVM), "no OpenJDK 17 (openjdk-17-jdk-headless)")
class JavaIsWalked(RootCase):
    def compiled(self):
        with open(self.path("Chain.java"), "w", encoding="ascii") as file:
            file.write(HEAD + "".join(method(i) for i in range(METHODS)) + TAIL)
        subprocess.run([JVM, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", self.folder, self.path("Chain.java")],
                       check=True, timeout=TIMEOUT_S)
        return [JVM, "-XX:-Inline", "-cp", self.folder, "Chain"]

    def test_the_chain_is_whole_right_and_named(self):
        run = self.profile("-F", "499", "--", *self.compiled(), "3000")
        stacks = java_threads(run)
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

    def test_a_jvm_that_runs_already_and_one_that_is_not_asked(self):
        process = self.start(*self.compiled(), "600000")
        wait_until_busy(process.pid, 1500)
        run = self.profile_while_busy([process.pid], 1000, "-F", "499", "-p", str(process.pid))
        stacks = java_threads(run)
        whole = [stack for stack in stacks if stack["stop"] == "outermost"]
        self.assertEqual([fault for fault in map(fault_of, whole) if fault], [])
        self.assert_share(sum(stack["count"] for stack in whole),
                          sum(stack["count"] for stack in stacks), 0.97)
        run = self.profile_while_busy([process.pid], 500, "-F", "499", "--no-jit", "-p", str(process.pid))
        self.assertEqual(run.stats["frames_by_origin"]["jit"], 0)
        self.assertEqual(java_threads(run), [])


if __name__ == "__main__":
    main()
