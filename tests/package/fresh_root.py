# SPDX-License-Identifier: Apache-2.0
"""A Debian of its own below a folder, made by mmdebstrap from the machine's own archive, and what is
run in it. Mounts are made in a mount namespace of the test's own: whatever ends the test, its death
undoes them."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
import apt_root  # noqa: E402  pylint: disable=wrong-import-position

TIMEOUT_S = 1200
TAR_OPTIONS = ("--numeric-owner", "--preserve-permissions", "--xattrs", "--xattrs-include=*")
PACKED = "root.tar"
# What apt, dpkg, the linker and the tools that make users keep of every installation.
KEPT = {"/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/cache/debconf", "/var/log",
        "/var/cache/ldconfig", "/etc/ld.so.cache", "/etc/shadow-", "/etc/gshadow-", "/tmp", "/root", "/dev",
        "/proc", "/sys", "/run"}
_MARK = "FPLESS_TEST_NAMESPACE"
# What apt says where the network fails it, and not the package.
_NETWORK = ("Failed to fetch", "Unable to fetch", "Could not resolve", "Could not connect",
            "Temporary failure", "Connection failed", "Connection timed out", "Mirror sync")


def suite():
    """The Debian of this machine, which the package was built for; "" where it is none."""
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            found = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    except OSError:
        return ""
    return found.get("VERSION_CODENAME", "") if found.get("ID") == "debian" else ""


class Unreachable(Exception):
    """The archive is, in words."""


def skip(why):
    """End the test: it cannot run here."""
    print(f"SKIP: {why}", flush=True)
    sys.exit(77)


def enter_namespace():
    """Run on in a mount namespace of our own, or skip."""
    if os.geteuid() != 0:
        skip("a root of Debian is made by root")
    for program in ("mmdebstrap", "unshare", "apt-get", "chroot"):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    if not suite():
        skip("no Debian here, whose packages could be installed")
    if os.environ.get(_MARK):
        return
    command = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*command, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        skip("no mount namespace can be made here")
    os.environ[_MARK] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def _said(done):
    return (done.stdout or "")[-6000:]


def _network_failed(text):
    return any(words in text for words in _NETWORK)


class FreshRoot:
    """The smallest Debian that has apt. @packed: the file of one that was made and packed before, to be used; without it
    one is made, to be packed."""

    def __init__(self, work, packed=None):
        self.path = os.path.join(work, "root")
        if not packed:
            self._download(work)
            return
        os.mkdir(self.path)
        subprocess.run(["tar", *TAR_OPTIONS, "-C", self.path, "-xf", packed], check=True)
        for name in ("proc", "sys"):
            subprocess.run(["mount", "--rbind", f"/{name}", os.path.join(self.path, name)], check=True)

    def pack(self, path):
        """Into a file, from which it is made again in seconds. What is mounted in it stays outside."""
        plain = self.path + ".plain"
        os.mkdir(plain)
        subprocess.run(["mount", "--bind", self.path, plain], check=True)
        subprocess.run(["tar", *TAR_OPTIONS, "-C", plain, "-cf", path, "."], check=True)
        subprocess.run(["umount", plain], check=True)

    def _download(self, work):
        probe = os.path.join(work, "probe")
        os.makedirs(probe)
        try:
            apt = apt_root.AptRoot(probe, [suite()], kept=[suite() + "-updates", suite() + "-security"])
            apt.names("^perl-base$")
        except apt_root.AptError as error:
            raise Unreachable(str(error)) from None
        self._make(apt.folder)

    def _make(self, apt):
        """By the sources and the settings of the machine's apt."""
        sources = [os.path.join(apt, "sources", name)
                   for name in sorted(os.listdir(os.path.join(apt, "sources")))]
        options = []
        with open(os.path.join(apt, "apt.conf"), encoding="utf-8") as file:
            for line in file.read().splitlines():
                if line.startswith(("Acquire::http", "Acquire::https", "Acquire::Languages",
                                    "Acquire::AllowInsecure", "Acquire::Retries")):
                    options.append("--aptopt=" + line)
        command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--skip=check/empty", "--quiet",
                   "--aptopt=APT::Install-Recommends false", *options, suite(), self.path, *sources]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise Unreachable(f"no Debian came within {TIMEOUT_S} s") from None
        if done.returncode:
            if _network_failed(done.stdout):
                raise Unreachable(_said(done).strip().splitlines()[-1])
            raise AssertionError("mmdebstrap: " + _said(done))
        self._bring_keys(sources)
        self.run("apt-get", "-q", "update")

    def _bring_keys(self, sources):
        """Keyrings that the sources name are asked for in the root, too."""
        for path in sources:
            with open(path, encoding="utf-8") as file:
                words = file.read().replace("=", " ").replace("]", " ").split()
            for key in (word for word in words if word.startswith("/") and
                        word.endswith((".gpg", ".asc"))):
                inside = self.path + key
                if os.path.exists(key) and not os.path.exists(inside):
                    os.makedirs(os.path.dirname(inside), exist_ok=True)
                    shutil.copy(key, inside)

    def share(self, folder, inside):
        """A folder of this machine, to be written to, is the folder @inside of the root."""
        os.makedirs(self.path + inside)
        subprocess.run(["mount", "--bind", folder, self.path + inside], check=True)

    def run(self, *command, status=0, timeout=TIMEOUT_S, **more):
        """What a command says in the root; @more: of its environment. apt that lacks the network is Unreachable."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
        env.update((key, value) for key, value in os.environ.items()
                   if key.lower() in ("http_proxy", "https_proxy", "no_proxy"))
        env.update(more)
        done = subprocess.run(["chroot", self.path, *command], env=env, cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout, check=False)
        if done.returncode != status:
            if _network_failed(done.stdout):
                raise Unreachable(_said(done).strip().splitlines()[-1])
            raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{_said(done)}")
        return done.stdout

    def files(self, but):
        """{path: size or target} of all that is in the root, without what lies below @but."""
        found = {}
        device = os.lstat(self.path).st_dev
        for folder, folders, names in os.walk(self.path):
            inside = folder.removeprefix(self.path) or "/"
            folders[:] = [name for name in folders
                          if os.lstat(os.path.join(folder, name)).st_dev == device and
                          os.path.join(inside, name) not in but]
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                inner = os.path.join(inside, name)
                if inner in but:
                    continue
                found[inner] = os.readlink(path) if os.path.islink(path) else \
                    "folder" if os.path.isdir(path) else os.lstat(path).st_size
        return found


def tidy(work):
    """Unmount what this namespace has below @work, then remove it. Never through a mount."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        points = [line.split()[1].encode().decode("unicode_escape") for line in file]
    for point in sorted((p for p in points if p.startswith(work + "/")), reverse=True):
        subprocess.run(["umount", "--lazy", point], check=False)
    with open("/proc/self/mounts", encoding="utf-8") as file:
        if f" {work}/" in file.read():
            print(f"{work}: still mounted, left there", file=sys.stderr)
            return
    shutil.rmtree(work, ignore_errors=True)


def packed_root(folder):
    """What test_root.py has left there, or skip."""
    path = os.path.join(folder, PACKED)
    if not os.path.exists(path):
        skip("package.root has left no root")
    return path


def main(folder, test):
    """Run test(work) with a folder of its own below @folder, in a mount namespace of its own."""
    enter_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    prefix = os.path.basename(sys.argv[0]) + "."
    for left in glob.glob(os.path.join(folder, prefix + "*")):  # of one that was killed
        tidy(left)
    work = tempfile.mkdtemp(dir=folder, prefix=prefix)
    try:
        test(work)
    except Unreachable as why:
        skip(f"the package archive: {why}")
    finally:
        tidy(work)
