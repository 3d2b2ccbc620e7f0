#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_core: make-core-seeds.py FOLDER. Small core files of x86-64, whole and damaged."""

import os
import struct
import sys

NT_PRSTATUS, NT_FPREGSET, NT_PRPSINFO, NT_AUXV, NT_FILE = 1, 2, 3, 6, 0x46494C45
PT_LOAD, PT_NOTE, ET_CORE, EM_X86_64, PN_XNUM = 1, 4, 4, 62, 0xFFFF
STACK, CODE = 0x7FFD00000000, 0x400000


def note(kind, desc, owner=b"CORE\0"):
    pad = lambda data: data + b"\0" * (-len(data) % 4)
    return struct.pack("<III", len(owner), len(desc), kind) + pad(owner) + pad(desc)


def status(tid, pc=CODE + 0x10, sp=STACK + 0x100, signal=11):
    words = [0] * 27
    words[16], words[19] = pc, sp
    return note(NT_PRSTATUS, struct.pack("<12xH18xI76x", signal, tid) + struct.pack("<27Q", *words) + b"\0" * 8)


INFO = note(NT_PRPSINFO, struct.pack("<24xI12x16s80s", 7, b"prog", b"prog -x"))
AUXV = note(NT_AUXV, struct.pack("<8Q", 9, CODE + 0x20, 7, 0x7F0000000000, 33, 0x7FFDF0000000, 0, 0))


def files(*maps, page=4096):
    return note(NT_FILE, struct.pack("<QQ", len(maps), page) + b"".join(struct.pack("<QQQ", *each[:3]) for each in maps)
                + b"".join(each[3] + b"\0" for each in maps))


FILES = files((CODE, CODE + 0x1000, 0, b"/usr/bin/prog"), (CODE + 0x1000, CODE + 0x3000, 1, b"/usr/bin/prog"))


def core(notes, loads=((CODE, b"\x90" * 64, 0x3000, 5), (STACK, bytes(range(256)) * 2, 0x1000, 6)), nr=None, xnum=False):
    at = 64 + 56 * (1 + len(loads))
    headers, body = struct.pack("<IIQQQQQQ", PT_NOTE, 0, at, 0, 0, len(notes), 0, 4), notes
    for vaddr, data, size, flags in loads:
        headers += struct.pack("<IIQQQQQQ", PT_LOAD, flags, at + len(body), vaddr, 0, len(data), size, 4096)
        body += data
    count = 1 + len(loads) if nr is None else nr
    section = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, count, 0, 0) if xnum else b""
    ident = b"\x7fELF\2\1\1" + b"\0" * 9
    return ident + struct.pack("<HHIQQQIHHHHHH", ET_CORE, EM_X86_64, 1, 0, 64, at + len(body), 0, 64, 56,
                               PN_XNUM if xnum else count, 64, int(xnum), 0) + headers + body + section


WHOLE = status(7) + INFO + AUXV + FILES + note(NT_FPREGSET, b"\0" * 512) + status(8, signal=0)

SEEDS = {
    "whole": core(WHOLE),
    "many_segments": core(WHOLE, xnum=True),
    "count_beyond": core(WHOLE, nr=9),
    "no_thread": core(INFO + FILES),
    "no_files": core(status(7)),
    "status_short": core(note(NT_PRSTATUS, b"\0" * 100) + status(9)),
    "other_owner": core(note(NT_PRSTATUS, b"\1" * 336, b"LINUX\0") + status(9)),
    "files_count": core(status(7) + note(NT_FILE, struct.pack("<QQ", 1 << 60, 4096))),
    "files_page": core(status(7) + files((CODE, CODE + 0x1000, 1 << 60, b"/x"), page=1 << 40)),
    "files_no_path": core(status(7) + note(NT_FILE, struct.pack("<QQQQQ", 1, 4096, CODE, CODE + 1, 0) + b"/x")),
    "files_reversed": core(status(7) + files((CODE, CODE - 1, 0, b"/x"))),
    "files_overlap": core(status(7) + files((CODE, CODE + 0x2000, 0, b"/x"), (CODE + 0x1000, CODE + 0x3000, 0, b"/y"))),
    "files_twice": core(status(7) + FILES + files((CODE, CODE + 0x1000, 0, b"/z"))),
    "memory_twice": core(WHOLE, loads=((CODE, b"a", 0x3000, 5), (CODE + 0x1000, b"b", 0x1000, 6))),
    "memory_wraps": core(WHOLE, loads=((2**64 - 0x1000, b"a", 0x2000, 5),)),
    "memory_unsorted": core(WHOLE, loads=((STACK, b"a" * 512, 0x1000, 6), (CODE, b"b", 0x3000, 5))),
    "memory_joined": core(WHOLE, loads=((STACK, b"a" * 256, 256, 6), (STACK + 256, b"b" * 256, 256, 4))),
    "cut": core(WHOLE)[:-300],
    "cut_headers": core(WHOLE)[:100],
    "program": core(WHOLE).replace(struct.pack("<HH", ET_CORE, EM_X86_64), struct.pack("<HH", 3, EM_X86_64), 1),
    "text": b"no core file\n",
}


def main():
    for name, data in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
