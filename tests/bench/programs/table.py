# SPDX-License-Identifier: Apache-2.0
"""The table: rows of figures, what is wrong with them, and the documents that are made from it."""

import dataclasses
import re

from measure import Figures

WORSE_MAX = 0.5   # points that the default may be below --no-synth
WRONG_MAX = 0.1   # per cent of the stacks with a frame that certainly is wrong
START, END = "<!-- programs: made by tools/bench.sh programs -->", "<!-- programs: end -->"
HEAD = ("program", "samples", "complete %", "at least", "`--no-synth` %", "perf fp %", "wrong %", "frames by origin, %",
        "run time named, %", "stops", "note")
SHORT_HEAD = ("program", "fpless", "`--no-synth`", "perf fp")


@dataclasses.dataclass
class Row:
    program: object
    reason: str = ""  # why it was not run
    default: Figures = None
    plain: Figures = None  # --no-synth
    perf: float = None
    least: float = None    # of this run, where it is not the program's

    def asked(self):
        return self.program.least if self.least is None else self.least

    def is_worse(self):
        return self.plain is not None and self.default.complete_pct() < self.plain.complete_pct() - WORSE_MAX

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

    def columns(self):
        if self.reason:
            return (self.program.name, "not run: " + self.reason) + ("",) * (len(HEAD) - 2)
        one, named = self.default, self.default.named_pct()
        frames = sum(one.origins.values())
        origins = ", ".join("%s %.1f" % (key, 100 * n / frames) for key, n in one.origins.most_common() if n)
        stops = ", ".join("%s %d" % pair for pair in one.stops.most_common()) or "-"
        return (self.program.name, str(one.samples), "%.2f" % one.complete_pct(), "%g" % self.asked(),
                "-" if self.plain is None else "%.2f" % self.plain.complete_pct(), percent(self.perf), "%.2f" % one.wrong_pct(),
                origins, percent(named), stops, self.program.note)

    def short_columns(self):
        if self.reason:
            return self.program.name, "not run", "", ""
        return (self.program.name, "%.2f %%" % self.default.complete_pct(),
                "-" if self.plain is None else "%.2f %%" % self.plain.complete_pct(),
                "-" if self.perf is None else "%.1f %%" % self.perf)


def percent(value):
    return "-" if value is None else "%.1f" % value


def markdown(head, rows):
    return "\n".join("| " + " | ".join(one.replace("|", "\\|") for one in line) + " |"
                     for line in (head, ("---",) * len(head), *rows))


def document(text, body):
    """A document with what stands between its marks replaced."""
    region = re.compile(re.escape(START) + r"\n.*?" + re.escape(END), re.S)
    if len(region.findall(text)) != 1:
        raise ValueError("the marks of the table must stand once")
    return region.sub(lambda _: START + "\n" + body + "\n" + END, text)


def full(rows, made):
    return made + "\n\n" + markdown(HEAD, [row.columns() for row in rows])


def short(rows, made):
    return made + "\n\n" + markdown(SHORT_HEAD, [row.short_columns() for row in rows if row.program.readme])
