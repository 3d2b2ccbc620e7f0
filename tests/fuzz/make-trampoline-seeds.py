#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_trampoline: make-trampoline-seeds.py FOLDER. Each is the code at the beginning of a mapping, or
a php or an Erlang that has its compiled code in itself."""

import os
import struct
import sys

QEMU = "55 53 4154 4155 4156 4157 4889fd 4881c478fbffff"
GUILE = "4883ec18 48891c24 4c89642408 4c896c2410 4889fb 4989f4 488b4310 488b4b18"
SEEDS = {
    "qemu": QEMU + "ffe6",
    "guile": GUILE + "49ffe4",
    "php": "4155 4154 55 53 4883ec78 6448",
    "pcre2": "53 4157 4156 4155 55 4889fb 4881ec80000000 488b4310",
    "endbr64": "f30f1efa" + QEMU + "ffe6",
    "pushes": "50" * 64,
    "half": GUILE[:20],
    "2-gib": "4881c400000080 ffe6",
    "lost": "4889fb 53 4883ec08 ffe0",
}
BASE, LOOP, NAMES = 0x10000, 0x800, 0x300  # where the fuzz target has the bytes; offsets in them


def php(exit_raises="00010000", jump="41ff27", stubs_end=0xf00):
    """A page with the ELF header, the symbol execute_ex, and stubs as opcache makes them."""
    page = bytearray(4096)

    def put(at, code):
        page[at:at + len(code)] = code

    put(0, struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0))
    put(64, struct.pack("<IIQQQQQQ", 2, 0, 0, 0x100, 0, 0, 0, 0))
    put(0x100, struct.pack("<8Q", 6, 0x200, 5, NAMES, 4, 0x400, 0, 0))
    put(0x200 + 24, struct.pack("<IBBHQQ", 1, 0, 0, 1, LOOP, 0))
    put(NAMES + 1, b"execute_ex")
    put(0x400, struct.pack("<5I", 1, 2, 1, 0, 0))
    put(LOOP, bytes.fromhex(SEEDS["php"]))
    put(LOOP + 0x60, bytes.fromhex(jump))
    put(0xa05, bytes.fromhex("4881ecf8000000"))
    put(0xa50, bytes.fromhex("4881c4" + exit_raises))
    put(0xb00, bytes.fromhex("4883ec08"))
    put(4080, struct.pack("<2Q", BASE + 0xf10, BASE + stubs_end))
    return bytes(page)


def beam(entry="4881ec10410000 4883e4c0 488927 488d9c2480000000", list_ends=True, nr_lines=1):
    """Two pages with the ELF header, what Erlang exports, and records of the run time, of its own code and of a module."""
    page = bytearray(8192)

    def put(at, code):
        page[at:at + len(code)] = code

    def text(name):
        return struct.pack("<H", len(name) + 1) + name + b"\0"

    put(0, struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0))
    put(64, struct.pack("<IIQQQQQQ", 2, 0, 0, 0x100, 0, 0, 0, 0))
    put(0x100, struct.pack("<8Q", 6, 0x200, 5, NAMES, 4, 0x400, 0, 0))
    exports = (b"process_main", 0x700), (b"__jit_debug_descriptor", 0x480), (b"beam_normal_exit", 0x10)
    for idx, (name, value) in enumerate(exports):
        put(0x200 + 24 * (idx + 1), struct.pack("<IBBHQQ", 1 + 32 * idx, 0, 0, 1, value, 0))
        put(NAMES + 1 + 32 * idx, name)
    put(0x400, struct.pack("<7I", 1, 4, 1, 0, 2, 3, 0))
    put(0x480, struct.pack("<2I2Q", 1, 0, 0, BASE + 0x500))
    for idx in range(3):
        following = 0x500 + 32 * (idx + 1) if idx < 2 else 0 if list_ends else 0x500
        put(0x500 + 32 * idx, struct.pack("<4Q", BASE + following if following else 0, 0, BASE + 0x800 + 512 * idx, 512))
    put(0x800, struct.pack("<IIQII", 1, 0, BASE + 0x1000, 1, 0x400) + text(b"m") + bytes(6) + struct.pack("<III", 0x100, 0x200, nr_lines) +
        text(b"m:f/1") + bytes(2) + struct.pack("<II", 0x100, 7) + text(b"m.erl") + bytes(2))
    put(0xa00, struct.pack("<IIIIQQ", 0, 0, 0, 0, BASE + 0x900, 0))
    put(0xc00, struct.pack("<IIQII", 1, 0, BASE + 0x1800, 1, 0x100) + text(b"g") + bytes(6) + struct.pack("<III", 0, 0x80, 0) +
        text(b"global::process_main") + bytes(2))
    put(0x1800, bytes.fromhex(entry))
    put(0x1840, bytes.fromhex("498b6558 4d8b7d50 488d6380 e9"))
    return bytes(page)


PHPS = {"php-elf": php(), "php-exit": php(exit_raises="f8000000"), "php-calls": php(jump="41ff17"), "php-empty": php(stubs_end=0)}


def main():
    beams = {"beam": beam(), "beam-27": beam(entry="4881ecd0400000 4883e4c0 488927 488d5c2480"), "beam-loop": beam(list_ends=False),
             "beam-lines": beam(nr_lines=0xffffffff)}
    for name, page in [*PHPS.items(), *beams.items()]:
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(page)
    for name, code in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(bytes.fromhex(code))


if __name__ == "__main__":
    main()
