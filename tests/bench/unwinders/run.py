#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does fpless walk the stacks that the makers of other unwinders test theirs with? One row a program.

usage: run.py FPLESS [--only NAME,...] [--cache DIR] [--why] [--json FILE] [--no-documents] [--list]

The test programs of libunwind, gdb, elfutils and LLVM's libunwind are fetched with Debian's source packages, by the machine's
own apt, into $FPLESS_PROGRAMS_CACHE (else ~/.cache/fpless-programs), and built as they are. gdb runs each to a place of
cases.py, puts a jump to itself there and lets go: the thread spins with registers and stack as the test has made them. Then
fpless samples it. A stack is whole where it is complete and holds the functions named in cases.py, the root last. Frame by
frame it is compared with gdb's stack at that place, too.

A run of all writes the table into docs/verification.md, with commit and date. Ends with 1 where a stack is not whole, or has
another frame than gdb's, and cases.py does not say why. Needs root, gdb and gcc.
"""

import argparse
import collections
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cases import CASES
from sources import HERE, Sources, Unavailable

sys.path.insert(0, os.path.join(HERE, "..", "programs"))
import documents  # noqa: E402

MARK = "unwinders"
GDB_TIMEOUT_S = 300
HEAD = ("suite", "program", "places", "samples", "complete %", "to the root %", "gdb's stack", "stops", "note")
SKIP = 77


class Failed(Exception):
    """gdb did not do what it was asked; why."""


@dataclasses.dataclass
class Row:
    case: object
    reason: str = ""  # why it was not run
    places: int = 0
    samples: int = 0
    complete: int = 0
    rooted: int = 0
    early: int = 0  # samples that end as they may before there are tables
    same: int = 0
    others: list = dataclasses.field(default_factory=list)  # places where gdb has another stack
    missing: list = dataclasses.field(default_factory=list)
    stops: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def take(self, place):
        """A line of in_gdb.py."""
        if "missing" in place or place["moved"] or not place["stacks"]:
            self.missing.append("%s: %s" % (place["place"], place.get("missing") or ("it moved" if place["moved"] else "no samples")))
            return
        self.places += 1
        for stack, count in place["stacks"]:
            early = self.case.early and stack["stop"] == self.case.early and any(
                frame.get("origin") == "cfi_user" for frame in stack["user"])
            self.early += count * bool(early)
            self.samples += count
            self.complete += count * (stack["stop"] == "outermost")
            self.stops[stack["stop"]] += count
            self.rooted += count * in_order(self.case.through, [plain(frame.get("symbol")) for frame in stack["user"]])
        same = frames(place["stacks"][0][0]) == [tuple(frame[:2]) for frame in place["theirs"]]
        self.same += same
        if not same:
            self.others.append(place["place"])

    def faults(self):
        if self.reason:
            return []
        found = list(self.missing)
        if self.case.ends:
            if set(self.stops) != {self.case.ends}:
                found.append("it ends in %s, not in %s" % (", ".join(self.stops), self.case.ends))
            return found
        if self.complete < self.samples - self.early:
            found.append("%d of %d stacks are not complete" % (self.samples - self.complete, self.samples))
        if self.rooted < self.samples - self.early:
            found.append("%d of %d stacks do not hold %s" % (self.samples - self.rooted, self.samples, ", ".join(self.case.through)))
        if self.others and not self.case.other:
            found.append("another stack than gdb's at " + ", ".join(self.others))
        return found

    def columns(self):
        first = (self.case.suite.name, self.case.name)
        if self.reason:
            return (*first, "not run: " + self.reason) + ("",) * (len(HEAD) - 3)
        stops = ", ".join("%s %d" % pair for pair in self.stops.most_common() if pair[0] != "outermost") or "-"
        return (*first, str(self.places), str(self.samples), percent(self.complete, self.samples), percent(self.rooted, self.samples),
                "%d of %d" % (self.same, self.places), stops, self.case.why)


def percent(part, whole):
    return "%.2f" % (100 * part / whole) if whole else "-"


def plain(name):
    """Without parameters and versions."""
    return re.split(r"[(@]", name or "?")[0]


def in_order(wanted, names):
    rest = iter(names)
    return all(one in rest for one in wanted)


def frames(stack):
    return [(frame.get("object"), int(frame.get("vaddr") or frame["addr"], 16)) for frame in stack["user"] if "elided" not in frame]


def stops_of(fpless, program, case, folder):
    asked = {"fpless": fpless, "folder": folder, "stops": case.stops, "args": case.args, "window_s": "0.4",
             "tests": os.path.join(HERE, "..", "..", "integration")}
    try:
        done = subprocess.run(["gdb", "-nx", "-batch", "-x", os.path.join(HERE, "in_gdb.py"), program], cwd=folder,
                              env={**os.environ, "FPLESS_GDB": json.dumps(asked)}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=GDB_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Failed("gdb does not end") from None
    found = [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("STOP ")]
    if not found:
        raise Failed("gdb: " + (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:160])
    return found


def measure(sources, case, options):
    row = Row(case)
    folder = tempfile.mkdtemp(dir=sources.scratch)
    try:
        program = sources.build(case, folder)
        places = stops_of(os.path.realpath(options.fpless), program, case, folder)
    except (Unavailable, Failed) as why:
        row.reason = " ".join(str(why).split())
        return row
    for place in places:
        row.take(place)
        if options.why and (row.faults() or options.why > 1):
            print_place(place)
    return row


def print_place(place):
    print("    at %s: %s" % (place["place"], place.get("missing", "")))
    for stack, count in place.get("stacks", []):
        print("      %d samples, %s" % (count, stack["stop"]))
        for frame in stack["user"][:12]:
            print("        %-6s %s %s %s" % (frame.get("origin"), os.path.basename(frame.get("object") or "?"),
                                             frame.get("vaddr") or frame.get("addr"), frame.get("symbol")))
    for path, vaddr, name in place.get("theirs", [])[:12]:
        print("        gdb    %s %#x %s" % (os.path.basename(path or "?"), vaddr, name))


def write_documents(rows, sources):
    suites = {row.case.suite.name: sources.version(row.case.suite) for row in rows}
    made = documents.made_from() + " Sources: " + ", ".join(sorted(filter(None, suites.values()))) + "."
    table = documents.markdown(HEAD, [row.columns() for row in rows])
    documents.replace("docs/verification.md", MARK, made + "\n\n" + table)


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless")
    for name in ("--only", "--cache", "--json"):
        parser.add_argument(name)
    for name in ("--list", "--no-documents"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--why", action="count", default=0)
    return parser.parse_args()


def skip(why):
    print("SKIP: " + why, flush=True)
    sys.exit(SKIP)


def main():
    options = parse()
    only = tuple(options.only.split(",")) if options.only else ("",)
    cases = [one for one in CASES if one.name.startswith(only) or one.suite.name in only]
    if options.list:
        for one in cases:
            print("%s\t%s\t%s" % (one.suite.name, one.name, " ".join(one.stops)))
        return 0
    if os.geteuid() != 0:
        skip("programs are sampled by root")
    missing = [one for one in ("apt-get", "gdb", "gcc", "g++", "tar") if not shutil.which(one)]
    if missing:
        skip(", ".join(missing) + ": not installed")
    rows = []
    print("\t".join(HEAD))
    with tempfile.TemporaryDirectory(prefix="fpless-unwinders-") as scratch:
        sources = Sources(options.cache, scratch)
        for case in cases:
            rows.append(measure(sources, case, options))
            print("\t".join(rows[-1].columns()), flush=True)
            for fault in rows[-1].faults():
                print("    FAULT: " + fault, flush=True)
        if not (options.only or options.no_documents):
            write_documents(rows, sources)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"faults": row.faults(), **dict(zip(HEAD, row.columns()))}) + "\n" for row in rows)
    if rows and all(row.reason for row in rows):
        skip("no program can be had: " + rows[0].reason)
    faulty = ["%s %s" % (row.case.suite.name, row.case.name) for row in rows if row.faults()]
    print("%d programs, %d not run, %d with faults%s" % (len(rows), sum(bool(row.reason) for row in rows), len(faulty),
                                                       ": " + "; ".join(faulty) if faulty else ""))
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
