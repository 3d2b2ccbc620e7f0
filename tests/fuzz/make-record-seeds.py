#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make-record-seeds.py FOLDER: write the seeds of fuzz_record, one per kind of ring record (bpf/shared.h)."""

import os
import struct
import sys

STACK, SNAPSHOT, WALK = 0, 1, 5
RAW, EXACT, FP = 1 << 60, 1 << 61, 2 << 62
NAMED = 1 << 40 | 0x1234
SAMPLE_RAW = 4


def record(kind, user=(), kernel=(), fp=(), count=1, flags=0, tail=b"", nr_fp=None, key=()):
    frames = struct.pack("<%dQ" % (len(user) + len(kernel) + len(fp) + len(key)), *user, *kernel, *fp, *key)
    head = struct.pack("<QQQQQ6IHHBBH16sIHH", 7, 1000, 10101, 0, 0, 9, count, 77, 77, 0, 1, len(user), len(kernel), 0, flags,
                       len(fp) if nr_fp is None else nr_fp, b"perl", 0, 0, len(key))
    body = head + frames + tail
    return struct.pack("<IIQ", kind, 16 + len(body), 5000) + body


def walk(stack, claimed=None):
    size = len(stack) if claimed is None else claimed
    return struct.pack("<16QQQIIIBB2x", *range(16), 0x1800, 0x7000, 0xffff, size, 0, 1, 0) + stack


def snapshot(stack, hole=(0, 0), islands=(), shared=(9, 0, 0)):
    """What is behind the registers; @stack: without the bytes that it shares with the last one."""
    rest = struct.pack("<III4x", *hole, len(islands)) + struct.pack("<III4x", *shared) + stack
    return walk(b"", len(stack) + shared[2]) + rest + b"".join(struct.pack("<Q", addr) + bytes(512) for addr in islands)


RAWS = (EXACT | RAW | 0x1800, RAW | 0x2345, RAW | 0x3456, RAW | 1 << 47, RAW)
SEEDS = {
    "stack": record(STACK, (EXACT | NAMED, NAMED), (0xffffffff81000000,)),
    "both-walks": record(STACK, (EXACT | NAMED, NAMED), (0xffffffff81000000,), (FP | EXACT | NAMED,)),
    "raw": record(STACK, RAWS, (), RAWS, flags=SAMPLE_RAW),
    "no-frames": record(STACK, count=0),
    "fp-behind-the-end": record(STACK, (NAMED,), (), (NAMED,), nr_fp=3),
    "snapshot": record(SNAPSHOT, (NAMED,), (1,), RAWS, tail=snapshot(bytes(64))),
    "snapshot-hole": record(SNAPSHOT, (NAMED,), (1,), RAWS, tail=snapshot(bytes(8192), (4096, 65536))),
    "snapshot-islands": record(SNAPSHOT, (NAMED,), (1,), RAWS, tail=snapshot(bytes(8192), (4096, 65536), (0x9000, 0xa200))),
    "snapshot-shared": record(SNAPSHOT, (NAMED,), (1,), RAWS, tail=snapshot(bytes(64), shared=(9, 32, 64))),
    "snapshot-islands-behind-the-end": record(SNAPSHOT, (NAMED,), (1,), RAWS,
                                              tail=snapshot(bytes(8192), (4096, 65536), (0x9000, 0xa200))[:-8]),
    "key": record(STACK, (EXACT | NAMED, NAMED), (1,), key=(0x6c6f67, 0)),
    "snapshot-key": record(SNAPSHOT, (NAMED,), (1,), RAWS, key=(42,), tail=snapshot(bytes(64))),
    "walk": record(WALK, (NAMED,), (1,), RAWS, count=0, tail=walk(bytes(64))),
    "stack-behind-the-end": record(WALK, (NAMED,), (), RAWS, tail=walk(bytes(64), 72)),
    "header-alone": struct.pack("<IIQ", SNAPSHOT, 16, 0),
}

for name, data in SEEDS.items():
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(data)
