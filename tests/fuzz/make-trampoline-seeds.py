#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_trampoline: make-trampoline-seeds.py FOLDER. Each is the code at the beginning of a mapping, or
a php that has its compiled code in itself."""

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


PHPS = {"php-elf": php(), "php-exit": php(exit_raises="f8000000"), "php-calls": php(jump="41ff17"), "php-empty": php(stubs_end=0)}


def main():
    for name, page in PHPS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(page)
    for name, code in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(bytes.fromhex(code))


if __name__ == "__main__":
    main()
