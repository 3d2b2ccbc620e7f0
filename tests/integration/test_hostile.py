#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Targets that misbehave cost nothing but their own stacks, and the books close beside them."""

import os
import shlex
import signal
import subprocess

from elf_names import ElfNames
from fpless_run import TIMEOUT_S, Run
from hostile import PidsCgroup, Targets, forge
from root_case import FIXTURES, FPLESS, RootCase, fixture, main
from waiting import wait_until_busy

GOOD_STACK = ("outermost", 9)
CHAIN_MS, HZ = 300, 999
OF_CHAIN = CHAIN_MS * HZ // 1000  # samples of its CPU time, but for ticks that come late or not at all


class HostileCase(RootCase):
    def setUp(self):
        super().setUp()
        self.targets = Targets(FIXTURES, self.folder)
        self.addCleanup(self.targets.close)

    def leaves(self, run):
        """{(stop, user frames): samples} of `chain` in its innermost loop."""
        names = ElfNames(fixture("chain"))
        found = {}
        for stack in run.stacks:
            if stack["comm"] == "chain" and stack["user"] \
                    and "spin" in names.aliases(int(stack["user"][0].get("vaddr", "0"), 16)):
                key = stack["stop"], len(stack["user"])
                found[key] = found.get(key, 0) + stack["count"]
        return found

    def assert_good_beside(self, *names, cgroup=None, length=1):
        """
        A run of `chain`, so many times as long as usual, and of targets that begin before it, until it ends: every stack
        of it is whole, and the books close.
        """
        commands = [self.targets.command(name) for name in names]
        if cgroup:
            commands.append(["sh", "-c", f"echo $$ >{cgroup.path}/cgroup.procs && exec \"$@\"", "sh",
                             *self.targets.command("bomb")])
        script = "".join(f"{shlex.join(command)} >/dev/null 2>&1 & " for command in commands)
        process = self.start(FPLESS, "profile", *Run.outputs(self.folder), "-F", str(HZ), "-d", "600",
                             "--", "sh", "-c", f"{script}exec {fixture('chain')} {length * CHAIN_MS}",
                             stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end_session, process.pid)
        _, stderr = process.communicate(timeout=TIMEOUT_S)
        run = Run.of_folder(self.folder, process.returncode, stderr)
        self.assertEqual(run.faults(), [])
        found = self.leaves(run)
        self.assertEqual(set(found), {GOOD_STACK}, found)
        self.assert_ticks(run, found[GOOD_STACK], length * OF_CHAIN, 0.7, found)
        return run

    @staticmethod
    def end_session(pid):
        """What the command has started outlives it."""
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class ProgramsBesideAreWhole(HostileCase):
    def test_beside_code_mapped_over_code(self):
        self.assert_good_beside("remap", "swap")

    def test_beside_stacks_taken_away_and_not_resident(self):
        self.until_seen("a stack that cannot be read", lambda length: self.assert_good_beside("munmap", "absent", length=length),
                        lambda run: run.books["stop"]["read_fault"])

    def test_beside_files_that_change_behind_their_mappings(self):
        self.assert_good_beside(*(name for name in self.targets.names if name.startswith("file ")))

    def test_beside_processes_stopped_and_let_go_on(self):
        self.assert_good_beside("stop")

    def test_beside_cfi_of_noise(self):
        self.assert_good_beside("noise3", "noise7")

    def test_beside_short_processes_and_hostile_names(self):
        self.assert_good_beside("storm", "names", "jit")

    def test_beside_a_fork_bomb(self):
        try:
            cgroup = PidsCgroup(32)
        except OSError as error:
            self.skipTest(str(error))
        self.addCleanup(cgroup.close)
        self.until_seen("more processes than there may be at a time",
                        lambda length: self.assert_good_beside(cgroup=cgroup, length=length),
                        lambda run: len({stack["pid"] for stack in run.stacks if stack["comm"] == "misbehave"}) > 32)


class BuildIdsAreForged(HostileCase):
    """A program that says it is libc, by its build-id, has its own table, and libc has libc's."""

    def run_both(self, *order):
        paths = {"forged": forge(fixture("chain_static"), self.path("forged")),
                 "chain": fixture("chain")}
        pids = {name: self.start(paths[name], "60000").pid for name in order}
        for pid in pids.values():
            wait_until_busy(pid)
        run = self.profile_while_busy(pids.values(), 300, "-F", "999", "-p", ",".join(str(pids[n]) for n in order))
        self.assert_chain_is_complete(run, paths["chain"])
        leaves = {(stack["stop"], len(stack["user"])) for stack in run.stacks
                  if stack["pid"] == pids["forged"] and stack["user"]
                  and stack["user"][0]["symbol"] == "spin"}
        self.assertEqual(leaves, {GOOD_STACK})
        for stack in run.stacks:
            for frame in stack["user"]:
                if stack["pid"] == pids["forged"]:
                    self.assertNotIn("libc.so", frame.get("object", ""))
                else:
                    self.assertNotEqual(frame.get("object"), paths["forged"])

    def test_read_before_libc(self):
        self.run_both("forged", "chain")

    def test_read_after_libc(self):
        self.run_both("chain", "forged")


class FplessIsStarved(HostileCase):
    def test_of_cpu_time_until_the_ring_overruns(self):
        self.targets.start("storm", "deep")
        process = self.start(FPLESS, "profile", *Run.outputs(self.folder), "-F", "4999", "-a", "-d",
                             "60", "--ring-memory", "256K", stderr=subprocess.PIPE)
        self.wait_until_sampling(process)
        process.send_signal(signal.SIGSTOP)
        self.wait_until_sampling(process, 10000)  # of each of which the ring takes 80 bytes and more
        process.send_signal(signal.SIGCONT)
        self.wait_until_sampling(process, 1000)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=TIMEOUT_S)
        run = Run.of_folder(self.folder, process.returncode, stderr)
        self.assertEqual(run.faults(), [])
        self.assertGreater(run.books["lost"]["ring_full"], 0, run.books["lost"])
        self.assertGreater(run.books["shown"], 0)

    def test_of_memory_for_tables(self):
        """What has no table says so, the others are whole; the bound is kept. The tables that
        samples ask for are 1.2 MB: those that none asks for give way to them."""
        sort = "while True: sorted(range(1000))"
        ask = "import sqlite3; ask = sqlite3.connect(':memory:').execute\nwhile True: ask('select 1')"
        hashes = "import hashlib\nwhile True: hashlib.pbkdf2_hmac('sha256', b'x', b'y', 1000)"
        pids = [self.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid
                for command in (["/usr/bin/python3", "-c", ask], ["/usr/bin/python3", "-c", hashes],
                                ["perl", "-e", "1 while 1"], ["gdb", "-batch", "-ex", f"python {sort}"],
                                ["sh", "-c", "exec git hash-object --stdin </dev/zero"])]
        for pid in pids:
            wait_until_busy(pid, 100)
        run = self.profile_while_busy(pids, 150, "-F", "999", "-p", ",".join(map(str, pids)), "--table-memory", "1M")
        self.assertLessEqual(run.stats["tables"]["allocated_bytes"], 1 << 20)
        self.assertGreater(run.books["stop"]["no_table"], 0)
        self.assertGreater(run.books["complete"], 0)


if __name__ == "__main__":
    main()
