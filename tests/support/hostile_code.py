# SPDX-License-Identifier: Apache-2.0
"""
ELF files whose code without CFI is made to cost its analyst dear. Each has one function with an FDE
in front (GOOD), so that it can be seen whether its row survives.

    usage: hostile_code.py FOLDER [NAME...]     writes them, or all
"""

import os
import random
import struct
import sys

BASE = 0x10000  # vaddrs are higher than offsets by this
GOOD_AT = 0x1000  # offset of the code: GOOD, the hole
GOOD = b"\x90" * 10 + b"\xc3"
SPIN = b"\xff\xcf\x75\xfc\xc3"  # 1: dec %edi; jnz 1b; ret: fits before the hole
JMP, CALL, RET = b"\xe9", b"\xe8", b"\xc3"
JZ = b"\x0f\x84"


def rel32(opcode, at, to):
    """The instruction at @at that leads to @to: both count from the same place."""
    return opcode + struct.pack("<i", to - (at + len(opcode) + 4))


def cfi(vaddr, functions):
    """.eh_frame at @vaddr for [(start, size)]: rows of an empty function each, or what a third item says."""
    body = struct.pack("<IB3sBBBB", 0, 1, b"zR\0", 1, 0x78, 16, 1) + b"\x1b" + b"\x0c\x07\x08\x90\x01"
    body += bytes(-(len(body) + 4) % 8)
    out = [struct.pack("<I", len(body)) + body]
    size = len(out[0])
    for start, length, *program in functions:
        place = vaddr + size + 8
        fde = struct.pack("<IiIB", size + 4, start - place, length, 0) + b"".join(program)
        fde += bytes(-(len(fde) + 4) % 8)
        out.append(struct.pack("<I", len(fde)) + fde)
        size += len(out[-1])
    return b"".join(out) + bytes(4)


class Elf:
    """Sections one behind the other, each at the vaddr that is its offset plus BASE."""

    def __init__(self):
        self.chunks = []  # (offset, bytes)
        self.sections = [(0, 0, 0, 0, 0, 0, 0, 0)]
        self.names = b"\0"
        self.end = 0x1000

    def add(self, name, kind, flags, data, link=0, entry=0, size=None):
        """@size: of a section whose rest is a hole of the file."""
        offset = self.end
        self.chunks.append((offset, data))
        size = len(data) if size is None else size
        self.sections.append((len(self.names), kind, flags, BASE + offset if flags else 0, offset, size,
                              link, entry))
        self.names += name.encode() + b"\0"
        self.end = (offset + size + 0xFFF) & ~0xFFF
        return offset

    def write(self, path, with_sections=True):
        text = next(section for section in self.sections if section[2] & 4)
        file_size = self.end
        self.add(".shstrtab", 3, 0, b"")
        header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64,
                             self.end if with_sections else 0, 0, 64, 56, 2, 64,
                             len(self.sections) if with_sections else 0,
                             len(self.sections) - 1 if with_sections else 0)
        loads = struct.pack("<IIQQQQQQ", 1, 5, text[4], text[3], text[3], text[5], text[5], 0x1000)
        loads += struct.pack("<IIQQQQQQ", 1, 4, 0, BASE, BASE, file_size, file_size, 0x1000)
        with open(path, "wb") as file:
            file.write(header + loads)
            for offset, data in self.chunks:
                file.seek(offset)
                file.write(data)
            file.seek(self.end - 0x1000)
            file.truncate(self.end)
            names_at = self.end + 64 * len(self.sections)
            file.seek(self.end)
            for i, s in enumerate(self.sections):
                offset, size = (names_at, len(self.names)) if i == len(self.sections) - 1 else s[4:6]
                file.write(struct.pack("<IIQQQQIIQQ", s[0], s[1], s[2], s[3], offset, size, s[6], 0, 1, s[7]))
            file.write(self.names)


def file_of(path, code, symbols=(), size=None, fdes=(), rodata=b"", with_sections=True, spin=False):
    """@code is a hole behind GOOD, and behind SPIN if that is asked for; symbols are offsets in it, fdes [(offset, size)] in it. @size: of a
    hole that goes on with zeros that take no room."""
    elf = Elf()
    elf.add(".text", 1, 6, GOOD + (SPIN if spin else bytes(16 - len(GOOD))) + code, size=None if size is None else size + 16)
    start = BASE + GOOD_AT
    frame_at = elf.end
    functions = [(start, len(GOOD))] + [(start + 16 + offset, *rest) for offset, *rest in fdes]
    elf.add(".eh_frame", 1, 2, cfi(BASE + frame_at, functions))
    if rodata:
        elf.add(".rodata", 1, 2, rodata)
    if symbols:
        table = [bytes(24)]
        table += [struct.pack("<IBBHQQ", 0, 0x12, 0, 1, start + 16 + offset, 0) for offset in symbols]
        elf.add(".symtab", 2, 0, b"".join(table), link=len(elf.sections) + 1, entry=24)
        elf.add(".strtab", 3, 0, b"\0")
    elf.write(path, with_sections)


def branches(nr):
    """Each of which leads anywhere."""
    noise = random.Random(1)
    code = b"".join(rel32(JZ, 6 * i, 6 * noise.randrange(nr)) for i in range(nr))
    return {"code": code + RET, "symbols": [0]}


def overlaps(size):
    """Noise, entered at each of its bytes."""
    return {"code": random.Random(2).randbytes(size), "symbols": range(size)}


def middles(nr):
    """Each jump leads into the one before it."""
    return {"code": b"".join(rel32(JMP, 5 * i, max(5 * i - 4 + i % 3, 0)) for i in range(nr)),
            "symbols": range(0, 5 * nr, 5)}


def pushes(nr):
    """Loops that push: no two ways agree on the stack."""
    loop = b"\x50" + JZ + struct.pack("<i", -7)
    return {"code": loop * nr + RET, "symbols": [0]}


def laps(nr):
    """A loop in which each lap loses one register more, in blocks of one instruction."""
    shift = bytes.fromhex("4d89f7 4d89ee 4d89e5 4989ec 4889dd 31db")  # r15 <- r14 <- ... <- rbx <- 0
    branch = JZ + bytes(4)
    body = shift + branch * nr
    return {"code": b"\x90" + body + rel32(JMP, 1 + len(body), 1), "symbols": [0]}


def calls(nr):
    """Each function calls the next two."""
    size = 11
    code = b"".join(rel32(CALL, size * i, size * min(i + 1, nr - 1))
                    + rel32(CALL, size * i + 5, size * min(2 * i, nr - 1)) + RET for i in range(nr))
    return {"code": code, "symbols": [0]}


def tables(nr_targets, nr_jumps):
    """Jumps by one table whose entries lead everywhere."""
    size = 64
    code_size = size * nr_jumps
    table_at = (0x1000 + 16 + code_size + 1 + 0xFFF) // 0x1000 * 0x1000
    table_at += 0x1000  # behind .eh_frame, which is a page
    code = b""
    for i in range(nr_jumps):
        at = 0x1000 + 16 + size * i
        jump = b"\x81\xff" + struct.pack("<I", nr_targets - 1)  # cmp edi
        jump += b"\x0f\x87" + struct.pack("<i", size - len(jump) - 6)  # ja to the next
        jump += b"\x48\x8d\x15" + struct.pack("<i", table_at - (at + len(jump) + 7))  # lea rdx
        jump += bytes.fromhex("48 63 04 ba 48 01 d0 ff e0")  # movslq rax; add; jmp *rax
        code += jump + b"\x90" * (size - len(jump))
    noise = random.Random(3)
    targets = (noise.randrange(nr_jumps) * size + noise.randrange(40, size) for _ in range(nr_targets))
    entries = struct.pack(f"<{nr_targets}i", *(0x1010 + target - table_at for target in targets))
    return {"code": code + RET, "symbols": [0], "rodata": entries}


def labels(nr):
    """Addresses of code in registers, and jumps by them."""
    code = b""
    for i in range(nr):
        code += b"\x48\x8d" + bytes([5 | i % 8 << 3]) + struct.pack("<i", 16 * (nr // 2 - i))  # lea
        code += b"\x74\x02" + b"\xff" + bytes([0xe0 | (i * 5) % 8]) + b"\x90" * 5  # jz; jmp *; nops
    return {"code": code + RET, "symbols": [0]}


def shared_ends(nr, size):
    """Callees that all go on in the same long code, which changes nothing."""
    ends_at = 5 * nr + 1
    code = b"".join(rel32(CALL, 5 * i, ends_at + 5 * i) for i in range(nr)) + RET
    code += b"".join(rel32(JMP, ends_at + 5 * i, ends_at + 5 * nr) for i in range(nr))
    return {"code": code + b"\xf8" * size + RET, "symbols": [0]}


def touching(nr):
    """Holes of one byte, with FDEs of one byte between."""
    return {"code": b"\xf8\xf9" * nr, "fdes": [(2 * i, 1) for i in range(nr)]}


def symbols(nr):
    """A function at each byte, twice."""
    return {"code": b"\xf8" * nr + RET, "symbols": [*range(nr), *range(nr)]}


FILES = {
    "branches": lambda: branches(150000),
    "overlaps": lambda: overlaps(1000000),
    "middles": lambda: middles(200000),
    "pushes": lambda: pushes(100000),
    "laps": lambda: laps(150000),
    "calls": lambda: calls(50000),
    "table": lambda: tables(1000000, 1),
    "tables": lambda: tables(50000, 500),
    "jumps": lambda: tables(1000, 3000),
    "labels": lambda: labels(50000),
    "shared_ends": lambda: shared_ends(30000, 500000),
    "touching": lambda: touching(50000),
    "symbols": lambda: symbols(200000),
    "zeros": lambda: {"code": b"\0", "size": 40 << 20, "symbols": [0]},
    "gigabyte": lambda: {"code": RET, "size": 1 << 30, "symbols": [0]},
    "segment": lambda: {"code": RET, "size": 1 << 30, "with_sections": False},
}
# What cannot be followed within what a file may cost.
TOO_MUCH = {"overlaps", "shared_ends", "gigabyte"}


def write_file(folder, name, spin=False):
    """Returns its path."""
    path = os.path.join(folder, name)
    file_of(path, spin=spin, **FILES[name]())
    return path


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or FILES:
        write_file(sys.argv[1], name)


if __name__ == "__main__":
    main()
