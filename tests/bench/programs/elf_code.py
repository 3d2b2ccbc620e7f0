# SPDX-License-Identifier: Apache-2.0
"""Code of an ELF file (x86-64): its bytes by address, and where its functions are by .eh_frame and
by symbols. Nothing of what fpless reads them with is used."""

import bisect
import struct

PT_LOAD, PT_GNU_EH_FRAME, PF_X = 1, 0x6474e550, 1
SHT_SYMTAB, SHT_DYNSYM, STT_FUNC, STT_GNU_IFUNC = 2, 11, 2, 10
HDR_TABLE_SDATA4, ENC_SDATA4 = 0x3b, 0x0b


class NotElf(Exception):
    """The file is none of a 64-bit x86 program."""


class ElfCode:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", self.data, 18)[0] != 62:
            raise NotElf(path)
        self.segments = self._segments()
        self.sections = self._sections()
        self.stubs = [(addr, addr + size) for name, _, addr, _, size, _, _ in self.sections
                      if name.startswith(".plt") or name == ".iplt"]
        self.symbols = self._functions()
        self.fdes = self._fde_table()

    def _segments(self):
        off, size, nr = (struct.unpack_from(fmt, self.data, at)[0]
                         for fmt, at in (("<Q", 32), ("<H", 54), ("<H", 56)))
        return [struct.unpack_from("<IIQQQQQQ", self.data, off + i * size) for i in range(nr)]

    def _sections(self):
        off, size, nr, names = (struct.unpack_from(fmt, self.data, at)[0]
                                for fmt, at in (("<Q", 40), ("<H", 58), ("<H", 60), ("<H", 62)))
        heads = [struct.unpack_from("<IIQQQQIIQQ", self.data, off + i * size) for i in range(nr)]
        found = []
        for head in heads:
            at = heads[names][4] + head[0]
            name = self.data[at:self.data.index(b"\0", at)].decode("latin-1")
            found.append((name, head[1], head[3], head[4], head[5], head[6], head[9]))
        return found

    def _functions(self):
        """[(start, end)], ascending: functions that a symbol gives a size."""
        found = set()
        for _, kind, _, off, size, _, step in self.sections:
            if kind in (SHT_SYMTAB, SHT_DYNSYM) and step:
                for at in range(off, off + size - step + 1, step):
                    _, info, _, index, value, length = struct.unpack_from("<IBBHQQ", self.data, at)
                    if info & 15 in (STT_FUNC, STT_GNU_IFUNC) and index and length:
                        found.add((value, value + length))
        return sorted(found)

    def _fde_table(self):
        """[(start, address of the FDE)], ascending, as .eh_frame_hdr has it; [] where it has no such table."""
        header = next((s for s in self.segments if s[0] == PT_GNU_EH_FRAME), None)
        raw = self.read(header[3], header[5]) if header else b""
        if len(raw) < 12 or raw[0] != 1 or raw[3] != HDR_TABLE_SDATA4 or raw[2] & 15 not in (3, ENC_SDATA4):
            return []
        nr = min(struct.unpack_from("<I", raw, 8)[0], (len(raw) - 12) // 8)
        return [tuple(header[3] + one for one in pair) for pair in struct.iter_unpack("<ii", raw[12:12 + 8 * nr])]

    def read(self, vaddr, size):
        """Bytes that the file has there; fewer, or none, where it ends."""
        for kind, _, off, start, _, in_file, _, _ in self.segments:
            if kind == PT_LOAD and start <= vaddr < start + in_file:
                at = off + vaddr - start
                return self.data[at:at + min(size, start + in_file - vaddr)]
        return b""

    def _fde_range(self, fde):
        """The length of the code of an FDE: the encoding of addresses, by its CIE, must be 4 bytes wide."""
        length, cie_off = struct.unpack("<II", self.read(fde, 8))
        cie = self.read(fde + 4 - cie_off, 64)
        if length == 0xffffffff or len(cie) < 16 or cie[9:10] != b"z" or b"R" not in cie:
            return None
        end = cie.index(b"\0", 9)
        augmentation, at = cie[9:end], end + 1
        for _ in range(4):  # code and data alignment, return address, length of what follows
            while cie[at] & 0x80:
                at += 1
            at += 1
        for letter in augmentation[1:].decode("latin-1"):
            if letter == "R":
                return struct.unpack("<I", self.read(fde + 12, 4))[0] if cie[at] & 15 in (3, ENC_SDATA4) else None
            at += {"L": 1, "P": 1 + 4, "S": 0}.get(letter, 64)
        return None

    def function(self, vaddr):
        """[start, end) of the function at an address, or None: by FDE, else by symbol."""
        at = bisect.bisect_right(self.fdes, (vaddr, 1 << 64)) - 1
        if at >= 0:
            start, fde = self.fdes[at]
            try:
                length = self._fde_range(fde)
            except (struct.error, IndexError, ValueError):
                length = None
            if length and vaddr < start + length:
                return start, start + length
        at = bisect.bisect_right(self.symbols, (vaddr, 1 << 64)) - 1
        if at >= 0 and vaddr < self.symbols[at][1]:
            return self.symbols[at]
        return None

    def is_stub(self, vaddr):
        return any(start <= vaddr < end for start, end in self.stubs)

    def is_code(self, vaddr):
        return any(kind == PT_LOAD and flags & PF_X and start <= vaddr < start + size
                   for kind, flags, _, start, _, size, _, _ in self.segments)
