#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tests of other kernels are made with, as far as it needs neither network nor qemu."""

import gzip
import os
import stat
import struct
import tempfile
import unittest
from unittest import mock

import boot
import apt_root
import kernel_image
import programs
from initramfs import Initramfs
from test_refusal import refusal_faults

SUITES = ["bullseye", "trixie-backports"]


class SourcesAreDerived(unittest.TestCase):
    def test_from_lines(self):
        cases = [
            ("plain", "deb http://mirror/debian bookworm main contrib", ["deb http://mirror/debian {} main"]),
            ("options stay", "deb [signed-by=/k.gpg arch=amd64] http://m/d stable main",
             ["deb [signed-by=/k.gpg arch=amd64] http://m/d {} main"]),
            ("comment behind", "deb http://m/d sid main # why", ["deb http://m/d {} main"]),
            ("source packages", "deb-src http://m/d bookworm main", []),
            ("commented out", "# deb http://m/d bookworm main", []),
            ("without main", "deb http://m/d bookworm non-free", []),
            ("somebody else's suite", "deb http://m/x cloud-bookworm main", []),
            ("updates have no kernels of other suites", "deb http://m/d bookworm-updates main", []),
            ("flat", "deb http://m/d ./", []),
        ]
        for what, line, expected in cases:
            with self.subTest(what):
                self.assertEqual(apt_root.lines("\n" + line + "\n", SUITES),
                                 [text.format(suite) for text in expected for suite in SUITES])

    def test_of_source_packages(self):
        self.assertEqual(apt_root.lines("deb http://m/d sid main\n", ["bookworm"], "deb-src"),
                         ["deb-src http://m/d bookworm main"])
        out = apt_root.stanzas("Types: deb\nURIs: http://m/d\nSuites: sid\nComponents: main\n",
                               ["bookworm"], "deb-src")
        self.assertEqual(len(out), 1)
        self.assertIn("\nTypes: deb-src\n", out[0])

    def test_suites_that_are_kept(self):
        kept = ["sid-security", "sid-updates"]
        text = "deb http://m/d sid main\ndeb http://m/s sid-security main\ndeb http://m/d buster-security main\n"
        self.assertEqual(apt_root.lines(text, ["sid"], kept=kept),
                         ["deb http://m/d sid main", "deb http://m/s sid-security main"])
        text = "Types: deb\nURIs: http://m/d\nSuites: sid sid-updates sid-backports\nComponents: main\n\n" \
               "Types: deb\nURIs: http://m/s\nSuites: sid-security\nComponents: main\n"
        one, other = apt_root.stanzas(text, ["sid"], kept=kept)
        self.assertIn("\nSuites: sid sid-updates\n", one)
        self.assertIn("\nSuites: sid-security\n", other)
        self.assertEqual(len(apt_root.stanzas(text, ["sid"])), 1)

    def test_from_stanzas(self):
        text = """Types: deb deb-src
# comment
URIs: http://m/d
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
By-Hash: yes

Types: deb
URIs: http://m/other
Suites: nodistro
Components: main

Enabled: no
Types: deb
URIs: http://m/d
Suites: sid
Components: main
"""
        out = apt_root.stanzas(text, SUITES)
        self.assertEqual(len(out), 1)
        self.assertIn("URIs: http://m/d\n", out[0])
        self.assertIn("Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n", out[0])
        self.assertIn("By-Hash: yes", out[0])
        self.assertIn("\nSuites: bullseye trixie-backports\n", out[0])
        self.assertEqual(out[0].count("Suites:"), 1)
        self.assertIn("\nTypes: deb\n", out[0])
        self.assertIn("\nComponents: main\n", out[0])


class KernelIsChosen(unittest.TestCase):
    NAMES = ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64",
             "linux-image-6.12.9+deb13-cloud-amd64", "linux-image-7.0.4+deb13-cloud-amd64",
             "linux-binary-7.0.4+deb13-cloud-amd64", "linux-image-7.0.4+deb13-cloud-amd64-dbg",
             "linux-binary-unsigned-7.3.4+deb13-cloud-amd64", "linux-image-cloud-amd64"]

    def test_by_number_not_by_text(self):
        cases = [("6.1", "6.1.0-50-cloud-amd64", "image"),
                 ("newest", "7.0.4+deb13-cloud-amd64", "binary")]
        for series, release, kind in cases:
            with self.subTest(series):
                self.assertEqual(kernel_image._choose(self.NAMES, series),
                                 (release, f"linux-{kind}-{release}"))
        with self.assertRaises(kernel_image.CannotFetch):
            kernel_image._choose(self.NAMES, "5.10")

    def test_version_is_read_from_the_release(self):
        for release, version in (("6.1.0-50-cloud-amd64", (6, 1, 0)),
                                 ("6.12.90+deb12.1-cloud-amd64", (6, 12, 90))):
            self.assertEqual(kernel_image.Kernel({"release": release, "image": "x"}, "/").version,
                             version)


def bzimage(image):
    payload = gzip.compress(image)
    head = bytearray(0x400)
    head[0x1f1] = 1
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 16, len(payload))
    return bytes(head) + bytes(16) + payload + b"behind"


class ImageIsUnpacked(unittest.TestCase):
    def test_payload_is_found(self):
        image = b"\x7fELF" + bytes(range(256)) * 9
        self.assertEqual(kernel_image.unpack(bzimage(image)), image)

    def test_what_is_none_is_refused(self):
        good = bzimage(b"\x7fELF")
        for what, bad in (("no header", b"\0" * 2048), ("no ELF", bzimage(b"none")),
                          ("cut short", good[:0x300])):
            with self.subTest(what), self.assertRaises(kernel_image.CannotFetch):
                kernel_image.unpack(bad)


class CacheIsKept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.fetched = 0
        for patch in (mock.patch.dict(os.environ, FPLESS_VM_CACHE=self.folder),
                      mock.patch.object(kernel_image, "_fetch", self.fetch)):
            patch.start()
            self.addCleanup(patch.stop)

    def fetch(self, folder, series):
        self.fetched += 1
        if self.fetched > 1 and self.offline:
            raise kernel_image.CannotFetch("no network")
        path = os.path.join(folder, "r.vmlinux")
        with open(path, "wb") as file:
            file.write(b"image")
        record = {"release": "6.1.0-1-cloud-amd64", "image": "r.vmlinux", "checked": self.checked,
                  "sha256": kernel_image._digest(path)}
        with open(os.path.join(folder, series + ".json"), "w", encoding="utf-8") as file:
            kernel_image.json.dump(record, file)
        return record

    def get_twice(self, checked, offline=False, spoil=False):
        self.checked, self.offline = checked, offline
        kernel_image.get("6.1")
        if spoil:
            with open(os.path.join(self.folder, "r.vmlinux"), "ab") as file:
                file.write(b"x")
        return kernel_image.get("6.1")

    def test_young_image_is_not_fetched_again(self):
        self.get_twice(kernel_image.time.time())
        self.assertEqual(self.fetched, 1)

    def test_old_image_is_fetched_again_or_used(self):
        for offline in (False, True):
            with self.subTest(offline=offline):
                self.fetched = 0
                self.assertIsNotNone(self.get_twice(0, offline=offline))
                self.assertEqual(self.fetched, 2)

    def test_spoilt_image_is_not_used(self):
        with self.assertRaises(kernel_image.CannotFetch):
            self.get_twice(kernel_image.time.time(), offline=True, spoil=True)

    def test_size_is_bounded(self):
        for i, name in enumerate(("old", "newer", "newest")):
            path = os.path.join(self.folder, name + ".vmlinux")
            with open(path, "wb") as file:
                file.truncate(kernel_image.CACHE_BYTES_MAX // 2)
            os.utime(path, (i, i))
        kernel_image._evict(self.folder)
        self.assertEqual(sorted(os.listdir(self.folder)), ["newer.vmlinux", "newest.vmlinux"])


class KernelIsNotToBeHad(unittest.TestCase):
    def test_skips(self):
        with mock.patch.object(boot.shutil, "which", return_value=None), \
                mock.patch("builtins.print") as said, self.assertRaises(SystemExit) as caught:
            boot.kernel_or_skip("6.1")
        self.assertEqual(caught.exception.code, 77)
        self.assertIn("SKIP", str(said.call_args))


class InitramfsHoldsFiles(unittest.TestCase):
    def read(self, data):
        """{name: (mode, bytes)}, in the order of the archive."""
        entries, off = {}, 0
        while True:
            self.assertEqual(data[off:off + 6], b"070701")
            fields = [int(data[off + 6 + 8 * i:off + 14 + 8 * i], 16) for i in range(13)]
            name = data[off + 110:off + 110 + fields[11] - 1].decode()
            start = (off + 110 + fields[11] + 3) & ~3
            if name == "TRAILER!!!":
                return entries
            entries[name] = (fields[1], data[start:start + fields[6]])
            off = (start + fields[6] + 3) & ~3

    def test_at_their_paths_behind_their_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            top = os.path.realpath(folder)
            os.makedirs(os.path.join(top, "real/sub"))
            path = os.path.join(top, "real/sub/file")
            with open(path, "wb") as file:
                file.write(b"12345")
            os.chmod(path, 0o640)
            os.symlink("real", os.path.join(top, "link"))
            os.symlink("file", os.path.join(top, "real/sub/name"))
            archive = Initramfs()
            archive.file(os.path.join(top, "link/sub/name"))
            entries = self.read(archive.bytes())
        top = top.strip("/")
        self.assertEqual(entries[f"{top}/link"], (stat.S_IFLNK | 0o777, b"real"))
        self.assertEqual(entries[f"{top}/real/sub/name"], (stat.S_IFLNK | 0o777, b"file"))
        self.assertEqual(entries[f"{top}/real/sub/file"], (stat.S_IFREG | 0o640, b"12345"))
        seen = set()
        for name, (mode, _) in entries.items():
            above = os.path.dirname(name)
            self.assertTrue(not above or above in seen or above == "dev", name)
            if stat.S_ISDIR(mode):
                seen.add(name)


class SamplesAreDealt(unittest.TestCase):
    def deal(self, notes, stacks):
        members = [programs.Program("a", ["/a"]), programs.Program("b", ["/b"])]
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(notes)
            file.flush()
            others = programs.deal(members, stacks, file.name)
        return [[stack["pid"] for stack in got]
                for got in (members[0].stacks, members[1].stacks, others)]

    def test_by_pid(self):
        stacks = [{"pid": pid, "comm": "a"} for pid in (9, 10, 11, 19, 20, 25)]
        stacks.append({"pid": 20, "comm": "sequence"})
        self.assertEqual(self.deal("10 0\n20 0\n", stacks), [[10, 11, 19], [20, 25], [9, 20]])

    def test_where_pids_begin_anew(self):
        stacks = [{"pid": pid, "comm": "a"} for pid in (32761, 32762, 32767, 301, 305)]
        self.assertEqual(self.deal("32762 0\n304 0\n", stacks), [[32762, 32767, 301], [305], [32761]])

    def test_only_where_all_ran(self):
        for notes in ("10 0\n", "20 0\n10 0\n"):
            with self.assertRaises(ValueError):
                self.deal(notes, [])


class RefusalIsJudged(unittest.TestCase):
    def test_each_fault_is_seen(self):
        good = ("2\n", "", "fpless: the kernel has no bpf_loop: Linux 5.17 is needed\n")
        self.assertEqual(refusal_faults("n", *good, ["bpf_loop", "5.17"]), [])
        for bad in (("1\n", *good[1:]), ("2\n", "x", good[2]), ("2\n", "", good[2] * 2),
                    ("2\n", "", "fpless: no\n")):
            self.assertNotEqual(refusal_faults("n", *bad, ["bpf_loop", "5.17"]), [])


if __name__ == "__main__":
    unittest.main()
