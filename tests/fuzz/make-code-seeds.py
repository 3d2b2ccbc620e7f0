#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make-code-seeds.py FOLDER: write the seeds of fuzz_perf_map and fuzz_jitdump into FOLDER/fuzz_*/."""

import os
import struct
import sys

X86_64 = 62


def header(flags=0, size=40, machine=X86_64, magic=0x4a695444, version=1):
    return struct.pack("<6I2Q", magic, version, size, machine, 0, 77, 5, flags)


def record(kind, time, body, size=None):
    return struct.pack("<IIQ", kind, 16 + len(body) if size is None else size, time) + body


def load(time, addr, size, name, code=b"\x90" * 8, pid=77):
    return record(0, time, struct.pack("<II4Q", pid, 78, addr, addr, size, 1) + name + code)


def move(time, old, new, size):
    return record(1, time, struct.pack("<II5Q", 77, 78, new, old, new, size, 1))


MAPS = {
    "node": b"3ef414c0 398 RegExp:[{(]\n3ef41860 26 LazyCompile:~parse /x.js:1:13\n3ef41860 26 JS:*parse /x.js:1:13\n",
    "java": b"0x00007f1c5c7a0d20 0x98 Interpreter\n0x00007f1c5c7a0d20 0x00000000000001f8 int Fib.fib(int)\n",
    "overlaps": b"1000 1000 big\n1100 10 in\n1f80 100 across\n1000 1000 twice\n1100 1 one\n",
    "bad-lines": b"hello\n1000\n1000 0 x\n-1 2 x\nffffffffffffffff 2 x\n1000 10 \n1000 10 a\0b\n2000 10 good\n",
    "unfinished": b"1000 10 whole\n2000 10 hal",
    "long-line": b"1000 10 " + b"x" * 9000 + b"\n2000 10 next\n",
    "zeros": bytes(4096),
}
DUMPS = {
    "loads": header() + load(100, 0x1000, 64, b"first\0") + load(200, 0x1000, 64, b"second\0"),
    "moves": header() + load(1, 0x1000, 64, b"mover\0") + move(2, 0x1000, 0x2000, 64) + move(3, 0x2000, 0x1010, 64)
             + move(4, 0x9000, 0x1010, 64),
    "other-records": header() + record(2, 1, bytes(24)) + record(4, 1, bytes(32)) + record(9, 1, bytes(8))
                     + load(2, 0x1000, 1, b"a\0") + record(3, 3, b"") + load(4, 0x3000, 1, b"behind\0"),
    "arch-time": header(1) + load(1 << 60, 0x1000, 64, b"a\0") + load(1, 0x1000, 64, b"b\0"),
    "no-end-of-name": header() + load(1, 0x1000, 64, b"x" * 100, b""),
    "short-record": header() + record(0, 1, b"", 15) + load(2, 0x1000, 1, b"a\0"),
    "cut": header() + load(1, 0x1000, 64, b"whole\0") + load(2, 0x2000, 64, b"cut\0")[:50],
    "wrong-machine": header(machine=183),
    "wrong-magic": header(magic=0x4454694a),
}

for target, seeds in (("fuzz_perf_map", MAPS), ("fuzz_jitdump", DUMPS)):
    folder = os.path.join(sys.argv[1], target)
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
