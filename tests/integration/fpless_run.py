# SPDX-License-Identifier: Apache-2.0
"""Runs fpless and reads what it wrote."""

import collections
import json
import os
import subprocess
import sys

from elf_names import ElfNames

SKIPPED = 77
TIMEOUT_S = 300  # of one run of fpless: hung, not slow


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIPPED)


def need_root():
    if os.geteuid() != 0:
        skip("sampling needs root")


class Files:
    """ELF files whose names the tests know: those in the given folders, and copies of them."""

    def __init__(self, *folders, copies=None):
        self.folders = [os.path.realpath(folder) for folder in folders]
        self.copies = copies or {}  # path: what it was copied from
        self.cache = {}

    def find(self, path):
        path = path.removesuffix(" (deleted)")
        if path not in self.cache:
            self.cache[path] = self._read(self.copies.get(path, path))
        return self.cache[path]

    def section(self, path, vaddr):
        """The section of any file, whoever built it."""
        try:
            return ElfNames(self.copies.get(path, path)).section(vaddr) if path else None
        except (OSError, ValueError):
            return None

    def _read(self, path):
        if not os.path.isabs(path) or os.path.dirname(os.path.realpath(path)) not in self.folders:
            return None  # [vdso] is none of them in any working folder
        try:
            return ElfNames(path)
        except (OSError, ValueError):
            return None


class Run:
    """One run of `fpless profile`, or of another verb that samples: exit status, outputs, books."""

    def __init__(self, fpless, folder, args, env=None, verb="profile", cwd=None):
        self._begin(folder)
        # what one test compiles must not change what the next one sees
        cache = [] if {"--cache", "--no-cache"} & set(args) else ["--no-cache"]
        self.command = [fpless, verb, *self.outputs(folder), *cache, *args]
        done = subprocess.run(self.command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S, env=env, cwd=cwd, check=False)
        self.stdout = done.stdout
        self._end(done.returncode, done.stderr)

    @classmethod
    def of_folder(cls, folder, status, stderr):
        """A run elsewhere, whose outputs are in the folder."""
        run = cls.__new__(cls)
        run._begin(folder)
        run._end(status, stderr)
        return run

    @staticmethod
    def outputs(folder):
        """The options that make a run write what is read here."""
        return ["-o", os.path.join(folder, "out.jsonl"), "-o", os.path.join(folder, "out.folded"),
                "--stats", os.path.join(folder, "stats.json")]

    def _begin(self, folder):
        self.folder = folder
        self.jsonl_path, self.folded_path, self.stats_path = self.outputs(folder)[1::2]
        self.meta = self.books = self.stats = None
        self.stacks = []

    def _end(self, status, stderr):
        self.status = status
        self.stderr = stderr.decode("utf-8", "backslashreplace")
        if status == 0:
            self._load()

    def _load(self):
        with open(self.jsonl_path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        self.meta, self.books = records[0], records[-1]
        self.stacks = [record for record in records[1:-1] if record["type"] != "samples"]
        with open(self.stats_path, encoding="utf-8") as file:
            self.stats = json.load(file)

    def faults(self):
        """What is wrong with the books and between the files; empty if nothing."""
        if self.status:
            return [f"exit status {self.status}: {self.stderr}"]
        return book_faults(self.meta, self.stacks, self.books, self.stats, self._folded_sum())

    def _folded_sum(self):
        with open(self.folded_path, "rb") as file:
            return sum(int(line.rsplit(b" ", 1)[1]) for line in file)


def book_faults(meta, stacks, books, stats, folded_sum):
    """The rules of the books (docs: Definitions), recomputed from the stacks themselves."""
    faults = []

    def same(what, got, expected):
        if got != expected:
            faults.append(f"{what}: {got}, expected {expected}")

    same("first record", (meta["type"], meta["format"]), ("meta", 1))
    same("last record", books["type"], "books")
    same("kinds between", {stack["type"] for stack in stacks} - {"stack"}, set())
    counted = sum(stack["count"] for stack in stacks)
    same("books.shown against the stacks", books["shown"], counted)
    # what does not weigh the time of a clock is shown by its weight, unless several weigh in several units
    weighed = "weight_unit" in meta and not meta.get("by_count")
    shown = sum(stack["weight"] for stack in stacks) if weighed else counted
    same("folded against the stacks", folded_sum, shown)
    same("fired", books["fired"], books["shown"] + books["idle"] + books["filtered"]
         + sum(books["lost"].values()))
    for key in ("fired", "shown", "idle", "filtered", "lost", "user_samples", "complete", "stop"):
        same(f"stats.{key} against the books", stats[key], books[key])
    # Without user stacks nothing in the file tells tasks with a user part from the others.
    if books["user_samples"] > counted or any(stack["stop"] for stack in stacks):
        same("user_samples", books["user_samples"],
             sum(stack["count"] for stack in stacks if stack["stop"] is not None))
    for stop, count in books["stop"].items():
        same(f"stop.{stop}", count,
             sum(stack["count"] for stack in stacks if stack["stop"] == stop))
    same("complete", books["complete"], books["stop"]["outermost"])
    for key, kind in (("frames_by_origin", list), ("samples_by_origin", set)):
        origins = collections.Counter()
        for stack in stacks:
            # below the stack of a waker there are kernel frames, too
            for origin in kind(frame["origin"] for frame in stack["user"] if "module" not in frame):
                origins[origin] += stack["count"]
        for origin, count in books[key].items():
            same(f"{key}.{origin}", count, origins[origin])
    return faults
