# SPDX-License-Identifier: Apache-2.0
"""Kernels of Debian, fetched by the machine's own apt into a root of its own, and kept.

A kernel is asked for by series ("6.1"), or as "newest": the highest among the suites. The cache is
$FPLESS_VM_CACHE, else fpless-vm in $XDG_CACHE_HOME or ~/.cache: one uncompressed image per kernel
with its digest, at most CACHE_BYTES_MAX together. What it holds is used for REFRESH_DAYS without
asking the archive again, and longer where the archive cannot be reached.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time

import apt_root

CACHE_BYTES_MAX = 512 << 20  # an image is 40 to 70 MB
REFRESH_DAYS = 14
IMAGE_BYTES_MAX = 256 << 20

# Where each series is looked for; "newest" is the highest version of all of these.
SUITES = {
    "5.10": ["bullseye"],
    "6.1": ["bookworm"],
    "6.12": ["trixie"],
    "newest": ["bookworm-backports", "trixie", "trixie-backports"],
}
_PACKAGE = re.compile(r"^linux-(binary|image)-([0-9][^ ]*-cloud-amd64)$")


class CannotFetch(Exception):
    """The image is neither kept nor to be had; the reason in words."""


class Kernel:
    def __init__(self, record, folder):
        self.release = record["release"]
        self.image = os.path.join(folder, record["image"])
        self.version = tuple(int(n) for n in self.release.split("-")[0].split("+")[0].split("."))

    def __str__(self):
        return self.release


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("FPLESS_VM_CACHE") or os.path.join(base, "fpless-vm")


def get(series, refresh=False):
    """The Kernel of this series. Raises CannotFetch."""
    folder = cache_folder()
    os.makedirs(folder, mode=0o755, exist_ok=True)
    # One of two runs that start together fetches, the other finds it fetched.
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = None if refresh else _kept(folder, series)
        if record and time.time() - record["checked"] < REFRESH_DAYS * 86400:
            return Kernel(record, folder)
        try:
            record = _fetch(folder, series)
        except CannotFetch:
            if not record:
                raise
        else:
            _evict(folder)
        return Kernel(record, folder)


def _kept(folder, series):
    """The record of a kept image whose bytes are still those that were fetched; else None."""
    try:
        with open(_record_path(folder, series), encoding="utf-8") as file:
            record = json.load(file)
        image = os.path.join(folder, record["image"])
        if _digest(image) != record["sha256"]:
            return None
        os.utime(image)  # the least recently used goes first
        return record
    except (OSError, ValueError, KeyError):
        return None


def _record_path(folder, series):
    return os.path.join(folder, series + ".json")


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _natural(release):
    return [int(n) for n in re.findall(r"\d+", release)]


def _choose(names, series):
    """(release, package) of the highest release; the package that holds its image."""
    found = {}
    for name in names:
        match = _PACKAGE.match(name)
        if match and (series == "newest" or match[2].startswith(series + ".")):
            # Since 6.19 the package called image is empty, and needs the one called binary.
            if match[2] not in found or match[1] == "binary":
                found[match[2]] = name
    if not found:
        raise CannotFetch(f"no linux-image-*-cloud-amd64 of Linux {series} in the archive")
    release = max(found, key=_natural)
    return release, found[release]


def _fetch(folder, series):
    if series not in SUITES:
        raise CannotFetch(f"Linux {series}: not one of {', '.join(SUITES)}")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as work:
        try:
            apt = apt_root.AptRoot(work, SUITES[series])
            release, package = _choose(apt.names("^linux-(binary|image)-[0-9].*-cloud-amd64$"),
                                       series)
            deb = apt.download(package)
        except apt_root.AptError as error:
            raise CannotFetch(f"Linux {series}: {error}") from None
        tree = os.path.join(work, "tree")
        subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
        image = unpack(_bzimage(tree, release))
        path = os.path.join(work, "vmlinux")
        with open(path, "wb") as file:
            file.write(image)
        record = {"release": release, "package": package, "image": release + ".vmlinux",
                  "sha256": hashlib.sha256(image).hexdigest(), "checked": time.time()}
        os.replace(path, os.path.join(folder, record["image"]))
        path = os.path.join(work, "record")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.replace(path, _record_path(folder, series))
        return record


def _bzimage(tree, release):
    for path in (f"boot/vmlinuz-{release}", f"usr/lib/modules/{release}/vmlinuz"):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(tree, path), "rb") as file:
            return file.read()
    raise CannotFetch(f"no image in the package of {release}")


def _evict(folder):
    images = []
    for entry in os.scandir(folder):
        if entry.name.endswith(".vmlinux"):
            status = entry.stat()
            images.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in images)
    for _, size, path in sorted(images)[:-1]:
        if total <= CACHE_BYTES_MAX:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size


_UNPACKERS = {
    b"\x1f\x8b": ["gzip", "-dc"],
    b"\xfd7zXZ": ["xz", "-dc", "--single-stream"],
    b"\x28\xb5\x2f\xfd": ["zstd", "-dcq"],
    b"\x02\x21\x4c\x18": ["lz4", "-dcq"],
}


def unpack(bzimage):
    """The ELF vmlinux in a bzImage (Documentation/arch/x86/boot.rst: payload_offset, _length)."""
    if bzimage[0x202:0x206] != b"HdrS":
        raise CannotFetch("not a bzImage")
    setup_sectors = bzimage[0x1f1] or 4
    payload_off, payload_size = struct.unpack_from("<II", bzimage, 0x248)
    start = (setup_sectors + 1) * 512 + payload_off
    # The size of the unpacked image follows the compressed bytes; only gzip has it in its format.
    payload = bzimage[start:start + payload_size]
    for magic, command in _UNPACKERS.items():
        if not payload.startswith(magic):
            continue
        if not shutil.which(command[0]):
            raise CannotFetch(f"{command[0]} is not installed")
        size = struct.unpack("<I", payload[-4:])[0]
        if command[0] != "gzip":
            payload = payload[:-4]
        image = subprocess.run(command, input=payload, stdout=subprocess.PIPE, check=True).stdout
        if len(image) != size or size > IMAGE_BYTES_MAX or image[:4] != b"\x7fELF":
            raise CannotFetch("the bzImage holds no ELF image")
        return image
    raise CannotFetch(f"compression not known: {payload[:4].hex()}")
