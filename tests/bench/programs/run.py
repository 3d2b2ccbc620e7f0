#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How complete, and how right, are the stacks of real programs? One table, of the tree that is checked out.

usage: run.py FPLESS [--only NAME,...] [--since COMMIT] [--ci] [--list] [--seconds 6] [--hz 499] [--cache DIR] [--minutes 45]
              [--no-perf] [--why] [--json FILE] [--no-documents]

Each program is sampled from its start on with nothing kept of earlier runs, as by default, then with --no-synth (those that
differ from run to run: one process, in both ways at once), then by plain `perf record -g`. Its packages are unpacked below --cache ($FPLESS_PROGRAMS_CACHE, else ~/.cache/fpless-programs), not installed.
"wrong" is the share of stacks with a frame that certainly is wrong (caller_check.py). A program that cannot be had is a row `not
run`. The command fails where a program is below its threshold (workloads.py), more than 0.5 points below its own --no-synth
(measured twice, added up), or has wrong frames. After --minutes no program is begun: the others are `not run`.

A run of all programs writes the table into docs/languages.md and README.md, with commit and date. --only takes names or
beginnings of them; --since those whose ways of walking the changes since COMMIT touch (ways.py); --ci the few with small packages.
Needs root.
"""

import argparse
import contextlib
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import table
import ways
from debian_root import DebianRoot, Unavailable, default_cache
from inputs import Inputs, Missing
from measure import Failed, Figures, Machine
from uretprobe import Refused
from workloads import BASE, PROGRAMS, nothing_around

TREE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
DOCUMENTS = {"docs/languages.md": table.full, "README.md": table.short}
PERF_PACKAGES = ("linux-perf", "libc6-dbg")
NAMESPACE = "FPLESS_PROGRAMS_NAMESPACE"
SKIP = 77


def skip(why):
    print("SKIP: " + why, flush=True)
    sys.exit(SKIP)


def enter_namespace():
    """Run on in a mount namespace of our own: its end undoes the mounts."""
    if os.geteuid() != 0:
        skip("programs are sampled, and run in a root of their own, by root")
    missing = [one for one in ("apt-get", "dpkg-deb", "unshare", "chroot", "objdump") if not shutil.which(one)]
    if missing:
        skip(", ".join(missing) + ": not installed")
    if not os.environ.get(NAMESPACE):
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


def measure(machine, program, options):
    """One row."""
    row = table.Row(program, least=program.ci if options.ci else program.least)
    try:
        machine.root.add(packages(program, options))
        words = program.command(Inputs(machine))
        inside = os.path.join(machine.folder, os.path.basename(words[0]))
        with (program.around or nothing_around)(inside):
            row.default, row.plain = Figures(), None if options.ci else Figures()
            for attempt in (1, 2):
                sample(machine, program, words, row, options)
                if not row.is_worse():
                    break
            row.perf = None if options.no_perf else machine.perf(words, program.env)
    except (Unavailable, Missing, Failed, Refused) as why:
        row.reason = " ".join(str(why).split())
    return row


def sample(machine, program, words, row, options):
    figures = {"default": row.default}
    ways_of = {"default": program.options}
    if row.plain is not None:
        figures["no-synth"], ways_of["no-synth"] = row.plain, (*program.options, "--no-synth")
    run = machine.run_beside if program.varies else machine.run
    stacks = run(words, program.env, ways_of, (options.hz, options.seconds), figures)
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
    programs = [one for one in PROGRAMS if one.ci is not None or not options.ci]
    if options.only:
        programs = [one for one in programs if one.name.startswith(tuple(options.only.split(",")))]
    if options.since:
        touched = ways.since(options.since)
        programs = [one for one in programs if one.ways & touched]
    return programs


def made_from():
    """Commit and date, for the documents."""
    def git(*words):
        return subprocess.run(["git", "-C", TREE, *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no", "--", "bpf", "unwind", "symbolize", "src") else ""
    commit = git("log", "-1", "--format=%h", "--abbrev=12", "--", "bpf", "unwind", "symbolize", "src")
    return "Made from the sources as of commit %s%s, %s, kernel %s." % (commit, changed,
                                                     datetime.date.today().isoformat(), os.uname().release)


def write_documents(rows):
    made = made_from()
    for name, body in DOCUMENTS.items():
        path = os.path.join(TREE, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(table.document(text, body(rows, made)))


def write_json(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"faults": row.faults(), "whys": row.default.whys if row.default else {},
                                   **dict(zip(table.HEAD, row.columns()))}) + "\n")


def run_all(options, programs, scratch):
    root = DebianRoot(options.cache or default_cache())
    folder = os.path.join(root.cache, "inputs")
    os.makedirs(folder, exist_ok=True)
    mount(root.path, folder)
    machine = Machine(os.path.realpath(options.fpless), root, folder, scratch)
    add_together(root, programs, options)
    rows, end_s = [], time.monotonic() + 60 * options.minutes
    print("\t".join(table.HEAD))
    for program in programs:
        late = time.monotonic() > end_s
        rows.append(table.Row(program, "no time is left") if late else measure(machine, program, options))
        print("\t".join(rows[-1].columns()), flush=True)
        for fault in rows[-1].faults():
            print("    BELOW: " + fault, flush=True)
        for why, count in (rows[-1].default.whys.most_common(3) if rows[-1].default else ()):
            print("    wrong: %s (%d)" % (why, count), flush=True)
    return rows


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless")
    for name in ("--only", "--since", "--cache", "--json"):
        parser.add_argument(name)
    for name in ("--ci", "--list", "--no-perf", "--why", "--no-documents"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--minutes", type=float, default=45)
    options = parser.parse_args()
    options.seconds = options.seconds or (1 if options.ci else 6)
    options.no_perf = options.no_perf or options.ci
    return options


def main():
    options = parse()
    programs = chosen(options)
    if options.list:
        for one in programs:
            print("%s\t%g\t%s\t%s" % (one.name, one.least, " ".join(sorted(one.ways)), " ".join(one.packages)))
        return 0
    enter_namespace()
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="fpless-programs-"))
        rows = run_all(options, programs, scratch)
    if options.json:
        write_json(options.json, rows)
    if not (options.only or options.since or options.ci or options.no_documents):
        write_documents(rows)
    if rows and all(row.reason for row in rows):
        skip("no program can be had: " + rows[0].reason)
    below = [row.program.name for row in rows if row.faults()]
    print("%d programs, %d not run, %d below what is asked%s" % (
        len(rows), sum(bool(row.reason) for row in rows), len(below), ": " + "; ".join(below) if below else ""))
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
