#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fpless reaches in programs of other languages: one line per language and way of starting it.

usage: run.py FPLESS [--only NAME,...] [--ms 2000] [--hz 499] [--markdown] [--keep DIR]

Each runs fib by recursion until it has used --ms of CPU time. A language that is not installed is
said and left out (docs/languages.md says which packages they are). Columns: user samples; complete,
per cent; frames per stack; frames by origin, per cent; frames in code without an object, per cent of
all, and of these with a name; stacks in which fib has its name, per cent; stops other than outermost;
the function and object where most walks ended too early.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "sources")
ZEND = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=64M", "-d", "opcache.jit=tracing"]


def source(name):
    return os.path.join(PROGRAMS, name)


# name: (program that must be there, commands to build in the folder, command, what fib is called)
CASES = {
    "go": ("go", [["go", "build", "-o", "fib-go", source("fib.go")]], ["./fib-go"], "main.fib"),
    "node": ("node", [], ["node", source("fib.js")], "fib"),
    "node --perf-basic-prof": ("node", [], ["node", "--perf-basic-prof", source("fib.js")], "fib"),
    "node --perf-prof": ("node", [], ["node", "--perf-prof", source("fib.js")], "fib"),
    "node --perf-basic-prof --interpreted-frames-native-stack": (
        "node", [], ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", source("fib.js")], "fib"),
    "java": ("javac", [["javac", "-d", ".", source("Fib.java")]], ["java", "-cp", ".", "Fib"], "fib"),
    "java, perf map": (
        "javac", [["javac", "-d", ".", source("Fib.java")]],
        ["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-cp", ".", "Fib"], "fib"),
    "java -XX:+PreserveFramePointer, perf map": (
        "javac", [["javac", "-d", ".", source("Fib.java")]],
        ["java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-cp", ".",
         "Fib"], "fib"),
    "luajit": ("luajit", [], ["luajit", source("fib.lua")], "fib"),
    "luajit -joff": ("luajit", [], ["luajit", "-joff", source("fib.lua")], "fib"),
    "sbcl": ("sbcl", [], ["sbcl", "--script", source("fib.lisp")], "FIB"),
    "ocamlopt": ("ocamlopt", [["cp", source("fib.ml"), "."], ["ocamlopt", "-o", "fib-ocaml", "fib.ml"]],
                 ["./fib-ocaml"], "camlFib__fib"),
    "ocaml bytecode": ("ocamlc", [["cp", source("fib.ml"), "."], ["ocamlc", "-o", "fib-byte", "fib.ml"]],
                       ["ocamlrun", "./fib-byte"], "fib"),
    "ghc -O": ("ghc", [["cp", source("Fib.hs"), "."], ["ghc", "-v0", "-O", "-o", "fib-ghc", "Fib.hs"]],
               ["./fib-ghc"], "fib"),
    "ghc -O -g": ("ghc", [["cp", source("Fib.hs"), "."], ["ghc", "-v0", "-O", "-g", "-o", "fib-ghc-g", "Fib.hs"]],
                  ["./fib-ghc-g"], "fib"),
    "erlang": ("erl", [["erlc", source("fib.erl")]], ["erl", "-noshell", "-s", "fib", "main"], "fib:fib"),
    "erlang +JPperf true": ("erl", [["erlc", source("fib.erl")]],
                            ["erl", "+JPperf", "true", "-noshell", "-s", "fib", "main"], "fib:fib"),
    "pypy3": ("pypy3", [], ["pypy3", source("fib.py")], "fib"),
    "pypy3 --jit off": ("pypy3", [], ["pypy3", "--jit", "off", source("fib.py")], "fib"),
    "python3": ("python3", [], ["python3", source("fib.py")], "fib"),
    "perl": ("perl", [], ["perl", source("fib.pl")], "fib"),
    "ruby": ("ruby", [], ["ruby", source("fib.rb")], "fib"),
    "php": ("php", [], ["php", source("fib.php")], "fib"),
    "php, JIT": ("php", [], ["php", *ZEND, source("fib.php")], "fib"),
    "php, JIT with a perf map": ("php", [], ["php", *ZEND, "-d", "opcache.jit_debug=16", source("fib.php")], "fib"),
}


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


def place(frame):
    """The function and object of a frame, for the table."""
    if frame is None:
        return "-"
    where = os.path.basename(frame["object"]) if "object" in frame else "run time"
    return "%s (%s)" % (frame["symbol"] or "?", where)


class Figures:
    def __init__(self, path, fib):
        self.stops = collections.Counter()
        self.origins = collections.Counter()
        self.ends = collections.Counter()
        self.samples = self.frames = self.raw = self.named = self.fib = 0
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if record["type"] == "stack" and record["stop"] is not None:
                    self.take(record, fib)
                elif record["type"] == "books":
                    self.books = record

    def take(self, stack, fib):
        count = stack["count"]
        user = stack["user"]
        self.samples += count
        self.stops[stack["stop"]] += count
        self.frames += count * len(user)
        for frame in user:
            self.origins[frame["origin"]] += count
            if "addr" in frame:
                self.raw += count
                self.named += count * (frame["symbol"] is not None)
        self.fib += count * any(fib in (frame["symbol"] or "") for frame in user)
        if stack["stop"] not in ("outermost", "exiting", "execing"):
            self.ends[stack["stop"] + " in " + place(user[-1] if user else None)] += count

    def columns(self):
        judged = self.samples - self.stops["exiting"] - self.stops["execing"]
        stops = {stop: count for stop, count in self.stops.most_common() if stop != "outermost"}
        return (self.samples, "%.2f" % percent(self.stops["outermost"], judged),
                "%.1f" % (self.frames / max(self.samples, 1)),
                ", ".join("%s %.1f" % (origin, percent(nr, self.frames)) for origin, nr in self.origins.most_common()),
                "%.1f" % percent(self.raw, self.frames), "%.1f" % percent(self.named, self.raw),
                "%.1f" % percent(self.fib, self.samples),
                ", ".join("%s %d" % item for item in stops.items()) or "-",
                "; ".join("%s %d" % item for item in self.ends.most_common(2)) or "-")


HEAD = ("program", "samples", "complete %", "frames", "origins, %", "run time, %", "named, %", "fib, %", "other stops",
        "most end in")


def measure(fpless, case, options, folder):
    needed, build, command, fib = case
    if not shutil.which(needed):
        return None
    for step in build:
        subprocess.run(step, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "GOCACHE": os.path.join(folder, "go"), "GO111MODULE": "off"})
    out = os.path.join(folder, "out.jsonl")
    subprocess.run([fpless, "profile", "-q", "-F", str(options.hz), "-d", "60", "-o", out, "--", *command,
                    str(options.ms)], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return Figures(out, fib)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless")
    parser.add_argument("--only")
    parser.add_argument("--ms", type=int, default=2000)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    fpless = os.path.realpath(options.fpless)
    wanted = options.only.split(",") if options.only else None
    left, right, between = ("| ", " |", " | ") if options.markdown else ("", "", "\t")

    print(left + between.join(HEAD) + right)
    if options.markdown:
        print("|" + " --- |" * len(HEAD))
    for name, case in CASES.items():
        if wanted and not any(name.startswith(prefix) for prefix in wanted):
            continue
        folder = tempfile.mkdtemp(prefix="fpless-language-")
        try:
            figures = measure(fpless, case, options, folder)
            columns = figures.columns() if figures else ("not installed",)
            print(left + between.join(map(str, (name, *columns))) + right, flush=True)
            if options.keep and figures:
                shutil.copy(os.path.join(folder, "out.jsonl"),
                            os.path.join(options.keep, name.replace(" ", "_") + ".jsonl"))
        except subprocess.CalledProcessError as error:
            print(left + name + between + str(error) + right, flush=True)
        finally:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
