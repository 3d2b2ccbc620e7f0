# SPDX-License-Identifier: Apache-2.0
"""Debian packages unpacked, not installed, into a folder that is kept: the root that programs run in. They come from the
machine's own apt, by its lists and keys, or those it is given, with everything they depend on; no script of a package is run."""

import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys

TIMEOUT_S = 900
ENV = {"PATH": "/usr/bin:/usr/sbin:/usr/games", "HOME": "/work", "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp"}
FOLDERS = ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/lib32", "proc", "dev", "tmp", "work", "etc"]
MERGED = ["bin", "sbin", "lib", "lib64", "lib32"]
MULTIARCH = "usr/lib/x86_64-linux-gnu"
# What no program reads: 300 MB.
NOT_READ = ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/icons", "usr/share/help"]
# What update-alternatives would choose: link, what it leads to, the first that is there.
CHOICES = [(MULTIARCH + "/libblas.so.3", ["openblas-pthread/libblas.so.3", "blas/libblas.so.3"]),
           (MULTIARCH + "/liblapack.so.3", ["openblas-pthread/liblapack.so.3", "lapack/liblapack.so.3"]),
           (MULTIARCH + "/libopenblas.so.0", ["openblas-pthread/libopenblas.so.0"])]


class Unavailable(Exception):
    """A package cannot be had; why."""


def default_cache():
    given = os.environ.get("FPLESS_PROGRAMS_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return given or os.path.join(home, "fpless-programs")


class InstalledRoot:
    """The machine's own root, with what is installed: nothing is fetched. @folder: what the programs of the other see as /work."""
    path = "/"

    def __init__(self, folder):
        self.work = folder

    def add(self, packages, parts=()):
        """There is what there is."""

    def needs(self, tool):
        if not shutil.which(tool, path=installed_path()):
            raise Unavailable("no %s is installed" % tool)

    def inside(self, words, env=None):
        return list(words), {**ENV, "PATH": installed_path(), "HOME": self.work, **(env or {})}


def installed_path():
    return ENV["PATH"] + ":" + os.environ.get("PATH", "")


class DebianRoot:
    """@environment: of apt, where the packages are not those of the machine's own suites."""
    work = "/work"

    def __init__(self, cache, environment=None):
        self.environment = environment or os.environ
        self.cache = os.path.realpath(cache)
        self.path = os.path.join(self.cache, "root")
        self.listed = os.path.join(self.cache, "unpacked")
        for name in ("apt", "debs/partial"):
            os.makedirs(os.path.join(self.cache, name), exist_ok=True)
        for name in FOLDERS:
            os.makedirs(os.path.join(self.path, name), exist_ok=True)
        for name in MERGED:
            if not os.path.islink(os.path.join(self.path, name)):
                os.symlink("usr/" + name, os.path.join(self.path, name))
        os.chmod(os.path.join(self.path, "tmp"), 0o1777)
        self._write("etc/passwd", "root:x:0:0::/work:/bin/sh\nnobody:x:65534:65534::/work:/bin/sh\n")
        self._write("etc/group", "root:x:0:\nnogroup:x:65534:\n")
        # Held while we live: rows and packages are one run's at a time.
        self.lock = open(os.path.join(self.cache, "lock"), "w", encoding="ascii")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another run uses %s" % self.cache)
        with open(os.path.join(self.cache, "status"), "w", encoding="ascii"):
            pass  # nothing is installed: everything that is depended on is asked for

    def _write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def _apt(self, *words):
        options = {"Dir::State::status": self.cache + "/status", "Dir::Cache": self.cache + "/apt/",
                   "Dir::Cache::archives": self.cache + "/debs/", "Debug::NoLocking": "1", "APT::Sandbox::User": "root",
                   "APT::Install-Recommends": "0", "Acquire::Retries": "2"}
        command = ["apt-get", "-q", "-y", *(word for key, value in options.items() for word in ("-o", key + "=" + value)), *words]
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=TIMEOUT_S, check=False, env={**self.environment, "LC_ALL": "C"})
        except FileNotFoundError:
            raise Unavailable("no apt-get here") from None
        except subprocess.TimeoutExpired:
            raise Unavailable("apt-get: no answer within %d s" % TIMEOUT_S) from None

    def unpacked(self):
        if not os.path.exists(self.listed):
            return set()
        with open(self.listed, encoding="ascii") as file:
            return set(file.read().split())

    def add(self, packages, parts=()):
        """All of them, with what they depend on. @parts: sets of packages, which together they are."""
        asked = {"asked:" + ",".join(sorted(one)) for one in (packages, *parts)}
        before = self.unpacked()
        if asked <= before:
            return
        plan = self._apt("-s", "install", *packages)
        wanted = {"%s_%s" % pair for pair in re.findall(r"^Inst (\S+) \((\S+)", plan.stdout, re.M)}
        if plan.returncode or not wanted:
            raise Unavailable(reason(plan.stdout))
        if wanted - before:
            done = self._apt("-d", "install", *packages)
            if done.returncode:
                raise Unavailable(reason(done.stdout))
            self._unpack()
        self._choose()
        with open(self.listed, "a", encoding="ascii") as file:
            file.write("".join(one + "\n" for one in sorted(wanted - before) + sorted(asked - before)))

    def _unpack(self):
        for path in sorted(glob.glob(self.cache + "/debs/*.deb")):
            shell = 'deb=$1 root=$2; shift 2; dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root" "$@"'
            leave_out = ["--exclude=./" + name for name in NOT_READ]
            done = subprocess.run(["bash", "-o", "pipefail", "-c", shell, "sh", path, self.path, *leave_out],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                raise Unavailable("%s: %s" % (os.path.basename(path), done.stdout.strip()[:200]))
            os.unlink(path)

    def _choose(self):
        for link, targets in CHOICES:
            path = os.path.join(self.path, link)
            found = next((one for one in targets if os.path.exists(os.path.join(os.path.dirname(path), one))), None)
            if found and not os.path.lexists(path):
                os.symlink(found, path)

    def inside(self, words, env=None):
        """The words and the environment to run a command in it."""
        return ["chroot", self.path, *words], {**ENV, **(env or {})}

    def needs(self, _tool):
        """Whatever a program needs is among its packages."""


def reason(text):
    said = [line for line in text.splitlines() if line.strip()]
    return ([line for line in said if line.startswith("E:")] or said[-1:] or ["no reason given"])[0]
