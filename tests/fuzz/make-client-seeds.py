#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_client: make-client-seeds.py FOLDER"""

import importlib.util
import os
import struct
import sys

FOLDER = os.path.dirname(os.path.realpath(__file__))
SPEC = importlib.util.spec_from_file_location("answers", os.path.join(FOLDER, "make-answer-seeds.py"))
answers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(answers)

MATCH, DIGEST, FIND_DEBUG = 1, 9, 14
GOES_ON, IS_SILENT, ENDS, IS_KILLED, FAULTS = range(5)
CANCEL = 8


def message(content=b"", end=GOES_ON):
    return bytes([end]) + struct.pack("<H", len(content)) + content


def turn(op, nr, *messages, file=0, flags=0):
    return bytes([op, nr, file | flags | len(messages) << 4]) + b"".join(messages)


def whole(answer, **more):
    """A turn that is answered as a seed of fuzz_answer has it, which begins with what was asked."""
    return turn(answer[0], answer[1], message(answer[2:]), **more)


def refused(op, code, text=b"fuzz: no"):
    return message(answers.head(op, 0, code, text)[2:])


def seeds():
    facts, table, names = answers.facts(), answers.table(), answers.names()
    for name, answer in answers.SEEDS.items():
        if answer[0] != MATCH:
            yield name, whole(answer)
    yield "kept", whole(names) + whole(names) + whole(answers.lines())
    yield "more_than_asked", turn(0, 0, message(facts[2:] + table[2:])) + turn(answers.TABLE, 0)
    yield "in_pieces", turn(answers.TABLE, 0, *(message(table[2 + at:2 + at + 200], IS_SILENT)
                                                for at in range(0, len(table) - 2, 200)))
    yield "killed_then_answered", turn(answers.NAMES, 2, message(names[2:30], IS_KILLED), message(names[2:]))
    yield "killed_thrice", turn(answers.PERF_MAP, 0, *[message(answers.code()[2:90], IS_KILLED)] * 3)
    yield "faults", turn(answers.TABLE, 0, message(table[2:300], FAULTS)) + whole(table)
    yield "ends", turn(answers.NAMES, 2, message(b"", ENDS)) + whole(names)
    yield "cancelled", turn(answers.NAMES, 2, message(names[2:30], IS_SILENT), flags=CANCEL) + whole(names)
    yield "trusts", whole(facts) + whole(facts, file=1) + whole(table, file=1) + whole(names, file=2)
    yield "refused", turn(answers.TABLE, 0, refused(answers.TABLE, -61)) + whole(table)
    yield "refused_as_dead", turn(answers.TABLE, 0, refused(answers.TABLE, -130)) + whole(table)
    yield "refused_as_nonsense", turn(answers.TABLE, 0, refused(answers.TABLE, -74)) + whole(table)
    yield "digest", turn(DIGEST, 0, message(answers.head(DIGEST)[2:] + bytes(16)))
    yield "debug_found", turn(FIND_DEBUG, 0, refused(MATCH, 0, b""), message(facts[2:]), file=2)
    yield "debug_refused", turn(FIND_DEBUG, 0, refused(MATCH, -2), message(facts[2:]), file=2)
    yield "debug_costs_workers", turn(FIND_DEBUG, 0, *[message(b"", FAULTS)] * 3, file=2)
    yield "nobody_speaks", turn(answers.FACTS, 0)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, turns in seeds():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes([name == "kept"]) + turns)


if __name__ == "__main__":
    main()
