#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make-walk-seeds.py FOLDER: write the seeds of fuzz_walk, one per kind of rule.

A seed is a world as bpf/shared.h describes it: one object with a wide page of two rows (no CFI
below vaddr 0x100, the rule from there on), its mapping, and a stack of return addresses into it.
"""
import os
import struct
import sys

ID, SLOT, BIAS, STACK = 7, 1, 0x10000000, 0x20000000
DIR, PAGE, RULES = 0x10, 0x20, 0x300
SAME = -128
REG, DEREF, INDEX, PLT, EXPR = 1, 2, 3, 4, 5
END, SIGNAL, EXT, RA_REG = 1, 2, 4, 8


def rule(cfa, flags=0, reg=7, reg2=0, from_reg=0, off=8, saved=(SAME,) * 6, off2=0):
    return struct.pack("<BBBBi6bh", cfa, flags, reg | reg2 << 4, from_reg, off, *saved, off2)


def ext(dst, kind, base=0, count=0, off=0):
    return struct.pack("<BBBBi", dst, kind, base, count, off)


def image(rules):
    first = [0] + [1] + [2] * 255 + [0]
    rows = struct.pack("<2I", 0, 1 << 16)
    page = struct.pack("<258H", *first) + rows
    ret = bytearray(RULES)
    ret[DIR:DIR + 8] = struct.pack("<IHH", PAGE, 0, 0)
    ret[PAGE:PAGE + len(page)] = page
    assert PAGE + len(page) <= RULES
    return bytes(ret) + bytes(16) + rules + bytes(160)


def seed(rules, vaddr=0x140, unwind=0, nr_words=64, regs=None, flags=1, code=0xE8, depth=100, state=1,
         copy=(0, 0, 0, 0, 0), end=b""):
    reg = [STACK + 8 * i for i in range(16)]
    reg[7] = STACK
    for number, value in (regs or {}).items():
        reg[number] = value
    words = [BIAS + 0x140 if i % 2 else STACK + 8 * (i + 2) for i in range(nr_words)]
    stack = struct.pack("<%dQ" % nr_words, *words)
    img = image(rules)
    ret = struct.pack("<16Q", *reg)
    ret += struct.pack("<QQIIII", BIAS + vaddr, STACK, 0xFFFF, len(stack), 0, 1)
    obj = struct.pack("<4IQQ4I16x", ID, 0, 1, 0, 0, 0x20, state, 0, RULES, DIR)
    ret += bytes(64) + obj + bytes(64) * 2
    ret += struct.pack("<QQQIHH", BIAS, BIAS + 0x10000, BIAS, ID, SLOT, flags) + bytes(32) * 3
    ret += struct.pack("<IIBBB5B", depth, len(img), 1, unwind, code, *copy)
    return ret + img + stack + end


SEEDS = {
    "cfa-reg": seed(rule(REG, off=16, saved=(SAME, -2, SAME, SAME, SAME, SAME))),
    "cfa-reg-saved": seed(rule(REG, off=64, saved=(-7, -2, -6, -5, -4, -3))),
    "cfa-deref": seed(rule(DEREF, reg=6, from_reg=63, off=0, saved=(2, 0, 1, 3, 4, 5))),
    "cfa-index": seed(rule(INDEX, reg2=9, off=8, off2=8), regs={9: 3}),
    "cfa-plt": seed(rule(PLT, reg2=11, off=16)),
    "expr": seed(rule(EXPR)),
    "end": seed(rule(REG, flags=END)),
    "ra-reg": seed(rule(REG, flags=RA_REG, reg2=5, off=0), regs={5: BIAS + 0x140}),
    "ext": seed(rule(REG, flags=EXT, off=16) + ext(0, 2, 0, 5, 24) + ext(3, 3, 10, 0, -8) +
                ext(12, 4, 0, 0, -48) + ext(13, 5, 9, 0, 5) + ext(16, 2, 0, 0, 8)),
    "signal": seed(rule(DEREF, flags=EXT | SIGNAL, off=16) + ext(16, 3, 7, 17, 24) +
                   b"".join(ext(i, 3, 7, 0, 8 * i) for i in range(16))),
    "no-cfi-fp": seed(rule(REG), vaddr=0x90, regs={6: STACK + 16}, flags=0),
    "no-cfi-refused": seed(rule(REG), vaddr=0x90, unwind=1, flags=0),
    "partial": seed(rule(REG), vaddr=0x90, flags=0, state=3),
    "entry": seed(rule(REG), vaddr=0x30),
    "outside": seed(rule(REG), vaddr=0x20000),
    "hole": seed(rule(REG, off=64), copy=(2, 1, 0, 0, 0)),
    "islands": seed(rule(REG, off=64), copy=(2, 1, 2, 0, 0),
                    end=b"".join(struct.pack("<65Q", STACK + at, *(BIAS + 0x140,) * 64) for at in (0, 512))),
    "shared": seed(rule(REG, off=16), copy=(0, 0, 0, 8, 16), end=struct.pack("<16Q", *(BIAS + 0x140,) * 16)),
    "deep": seed(rule(REG, off=16), nr_words=6000, depth=3000),
}

os.makedirs(sys.argv[1], exist_ok=True)
for name, data in SEEDS.items():
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(data)
