# SPDX-License-Identifier: Apache-2.0
"""A cgroup of version 2 for tests."""

import os
import shlex
import time


def cgroup2_root():
    """Where version 2 is mounted; None: nowhere."""
    with open("/proc/self/mounts", encoding="ascii") as file:
        mounts = [line.split() for line in file]
    return next((path for _, path, kind, *_ in mounts if kind == "cgroup2"), None)


class Cgroup2:
    """A cgroup at the second level, as that of a container is. OSError: none can be made here."""

    def __init__(self):
        root = cgroup2_root()
        if not root:
            raise OSError("cgroup v2 is not mounted")
        self.name = f"/fpless-test-{os.getpid()}/a"
        self.path = root + self.name
        os.makedirs(self.path)

    def shell(self, *args):
        """A shell's command that runs @args in it."""
        return shlex.join(["sh", "-c", f"echo $$ >{shlex.quote(self.path)}/cgroup.procs && exec \"$@\"", "sh", *args])

    def close(self):
        """It is to be left by then."""
        for path in self.path, os.path.dirname(self.path):
            for _ in range(1000):
                try:
                    os.rmdir(path)
                    break
                except OSError:  # a process in it is not reaped yet
                    time.sleep(0.01)
