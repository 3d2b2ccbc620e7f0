#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_script_names: make-script-seeds.py FOLDER. Files of code objects, whole and damaged, as
src/script/names.h has them; the records are those of bpf/shared_script.h."""

import os
import struct
import sys

CODE = 0x7F0000001000
# of each version: the number, offsets of the first line and of the instructions, of a text's characters
V311, V312, V313 = (0x030B02F0, 72, 184, 48), (0x030C01F0, 68, 192, 40), (0x030D00F0, 68, 200, 40)
ASCII, LATIN1, UCS2, UCS4 = 1 << 2 | 32 | 64, 1 << 2 | 32, 2 << 2 | 32, 4 << 2 | 32


def text(version, characters, state=ASCII, size=None):
    begin = version[3] if state & 64 else version[3] + (24 if version[3] == 48 else 16)
    head = struct.pack("<16xQ8xI", len(characters) if size is None else size, state)
    encoded = characters.encode({LATIN1: "latin-1", UCS2: "utf-16-le", UCS4: "utf-32-le"}.get(state, "ascii"))
    return (head.ljust(begin, b"\0") + encoded)[:256].ljust(256, b"\0")


def code(version, function, file="/a/b.py", lines=bytes((0x80 | 13 << 3, 0, 0x80 | 12 << 3, 0)), places=(0, 2), read=256,
         nr_lines=None, more=0, record_size=None):
    number, first_line, start, _ = version
    content = struct.pack("<16xQ8x", len(lines) if nr_lines is None else nr_lines) + lines
    content = content.ljust((len(content) + 7) // 8 * 8, b"\0")
    name = function if isinstance(function, bytes) else text(version, function)
    record = struct.pack("<16xQQIIII3HH", 1, CODE, 7, 0, 1, 32 + len(lines) + more, read, 256, 256, 0)
    record += (b"\0" * first_line + struct.pack("<I", 10)).ljust(256, b"\0") + name + text(version, file) + content
    head = struct.pack("<QII", number, len(record) if record_size is None else record_size, len(places))
    return head + record + b"".join(struct.pack("<Q", CODE + start + place) for place in places)


TWO = code(V311, "f") + code(V312, "C.g.<locals>.h") + code(V313, "<module>", places=())

SEEDS = {
    "whole": TWO,
    "cut": TWO[:-5],
    "latin1": code(V311, text(V311, "gr\xfc\xdfe", LATIN1)),
    "ucs2": code(V312, text(V312, "\u03bb", UCS2)),
    "ucs4": code(V313, text(V313, "\U0001f40d", UCS4)),
    "text_too_long": code(V311, text(V311, "f", size=1 << 62)),
    "control": code(V311, text(V311, "a;b\n\x1b[31m<b>")),
    "unknown_version": code((0x031000F0,) + V313[1:], "f"),
    "object_not_read": code(V311, "f", read=16),
    "more_lines_than_read": code(V311, "f", nr_lines=1 << 40, more=4096),
    "lines_of_each_kind": code(V312, "f", lines=bytes([0x80 | kind << 3 for kind in range(16)] + [0x7F] * 24),
                               places=range(0, 64, 2)),
    "line_without_end": code(V311, "f", lines=bytes([0x80 | 13 << 3] + [0x7F] * 30)),
    "record_short": code(V311, "f", record_size=64),
    "record_odd": code(V311, "f", record_size=1001),
    "places_elsewhere": code(V311, "f", places=(1 << 40, -CODE, 1)),
}


def main():
    for name, content in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    main()
