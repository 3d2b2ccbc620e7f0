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
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "programs"))
from debian_root import InstalledRoot  # noqa: E402
from inputs import Inputs, Missing  # noqa: E402
from workloads import PROGRAMS  # noqa: E402

WARM_UP_S = 1.5
# whose hottest code is assembly without CFI: those of the table of programs, as they are installed
ASSEMBLY = ("numpy dgemm", "numpy linalg", "ffmpeg libx264", "ffmpeg libx265", "ffmpeg h264 decoder", "dav1d", "gp factor (libgmp)",
            "factor (libgmp)", "zstd -b3")
PERL = "while (1) { my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 5000; join q(,), map { uc } sort { $h{$a} cmp $h{$b} } keys %h }"
PYTHON = "import json, re\nwhile True: re.findall(r'x(\\d+)7', json.dumps([{'k': i, 's': 'x%d' % i} for i in range(999)]))"
GDB = ["-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "python\nwhile True:\n gdb.execute('file /usr/bin/gdb')\n"
       " gdb.execute('info functions ^print_', to_string=True)\n gdb.execute('file')"]
ORDINARY = {
    "gdb": ["gdb", *GDB],
    "perl": ["/usr/bin/perl", "-e", PERL],
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "openssl rsa2048": ["openssl", "speed", "-seconds", "300", "rsa2048"],
}
COLUMNS = ["program", "stops", "guessed", "plain_equal", "guessed_equal", "back_equal", "behind_cfa", "cut_samples", "contradict", "frames",
           "names_alike", "names_other", "names_ours_only", "names_gdb_only"]


class Installed:
    """What Inputs asks of a machine."""

    def __init__(self, folder):
        self.folder, self.root = folder, InstalledRoot(folder)
        self.inside = self.root.inside


def programs(folder):
    """(name, function without arguments to words and environment)"""
    machine = Installed(folder)
    for name, words in ORDINARY.items():
        yield name, lambda words=words: machine.inside(words)
    for one in PROGRAMS:
        if one.name in ASSEMBLY:
            yield one.name, lambda one=one: machine.inside(one.command(Inputs(machine)), one.env)


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(command, env):
    """The process, once it has worked for a while."""
    if not shutil.which(command[0], path=env["PATH"]):
        raise Missing("no " + command[0])
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **env}, start_new_session=True)
    try:
        while process.poll() is None and cpu_seconds(process.pid) < WARM_UP_S:
            time.sleep(0.05)
        if process.poll() is not None:
            raise Missing("%s ended with status %d" % (command[0], process.returncode))
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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
        for name, command in programs(folder):
            if only and not any(word in name for word in only):
                continue
            try:
                with running(*command()) as pid:
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
