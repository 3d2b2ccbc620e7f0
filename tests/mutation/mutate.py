#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Change the program in small ways and see whether a test notices.

Each mutant of the files under test (one operator, constant, condition or statement changed) is
compiled and linked against a built copy of the tree, and the unit and golden tests that depend on
it are run until one fails. What survives that, and survivors.tsv does not say why it cannot matter,
is tried again under AddressSanitizer and UndefinedBehaviorSanitizer, as the test command does. What
survives both is a test that is missing or code that does nothing.

Exit status: 0, or 1 when a survivor is not explained, or 2 when the tree cannot be tested.
"""
import argparse
import multiprocessing
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import c_mutants
from test_tree import Bench, TestTree, TreeError

FILES = [
    "unwind/cfa_program.c",
    "unwind/compact.c",
    "unwind/fast.c",
    "unwind/table.c",
    "unwind/table_compile.c",
    "src/profile/books.c",
    "src/profile/stack_store.c",
    "src/report/tally.c",
    "bpf/lookup.h",
    "bpf/arch_x86_64.h",
    "bpf/leaf_x86_64.h",
    "bpf/walk_fp.h",
    "bpf/walk_probes.h",
    "bpf/walk_read.h",
    "bpf/walk.h",
]
COLUMNS = ["mutants", "invalid", "equivalent", "killed", "survived", "explained"]


class Explained:
    """survivors.tsv: file, function, line, before, after, reason; `*` stands for any text."""

    def __init__(self, path):
        self.entries = []
        self.used = set()
        for nr, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
            if not line or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 6 or not fields[5].strip():
                raise TreeError(f"{path}:{nr}: six columns are wanted, the last a reason")
            self.entries.append(fields)

    def reason(self, mutant):
        # An entry for a function is for each of its equal lines.
        anywhere = mutant.where.split("#")[0]
        for nr, entry in enumerate(self.entries):
            where = anywhere if entry[1] == anywhere else mutant.where
            have = (mutant.file, where, mutant.text, mutant.before, mutant.after)
            if all(want in ("*", got) for want, got in zip(entry, have)):
                self.used.add(nr)
                return entry[5]
        return ""

    def unused(self, files):
        """Entries about @files that explained nothing."""
        return [
            "\t".join(e[:5])
            for nr, e in enumerate(self.entries)
            if nr not in self.used and e[0] in files
        ]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    here = Path(__file__).resolve().parent
    parser.add_argument("--tree", default=str(here.parent.parent), help="root of the source tree")
    parser.add_argument("--file", action="append", help="mutate this file; may be repeated")
    parser.add_argument("--id", action="append", help="only this mutant; may be repeated")
    parser.add_argument("--ids", type=Path, help="only the mutants in the first column of a file")
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sample", type=int, help="this many mutants of each file, at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds a test may take")
    parser.add_argument("--labels", default="unit|golden", help="tests with these ctest labels")
    parser.add_argument("--tests", default="", help="only tests whose name this pattern finds")
    parser.add_argument("--survivors", type=Path, default=here / "survivors.tsv")
    parser.add_argument("--no-sanitizers", action="store_true", help="no second look")
    parser.add_argument("--work", help="keep the copies of the tree in this folder, for reuse")
    parser.add_argument("--out", type=Path, help="write the survivors here, not to stdout")
    return parser.parse_args()


def choose(args, file, text):
    mutants = c_mutants.mutants_of(file, text)
    ids = set(args.id or [])
    if args.ids:
        ids |= {line.split("\t")[0] for line in args.ids.read_text().splitlines()}
    if args.id or args.ids:
        mutants = [m for m in mutants if m.id in ids]
    if args.sample and args.sample < len(mutants):
        mutants = sorted(
            random.Random(args.seed).sample(mutants, args.sample), key=lambda m: (m.start, m.after)
        )
    return mutants


class Worker:
    """State of a worker process: a bench, made when it is first needed."""

    bench = None
    kills = Counter()

    @classmethod
    def start(cls, tree, folder, file, wall_s):
        cls.bench = Bench(tree, Path(folder, f"worker-{os.getpid()}"), file, wall_s)
        cls.bench.prepare()
        cls.text = (tree.root / file).read_text()

    @classmethod
    def judge(cls, mutant):
        # First what has failed most often for the time it takes.
        tests = sorted(cls.bench.tests(), key=lambda t: (-(cls.kills[t.name] + 1) / (t.cpu_s + 0.1), t.name))
        outcome, test = cls.bench.judge(c_mutants.apply(cls.text, mutant), tests)
        cls.kills[test] += 1
        return mutant, outcome


def judge_all(tree, folder, file, mutants, args):
    """{mutant: outcome} of @mutants of @file by the tests of @tree."""
    bench = Bench(tree, Path(folder, "measure"), file, args.timeout)
    bench.prepare()
    if not bench.tests():
        raise TreeError(f"{file}: no test depends on it")
    bench.measure()
    outcomes = {}
    jobs = max(1, min(args.jobs, len(mutants)))
    with multiprocessing.Pool(
        jobs, Worker.start, (tree, folder, file, args.timeout)
    ) as pool:  # fmt: skip
        for mutant, outcome in pool.imap_unordered(Worker.judge, mutants):
            outcomes[mutant] = outcome
            if outcome == "survived":
                print(f"survived: {row(mutant)}", file=sys.stderr, flush=True)
            if len(outcomes) % 50 == 0:
                print(f"{file}: {len(outcomes)} of {len(mutants)}", file=sys.stderr, flush=True)
    return outcomes


def mutate_file(trees, folder, file, mutants, args, explained):
    """{mutant: outcome}, survivors that are not explained looked at again under the sanitizers."""
    outcomes = judge_all(trees.plain(), folder, file, mutants, args)
    survivors = [m for m in mutants if outcomes[m] == "survived" and not explained.reason(m)]
    if survivors and not args.no_sanitizers:
        again = judge_all(trees.sanitized(), folder, file, survivors, args)
        outcomes.update({m: o for m, o in again.items() if o == "killed"})
    return outcomes


class Trees:
    """The two builds, each made when it is first asked for."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.made = {}

    def make(self, name, sanitize):
        if name not in self.made:
            print(f"building {name}", file=sys.stderr, flush=True)
            args = self.args
            tree = TestTree(args.tree, Path(self.folder, name), args.labels, args.tests, sanitize)
            tree.configure(args.jobs)
            self.made[name] = tree
        return self.made[name]

    def plain(self):
        return self.make("plain", "")

    def sanitized(self):
        return self.make("sanitized", "address,undefined")


def row(mutant, reason=""):
    fields = (mutant.id, mutant.file, mutant.line, mutant.column, mutant.where, mutant.operator)
    return "\t".join([*map(str, fields), mutant.before, mutant.after, mutant.text, reason])


def print_summary(counts):
    print("file\t" + "\t".join(COLUMNS) + "\tscore")
    total = Counter()
    for file, count in [*counts.items(), ("total", total)]:
        if file != "total":
            total.update(count)
        judged = count["killed"] + count["survived"]
        score = f"{100 * count['killed'] / judged:.1f} %" if judged else "-"
        print(file + "\t" + "\t".join(str(count[c]) for c in COLUMNS) + f"\t{score}")


def run(args, folder):
    files = args.file or FILES
    explained = Explained(args.survivors)
    trees = Trees(args, folder)
    counts, rows, unexplained = {}, [], 0
    for file in files:
        mutants = choose(args, file, Path(args.tree, file).read_text())
        if args.list:
            rows += [row(m) for m in mutants]
            continue
        if not mutants:
            continue
        outcomes = mutate_file(trees, folder, file, mutants, args, explained)
        counts[file] = Counter(outcomes.values(), mutants=len(mutants))
        for mutant in mutants:
            if outcomes[mutant] == "survived":
                reason = explained.reason(mutant)
                counts[file]["explained"] += bool(reason)
                unexplained += not reason
                rows.append(row(mutant, reason))
        if args.out:
            args.out.write_text("".join(f"{r}\n" for r in rows))
    if not args.out:
        print("\n".join(rows))
    if args.list:
        return 0
    print_summary(counts)
    if not (args.sample or args.id or args.ids):
        for entry in explained.unused(counts):
            print(f"explains nothing any more: {entry}")
    return 1 if unexplained else 0


def main():
    args = parse_arguments()
    try:
        if args.work:
            return run(args, args.work)
        with tempfile.TemporaryDirectory(prefix="fpl-mutate-") as folder:
            return run(args, folder)
    except TreeError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
