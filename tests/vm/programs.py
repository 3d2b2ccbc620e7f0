# SPDX-License-Identifier: Apache-2.0
"""What is profiled in a guest. Many programs share one `fpless profile`, because the verifier takes
seconds there: tests/vm/sequence.c runs them and notes their pids, and the samples of a program and
its descendants are those from its pid to the next one's."""

import bisect
import glob
import os
import subprocess

from expectation import Expectation
from run_fixture import command

BUDGET_MS = "600"  # CPU time of a program: up to half of it goes for its start
SAMPLES_MIN = 5

# What does not depend on the kernel is left to the tests of the running one, or cannot be had here.
LEFT_OUT = {
    # other ways to write the same tables
    "alloca", "badmap_device", "badmap_empty", "badmap_nothing", "badmap_unlink",
    "chain_dbgframe", "chain_lld", "chain_lldnopie", "chain_nopie", "chain_offset", "chain_split",
    "chain_staticpie", "exceptions_lld", "leaf", "plt_ibt", "recursion_10", "recursion_deeper",
    # other ways to load the same programs: the verifier takes up to 10 seconds here
    "option_maxdepth", "option_snapshot_0", "option_unwind_cfi", "recursion_maxdepth",
    # need samples between any two instructions: qemu interrupts at the start of a block of them
    "cfa_lost_register", "prologue",
    # judge whatever runs in ld.so, which is here mostly the start of the program
    "plt_ibt_resolver", "plt_resolver",
    # bounded by how soon a record is read
    "dlopen_swap",
    # rows for its 700 KB of code take more CPU time here than a file may cost
    "hole", "large_hole",
}

# Here the loop of a leaf takes milliseconds, not the tenth of one: with pages that are dropped as often as elsewhere hardly
# a sample would see a whole stack.
MORE_WORDS = {"misbehave_absent": ["5000"]}

# Rounds, not milliseconds: each of them starts processes.
ROUNDS = {"exec": "8", "fork": "60", "vfork": "240"}

# Too short for a few rounds: a child of 5 ms, which is less than ld.so needs here, and one call.
MAY_NOT_APPEAR = {"vfork": ("spin far_away", "parent_spin")}

PATTERNS_MAX = 5  # so many stacks are sure to be among some 50 samples

ATTACHED = ["bigframe", "threads", "vdso"]  # running when fpless starts

# name, words. A tenth of a second of work, which is some seconds in a guest.
DISTRO = [
    ("perl", ["/usr/bin/perl", "-e",
              "sub f { my $n = shift; $n < 2 ? $n : f($n - 1) + f($n - 2) } f(12); my %h;"
              "$h{$_ * 7919 % 997} .= $_ for 1 .. 3000; join ';', sort values %h;"]),
    ("python3", ["/usr/bin/python3", "-ISBc",
                 "f = lambda n: n if n < 2 else f(n - 1) + f(n - 2); f(13);"
                 "sorted(str(i * 7919 % 997) for i in range(3000))"]),
    ("xz", ["/usr/bin/xz", "-1kc", "/tmp/input"]),
    ("gzip", ["/usr/bin/gzip", "-9kc", "/tmp/input"]),
    ("sort", ["/usr/bin/sort", "/tmp/input"]),
]


class Program:
    """One program: its words, and its samples once the run was read."""

    def __init__(self, name, words, folder=None, expectation=None):
        self.name, self.words, self.folder, self.expectation = name, words, folder, expectation
        self.stacks, self.status = [], None


def known(fixtures, folder, place):
    """{options: [Program]}: programs with known stacks as on the running kernel; their own folders
    are to be made in @place."""
    runs = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.expect"))):
        name = os.path.basename(path).removesuffix(".expect")
        if name in LEFT_OUT:
            continue
        with open(path, encoding="utf-8") as file:
            expectation = Expectation(file.read())
        own = os.path.join(place, name)
        program = Program(name, command(expectation, fixtures, own), own, expectation)
        runs.setdefault(tuple(expectation.options), []).append(program)
    return runs


def for_guest(program):
    """The same with more time, and fewer samples asked for."""
    words = list(program.words)
    words[1] = ROUNDS.get(program.name, BUDGET_MS)
    words += MORE_WORDS.get(program.name, [])
    expectation = program.expectation
    expectation.samples = min(expectation.samples, SAMPLES_MIN)
    expectation.distinct = []  # see LEFT_OUT: interrupts come at the start of a block
    for pattern in expectation.patterns:
        if len(expectation.patterns) > PATTERNS_MAX:
            pattern.must_appear = False
        if pattern.text.strip().startswith(MAY_NOT_APPEAR.get(program.name, ("none",))):
            pattern.must_appear = False
    return Program(program.name, words, program.folder, expectation)


def distro():
    return [Program(name, words) for name, words in DISTRO if os.path.exists(words[0])]


PID_MAX_LEAST = 32768  # what kernel.pid_max is where there are few CPUs; it is never less by itself


def python_files():
    """What the interpreter reads at its start, beside itself."""
    done = subprocess.run(
        ["/usr/bin/python3", "-ISBc",
         "import os, sys\nfor m in list(sys.modules.values()):\n"
         "    for p in (getattr(m, '__file__', 0), getattr(m, '__cached__', 0), os.__file__):\n"
         "        if p and os.path.isabs(p) and os.path.exists(p): print(p)"],
        capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def listing(programs):
    """The programs in the form that sequence reads."""
    words = [word for program in programs for word in (*program.words, "")]
    if any("\n" in word for word in words):
        raise ValueError("a word with a newline")
    return "\n".join(words) + "\n"


def deal(programs, stacks, notes):
    """Gives each program its stacks; returns those of sequence, and of its children before exec."""
    with open(notes, encoding="ascii") as file:
        noted = [tuple(int(word) for word in line.split()) for line in file]
    def turn(pid):
        """Which comes first: pids begin anew when they are used up."""
        return pid if noted[0][0] - pid < PID_MAX_LEAST // 2 else pid + (1 << 32)

    turns = [turn(pid) for pid, _ in noted]
    if len(noted) != len(programs) or turns != sorted(turns):
        raise ValueError(f"{len(programs)} programs, pids {noted}")
    for program, (_, status) in zip(programs, noted):
        program.status = status
    others = []
    for stack in stacks:
        i = bisect.bisect_right(turns, turn(stack["pid"]))
        (programs[i - 1].stacks if i and stack["comm"] != "sequence" else others).append(stack)
    return others
