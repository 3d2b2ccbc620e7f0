# SPDX-License-Identifier: Apache-2.0
"""A seccomp filter for a child, which refuses it some system calls."""

import ctypes
import errno
import struct


def refuse_calls(*numbers, error=errno.EPERM):
    """For preexec_fn: these system calls fail; by EPERM as in containers."""
    load, jump, answer = 0x20, 0x15, 0x06
    program = [(load, 0, 0, 0)]
    for i, number in enumerate(numbers):
        program.append((jump, len(numbers) - i, 0, number))
    program += [(answer, 0, 0, 0x7FFF0000), (answer, 0, 0, 0x00050000 | error)]
    code = b"".join(struct.pack("<HBBI", *step) for step in program)

    def preexec():
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(code)
        header = struct.pack("<H6xQ", len(program), ctypes.addressof(buffer))
        if libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0):  # PR_SET_SECCOMP, a filter
            raise OSError(ctypes.get_errno(), "seccomp")
    return preexec
