# SPDX-License-Identifier: Apache-2.0
"""Seeds of fuzz targets that read the memory of a process (tests/support/memory_word.h)."""

import os
import struct
import sys


def write(seeds):
    """Into the folder that is asked for: {name: (first byte, [(address, size and bits, value)])}."""
    for name, (first, parts) in seeds.items():
        data = bytes([first]) + b"".join(
            struct.pack("<I", at & 0xffffff | how << 24) + struct.pack("<Q", value) for at, how, value in parts)
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(data)
