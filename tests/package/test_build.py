#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_build.py SOURCE FOLDER

Builds the packages in a copy of the tree below FOLDER, where the other tests of the package find
them, and looks at what is in them."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import source_copy

SOURCE, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def said(*command):
    """The stdout of a command that has to succeed."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                          text=True).stdout


def contents(deb):
    """{path: kind and permissions} of what a package installs, folders left out."""
    found = {}
    for line in said("dpkg-deb", "-c", deb).splitlines():
        mode, owner, _, _, _, path = line.split(None, 5)
        if not mode.startswith("d"):
            found[path.split(" -> ")[0].removeprefix(".")] = (mode, owner)
    return found


class Build(unittest.TestCase):
    """One build, by debian/rules and by cpack."""

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        tree = os.path.join(FOLDER, "fpless")
        source_copy.copy(SOURCE, tree)
        cls.debian, cls.cpack = source_copy.build(tree, os.cpu_count(), **source_copy.compiler_cache(tree))
        cls.deb, cls.packed = (next(path for name, path in made.items() if name.startswith("fpless_"))
                               for made in (cls.debian, cls.cpack))
        cls.agent, cls.packed_agent = (next(path for name, path in made.items() if name.startswith("fpless-agent_"))
                                       for made in (cls.debian, cls.cpack))

    def test_names(self):
        """The packages, what gdb needs of them, and the same packages by cpack."""
        names = [re.sub("_.*", "", name) for name in self.debian]
        self.assertEqual(names, ["fpless-agent-dbgsym", "fpless-agent", "fpless-dbgsym", "fpless"])
        self.assertEqual(list(self.cpack), [os.path.basename(deb) for deb in (self.agent, self.deb)])

    def test_control(self):
        """Both know the same of themselves."""
        fields = ("Package", "Version", "Architecture", "Maintainer", "Section", "Priority", "Description")
        for one, other, more in ((self.deb, self.packed, "Suggests"), (self.agent, self.packed_agent, "Depends")):
            for field in (*fields, more):
                value, packed = (said("dpkg-deb", "-f", deb, field).strip() for deb in (one, other))
                self.assertTrue(value, field)
                # in the order that each has chosen; versions of build dependencies raise those of libraries, which one alone knows
                if field == "Depends":
                    value, packed = (sorted(re.sub(r"^(lib\S+) .*", r"\1", entry) for entry in text.split(", ")) for text in (value, packed))
                self.assertEqual(value, packed, field)
        for deb in (self.deb, self.packed):
            depends = said("dpkg-deb", "-f", deb, "Depends")
            for library in ("libc6", "libbpf1", "libelf1", "libdw1"):
                self.assertRegex(depends, rf"\b{library} \(>= ")
            self.assertNotIn("microhttpd", depends, "a plain fpless has no web server")
            self.assertNotIn("curl", depends, "a plain fpless has no client of HTTP")
        for deb in (self.agent, self.packed_agent):
            self.assertRegex(said("dpkg-deb", "-f", deb, "Depends"), r"\blibmicrohttpd12 \(>= ")

    def test_files(self):
        """Program, manual, completions, documents: in both, root's, with the same rights."""
        files = contents(self.deb)
        self.assertEqual(files, contents(self.packed))
        self.assertEqual({owner for _, owner in files.values()}, {"root/root"})
        self.assertEqual(files["/usr/bin/fpless"][0], "-rwxr-xr-x")
        for path in ("/usr/bin/fpless-bcc-profile", "/usr/bin/fpless-bcc-stackcount", "/usr/lib/fpless/bcc/stackcount",
                     "/usr/lib/fpless/bcc/offwaketime", "/usr/lib/fpless/bcc/wakeuptime", "/usr/lib/fpless/bcc/wakeuptime-bpfcc"):
            self.assertEqual(files[path][0], "lrwxrwxrwx")
        self.assertEqual(files["/usr/lib/fpless/libfpless-heap.so"][0], "-rw-r--r--")
        for path in ("/usr/share/bash-completion/completions/fpless",
                     "/usr/share/fish/vendor_completions.d/fpless.fish",
                     "/usr/share/zsh/vendor-completions/_fpless", "/usr/share/doc/fpless/copyright"):
            self.assertIn(path, files)
        for name in os.listdir(os.path.join(SOURCE, "docs/man")):
            section = name.split(".")[1]
            self.assertIn(f"/usr/share/man/man{section}/{name.removesuffix('.scd')}.gz", files)

    def test_agent(self):
        """The units, the server and the configuration, in both, and the administrator's changes to it are kept."""
        files = contents(self.agent)
        self.assertEqual(files, contents(self.packed_agent))
        for path, mode in (("/lib/systemd/system/fpless-agent.service", "-rw-r--r--"), ("/etc/fpless/agent.conf", "-rw-r--r--"),
                           ("/lib/systemd/system/fpless-serve.service", "-rw-r--r--"), ("/lib/systemd/system/fpless-push@.service", "-rw-r--r--"),
                           ("/usr/lib/fpless/fpless-push", "-rwxr-xr-x"), ("/usr/lib/fpless/fpless-serve", "-rwxr-xr-x"),
                           ("/usr/share/fpless/grafana/fpless.json", "-rw-r--r--")):
            self.assertEqual(files[path], (mode, "root/root"))
            self.assertNotIn(path, contents(self.deb), "a plain fpless has no service")
        for deb in (self.agent, self.packed_agent):
            self.assertEqual(said("dpkg-deb", "-I", deb, "conffiles").split(), ["/etc/fpless/agent.conf"])

    def test_no_path_of_the_build(self):
        """Neither in the program nor in what gdb reads."""
        for deb in (*self.debian.values(), *self.cpack.values()):
            folder = os.path.join(FOLDER, "unpacked")
            said("dpkg-deb", "-x", deb, folder)
            for path, _, names in os.walk(folder):
                for name in names:
                    if os.path.islink(os.path.join(path, name)):
                        continue
                    with open(os.path.join(path, name), "rb") as file:
                        self.assertNotIn(FOLDER.encode(), file.read(), f"{deb}: {name}")
            shutil.rmtree(folder)


if __name__ == "__main__":
    for program in ("dpkg-buildpackage", "dh", "scdoc"):
        if not shutil.which(program):
            print(f"SKIP: {program} is not installed")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1])
