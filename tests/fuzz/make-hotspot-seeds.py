#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_hotspot: make-hotspot-seeds.py FOLDER. Each is a version, and triples of address, size and value
that are put into the memory of a JVM (tests/support/jvm_memory.h)."""

import memory_seeds

HASH, NUMBERS = 0x2000, 0x3000  # from the beginning of the memory on, as all addresses here
SEEDS = {
    "old": (0, []),
    "new": (1, []),
    "endless-bucket": (0, [(HASH + 28 + 4 * i, 2, 0) for i in range(12)]),
    "no-stride": (0, [(NUMBERS + 16, 3, 0)]),
    "types-of-themselves": (0, [(NUMBERS + 72, 3 | 128, 0x6000)]),
    "heap-of-heaps": (0, [(0x15020, 3 | 128, 0x15000)]),
    "cycle-of-names": (0, [(0x15208, 3 | 128, 0x15200), (0x15248, 3 | 128, 0x15200)]),
    "sizes-of-2-31": (0, [(0x1000c, 2, 0x7fffffff), (0x10800, 3, 1 << 31)]),
    "sizes-of-minus-1": (1, [(0x1000c, 2, 0xffffffff), (0x10000, 3, (1 << 64) - 1)]),
}

if __name__ == "__main__":
    memory_seeds.write(SEEDS)
