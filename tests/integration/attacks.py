# SPDX-License-Identifier: Apache-2.0
"""What an ordinary user's programs may do to a profiler (fixtures/programs/attack*.c), to run beside others."""

import itertools
import os
import resource
import shutil
import subprocess

from hostile import PidsCgroup

ATTACKER, OTHER = 60001, 60002  # users whom nobody is
FOREVER_MS = "100000000"
FEW, MANY = 48, 1100  # processes of a mode; of those that are about processes
CPU_S = 900  # of a process that nobody ended

MAP_KINDS = ("empty", "line", "noise", "overlaps", "grows", "fifo", "link", "folder", "sparse")
PLAIN = ("comm", "comm_threads", "exec", "fork", "crash", "thread", "exec_by_thread", "leader_gone", "ptrace_step",
         "ptrace_seize", "seccomp_strict", "nondumpable", "namespaces", "clocks", "signals", "map_file", "map_memory",
         "map_many", "move_code", "flip_code", "exec_only", "exec_memory", "stack_anywhere", "frames_in_circle",
         "frames_for_ever", "thread_pointer", "unlinked", "hostile_path", "long_path", "jitdump")
LIBRARY = ("grow", "rewrite", "births")
CROWDS = ("500 processes", "1000 processes")
AS_ROOT = ("stack_of_faults",)  # whose page faults within the kernel wait, too


def commands():
    """{mode: arguments of the program}"""
    modes = {name: [name] for name in (*PLAIN, *AS_ROOT)}
    modes |= {name: [name, "../plugin.so"] for name in LIBRARY}
    modes |= {f"perf_map {kind}": ["perf_map", kind] for kind in MAP_KINDS}
    modes |= {"jitdump noise": ["jitdump", "noise"], "setuid": ["setuid", "../setuid"],
              "cgroup names": ["spin"]}
    modes |= {name: ["fork_wide", name.split()[0]] for name in CROWDS}
    return modes


class HostileCgroups:
    """Cgroups below another whose names speak to terminals, between which a process goes."""

    NAMES = (b"a;b \x1b[2J", b"\xe2\x80\xae\xff", b"..a", b"n" * 255)

    def __init__(self, above):
        self.paths = [os.path.join(os.fsencode(above), name) for name in self.NAMES]
        for path in self.paths:
            os.mkdir(path)
        self.turn = itertools.cycle(self.paths)

    def move(self, pid):
        with open(os.path.join(next(self.turn), b"cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))


class Attack:
    """One mode that runs: its process, and what bounds that and all it starts."""

    def __init__(self, program, name, arguments, folder, nice):
        self.name = name
        self.folder = folder
        self.cgroup = PidsCgroup(MANY if name in CROWDS else FEW)
        self.cgroups = self.process = None
        self.pids = []
        try:
            self.cgroups = HostileCgroups(self.cgroup.path) if name == "cgroup names" else None
            self.command = [program, FOREVER_MS, *arguments]
            self.nice = nice
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        self._clear()
        # no session of its own: the kernel shares CPU time out among these first, and then by nice(2)
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=self._become)
        self.pids.append(self.process.pid)

    def _clear(self):
        """A folder of its user's with nothing in it."""
        shutil.rmtree(os.fsencode(self.folder), ignore_errors=True)
        os.mkdir(self.folder, 0o755)
        os.chown(self.folder, ATTACKER, ATTACKER)

    def _become(self):
        self.cgroup.enter()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(self.nice)
        if self.name not in AS_ROOT:
            os.setgroups([])
            os.setresgid(ATTACKER, ATTACKER, ATTACKER)
            os.setresuid(ATTACKER, ATTACKER, ATTACKER)

    def poll(self):
        """Begins again what has ended. What it said where that is a failure, else None."""
        if self.cgroups and self.process.poll() is None:
            self.cgroups.move(self.process.pid)
        if self.process.poll() is None:
            return None
        said = self.process.stderr.read().decode(errors="replace").strip()
        failed = self.process.returncode == 1
        self.process.stderr.close()
        self._start()
        return said if failed else None

    def close(self):
        self.cgroup.close()
        if self.process:
            self.process.wait()
            self.process.stderr.close()
        for pid in self.pids:
            self._remove_map(f"/tmp/perf-{pid}.map")

    @staticmethod
    def _remove_map(path):
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)


class Attacks:
    """All of them, by name. Each runs until close(); OSError where nothing would bound them."""

    commands = commands()
    names = list(commands)

    def __init__(self, fixtures, folder, nice=0):
        self.folder = os.path.join(folder, "attacks")
        self.nice = nice
        self.running = []
        os.chmod(folder, 0o711)
        os.mkdir(self.folder, 0o755)
        for name, source, mode in (("attack", "attack", 0o755), ("plugin.so", "libplugin_a.so", 0o755),
                                   ("setuid", "attack", 0o755)):
            shutil.copyfile(os.path.join(fixtures, source), self._path(name))
            os.chmod(self._path(name), mode)
        os.chown(self._path("setuid"), OTHER, OTHER)
        os.chmod(self._path("setuid"), 0o4755)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *names):
        for name in names or self.names:
            self.running.append(Attack(self._path("attack"), name, self.commands[name],
                                       self._path(f"of {name}"), self.nice))

    def poll(self):
        """{mode: why it failed}"""
        said = {attack.name: attack.poll() for attack in self.running}
        return {name: why for name, why in said.items() if why is not None}

    def close(self):
        while self.running:
            self.running.pop().close()
