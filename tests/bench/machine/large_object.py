# SPDX-License-Identifier: Apache-2.0
"""A shared object of any size, written as it stands: code that counts down, and rows for all of it."""

import struct

PAGE = 4096
FUNCTION_BYTES = 448
SPIN = bytes.fromhex("55" "4889e5" "4889f9" "48ffc9" "75fb" "5d" "c3")  # push, mov, mov rcx, dec, jne, pop, ret


def pad(data, size):
    return data + b"\0" * (-len(data) % size)


def make_object(path, megabytes, hole=0):
    """A shared object whose .eh_frame has rows for all of its code: 4 a function. (offset, size) of the code.
    @hole: bytes that are in the file and in its first segment, and on no disk, before all that."""
    nr = megabytes * 1000000 // (FUNCTION_BYTES + 32)
    cie = b"\0\0\0\0" + b"\1zR\0" + b"\1\x78\x10" + b"\1\x1b" + b"\x0c\7\x08\x90\1"
    cie = struct.pack("<I", len(pad(cie, 4))) + pad(cie, 4)
    # advance_loc 1; cfa_offset 16; rbp at c-16; advance_loc 3; cfa_register rbp; advance_loc 9; cfa rsp+8
    program = bytes.fromhex("41" "0e10" "8602" "43" "0d06" "49" "0c0708")
    body = 4 + 8 + 1 + len(program)
    fde_size = 4 + (body + 3 & ~3)
    headers_size = 64 + 3 * 56
    hdr_off = ((headers_size + 15) & ~15) + hole
    frame_off = hdr_off + 16
    frame_size = len(cie) + nr * fde_size + 4
    text_off = (frame_off + frame_size + PAGE - 1) & ~(PAGE - 1)
    text_size = nr * FUNCTION_BYTES
    with open(path, "wb") as file:
        file.write(b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0))
        for kind, flags, off, size in ((1, 4, 0, frame_off + frame_size), (1, 5, text_off, text_size), (0x6474e550, 4, hdr_off, 16)):
            file.write(struct.pack("<IIQQQQQQ", kind, flags, off, off, off, size, size, PAGE if kind == 1 else 4))
        file.seek(hdr_off)
        # eh_frame_hdr: pcrel sdata4 pointer to .eh_frame, no search table
        file.write(struct.pack("<BBBBi", 1, 0x1b, 0xff, 0xff, frame_off - (hdr_off + 4)) + b"\0" * 8)
        file.write(cie)
        tail = pad(program, 1) + b"\0" * ((body + 3 & ~3) - body)
        at = frame_off + len(cie)
        chunk = []
        for i in range(nr):
            chunk.append(struct.pack("<IIiI", fde_size - 4, at + 4 - frame_off, text_off + i * FUNCTION_BYTES - (at + 8),
                                     FUNCTION_BYTES) + b"\0" + tail)
            at += fde_size
            if len(chunk) == 65536:
                file.write(b"".join(chunk))
                chunk = []
        file.write(b"".join(chunk) + b"\0\0\0\0")
        file.write(b"\0" * (text_off - file.tell()))
        function = SPIN + b"\x90" * (FUNCTION_BYTES - len(SPIN))
        for i in range(0, nr, 4096):
            file.write(function * min(4096, nr - i))
    return text_off, text_size
