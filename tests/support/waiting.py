# SPDX-License-Identifier: Apache-2.0
"""Tests wait for a condition, never for a time."""

import os
import time

PATIENCE_S = 180  # hung, not slow


def wait_for(what, condition, seconds=PATIENCE_S, every_s=0.01):
    """The first true value of condition(); AssertionError where there is none within the seconds."""
    end_s = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() >= end_s:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(every_s)
    return value


def executable(pid):
    """The path of what the process runs; "" where there is no such process."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def cpu_ms(pid, thread=False):
    """CPU time that the process, or this thread alone, has used, in clock ticks of usually 10 ms; 0 where there is none."""
    try:
        path = f"/proc/{pid}/task/{pid}/stat" if thread else f"/proc/{pid}/stat"
        with open(path, encoding="ascii", errors="replace") as file:
            ticks = file.read().rsplit(")", 1)[1].split()[11:13]
    except OSError:
        return 0
    return sum(map(int, ticks)) * 1000 // os.sysconf("SC_CLK_TCK")


def wait_until_it_runs(pid, path, seconds=PATIENCE_S):
    """Until the process has executed the program at @path."""
    path = os.path.realpath(path)
    wait_for(f"process {pid} runs {path}", lambda: executable(pid) == path, seconds)


def wait_until_busy(pid, ms=50, seconds=PATIENCE_S):
    """Until the process has used so much CPU time: what a program loads at its start is loaded then, however busy the
    machine is."""
    wait_for(f"process {pid} has used {ms} ms of CPU time", lambda: cpu_ms(pid) >= ms, seconds)


def sleeps(pid):
    """Does the process wait for something? It is also "yes" where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "RT"
    except OSError:
        return True


def wait_until_they_wait(pids, path, looks=10, seconds=PATIENCE_S):
    """Until all processes run the program at @path and wait, one look after another: for what does not come, then."""
    path, in_turn = os.path.realpath(path), [0]

    def all_wait():
        in_turn[0] = in_turn[0] + 1 if all(executable(pid) == path and sleeps(pid) for pid in pids) else 0
        return in_turn[0] >= looks

    wait_for(f"processes {pids} run {path} and wait", all_wait, seconds, 0.05)
