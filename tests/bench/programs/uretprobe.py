# SPDX-License-Identifier: Apache-2.0
"""A return probe of somebody else on a function, by perf_event_open(2), for as long as a context lasts."""

import contextlib
import ctypes
import os
import struct

SYS_PERF_EVENT_OPEN = 298  # x86-64
TYPE = "/sys/bus/event_source/devices/uprobe/type"
ATTR_SIZE = 120


class Refused(Exception):
    """The kernel gives no return probe; why."""


def symbol_offset(path, name):
    """Where in the file a function of .symtab begins."""
    with open(path, "rb") as file:
        data = file.read()
    table, size, nr = (struct.unpack_from(fmt, data, at)[0] for fmt, at in (("<Q", 40), ("<H", 58), ("<H", 60)))
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(nr)]
    for head in heads:
        if head[1] == 2:
            names = heads[head[6]][4]
            for at in range(head[4], head[4] + head[5], 24):
                name_at, _, _, index, value, _ = struct.unpack_from("<IBBHQQ", data, at)
                start = names + name_at
                if index and data[start:data.index(b"\0", start)] == name.encode():
                    return value - heads[index][3] + heads[index][4]
    raise Refused("%s has no %s" % (path, name))


def on(function):
    """For `around` of a program: a context, given the path of the program."""
    @contextlib.contextmanager
    def probing(path):
        try:
            with open(TYPE, encoding="ascii") as file:
                kind = int(file.read())
        except OSError as error:
            raise Refused(str(error)) from None
        name = ctypes.create_string_buffer(os.fsencode(path))
        # type, size, config (bit 0: at the return), period, formats, flags, wakeup, bp_type; uprobe_path, probe_offset
        attr = struct.pack("<IIQQQQQIIQQ", kind, ATTR_SIZE, 1, 0, 0, 0, 0, 0, 0, ctypes.addressof(name),
                           symbol_offset(path, function)).ljust(ATTR_SIZE, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        fds = []
        try:
            fd = libc.syscall(SYS_PERF_EVENT_OPEN, attr, -1, 0, -1, 8)
            if fd < 0:
                raise Refused("no return probe: " + os.strerror(ctypes.get_errno()))
            fds.append(fd)
            yield
        finally:
            for fd in fds:
                os.close(fd)
    return probing
