#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed, whenever that is, leaves nothing: no BPF program, map or link, no pinned
object, no process of its own, no half-written file. Its command goes on."""

import os
import random
import signal
import subprocess
import time

from root_case import FPLESS, RootCase, children, fdinfos, fixture, main
from waiting import executable, wait_for

ROUNDS = 10
OLD = "an older profile\n"


def bpf_ids(pid):
    """{("prog", id), ("map", id), ("link", id)} of what the process has open."""
    found = set()
    for info in fdinfos(pid):
        for kind in ("link", "map", "prog"):  # a link has its program's, too
            if kind + "_id" in info:
                found.add((kind, int(info[kind + "_id"])))
                break
    return found


def still_there(ids):
    return {(kind, number) for kind, number in ids
            if subprocess.run(["bpftool", kind, "show", "id", str(number)], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0}


def state(pid):
    """Of /proc/PID/stat; None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


class KilledRunLeavesNothing(RootCase):
    def kill(self, delay_s, *args):
        """Kills a run after the delay, or where that is None when it has an event; returns what it had open, and its
        command if that goes on."""
        pinned = sorted(os.listdir("/sys/fs/bpf")) if os.path.isdir("/sys/fs/bpf") else []
        process = subprocess.Popen([FPLESS, "profile", "-q", "-F", "999", *args],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        if delay_s is None:
            wait_for("an event", lambda: any(kind == "link" for kind, _ in bpf_ids(process.pid)))
        else:
            time.sleep(delay_s)
        process.send_signal(signal.SIGSTOP)  # so that nothing is made while it is looked at
        wait_for(lambda: f"it is stopped, not {state(process.pid)}", lambda: state(process.pid) in ("T", "Z"), 200)
        ids, own = bpf_ids(process.pid), children(process.pid)
        process.kill()
        process.wait()
        wait_for(lambda: f"no BPF object of it: {still_there(ids)}", lambda: not still_there(ids))
        self.assertEqual(sorted(os.listdir("/sys/fs/bpf")) if pinned else [], pinned)
        # the command before it is let go is a helper, too; one that was let go may have been about to execute the program
        command = os.path.realpath(fixture("chain"))
        wait_for(f"no process of its own among {own}",
                 lambda: all(state(pid) in (None, "Z") or executable(pid) == command for pid in own))
        return ids, [pid for pid in own if executable(pid) == command]

    def test_at_random_moments(self):
        noise = random.Random(20)
        seen = set()
        for i in range(ROUNDS):
            folder = os.path.join(self.folder, "out")
            os.mkdir(folder)
            old = os.path.join(folder, "old.folded")
            with open(old, "w", encoding="ascii") as file:
                file.write(OLD)
            ids, commands = self.kill(noise.uniform(0.0, 1.5) if i else None, "-d", "600", "-o", old, "-o",
                                      os.path.join(folder, "new.jsonl"), "--", fixture("chain"), "60000")
            seen |= {kind for kind, _ in ids}
            for pid in commands:  # it has begun, and goes on
                self.assertNotIn(state(pid), (None, "Z"))
                os.kill(pid, signal.SIGKILL)
            self.assertEqual(os.listdir(folder), ["old.folded"])
            with open(old, encoding="ascii") as file:
                self.assertEqual(file.read(), OLD)
            os.unlink(old)
            os.rmdir(folder)
        self.assertEqual(seen, {"prog", "map", "link"})

    def test_while_it_writes(self):
        """Either file is the old one or a whole one."""
        for i in range(ROUNDS):
            old = self.path("old.jsonl")
            with open(old, "w", encoding="ascii") as file:
                file.write(OLD)
            process = subprocess.Popen([FPLESS, "profile", "-q", "-F", "4999", "-d", "0.3", "-o", old],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.9 + i * 0.06)
            process.kill()
            process.wait()
            with open(old, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text == OLD or text.splitlines()[-1].startswith('{"type":"books"'))
            self.assertEqual(os.listdir(self.folder), ["old.jsonl"])


if __name__ == "__main__":
    main(at_a_time=2)
