#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make-types-seeds.py FOLDER: write the seeds of fuzz_kernel_types: BTF of small kernels, whole and broken."""

import os
import struct
import sys

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, CONST, PROTO, DATASEC, FLOAT, ENUM64 = 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 15, 16, 19


class Kernel:
    def __init__(self):
        self.strings, self.types = b"\0", b""

    def name(self, text):
        if not text:
            return 0
        at = len(self.strings)
        self.strings += text.encode() + b"\0"
        return at

    def add(self, kind, name="", size=0, nr=0, tail=b"", flag=0):
        self.types += struct.pack("<III", self.name(name), flag << 31 | kind << 24 | nr, size) + tail

    def composite(self, kind, name, size, members, flag=0):
        self.add(kind, name, size, len(members), b"".join(
            struct.pack("<III", self.name(text), type_id, off) for text, type_id, off in members), flag)

    def bytes(self, gap=0):
        header = struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(self.types), len(self.types) + gap, len(self.strings))
        return header + self.types + b"\0" * gap + self.strings


def whole():
    kernel = Kernel()
    kernel.add(INT, "int", 4, tail=struct.pack("<I", 1 << 24 | 32))  # 1
    kernel.composite(STRUCT, "two", 16, [("x", 1, 0), ("a", 1, 64)])  # 2
    kernel.add(CONST, "", 2)  # 3
    kernel.add(TYPEDEF, "two_t", 3)  # 4
    kernel.add(PTR, "", 2)  # 5
    kernel.add(ARRAY, tail=struct.pack("<III", 4, 1, 3))  # 6
    kernel.composite(UNION, "", 8, [("b", 1, 0), ("y", 5, 0)])  # 7
    kernel.add(ENUM, "e", 4, 1, struct.pack("<II", 0, 7))  # 8
    kernel.add(ENUM64, "w", 8, 1, struct.pack("<III", 0, 7, 1))  # 9
    kernel.add(FLOAT, "double", 8)  # 10
    kernel.add(PROTO, "", 1, 1, struct.pack("<II", 0, 1))  # 11
    kernel.composite(STRUCT, "one", 200, [("", 7, 0), ("a", 4, 64), ("b", 6, 192), ("c", 5, 1024), ("d", 9, 1088), ("z", 1, 1152)])
    kernel.composite(STRUCT, "one", 100, [("a", 8, 0), ("b", 10, 64), ("c", 1, 3 << 24 | 129)], flag=1)
    return kernel


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    seeds = {"whole": whole().bytes(), "gap": whole().bytes(gap=12), "empty": Kernel().bytes()}
    seeds["cut"] = seeds["whole"][:-9]
    seeds["no_nul"] = seeds["whole"][:-1] + b"x"
    kernel = whole()
    kernel.add(31, "unknown")
    seeds["unknown_kind"] = kernel.bytes()
    kernel = Kernel()
    kernel.add(TYPEDEF, "round", 2)
    kernel.add(CONST, "", 1)
    kernel.composite(STRUCT, "one", 8, [("a", 1, 0)])
    seeds["round"] = kernel.bytes()
    kernel = Kernel()
    kernel.composite(STRUCT, "one", 8, [("a", 1, 0), ("b", 2, 0), ("", 77, 0)])
    kernel.add(FWD, "f")
    seeds["itself"] = kernel.bytes()
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


main()
