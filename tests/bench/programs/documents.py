# SPDX-License-Identifier: Apache-2.0
"""Tables that a bench writes into documents, between marks, with commit and date."""

import datetime
import os
import re
import subprocess

TREE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
SOURCES = ("bpf", "unwind", "symbolize", "src")


def commit():
    """Of the sources of fpless; what is not committed is said."""
    def git(*words):
        done = subprocess.run(["git", "-C", TREE, *words, "--", *SOURCES], stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout.strip()
    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return (git("log", "-1", "--format=%h", "--abbrev=12") or "?") + changed


def made_from(date=None, more=""):
    return "Made from the sources as of commit %s, %s, kernel %s%s." % (
        commit(), date or datetime.date.today().isoformat(), os.uname().release.split("-")[0], more and ", " + more)


def marks(name):
    return "<!-- %s: made by tools/bench.sh %s -->" % (name, name), "<!-- %s: end -->" % name


def document(text, name, body):
    """A document with what stands between its marks replaced."""
    start, end = marks(name)
    region = re.compile(re.escape(start) + r"\n.*?" + re.escape(end), re.S)
    if len(region.findall(text)) != 1 or text.count(start) != 1 or text.count(end) != 1:
        raise ValueError("the marks of the table must stand once")
    return region.sub(lambda _: start + "\n" + body + "\n" + end, text)


def replace(path, name, body):
    """@path: in the tree."""
    path = os.path.join(TREE, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(document(text, name, body))


def markdown(head, rows):
    return "\n".join("| " + " | ".join(one.replace("|", "\\|") for one in line) + " |"
                     for line in (head, ("---",) * len(head), *rows))
