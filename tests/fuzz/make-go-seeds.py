#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_go: a few functions of each kind, in the formats of Go 1.18 and 1.20."""

import os
import struct

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures/fuzz/fuzz_go")
TEXT = 0x401000
# code, depths of the stack (bytes of code, depth), flags: TOPFRAME 1, SPWRITE 2, ASM 4
NEW = [
    (b"\x55\x48\x89\xe5\x48\x83\xec\x10\x90\x48\x83\xc4\x10\x5d\xc3",
     [(1, 0), (7, 8), (5, 24), (1, 8), (1, 0)], 0),
    (b"\x90\xe8\0\0\0\0\x90", [(7, 0)], 5),
    (b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05\xcc", [(10, 0)], 4),
    (b"\x55\x48\x89\xe5\x48\x8b\x62\x38\xff\x17\x5d\xc3", [(1, 0), (10, 8), (1, 0)], 6),
    (b"\x90\x48\x8b\x63\x38\x31\xed\xff\x17\xcc", [(10, 0)], 6),
    (b"\x41\x5c\x0f\x05\x41\x54\xc3", [(2, 0), (4, -8), (1, 0)], 4),
]
OLD = [
    (b"\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x48\x8b\x6c\x24\x10\x48\x83\xc4\x18\xc3",
     [(4, 0), (19, 24), (1, 0)], 0),
    (b"\x90\xe8\0\0\0\0\x90", [(7, 0)], 5),
    (b"\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x48\x8b\x62\x38\x4c\x89\xe4"
     b"\x48\x8b\x6c\x24\x10\x48\x83\xc4\x18\xc3", [(4, 0), (26, 24), (1, 0)], 6),
]


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def seed(functions, old):
    text, starts, depths, places = b"", [], b"\0", []
    for code, stretches, _ in functions:
        starts.append(len(text))
        text += code + b"\xcc" * (-len(code) % 32)
        places.append(len(depths))
        before = -1
        for size, depth in stretches:
            change = depth - before
            depths += varint(change << 1 if change >= 0 else ~(change << 1)) + varint(size)
            before = depth
        depths += b"\0"
    depths += b"\0" * (-len(depths) % 8)
    nr, size = len(functions), 40 if old else 44
    table = struct.pack("<IBBBBQQQQQQQQ", 0xfffffff0 if old else 0xfffffff1, 0, 0, 1, 8, nr, 0, TEXT, 72, 72, 72, 72,
                        72 + len(depths)) + depths
    for i, start in enumerate(starts):
        table += struct.pack("<II", start, nr * 8 + 4 + i * size)
    table += struct.pack("<I", len(text))
    for i, (_, _, flags) in enumerate(functions):
        record = struct.pack("<IIIII", starts[i], 0, 0, 0, places[i])
        table += record + b"\0" * (size - 4 - len(record)) + bytes([0, flags, 0, 0])
    return struct.pack("<H", len(text)) + text + table


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name, functions, old in (("go120", NEW, False), ("go118", OLD, True)):
        with open(os.path.join(FOLDER, name), "wb") as file:
            file.write(seed(functions, old))


if __name__ == "__main__":
    main()
