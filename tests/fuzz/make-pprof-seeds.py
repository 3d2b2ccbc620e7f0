#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make-pprof-seeds.py FOLDER: write the seeds of fuzz_pprof into FOLDER/fuzz_pprof/."""

import gzip
import os
import sys


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def message(field, *parts):
    return data(field, b"".join(parts))


def numbers(field, values):
    return data(field, b"".join(varint(value) for value in values))


def strings(*texts):
    return b"".join(data(6, text.encode()) for text in texts)


def sample(locations, values, *labels):
    return message(2, numbers(1, locations), numbers(2, values), *(message(3, label) for label in labels))


TYPES = message(1, number(1, 1), number(2, 2)) + message(1, number(1, 3), number(2, 4))
PERIOD = message(11, number(1, 3), number(2, 4)) + number(12, 10000000) + number(9, 1700000000 * 10**9)
TEXTS = strings("", "samples", "count", "cpu", "nanoseconds", "main", "leaf", "/bin/x", "x.c", "comm", "[kernel.kallsyms]",
                "schedule", "origin", "cfi!:1,kernel:9", "timestamp_ns", "pid", "thread id", "# fpless 1", "# by tid")
MAPPINGS = message(3, number(1, 1), number(2, 0x1000), number(3, 0x9000), number(4, 0x1000), number(5, 7)) + \
    message(3, number(1, 2), number(2, 0xffffffff81000000), number(3, 0xffffffff82000000), number(5, 10))
LOCATIONS = message(4, number(1, 1), number(2, 1), number(3, 0x1010), message(4, number(1, 2), number(2, 3))) + \
    message(4, number(1, 2), number(2, 1), number(3, 0x1020), message(4, number(1, 2)), message(4, number(1, 1))) + \
    message(4, number(1, 77), number(2, 2), number(3, 0xffffffff81000010), message(4, number(1, 3)))
FUNCTIONS = message(5, number(1, 1), number(2, 5), number(4, 8), number(5, 1)) + message(5, number(1, 2), number(2, 6)) + \
    message(5, number(1, 3), number(3, 11))
SAMPLES = sample([77, 1, 2], [3, 30000000], number(1, 9) + number(2, 5), number(1, 15) + number(3, 42)) + \
    sample([1, 2], [1, 10000000], number(1, 14) + number(3, 1700000000 * 10**9 + 5), number(1, 16) + number(3, 9))

SEEDS = {
    "usual": TYPES + SAMPLES + MAPPINGS + LOCATIONS + FUNCTIONS + TEXTS + PERIOD,
    "own-order": TEXTS + TYPES + PERIOD + numbers(13, [17, 18]) + MAPPINGS + FUNCTIONS + LOCATIONS + SAMPLES,
    "own-label": TEXTS + TYPES + PERIOD + numbers(13, [17]) + MAPPINGS + FUNCTIONS + LOCATIONS +
    sample([1, 77, 2], [2, 2], number(1, 12) + number(2, 13)),
    "dangling": TYPES + sample([9, 0, 2**64 - 1], [1, 1], number(1, 99) + number(2, -1)) + strings("") + LOCATIONS,
    "duplicates": TYPES + SAMPLES + MAPPINGS * 2 + LOCATIONS * 2 + FUNCTIONS * 2 + TEXTS + message(4, number(3, 1)),
    "negative": TYPES + sample([1], [-1, -5]) + sample([1], [2, -5]) + LOCATIONS + TEXTS,
    "huge": TYPES + sample([1], [2**63 - 1, 2**63 - 1]) * 3 + LOCATIONS + TEXTS,
    "few-values": TYPES + sample([1], []) + sample([1], [4]) + sample([1], [1, 2, 3]) + LOCATIONS + TEXTS,
    "no-types": SAMPLES + TEXTS,
    "unit-without-name": message(1, number(2, 19)) + sample([1], [3]) + LOCATIONS + TEXTS + strings("bytes"),
    "unit-without-name-weighed": TEXTS + strings("bytes") + message(1, number(2, 19)) +
    message(1, number(1, 5), number(2, 4)) + numbers(13, [17]) + sample([1], [3, 5]) + LOCATIONS,
    "count-without-name": message(1, number(2, 2)) + sample([1], [3]) + LOCATIONS + TEXTS,
    "nothing": b"",
    "raw-text": TEXTS + data(6, b"\\xff") + message(1000, number(1, 19), data(2, b"\xff\0x")) + TYPES +
    sample([], [1, 1], number(1, 9) + number(2, 19)),
    "unknown-fields": number(99, 5) + message(98, b"abc") + varint(97 << 3 | 1) + bytes(8) + varint(96 << 3 | 5) + bytes(4) + TYPES,
    "group": varint(3 << 3 | 3) + TYPES,
    "cut-short": (TYPES + SAMPLES)[:-3],
    "endless-number": b"\x08" + b"\xff" * 11,
    "packed-oddly": TYPES + message(2, number(1, 1), number(1, 2), number(2, 3), number(2, 4)) + LOCATIONS + TEXTS,
}


def main():
    folder = os.path.join(sys.argv[1], "fuzz_pprof")
    os.makedirs(folder, exist_ok=True)
    seeds = dict(SEEDS)
    for name in ("usual", "own-order"):
        middle = len(SEEDS[name]) // 2
        whole = gzip.compress(SEEDS[name], mtime=0)
        seeds[name + ".gz"] = whole
        seeds[name + "-members.gz"] = gzip.compress(SEEDS[name][:middle], mtime=0) + gzip.compress(SEEDS[name][middle:], mtime=0)
        seeds[name + "-cut.gz"] = whole[:-12]
        seeds[name + "-padded.gz"] = whole + bytes(512)
        seeds[name + "-garbage.gz"] = whole + b"garbage"
    seeds["wrong-sum.gz"] = gzip.compress(SEEDS["usual"], mtime=0)[:-8] + bytes(8)
    for name, content in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
