#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_name_entry (src/parse/name_entry.c), whose key, version and digest it puts right itself:
make-name-seeds.py FOLDER"""

import os
import struct
import sys

NO_TEXT, NO_START = 0xffffffff, (1 << 64) - 1


def search(build_id=20, link=b"x.debug"):
    stamps = b"".join(struct.pack("<QQQqq", 254, 77 + n, 4096, 1 << 60, 1 << 60) for n in range(5))
    return struct.pack("<Q", build_id) + bytes(range(64)) + link.ljust(256, b"\0") + struct.pack("<Q", 0x12345678) + stamps


def entry(ranges, text=b"main\0outer\0", no_lines=0, nr=None, more=b"", **where):
    head = b"fplnames" + bytes(72) + search(**where)
    head += struct.pack("<QQQ", len(ranges) if nr is None else nr, len(text), no_lines) + bytes(16)
    return head + b"".join(struct.pack("<QQQII", *r, 0) for r in ranges) + text + more


MAIN = (0x1000, 0x1040, 0x1000, 0)
OUTER = [(0x2000, 0x2010, 0x2000, 5), (0x2010, 0x2020, 0x2010, 0), (0x2020, 0x2030, 0x2000, 5)]
NAMELESS = [(0x3000, 0x3010, 0x2ff0, NO_TEXT), (0x3010, 0x9000, NO_START, NO_TEXT)]

SEEDS = {
    "some": entry([MAIN, *OUTER, *NAMELESS]),
    "empty": entry([], text=b""),
    "no_lines": entry([MAIN], no_lines=1),
    "over_the_next": entry([(0x1000, 0x2001, 0x1000, 0), *OUTER]),
    "descending": entry([*OUTER, MAIN]),
    "text_outside": entry([(0x1000, 0x1040, 0x1000, 11)]),
    "text_without_end": entry([MAIN], text=b"main"),
    "start_behind": entry([(0x1000, 0x1040, 0x1001, 0)]),
    "too_many": entry([MAIN], nr=1 << 59),
    "longer": entry([MAIN], more=b"x"),
    "long_id": entry([MAIN], build_id=65),
    "link_elsewhere": entry([MAIN], link=b"../x"),
}

if __name__ == "__main__":
    for name, seed in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(seed)
