#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of Go programs, with the Go that is installed: whole ones, across changes of stacks."""

import os
import re
import shutil
import subprocess
import sys

from root_case import RootCase, main

SOURCE = """package main

import (
	"os"
	"time"
)

type node struct{ left, right *node }

//go:noinline
func leaf(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i ^ sum
	}
	return sum
}

//go:noinline
func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

//go:noinline
func middle(n int) int {
	grow(10)
	return leaf(n) + 1
}

//go:noinline
func serve(work chan int) {
	for n := range work {
		middle(n)
	}
}

func main() {
	end := time.Now().Add(900 * time.Millisecond)
	work := make(chan int)
	go serve(work)
	for time.Now().Before(end) {
		work <- 50000 + middle(50000)%2
	}
	os.Exit(0)
}
"""
CLOSURE = re.compile(r"(.*)\.func\d+$")
ENDS = {"runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.morestack", "runtime.rt0_go",
        "_rt0_amd64_linux"}


def version():
    """(major, minor) of the Go that is installed, or None."""
    if not shutil.which("go"):
        return None
    text = subprocess.run(["go", "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def plain(frame):
    """The name of a frame's function, without the ABI that assembly has behind it."""
    return re.sub(r"\.abi\d$", "", frame["symbol"] or "")


class GoStacks(RootCase):
    def build(self, *flags):
        source = os.path.join(self.folder, "prog.go")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        binary = os.path.join(self.folder, "prog")
        subprocess.run(["go", "build", "-o", binary, *flags, source], check=True,
                       env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"})
        return binary

    def check(self, run, share):
        user = [stack for stack in run.stacks if stack["stop"] is not None]
        total = sum(stack["count"] for stack in user if stack["stop"] not in ("exiting", "execing"))
        whole = sum(stack["count"] for stack in user if stack["stop"] == "outermost")
        self.assert_share(whole, total, share)
        for stack in user:
            self.assertLessEqual({frame["origin"] for frame in stack["user"]}, {"cfi", "cfi_user", "synth"})
        return [stack for stack in user if stack["stop"] == "outermost"]

    def test_stacks_are_whole(self):
        binary = self.build()
        self.until_seen("a stack that goes on behind runtime.systemstack", lambda _: self.sample(binary), bool)

    def sample(self, binary):
        """A run whose stacks are judged. Returns how many samples go on behind the change of stacks."""
        run = self.profile("-F", "999", "--", binary)
        # a snapshot holds one stack: what is sampled before the table is there may end at a switch
        stacks = self.check(run, 0.97)
        beyond = 0
        for stack in stacks:
            names = [plain(frame) for frame in stack["user"]]
            self.assertIn(names[-1], ENDS, names)
            for callee, caller in zip(names, names[1:]):
                if callee == "main.leaf":
                    self.assertIn(caller, ("main.middle", "runtime.asyncPreempt"), names)
                if callee == "main.middle":
                    self.assertIn(caller, ("main.serve", "main.main"), names)
            if "main.leaf" in names:
                self.assertIn(names[-3:-1], (["main.main", "runtime.main"], ["main.middle", "main.serve"],
                                             ["main.serve", "main.main.gowrap1"],
                                             ["main.serve", "main.main.func1"]), names)
            beyond += stack["count"] * ("runtime.systemstack" in names and names[-1] == "runtime.goexit")
            self.check_switches(names)
        return beyond

    def check_switches(self, names):
        """Behind each change of stacks comes the function that asked for it."""
        for callee, switch, caller in zip(names, names[1:], names[2:]):
            if switch == "runtime.systemstack" and CLOSURE.fullmatch(callee):
                # the function that a closure is written in may be inlined
                package = callee.split(".", maxsplit=1)[0]
                self.assertEqual(caller.split(".", maxsplit=1)[0], package, names)
            if switch == "runtime.systemstack":
                self.assertNotIn(caller, ENDS, names)
            if switch == "runtime.morestack":
                self.assertEqual(callee, "runtime.newstack", names)

    def functions(self, program):
        """{address and whether it is exact: the functions there, with file and line} of a run of it."""
        run = self.profile("-F", "999", "--", program)
        found = {(frame["vaddr"], frame.get("exact")): [(plain(one), one.get("file"), one.get("line"))
                                                        for one in [frame, *frame.get("inlined", [])]]
                 for stack in run.stacks for frame in stack["user"] if frame["object"] == program}
        return {place: functions for place, functions in found.items() if functions[0][2]}

    def test_functions_of_a_stripped_program_are_those_of_its_debug_information(self):
        full, bare = self.build(), self.path("bare")
        subprocess.run(["strip", "-o", bare, full], check=True)

        def both(_):
            ours, wanted = self.functions(bare), self.functions(full)
            return [(place, functions, wanted[place]) for place, functions in ours.items() if place in wanted]

        seen = self.until_seen("twenty addresses in both runs, one with an inlined function", both,
                               lambda seen: len(seen) >= 20 and any(len(ours) > 1 for _, ours, _ in seen))
        for place, ours, wanted in seen:
            self.assertEqual(ours, wanted, place)

    def test_stacks_of_a_stripped_program_are_whole_too(self):
        run = self.profile("-F", "999", "--", self.build("-ldflags=-s -w"))
        self.check(run, 0.97)


if __name__ == "__main__":
    if not version() or version() < (1, 18):
        print("SKIP: no Go of 1.18 or later is installed")
        sys.exit(77)
    main()
