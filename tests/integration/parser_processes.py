# SPDX-License-Identifier: Apache-2.0
"""The processes without rights that read files for an fpless."""

import os

NO_CAPABILITIES = "0000000000000000"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def oom_score_adj(pid):
    """How much sooner than others the kernel ends it where memory runs out: at most 1000."""
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())


def spawner(pid):
    """The child of fpless that makes workers; 0: there is none yet."""
    for child in children(pid):
        try:
            if status(child)["Name"] == "fpless-parser":
                return child
        except OSError:
            pass
    return 0


def workers(pid):
    return children(spawner(pid)) if spawner(pid) else []


def readers(pid, path):
    """Workers that have the file open, or one that had its name and was removed, or replaced."""
    names = (path, path + " (deleted)")
    found = []
    for worker in workers(pid):
        try:
            if any(os.readlink(f"/proc/{worker}/fd/{fd}") in names
                   for fd in os.listdir(f"/proc/{worker}/fd")):
                found.append(worker)
        except OSError:
            pass
    return found


def is_calm(pid):
    """Does the worker hurry less than others, since no sample waits for it?"""
    try:
        return os.getpriority(os.PRIO_PROCESS, pid) == 0
    except ProcessLookupError:
        return False
