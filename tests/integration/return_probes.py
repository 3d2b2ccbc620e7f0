# SPDX-License-Identifier: Apache-2.0
"""Return probes (uretprobes) as another tool sets them: by perf events that nobody reads."""

import ctypes
import os
import struct

from fpless_run import skip

SYS_PERF_EVENT_OPEN = 298
PERF_FLAG_FD_CLOEXEC = 8
ATTR_SIZE = 128
PMU = "/sys/bus/event_source/devices/uprobe"

LIBC = ctypes.CDLL(None, use_errno=True)


def need_uprobes():
    if not os.path.exists(PMU):
        skip("the kernel has no uprobes")


def read(name):
    with open(os.path.join(PMU, name), encoding="ascii") as file:
        return file.read().strip()


def open_return_probe(path, file_offset):
    """Until the returned descriptor is closed, calls of the code there return by the trampoline."""
    name = ctypes.create_string_buffer(path.encode())
    retprobe = 1 << int(read("format/retprobe").removeprefix("config:"))
    attr = struct.pack("<IIQQQQQIIQQ", int(read("type")), ATTR_SIZE, retprobe, 0, 0, 0, 0, 0, 0,
                       ctypes.addressof(name), file_offset).ljust(ATTR_SIZE, b"\0")
    fd = LIBC.syscall(SYS_PERF_EVENT_OPEN, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return fd
