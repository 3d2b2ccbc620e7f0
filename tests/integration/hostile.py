# SPDX-License-Identifier: Apache-2.0
"""Targets that misbehave, to run beside others: for the tests and for tests/bench/hostile."""

import itertools
import os
import random
import shutil
import signal
import subprocess
import time

from elf_names import ElfNames

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


def build_id_place(path):
    """(offset, bytes) of the build-id in the file."""
    names = ElfNames(path)
    start = next(section[1] for section in names.sections
                 if section[0] == ".note.gnu.build-id")
    offset = names.file_offset(start) + 16  # behind the note's header and "GNU"
    with open(path, "rb") as file:
        file.seek(offset - 12)
        size = int.from_bytes(file.read(4), "little")
        file.seek(offset)
        return offset, file.read(size)


def forge(path, copy, of=LIBC):
    """A copy of @path that says it is @of."""
    offset, own = build_id_place(path)
    _, other = build_id_place(of)
    assert len(own) == len(other) and own != other
    shutil.copy2(path, copy)
    with open(copy, "r+b") as file:
        file.seek(offset)
        file.write(other)
    return copy


def spoil(path, copy, seed):
    """A copy of @path with noise in its .eh_frame."""
    names = ElfNames(path)
    start, end = next(section[1:] for section in names.sections if section[0] == ".eh_frame")
    offset = names.file_offset(start)
    noise = random.Random(seed)
    shutil.copy2(path, copy)
    with open(copy, "r+b") as file:
        for _ in range(1 << seed % 8):
            file.seek(offset + noise.randrange(end - start))
            file.write(bytes([noise.randrange(256)]))
    return copy


class LimitedCgroup:
    """A cgroup with a limit, in whichever hierarchy has the controller."""

    numbers = itertools.count()

    def __init__(self, controller, v1_file, v2_file, most):
        root, is_v2 = self._hierarchy(controller)
        if not root:
            raise OSError(f"no cgroup hierarchy with the {controller} controller")
        self.path = os.path.join(root, f"fpless-test-{os.getpid()}-{next(self.numbers)}")
        os.mkdir(self.path)
        self._write(v2_file if is_v2 else v1_file, most)

    @staticmethod
    def _hierarchy(controller):
        """Where it is, and whether that is version 2."""
        with open("/proc/self/mounts", encoding="ascii") as file:
            mounts = [line.split() for line in file]
        for _, path, kind, options, *_ in mounts:
            if kind == "cgroup" and controller in options.split(","):
                return path, False
        for _, path, kind, *_ in mounts:
            if kind != "cgroup2":
                continue
            try:
                with open(f"{path}/cgroup.subtree_control", "r+", encoding="ascii") as file:
                    file.write("+" + controller)
                return path, True
            except OSError:
                continue
        return None, False

    def _write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def enter(self):
        """In the child, before its exec."""
        self._write("cgroup.procs", os.getpid())

    def close(self):
        """Ends what is in it, and in cgroups below it."""
        for _ in range(1000):
            paths = [path for path, _, _ in os.walk(os.fsencode(self.path), topdown=False)]
            if not [path for path in paths if self._is_left(path)]:
                return
            time.sleep(0.01)

    @staticmethod
    def _is_left(path):
        with open(os.path.join(path, b"cgroup.procs"), encoding="ascii") as file:
            pids = file.read().split()
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.rmdir(path)
        except OSError:  # some are not reaped yet
            return True
        return False


class PidsCgroup(LimitedCgroup):
    """One with at most so many tasks."""

    def __init__(self, most):
        super().__init__("pids", "pids.max", "pids.max", most)

    def close(self):
        self._write("pids.max", 0)
        super().close()


class MemoryCgroup(LimitedCgroup):
    """One with at most so many bytes."""

    def __init__(self, most):
        super().__init__("memory", "memory.limit_in_bytes", "memory.max", most)


class CpuCgroup(LimitedCgroup):
    """One with at most so many us of each 100,000 of CPU time."""

    def __init__(self, us):
        super().__init__("cpu", "cpu.cfs_quota_us", "cpu.max", us)


class Targets:
    """All of them, by name. Each runs until close()."""

    FOREVER_MS = "100000000"

    def __init__(self, fixtures, folder):
        self.fixtures = fixtures
        self.folder = folder
        self.started = []
        self.cgroup = None
        self.nice = 0

    def fixture(self, name):
        return os.path.join(self.fixtures, name)

    def path(self, name):
        return os.path.join(self.folder, name)

    FILES = ("unlink", "replace", "fifo", "device", "folder", "empty", "truncate")
    NOISE = (3, 7)
    names = ["remap", "swap", "munmap", "absent", "stop", "storm", "names", "jit", "deep", "forged",
             *(f"file {what}" for what in FILES), *(f"noise{seed}" for seed in NOISE)]

    def command(self, name):
        """
        The command of the target @name, one of names or `bomb`; some end after a second of CPU
        time, to be started again.
        """
        plugins = self.fixture("libplugin_a.so"), self.fixture("libplugin_b.so")
        misbehave, forever = self.fixture("misbehave"), self.FOREVER_MS
        if name in ("munmap", "absent", "stop", "bomb"):
            return [misbehave, forever, name]
        if name == "remap":
            return [misbehave, forever, name, *plugins]
        if name == "swap":
            return [self.fixture("dlopen"), forever, name, *plugins]
        if name.startswith("file "):
            what = name.removeprefix("file ")
            return [self.fixture("badmap"), "1000", plugins[0], self.fresh(f"{what}.so"), what]
        if name.startswith("noise"):
            return [spoil(self.fixture("recursion"), self.fresh(name),
                          int(name.removeprefix("noise"))), "1000", "50"]
        return {
            "storm": [self.fixture("vfork"), forever, self.fixture("chain_nopie")],
            "names": [self.fixture("hostile"), forever],
            "jit": [self.fixture("jit"), forever],
            "deep": [self.fixture("recursion"), forever, "3000"],
            "forged": [forge(self.fixture("chain_static"), self.fresh("forged")), forever],
        }[name]

    def fresh(self, name):
        """A path with nothing there."""
        path = self.path(name)
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)
        return path

    def start(self, *names):
        for name in names or self.names:
            self._start(name)

    def start_bomb(self, most=32):
        """Raises OSError where nothing would bound it."""
        self.cgroup = PidsCgroup(most)
        self._start("bomb", preexec_fn=self.cgroup.enter)

    def _start(self, name, **more):
        more.setdefault("preexec_fn", lambda: os.nice(self.nice))
        process = subprocess.Popen(self.command(name), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, **more)
        self.started.append((name, process))

    def poll(self):
        """Starts again what has ended."""
        for entry in list(self.started):
            name, process = entry
            if name != "bomb" and process.poll() is not None:
                self.started.remove(entry)
                self._start(name)

    def close(self):
        for _, process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.cgroup:
            self.cgroup.close()
        for _, process in self.started:
            process.wait()
