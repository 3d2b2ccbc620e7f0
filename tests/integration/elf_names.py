# SPDX-License-Identifier: Apache-2.0
"""What an ELF file itself says about its addresses: an oracle that shares no code with fpless."""

import bisect
import os
import re
import struct
import subprocess

SHT_SYMTAB = 2
SHT_NOBITS = 8
STT_NOTYPE = 0
STT_FUNC = 2
STT_GNU_IFUNC = 10


class ElfNames:
    """Functions, sections and call sites of one file; symbols also from PATH.debug."""

    def __init__(self, path):
        self.path = path
        self.sections = []  # (name, start, end), those with an address
        self.offsets = {}  # start of a section: its place in the file
        self.entry = 0
        functions = {}
        for source in (path, path + ".debug"):
            if os.path.exists(source):
                with open(source, "rb") as file:
                    self._read(file.read(), functions, source == path)
        # [(start, end, {aliases})], by start
        self.functions = [(start, end, names) for (start, end), names in sorted(functions.items())]
        self._starts = [function[0] for function in self.functions]
        self._return_sites = None
        self._jumps = {}

    def _read(self, image, functions, is_main):
        if image[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{self.path}: not a little-endian 64-bit ELF file")
        entry, section_off = struct.unpack_from("<Q8xQ", image, 24)
        nr_sections, names_idx = struct.unpack_from("<HH", image, 60)
        headers = [struct.unpack_from("<IIQQQQIIQQ", image, section_off + 64 * i)
                   for i in range(nr_sections)]

        def text(table, off):
            start = table[4] + off
            return image[start:image.index(b"\0", start)].decode("utf-8", "backslashreplace")

        if is_main:
            self.entry = entry
            for header in headers:
                if header[3]:
                    name = text(headers[names_idx], header[0])
                    self.offsets[header[3]] = header[4]
                    self.sections.append((name, header[3], header[3] + header[5]))
        for header in headers:
            if header[1] != SHT_SYMTAB:
                continue
            for off in range(header[4], header[4] + header[5], 24):
                name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", image, off)
                if info & 15 in (STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC) and section and size:
                    functions.setdefault((value, value + size), set()).add(
                        text(headers[header[6]], name))

    def aliases(self, vaddr):
        """The names of the function that holds vaddr; empty where there is none."""
        i = bisect.bisect_right(self._starts, vaddr) - 1
        if i >= 0 and self.functions[i][0] <= vaddr < self.functions[i][1]:
            return self.functions[i][2]
        return set()

    def section(self, vaddr):
        for name, start, end in self.sections:
            if start <= vaddr < end:
                return name
        return None

    def file_offset(self, start):
        """Where the section that starts at this address is in the file."""
        return self.offsets[start]

    def return_sites(self):
        """{address after a call: address called, or None where the call is indirect}"""
        if self._return_sites is None:
            self._return_sites, jumps = _disassemble(self.path)
            for source, target in jumps:
                if self.aliases(source) != self.aliases(target):
                    for name in self.aliases(source):
                        self._jumps.setdefault(name, set()).update(self.aliases(target))
        return self._return_sites

    def may_become(self, names):
        """The functions a call of these can turn into by jumps, these included."""
        self.return_sites()
        reached, todo = set(names), list(names)
        while todo:
            fresh = self._jumps.get(todo.pop(), set()) - reached
            reached |= fresh
            todo += fresh
        return reached


_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t([^\t]*)(?:\t(.*))?$")


def _disassemble(path):
    """({address after a call: address called or None}, [(address of a jump, its target)])"""
    listing = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
    sites, jumps = {}, []
    for line in listing.stdout.splitlines():
        match = _INSTRUCTION.match(line)
        words = (match.group(3) or "").split() if match else []
        while words and words[0] in ("notrack", "bnd", "data16", "rex.W", "addr32"):
            words.pop(0)
        if len(words) > 1 and words[0][0] == "j" and re.fullmatch(r"[0-9a-f]+", words[1]):
            jumps.append((int(match.group(1), 16), int(words[1], 16)))
        if not words or not words[0].startswith("call"):
            continue
        after = int(match.group(1), 16) + len(match.group(2).split())
        direct = len(words) > 1 and re.fullmatch(r"[0-9a-f]+", words[1])
        sites[after] = int(words[1], 16) if direct else None
    return sites, jumps
