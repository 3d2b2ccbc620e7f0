#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_registered: make-registered-seeds.py FOLDER. Each is a kind of file, and triples of address, size and
value that are put into the memory of a process (tests/support/registered_memory.h)."""

import memory_seeds

ENTRY, FILE, FRAMES = 0x500, 0x800, 0x1000  # offsets in the memory
SECTIONS, SYMBOLS = FILE + 64, FILE + 64 + 5 * 64  # of a file
IN_MEMORY = 128
SEEDS = {
    "exec": (0, []),
    "relocatable": (1, []),
    "circle": (1, [(ENTRY, 3 | IN_MEMORY, ENTRY)]),
    "circle-behind": (1, [(ENTRY, 3 | IN_MEMORY, ENTRY + 32), (ENTRY + 32, 3 | IN_MEMORY, ENTRY + 32)]),
    "size-of-minus-1": (0, [(ENTRY + 24, 3, (1 << 64) - 1)]),
    "sections-65535": (0, [(ENTRY + 24, 3, 1 << 40), (FILE + 60, 1, 0xffff)]),
    "sections-of-themselves": (1, [(FILE + 40, 3, 0)]),
    "names-of-2-63": (1, [(SECTIONS + 4 * 64 + 32, 3, 1 << 63)]),
    "function-of-minus-1": (1, [(SYMBOLS + 24 + 16, 3, (1 << 64) - 1)]),
    "frames-of-2-31": (1, [(FRAMES + 60, 2, 0x7fffffff)]),
    "endless-cie": (1, [(FRAMES, 2, 0)]),
}

if __name__ == "__main__":
    memory_seeds.write(SEEDS)
