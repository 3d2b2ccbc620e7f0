# SPDX-License-Identifier: Apache-2.0
"""A Java program that calls a chain of methods, whose right stack is known, and what is wrong with stacks of it."""

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
        Thread thread;
        if (args.length > 1) { // one of JDK 21 and later
            thread = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> run(ms));
        } else {
            thread = new Thread(() -> run(ms));
            thread.start();
        }
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


def source():
    return HEAD + "".join(method(i) for i in range(METHODS)) + TAIL


def java_threads(stacks):
    """Those of Java code: with a frame of the chain."""
    return [stack for stack in stacks
            if any((frame["symbol"] or "").startswith("Chain.") for frame in stack["user"])]


def fault_of(stack):
    """What is wrong with the order of the chain's methods; None: nothing."""
    names = [frame["symbol"] or "" for frame in stack["user"]]
    if names[:1] == ["Interpreter"]:  # a method that begins or ends
        names = names[1:]
    chain = [int(name[7:]) for name in names if name.startswith("Chain.m") and name[7:].isdigit()]
    whole = list(range(chain[0], -1, -1)) if chain else []
    until = names.index("Chain.m00") if "Chain.m00" in names else len(names)
    if {"Interpreter", ""} & set(names[:until]):  # some of the methods were not read
        return None if chain == sorted(set(chain), reverse=True) else " < ".join(names)
    return None if chain == whole and (chain or "Chain.leaf" not in names) else " < ".join(names)
