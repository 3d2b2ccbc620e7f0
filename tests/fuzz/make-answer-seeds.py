#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_answer (src/parse/message.h): make-answer-seeds.py FOLDER"""

import os
import struct
import sys

FACTS, MATCH, TABLE, NAMES, FRAMES, PERF_MAP, JITDUMP, EXAMINE, LINES = range(9)
LISTING, FUNCTION, PROBES = 11, 12, 13


def head(op, nr=0, code=0, text=b""):
    return bytes([op, nr]) + struct.pack("<IiII", op, code, len(text), 0) + text


def facts(nr_segments=2, build_id=20, link=b"x.debug", alt=b"deb/x.debug", alt_id=20):
    identity = struct.pack("<Q", build_id) + bytes(range(64)) + bytes(16)
    segments = b"".join(struct.pack("<II4Q", 1, 5, n << 12, n << 12, 0x800, 0x1000)
                        for n in range(2))
    facts_head = identity + link.ljust(256, b"\0") + struct.pack("<I", 0x12345678)
    facts_head = facts_head.ljust((len(facts_head) + 7) // 8 * 8, b"\0")
    facts_head += alt.ljust(256, b"\0") + bytes(64) + struct.pack("<Q", alt_id)
    return head(FACTS) + facts_head + struct.pack("<QIHH", 0x1000, nr_segments, 3, 62) + segments


def table(row=0x0100, nr_dict=2):
    """One page of two rows, two rules."""
    first = [0] + [2] * 256 + [0]
    page = struct.pack("<258H", *first) + struct.pack("<2H", 0, 1) + struct.pack("<2H", 0, row | 16)
    image = bytes(8) + page
    image = image.ljust((len(image) + 7) // 8 * 8, b"\0")
    dir_off = len(image)
    image += struct.pack("<IHH", 8, nr_dict, 0)
    image = image.ljust((len(image) + 15) // 16 * 16, b"\0")
    rules_off = len(image)
    image += bytes(16) + struct.pack("<BBBBi6bh", 1, 0, 7, 0, 8, *[-128] * 6, 0) + bytes(144)
    return head(TABLE) + struct.pack("<QQIIII", 0, 0x100, len(image), rules_off, dir_off, 1) \
        + bytes(13 * 8) + image


def names(text=0, start=0xff8):
    """A function around the first address, code without a name around the second."""
    return head(NAMES, 2) + struct.pack("<II", 2, 5) + struct.pack("<3QII", 0x1000, 0x1010, start, text, 0) \
        + struct.pack("<3QII", 0x1010, 0x1020, (1 << 64) - 1, 0xffffffff, 0) + b"main\0"


def code(op=PERF_MAP, nr=2, name=6, fault=1, segment=0):
    """Two functions at one address: the later is on top."""
    entries = struct.pack("<QQQII", 0x1000, 0x1020, 0, 0, 0) + struct.pack("<QQQII", 0x1008, 0x1010, 3, name, 1)
    segments = b"".join(struct.pack("<QQII", start, end, entry, 0) for start, end, entry in
                        ((0x1000, 0x1008, segment), (0x1008, 0x1010, 1), (0x1010, 0x1020, 0)))
    return head(op) + struct.pack("<II4Q3Q", 0, fault, 40, 2, 1, 9, nr, 3, 11) + entries + segments + b"outer\0over\0"


def examination(build_id=b"00ff", has_table=1, nr_largest=1):
    coverage = struct.pack("<12Q", 100, 80, 10, 10, 80, 0, 0, 0, 0, 0, 3, 1)
    coverage += b"bare".ljust(512, b"\0") + struct.pack("<2Q", 0x1000, 10) + bytes(4 * 528)
    return head(EXAMINE) + build_id.ljust(129, b"\0") + b"no CFI".ljust(380, b"\0") \
        + bytes([has_table, 1, 0]) + bytes(13 * 8) + coverage + struct.pack("<Q", nr_largest) \
        + bytes([1, 0, 0, 0, 1, 0, 0, 0]) + struct.pack("<Q", 7)


def lines(first=0, nr=2, name=0, file=10):
    """Two functions at the first address, nothing at the second."""
    return head(LINES, 2) + struct.pack("<IIII", 2, 2, 20, 0) + struct.pack("<IIII", first, nr, 0, 0) \
        + struct.pack("<5I", name, file, 7, 3, 1) + struct.pack("<5I", 5, 0xffffffff, 0, 0, 0) \
        + b"leaf\0main\0/src/a.c\0\0"


def listing(start=0xff0, nr=2, size=5, text=0, kind=3):
    """A call and a return, in a function that goes on."""
    return head(LISTING, 1) + struct.pack("<QQII", start, 0x1010, nr, 17) \
        + struct.pack("<QIIBB6x", 0x2000, text, 12, size, kind) \
        + struct.pack("<QIIBB6x", (1 << 64) - 1, 8, 0xffffffff, 1, 4) + b"call 2k\0ret\0leaf\0"


def probes(op=PROBES, nr=2, kind=0, args=10, off=0x410, text=b"libc\0setjmp\0008@%rdi\0"):
    """Two places of one probe."""
    sites = b"".join(struct.pack("<4Q4I", 0x1010, off + at, 0, 0xc08, 0, 5, args + 2, kind) for at in (0, 32))
    return head(op) + struct.pack("<II", nr, len(text)) + sites + text


SEEDS = {
    "probes": probes(),
    "function": probes(FUNCTION, kind=1),
    "probes_too_many": probes(nr=1 << 17),
    "probes_kind": probes(kind=3),
    "probes_text_outside": probes(args=20),
    "probes_text_without_end": probes(text=b"libc\0setjmp\0008@%rdi"),
    "probes_off": probes(off=1 << 63),
    "listing": listing(),
    "listing_of_another": listing(start=0x1008),
    "listing_size": listing(size=16),
    "listing_behind": listing(start=0xff0, size=0),
    "listing_text_outside": listing(text=17),
    "listing_kind": listing(kind=6),
    "listing_too_many": listing(nr=1 << 21),
    "lines": lines(),
    "lines_outside": lines(first=1),
    "lines_too_many": lines(nr=256),
    "lines_text_outside": lines(file=20),
    "facts_alt_outside": facts(alt=b"../x"),
    "facts_alt_long_id": facts(alt_id=65),
    "error": head(TABLE, 0, -61, b"fuzz: no CFI"),
    "facts": facts(),
    "facts_too_many": facts(nr_segments=1025),
    "facts_slash": facts(link=b"../x"),
    "facts_long_id": facts(build_id=65),
    "match": head(MATCH),
    "table": table(),
    "table_row_outside": table(row=0x0200),
    "table_wide": table(nr_dict=0),
    "names": names(),
    "names_outside": names(text=5),
    "names_behind": names(start=0x1001),
    "frames": head(FRAMES, 3) + bytes([0, 3, 7]),
    "perf_map": code(),
    "jitdump": code(JITDUMP),
    "code_name_outside": code(name=11),
    "code_fault_unknown": code(fault=99),
    "code_too_many": code(nr=1 << 40),
    "code_segment_of_another": code(segment=1),
    "examination": examination(),
    "examination_id": examination(build_id=b";rm"),
    "examination_bool": examination(has_table=2),
    "examination_largest": examination(nr_largest=6),
    "frames_unknown": head(FRAMES, 1) + bytes([8]),
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, content in SEEDS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
