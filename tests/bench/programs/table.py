# SPDX-License-Identifier: Apache-2.0
"""The table: rows of figures, what is wrong with them, and the documents that are made from it."""

import dataclasses
import math

from documents import markdown
from measure import Figures

WORSE_MAX = 0.5   # points that the default may be below --no-synth
CHANCE = 2        # standard deviations that chance may make of it, where samples are few
WRONG_MAX = 0.1   # per cent of the stacks with a frame that certainly is wrong
BUSY_MAX = 10     # per cent of the CPUs that others may use: beyond it a row says so
HEAD = ("program", "samples", "complete %", "at least", "`--no-synth` %", "perf fp %", "wrong %", "frames by origin, %",
        "run time named, %", "stops", "note")
SHORT_HEAD = ("program", "fpless", "fpless `--no-synth`", "perf fp", "perf dwarf,65528")


@dataclasses.dataclass
class Made:
    """What a row was made from."""
    commit: str = "?"
    date: str = "?"
    binary: str = ""  # digest
    busy: float = 0.0  # per cent of the CPUs that others used before it began


@dataclasses.dataclass
class Row:
    program: object
    reason: str = ""  # why it was not run
    default: Figures = None
    plain: Figures = None  # --no-synth
    perf: float = None
    dwarf: float = None    # perf's with copied stacks
    least: float = None    # of this run, where it is not the program's
    made: Made = dataclasses.field(default_factory=Made)

    def asked(self):
        return self.program.least if self.least is None else self.least

    def is_worse(self):
        if self.plain is None or not (self.default.samples and self.plain.samples):
            return False
        share = (self.default.complete + self.plain.complete) / (self.default.samples + self.plain.samples)
        deviation = 100 * math.sqrt(share * (1 - share) * (1 / self.default.samples + 1 / self.plain.samples))
        return self.plain.complete_pct() - self.default.complete_pct() > max(WORSE_MAX, CHANCE * deviation)

    def faults(self):
        """What fails the command, in words; nothing of a program that could not be had."""
        if self.reason:
            return []
        one, found = self.default, []
        if one.complete_pct() < self.asked():
            found.append("%.2f %% complete, at least %g are asked" % (one.complete_pct(), self.asked()))
        if self.is_worse():
            found.append("%.2f %% complete, %.2f with --no-synth" % (one.complete_pct(), self.plain.complete_pct()))
        if one.wrong_pct() > WRONG_MAX:
            found.append("%.2f %% of the stacks have a wrong frame" % one.wrong_pct())
        if one.open_books:
            found.append("books that do not close")
        return found

    def note(self, commit):
        """@commit: of the table; a row that another one made says so."""
        parts = [self.program.note] if self.program.note else []
        if commit and self.made.commit != commit:
            parts.append("measured as of commit %s, %s" % (self.made.commit, self.made.date))
        if self.made.busy > BUSY_MAX:
            parts.append("others used %.0f %% of the CPUs" % self.made.busy)
        return "; ".join(parts)

    def columns(self, commit=""):
        if self.reason:
            return (self.program.name, "not run: " + self.reason) + ("",) * (len(HEAD) - 2)
        one, named = self.default, self.default.named_pct()
        frames = sum(one.origins.values())
        origins = ", ".join("%s %.1f" % (key, 100 * n / frames) for key, n in one.origins.most_common() if n)
        stops = ", ".join("%s %d" % pair for pair in one.stops.most_common()) or "-"
        stops += "; lost %d" % one.lost if one.lost else ""
        return (self.program.name, str(one.samples), "%.2f" % one.complete_pct(), "%g" % self.asked(),
                "-" if self.plain is None else "%.2f" % self.plain.complete_pct(), percent(self.perf), "%.2f" % one.wrong_pct(),
                origins, percent(named), stops, self.note(commit))

    def short_columns(self):
        if self.reason:
            return self.program.name, "not run", "", "", ""
        return (self.program.name, "%.2f %%" % self.default.complete_pct(),
                "-" if self.plain is None else "%.2f %%" % self.plain.complete_pct(),
                *("-" if one is None else "%.1f %%" % one for one in (self.perf, self.dwarf)))


def percent(value):
    return "-" if value is None else "%.1f" % value



def full(rows, made, commit=""):
    return made + "\n\n" + markdown(HEAD, [row.columns(commit) for row in rows])


def short(rows, made, _commit=""):
    return made + "\n\n" + markdown(SHORT_HEAD, [row.short_columns() for row in rows if row.program.readme])
