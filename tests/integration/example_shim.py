# SPDX-License-Identifier: Apache-2.0
"""usage: example_shim.py PROGRAM ARGUMENT...: runs PROGRAM, but not for as long as a user would."""

import os
import re
import sys

SECONDS = "2"
# Options that take no value: a number behind them is a duration.
PLAIN = re.compile(r"^(-[adfghqvIKU]+|--(json|timeline|stream\S*|annotate|delimited|origin))$")


def cut(words):
    """The arguments, with shorter durations."""
    out, before = [], ""
    for i, word in enumerate(words):
        if word == "--":
            return out + words[i:]
        lone = not before.startswith("-") or PLAIN.match(before) or before == "--duration"
        out.append(SECONDS if re.fullmatch(r"\d+", word) and int(word) > 2 and lone else word)
        before = word
    return out


arguments = sys.argv[2:]
if arguments[:1] not in (["doctor"], ["stack"]):  # whose numbers are processes
    arguments = cut(arguments)
os.execv(sys.argv[1], [sys.argv[1], *arguments])
