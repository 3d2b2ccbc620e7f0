#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the stacks of fpless those that gdb sees? One line of TSV a program.

usage: run.py FPLESS [--only NAME,...] [--stops 12] [--seconds 120] [--out FILE.jsonl]

gdb stops a busy program somewhere and puts a jump to itself where a thread is. The thread then spins at this instruction,
so that fpless samples a state that gdb can look at, too: stack and registers stay as they are. The addresses of all frames
are compared, and the names. gdb has no rows for code without CFI and guesses there, so the program is then let go until it
is back in the first caller below all frames found by a row from code or a frame pointer, as fpless has it. There gdb has CFI:
its stack must be the rest of fpless's, whose return address must have lain at the stop where the stack pointer has passed.

Columns: stops; those with a frame found by a row from code or a frame pointer; where gdb's stack at the stop was the same,
of those without such a frame and of those with one; where it was the same once the program had come back; where the return
address had lain there; where some of fpless's samples have fewer of these frames (no table yet), and how many stacks have others; frames
compared; names alike, other,
only fpless's, only gdb's. --out keeps every stop. Needs root and gdb; ends with 1 where a stack is another.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "synth"))
from workloads import WORKLOADS, Inputs, Missing, program, running  # noqa: E402

WARM_UP_S = 1.5
PERL = "while (1) { my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 5000; join q(,), map { uc } sort { $h{$a} cmp $h{$b} } keys %h }"
PYTHON = "import json, re\nwhile True: re.findall(r'x(\\d+)7', json.dumps([{'k': i, 's': 'x%d' % i} for i in range(999)]))"
GDB = ["-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "python\nwhile True:\n gdb.execute('file /usr/bin/gdb')\n"
       " gdb.execute('info functions ^print_', to_string=True)\n gdb.execute('file')"]
ORDINARY = [
    ("gdb", 0, lambda inputs: program("gdb", *GDB)),
    ("perl", 0, lambda inputs: program("/usr/bin/perl", "-e", PERL)),
    ("python3", 0, lambda inputs: program("/usr/bin/python3", "-c", PYTHON)),
    ("openssl rsa2048", 0, lambda inputs: program("openssl", "speed", "-seconds", "300", "rsa2048")),
]
COLUMNS = ["program", "stops", "guessed", "plain_equal", "guessed_equal", "back_equal", "behind_cfa", "cut_samples", "contradict", "frames",
           "names_alike", "names_other", "names_ours_only", "names_gdb_only"]


def stops_of(pid, options, folder):
    """What gdb and fpless say, stop by stop."""
    asked = {"fpless": os.path.abspath(options.fpless), "folder": folder, "stops": options.stops, "seconds": options.seconds,
             "tests": os.path.join(HERE, "..", "..", "integration")}
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-x", os.path.join(HERE, "in_gdb.py")],
                          env={**os.environ, "FPLESS_GDB": json.dumps(asked)}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", check=False)
    stops = [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("STOP ")]
    if not stops:
        raise Missing("gdb: " + (done.stderr.strip().splitlines() or ["no thread stopped where it can spin"])[-1])
    return stops


def plain(name):
    """Without parameters and versions, which one has and the other leaves away."""
    return name.split("(")[0].split("@")[0] if name else None


def compare_names(stop, names):
    theirs = stop.get("theirs_back") or (stop["theirs"] if stop["equal"] else [])
    by_place = {tuple(frame[:2]): plain(frame[2]) for frame in theirs}
    for path, vaddr, name in stop["ours"]:
        if (path, vaddr) in by_place:
            other, name = by_place[path, vaddr], plain(name)
            kind = "alike" if name == other else "gdb_only" if not name else "ours_only" if not other else "other"
            names[kind] += 1


def report(name, stops):
    """Prints the line; False: a stack is another."""
    at = [stop for stop in stops if "moved" not in stop]
    guessed = [stop for stop in at if stop["guessed"]]
    names = collections.Counter()
    for stop in at:
        compare_names(stop, names)
    plain_ones = [stop for stop in at if not stop["guessed"]]
    back = [stop for stop in guessed if stop.get("back")]
    figures = [len(at), len(guessed), sum(stop["equal"] for stop in plain_ones), sum(stop["equal"] for stop in guessed), len(back),
               sum(bool(stop.get("behind_cfa")) for stop in guessed), sum(stop["stacks"] > 1 for stop in at), sum(stop["contradict"] for stop in at),
               sum(len(stop["ours"]) for stop in at), *(names[kind] for kind in ("alike", "other", "ours_only", "gdb_only"))]
    print("\t".join(map(str, [name, *figures])), flush=True)
    return all(stop["equal"] for stop in plain_ones) and len(back) == len(guessed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--only", default="")
    parser.add_argument("--stops", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--out")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else None
    others = []
    print("\t".join(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, _, command in [*ORDINARY, *WORKLOADS]:
            if only and not any(word in name for word in only):
                continue
            try:
                with running(command(Inputs(folder)), WARM_UP_S) as pid:
                    stops = stops_of(pid, options, folder)
            except Missing as missing:
                print("%s\tSKIPPED: %s" % (name, missing), flush=True)
                continue
            if options.out:
                with open(options.out, "a", encoding="utf-8") as file:
                    file.writelines(json.dumps({"program": name, **stop}) + "\n" for stop in stops)
            if not report(name, stops):
                others.append(name)
    if others:
        sys.exit("run.py: other stacks: " + "; ".join(others))


if __name__ == "__main__":
    main()
