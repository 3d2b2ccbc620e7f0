# SPDX-License-Identifier: Apache-2.0
"""An initramfs (newc cpio) that holds files of this machine at their own paths."""

import os
import re
import stat
import subprocess


class Initramfs:
    def __init__(self):
        self.entries = {}  # path without a leading slash: (mode, bytes)

    def folder(self, path):
        """A folder, and those above it as they are on this machine: links stay links."""
        self._place(path)

    def text(self, path, text, mode=0o644):
        self.data(path, text.encode(), mode)

    def data(self, path, data, mode=0o644):
        self.entries[self._place(os.path.dirname(path)) + "/" + os.path.basename(path)] = (stat.S_IFREG | mode, data)

    def tree(self, path):
        """A folder with all that is in it."""
        for folder, _, names in os.walk(path):
            for name in names:
                self.file(os.path.join(folder, name))

    def file(self, path):
        """A file, at the end of the links that lead to it."""
        place = self._place(os.path.dirname(path)) + "/" + os.path.basename(path)
        if os.path.islink(path):
            target = os.readlink(path)
            self.entries[place] = (stat.S_IFLNK | 0o777, target.encode())
            self.file(os.path.join(os.path.dirname(path), target))
            return
        if place not in self.entries:
            with open(path, "rb") as file:
                self.entries[place] = (stat.S_IFREG | (os.stat(path).st_mode & 0o777), file.read())

    def program(self, path):
        """An executable with the libraries it asks for."""
        self.file(path)
        for library in libraries(path):
            self.file(library)

    def _place(self, path):
        """The place of a folder, links followed; made if need be."""
        place = ""
        for name in os.path.normpath(path).strip("/").split("/"):
            below = os.path.join("/", place, name)
            if not name:
                continue
            if name == "..":
                place = os.path.dirname(place)
            elif os.path.islink(below):
                target = os.readlink(below)
                self.entries[os.path.join(place, name)] = (stat.S_IFLNK | 0o777, target.encode())
                place = self._place(os.path.join("/", place, target))
            else:
                place = os.path.join(place, name)
                self.entries.setdefault(place, (stat.S_IFDIR | 0o755, b""))
        return place

    def bytes(self):
        """Folders come before what is in them, because their names sort so."""
        out = bytearray()
        for number, (path, (mode, data)) in enumerate(
                sorted((path.strip("/"), entry) for path, entry in self.entries.items()), 1):
            _append(out, number, path, mode, data)
        # Standard output of the first process, before anything is mounted.
        _append(out, 0, "dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))
        _append(out, 0, "TRAILER!!!", 0, b"")
        return bytes(out)


def _append(out, number, path, mode, data, device=(0, 0)):
    name = path.encode() + b"\0"
    # Modified one second into 1970: gzip takes none for out of range.
    fields = [number, mode, 0, 0, 1, 1, len(data), 0, 0, *device, len(name), 0]
    out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
    out += bytes(-len(out) % 4)
    out += data
    out += bytes(-len(out) % 4)


def libraries(path):
    """What the dynamic linker would load for a program; nothing for a static one."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", done.stdout) if done.returncode == 0 else []
