#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How complete, and how right, are the stacks of real programs? One table, of the tree that is checked out.

usage: run.py FPLESS [--only NAME,...] [--since COMMIT] [--continue] [--documents] [--ci] [--list] [--seconds 6] [--hz 499]
              [--cache DIR] [--minutes 45] [--no-perf] [--why]

Each program is sampled from its start on with nothing kept of earlier runs, as by default, then with --no-synth (those that
differ from run to run: one process, in both ways at once), then by plain `perf record -g`; those of the README by
--call-graph dwarf, too. Packages are unpacked below --cache ($FPLESS_PROGRAMS_CACHE, else ~/.cache/fpless-programs), not installed.
"wrong" is the share of stacks with a frame that certainly is wrong (caller_check.py). A program that cannot be had is a row
`not run`. The command fails where a program is below its threshold (workloads.py), more than 0.5 points, and than chance
makes of so few samples, below its own --no-synth (measured up to three times, added up), or has wrong frames. After
--minutes no program is begun.

Each row is kept in the cache once it is measured. A run of all programs writes the table into docs/languages.md and
README.md, with commit and date; --continue measures only what this binary has not measured yet, and writes it, too;
--documents writes it after any run: rows of other commits name theirs.

--only takes names or beginnings of them; --since those whose ways of walking the changes since COMMIT touch (ways.py). --ci
runs the few that continuous integration has, for a second each, as they are installed here, and keeps nothing. Needs root.
"""

import argparse
import contextlib
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import documents
import table
import ways
from debian_root import DebianRoot, InstalledRoot, Unavailable, default_cache
from inputs import Inputs, Missing
from kept import Kept, digest
from measure import Failed, Figures, Machine
from uretprobe import Refused
from workloads import BASE, PROGRAMS, nothing_around

DOCUMENTS = {"docs/languages.md": table.full, "README.md": table.short}
PERF_PACKAGES = ("linux-perf", "libc6-dbg")
NAMESPACE = "FPLESS_PROGRAMS_NAMESPACE"
BUSY_S = 0.3
SKIP = 77


def skip(why):
    print("SKIP: " + why, flush=True)
    sys.exit(SKIP)


def enter_namespace(as_installed=False):
    """Run on in a mount namespace of our own: its end undoes the mounts. Programs @as_installed need none."""
    if os.geteuid() != 0:
        skip("programs are sampled, and run in a root of their own, by root")
    tools = ("objdump",) if as_installed else ("apt-get", "dpkg-deb", "unshare", "chroot", "objdump")
    missing = [one for one in tools if not shutil.which(one)]
    if missing:
        skip(", ".join(missing) + ": not installed")
    if not as_installed and not os.environ.get(NAMESPACE):
        words = ["unshare", "--mount", "--propagation", "private"]
        if subprocess.run([*words, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            skip("no mount namespace can be made here")
        os.execvpe(words[0], [*words, sys.executable, *sys.argv], {**os.environ, NAMESPACE: "1"})


def mount(root, folder):
    for words in (["--bind", "/dev", root + "/dev"], ["-t", "proc", "proc", root + "/proc"], ["--bind", folder, root + "/work"]):
        subprocess.run(["mount", *words], check=True)


def packages(program, options):
    return {*BASE, *program.packages, *(() if options.no_perf else PERF_PACKAGES)}


def add_together(root, programs, options):
    """Asking apt once is faster; where one cannot be had, each program asks for its own."""
    parts = [packages(one, options) for one in programs]
    with contextlib.suppress(Unavailable):
        root.add(set().union(*parts), parts)


def measure(machine, program, options, made):
    """One row."""
    row = table.Row(program, least=program.ci.least if options.ci else None, made=made)
    try:
        if options.ci:
            machine.root.needs(program.ci.tool)
        machine.root.add(packages(program, options))
        words = program.command(Inputs(machine))
        inside = os.path.join(machine.folder, os.path.basename(words[0]))
        with (program.around or nothing_around)(inside):
            row.default, row.plain = Figures(), None if options.ci else Figures()
            for _ in range(3):
                sample(machine, program, words, row, options)
                if not row.is_worse():
                    break
            if not options.no_perf and not program.hz:
                row.perf = machine.perf(words, program.env, "fp")
                row.dwarf = machine.perf(words, program.env, "dwarf,65528") if program.readme else None
    except (Unavailable, Missing, Failed, Refused) as why:
        row.reason, row.default, row.plain = " ".join(str(why).split()), None, None
    return row


def sample(machine, program, words, row, options):
    figures = {"default": row.default}
    ways_of = {"default": program.options}
    if row.plain is not None:
        figures["no-synth"], ways_of["no-synth"] = row.plain, (*program.options, "--no-synth")
    run = machine.run_beside if program.varies else machine.run
    stacks = run(words, program.env, ways_of, (program.hz or options.hz, options.seconds), figures)
    if options.why:
        print_why(stacks)


def print_why(stacks):
    """Where incomplete stacks end: stop, and the frame no caller of which was found."""
    wheres = {}
    for stack in stacks:
        if stack["stop"] != "outermost":
            last = stack["user"][-1] if stack["user"] else {}
            where = (stack["stop"], "%s+%s" % (os.path.basename(last.get("object") or "?"), last.get("vaddr") or last.get("addr")),
                     last.get("symbol") or "?", "leaf" if len(stack["user"]) == 1 else "caller")
            wheres[where] = wheres.get(where, 0) + stack["count"]
    for where, count in sorted(wheres.items(), key=lambda one: -one[1])[:12]:
        print("    %6d  %s" % (count, "  ".join(where)))


def chosen(options):
    programs = [one for one in PROGRAMS if one.ci or not options.ci]
    if options.only:
        programs = [one for one in programs if one.name.startswith(tuple(options.only.split(",")))]
    if options.since:
        touched = ways.since(options.since)
        programs = [one for one in programs if one.ways & touched]
    return programs


def write_documents(kept, binary):
    rows = [kept.row(one) for one in PROGRAMS]
    own = [one.made for one in rows if one.made.binary == binary]
    busy = sum(one.busy for one in own) / max(len(own), 1)
    dates = sorted({one.date for one in own}) or ["?"]
    made = documents.made_from(dates[0] if len(dates) == 1 else "%s to %s" % (dates[0], dates[-1]),
                               "%d CPUs, of which others used %.0f %% meanwhile" % (os.cpu_count(), busy))
    for name, body in DOCUMENTS.items():
        documents.replace(name, "programs", body(rows, made, documents.commit()))
    return rows


def machine_for(options, programs, scratch):
    fpless = os.path.realpath(options.fpless)
    if options.ci:
        folder = os.path.join(scratch, "inputs")
        os.makedirs(folder)
        return Machine(fpless, InstalledRoot(folder), folder, scratch)
    root = DebianRoot(options.cache or default_cache())
    folder = os.path.join(root.cache, "inputs")
    os.makedirs(folder, exist_ok=True)
    mount(root.path, folder)
    add_together(root, programs, options)
    return Machine(fpless, root, folder, scratch)


def run_all(options, programs, scratch):
    end_s = time.monotonic() + 60 * options.minutes
    machine = machine_for(options, programs, scratch)
    kept = None if options.ci else Kept(os.path.join(machine.root.cache, "rows.jsonl"))
    binary = digest(machine.fpless)
    if options.go_on:
        programs = [one for one in programs if not kept.is_measured(one, binary)]
    rows, now, today = [], documents.commit(), datetime.date.today().isoformat()
    print("\t".join(table.HEAD))
    for program in programs:
        if time.monotonic() > end_s:
            rows.append(table.Row(program, "no time is left: --continue"))
        else:
            rows.append(measure(machine, program, options, table.Made(now, today, binary, busy_pct())))
            if kept:
                kept.take(rows[-1])
        print_row(rows[-1], options)
    if options.documents:
        rows = write_documents(kept, binary)
    return rows


def busy_pct():
    """Per cent of the CPUs that are in use, by others: between two programs."""
    before = cpu_times()
    time.sleep(BUSY_S)
    total, idle = (b - a for a, b in zip(before, cpu_times()))
    return 100 * (1 - idle / total) if total else 0.0


def cpu_times():
    with open("/proc/stat", encoding="ascii") as file:
        ticks = list(map(int, file.readline().split()[1:9]))
    return sum(ticks), ticks[3] + ticks[4]


def print_row(row, options):
    if options.ci and row.reason:
        print("SKIP: %s: %s" % (row.program.name, row.reason))
        return
    print("\t".join(row.columns()))
    for fault in row.faults():
        print("    BELOW: " + fault)
    for why, count in (row.default.whys.most_common(3) if row.default else ()):
        print("    wrong: %s (%d)" % (why, count))
    sys.stdout.flush()


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless")
    for name in ("--only", "--since", "--cache"):
        parser.add_argument(name)
    for name in ("--ci", "--list", "--no-perf", "--why", "--documents"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--continue", action="store_true", dest="go_on")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--minutes", type=float, default=45)
    options = parser.parse_args()
    options.seconds = options.seconds or (1 if options.ci else 6)
    options.no_perf = options.no_perf or options.ci
    options.documents = not options.ci and (options.documents or not (options.only or options.since))
    return options


def main():
    options = parse()
    programs = chosen(options)
    if options.list:
        for one in programs:
            print("%s\t%g\t%s\t%s" % (one.name, one.least, " ".join(sorted(one.ways)), " ".join(one.packages)))
        return 0
    enter_namespace(options.ci)
    for one in (signal.SIGTERM, signal.SIGINT):  # what runs is ended, too
        signal.signal(one, lambda number, _frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="fpless-programs-") as scratch:
        rows = run_all(options, programs, scratch)
    if rows and all(row.reason for row in rows):
        skip("no program can be had: " + rows[0].reason)
    below = [row.program.name for row in rows if row.faults()]
    print("%d programs, %d not run, %d below what is asked%s" % (
        len(rows), sum(bool(row.reason) for row in rows), len(below), ": " + "; ".join(below) if below else ""))
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
