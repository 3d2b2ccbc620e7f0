# SPDX-License-Identifier: Apache-2.0
"""The test programs of other unwinders: fetched with Debian's source packages into a folder that is kept, and built there."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "programs"), os.path.join(HERE, "..", "..", "vm")]
from apt_root import AptError, AptRoot  # noqa: E402
from debian_root import DebianRoot, Unavailable, default_cache  # noqa: E402

TIMEOUT_S = 300
COMPILERS = {".cc": "g++", ".cpp": "g++", ".cxx": "g++"}


def codename():
    """Of the machine's own release, whose compiler and libraries the programs are built with."""
    with open("/etc/os-release", encoding="utf-8") as file:
        values = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    return values.get("VERSION_CODENAME", "stable").strip('"')


class Sources:
    """@cache: the folder; @scratch: what is removed at the end."""

    def __init__(self, cache, scratch):
        self.cache = os.path.join(os.path.realpath(cache or default_cache()), "sources")
        self.root = DebianRoot(cache or default_cache())
        self.scratch, self.apt, self.refused = scratch, None, {}
        os.makedirs(self.cache, exist_ok=True)

    def fetch(self, suite):
        """The folder of the unpacked source package."""
        if suite.name in self.refused:
            raise Unavailable(self.refused[suite.name])
        path = os.path.join(self.cache, suite.name)
        if not os.path.isdir(path):
            try:
                self._unpack(suite, path)
            except (AptError, Unavailable) as why:
                self.refused[suite.name] = str(why)
                raise Unavailable(str(why)) from None
        return path

    def _unpack(self, suite, path):
        if self.apt is None:
            self.apt = AptRoot(self.scratch, [codename()], "deb-src")
        for number, package in enumerate(suite.packages):
            with contextlib.suppress(*(() if number + 1 == len(suite.packages) else (AptError,))):
                files = self.apt.download_source(package)
                break
        archive = next((one for one in sorted(os.listdir(files)) if ".orig.tar." in one and not one.endswith(".asc")), None)
        if archive is None:
            raise Unavailable(package + ": no archive of its sources")
        part = tempfile.mkdtemp(dir=self.cache)
        done = subprocess.run(["tar", "-xf", os.path.join(files, archive), "-C", part, "--strip-components=1", "--wildcards",
                               *suite.members], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        shutil.rmtree(files)
        if done.returncode:
            shutil.rmtree(part)
            raise Unavailable(archive + ": " + (done.stderr.strip().splitlines() or ["tar fails"])[-1])
        with open(os.path.join(part, "from"), "w", encoding="ascii") as file:
            file.write(archive.replace(".orig", "").rsplit(".tar", 1)[0].replace("_", " "))
        os.rename(part, path)

    def version(self, suite):
        try:
            with open(os.path.join(self.cache, suite.name, "from"), encoding="ascii") as file:
                return file.read()
        except OSError:
            return None

    def build(self, case, folder):
        """The path of the program."""
        source = self.fetch(case.suite)
        self.root.add(case.suite.needs or ("libc6",))
        files = [os.path.join(source, case.suite.inside, name) for name in case.files]
        inside = os.path.join(self.root.path, "usr/lib/x86_64-linux-gnu")
        libraries = [word for word in ("-lunwind-x86_64", "-lunwind") if case.suite.name == "libunwind" or "-lunwind" in case.flags]
        with open(os.path.join(folder, "config.h"), "w", encoding="ascii"):
            pass  # what their configure would make: none of it matters here
        flags = [word.replace("$source", source).replace("$empty", folder) for word in (*case.suite.flags, *case.flags) if word != "-lunwind"]
        if libraries:
            flags += ["-I" + os.path.join(self.root.path, "usr/include"), "-I" + os.path.join(self.root.path, "usr/include/x86_64-linux-gnu")]
            libraries = [*(os.path.join(inside, "lib%s.so" % word[2:]) for word in libraries), "-Wl,-rpath," + self._own(inside)]
            libraries.append("-Wl,-rpath-link," + self._own(inside))
        program = os.path.join(folder, case.name.replace(" ", "_"))
        words = [COMPILERS.get(os.path.splitext(files[0])[1], "gcc"), "-w", *flags, "-o", program, *files, *libraries, "-lm", "-ldl"]
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "rror" in line or "undefined" in line] or done.stderr.splitlines()
            raise Unavailable("it cannot be built: " + (said or ["?"])[0][-160:])
        return program

    def _own(self, inside):
        """A folder with libunwind alone: no program may meet the C library of another release."""
        path = os.path.join(self.scratch, "libraries")
        os.makedirs(path, exist_ok=True)
        for name in os.listdir(inside):
            if name.startswith("libunwind") and ".so." in name and not os.path.lexists(os.path.join(path, name)):
                os.symlink(os.path.join(inside, name), os.path.join(path, name))
        return path
