# SPDX-License-Identifier: Apache-2.0
"""Rows that earlier runs measured, kept beside the packages: a run that was broken off is taken up again, and one of a few
programs replaces their rows in the whole table."""

import collections
import hashlib
import json
import os

import table
from measure import Figures

FORMAT = 1
COUNTERS = ("stops", "whys", "origins")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Kept:
    """@path: a file of JSON lines, one a row."""

    def __init__(self, path):
        self.path = path
        self.lines = {}  # name -> dict
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            self.lines = {one["program"]: one for one in lines if one["format"] == FORMAT}

    def take(self, row):
        """From now on this is the program's row, also after a crash."""
        values = {"format": FORMAT, "program": row.program.name, "reason": row.reason, "perf": row.perf, "dwarf": row.dwarf,
                  "made": vars(row.made), "default": row.default and vars(row.default), "plain": row.plain and vars(row.plain)}
        self.lines[row.program.name] = values
        with open(self.path + ".part", "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(one) + "\n" for one in self.lines.values()))
        os.rename(self.path + ".part", self.path)

    def row(self, program):
        """As it was measured; one of no measurement says so."""
        line = self.lines.get(program.name)
        if line is None:
            return table.Row(program, "not measured yet")
        return table.Row(program, line["reason"], figures(line["default"]), figures(line["plain"]), line["perf"], line["dwarf"],
                         made=table.Made(**line["made"]))

    def is_measured(self, program, binary):
        """Was it, and by this binary?"""
        line = self.lines.get(program.name)
        return line is not None and not line["reason"] and line["made"]["binary"] == binary


def figures(values):
    if values is None:
        return None
    one = Figures()
    vars(one).update({key: collections.Counter(value) if key in COUNTERS else value for key, value in values.items()})
    return one
