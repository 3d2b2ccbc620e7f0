#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fpless runs with six capabilities, keeps no other, and its command keeps all it had."""

import os
import pwd
import shutil
import subprocess

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main, write
from waiting import wait_until_busy, wait_until_it_runs

NOBODY, DAEMON = 65534, 1
SIX = {"bpf": 39, "perfmon": 38, "sys_ptrace": 19, "dac_read_search": 2, "checkpoint_restore": 40,
       "syslog": 34}
FIELDS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "SigBlk",
          "SigIgn", "Uid", "Gid", "Groups")
# What the command sees of itself, and of its parent and each of its threads.
LOOK = """
cat /proc/self/status > "$0/command"; ulimit -a >> "$0/command"; nice >> "$0/command"
cat /proc/$PPID/status > "$0/fpless"
for task in /proc/$PPID/task/*; do cat $task/status; done > "$0/threads"
for pid in $(cat /proc/$PPID/task/*/children); do
    [ $pid = $$ ] || cat /proc/$pid/status
done > "$0/helpers"
"""


def mask(*names):
    return sum(1 << SIX[name] for name in names)


def user(uid, caps=()):
    """The start of a command line: another user, with these capabilities and no way to others."""
    given = ",".join("+" + cap for cap in caps)
    wrapper = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return wrapper + ([f"--inh-caps=-all,{given}", f"--ambient-caps=-all,{given}"] if given
                      else ["--inh-caps=-all"])


def statuses(path, key):
    with open(path, encoding="utf-8") as file:
        return [line.split(":", 1)[1].split() for line in file if line.startswith(key + ":")]


class RightsCase(RootCase):
    def setUp(self):
        super().setUp()
        # Copies: the folders above the build need not be open to everyone.
        self.program = shutil.copy2(FPLESS, self.path("fpless"))
        self.outputs = self.path("outputs")
        os.mkdir(self.outputs)
        os.chmod(self.folder, 0o755)
        os.chmod(self.outputs, 0o777)

    def run_as(self, wrapper, *args, **more):
        more.setdefault("env", {**os.environ, "HOME": self.outputs})
        return subprocess.run([*wrapper, self.program, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False, **more)

    def look(self, wrapper, *args):
        """The files of LOOK, written by a command under fpless."""
        place = self.path("look")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        os.chmod(place, 0o777)
        done = self.run_as(wrapper, "profile", "-q", "-o", os.path.join(self.outputs, "a.folded"),
                           *args, "--", "/bin/sh", "-c", LOOK, place)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return place


class NothingMoreIsKept(RightsCase):
    def hold(self, place):
        """What fpless holds, all threads alike."""
        held = statuses(os.path.join(place, "threads"), "CapEff")
        self.assertGreater(len(held), 1)
        self.assertEqual(len({str(one) for one in held}), 1, held)
        self.assertEqual(statuses(os.path.join(place, "fpless"), "CapPrm")[0], held[0])
        filters = {int(one[0]) for one in statuses(os.path.join(place, "threads"), "Seccomp")}
        self.assertEqual(filters, {2})
        for key, value in (("CapInh", 0), ("CapAmb", 0), ("NoNewPrivs", 1)):
            self.assertEqual(int(statuses(os.path.join(place, "fpless"), key)[0][0], 16), value)
        return int(held[0][0], 16)

    def test_by_root(self):
        place = self.look(())
        self.assertEqual(self.hold(place), mask(*SIX))
        self.assertEqual(int(statuses(os.path.join(place, "fpless"), "CapBnd")[0][0], 16), 0)
        # Its helpers hold no more than it takes to put files in place and to end the command, or
        # to open what it may read itself.
        opens = mask("dac_read_search", "sys_ptrace", "checkpoint_restore")
        for helper in statuses(os.path.join(place, "helpers"), "CapPrm"):
            held = int(helper[0], 16)
            self.assertTrue(not held & ~0b101110 or held == opens, helper)
        for key in ("CapBnd", "CapInh", "CapAmb"):
            for helper in statuses(os.path.join(place, "helpers"), key):
                self.assertEqual(int(helper[0], 16), 0)
        self.assertTrue(statuses(os.path.join(place, "helpers"), "CapPrm"))

    def test_by_a_user_with_more(self):
        place = self.look(user(NOBODY, [*SIX, "sys_admin", "net_admin", "sys_nice"]))
        self.assertEqual(self.hold(place), mask(*SIX))

    def test_by_a_user_with_less(self):
        place = self.look(user(NOBODY, ["bpf", "perfmon"]))
        self.assertEqual(self.hold(place), mask("bpf", "perfmon"))
        for helper in statuses(os.path.join(place, "helpers"), "CapPrm"):
            self.assertEqual(int(helper[0], 16), 0, helper)

    def test_but_what_includes_them_where_only_that_was_given(self):
        place = self.look(user(NOBODY, ["sys_admin", "dac_override", "net_admin"]))
        self.assertEqual(self.hold(place), 1 << 21 | 1 << 1)


class CommandIsAsWithoutUs(RightsCase):
    def compare(self, wrapper, **more):
        place = self.look(wrapper)
        alone = self.path("alone")
        shutil.rmtree(alone, ignore_errors=True)
        os.mkdir(alone)
        os.chmod(alone, 0o777)
        subprocess.run([*wrapper, "/bin/sh", "-c", LOOK, alone], stdin=subprocess.DEVNULL,
                       timeout=TIMEOUT_S, check=True, capture_output=True, **more)
        for key in FIELDS:
            self.assertEqual(statuses(os.path.join(place, "command"), key),
                             statuses(os.path.join(alone, "command"), key), key)
        with open(os.path.join(place, "command"), encoding="utf-8") as here, \
                open(os.path.join(alone, "command"), encoding="utf-8") as there:
            # Behind the status: the limits and the nice value.
            self.assertEqual(here.read().split("nonvoluntary_ctxt_switches")[1].split("\n", 1)[1],
                             there.read().split("nonvoluntary_ctxt_switches")[1].split("\n", 1)[1])

    def test_of_root(self):
        self.compare(())

    def test_of_a_user(self):
        self.compare(user(NOBODY, SIX))

    def test_with_signals_blocked_and_ignored(self):
        self.compare(["env", "--block-signal=USR1,TERM", "--ignore-signal=HUP"])

    def test_another_user_s_is_ended_with_the_run(self):
        """Root without CAP_KILL may not: the helper does."""
        done = self.run_as((), "profile", "-q", "-f", "-d", "0.3", "--", *user(NOBODY), "sleep",
                           "infinity")
        self.assertIn(b"ended by signal 15", done.stderr)


class OutputsArePlaced(RightsCase):
    def test_in_a_folder_of_another_user(self):
        """Where root without CAP_DAC_OVERRIDE may not write."""
        home = self.path("home")
        os.mkdir(home)
        os.chown(home, NOBODY, NOBODY)
        os.chmod(home, 0o755)
        old = os.path.join(home, "old.folded")
        write(old, "old")
        os.chown(old, NOBODY, NOBODY)
        paths = [old] + [os.path.join(home, name) for name in ("new.folded", "new.jsonl")]
        stats = os.path.join(home, "stats.json")
        words = [word for path in paths for word in ("-o", path)]
        done = self.run_as((), "profile", "-q", *words, "--stats", stats, "-F", "999", "--",
                           fixture("chain"), "200")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(home)),
                         sorted(map(os.path.basename, [*paths, stats])))
        for path in paths:
            with open(path, encoding="utf-8") as file:
                self.assertIn("chain", file.read())
        # A pair, in a folder made for it; and one that is dropped with the run.
        pair = os.path.join(home, "pair")
        done = self.run_as((), "compare", "-q", "--out-dir", pair, "-F", "999", "--",
                           fixture("chain"), "200")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(pair)), ["cfi.folded", "fp.folded"])
        done = self.run_as((), "compare", "-q", "--out-dir", os.path.join(home, "none"), "--",
                           "/nonexistent")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotIn("none", os.listdir(home))


class RootBecomesAnotherUser(RightsCase):
    """The one the package has made, else a number that is nobody's."""

    def setUp(self):
        super().setUp()
        try:
            self.uid = pwd.getpwnam("_fpless").pw_uid
        except KeyError:
            self.uid = 2147483645

    def test_for_the_whole_run(self):
        place = self.look(())
        for uids in statuses(os.path.join(place, "threads"), "Uid"):
            self.assertEqual(set(uids), {str(self.uid)})
        self.assertEqual(statuses(os.path.join(place, "threads"), "Groups")[0], [])

    def test_and_its_files_stay_root_s(self):
        """In a folder that nobody else may look into, run from a program in one, in that folder."""
        private = self.path("private")
        os.mkdir(private, 0o700)
        program = shutil.copy2(FPLESS, os.path.join(private, "fpless"))
        cache = os.path.join(private, "cache")
        for _ in range(2):
            done = subprocess.run([program, "profile", "-q", "-o", "new.svg", "-o", os.path.join(private, "b.jsonl"),
                                   "--stats", "s.json", "--cache", cache, "-F", "999", "--", fixture("chain"), "200"],
                                  cwd=private, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
            self.assertEqual((done.returncode, b"kept" in done.stderr), (0, False), done.stderr)
        self.assertEqual(sorted(os.listdir(private)), ["b.jsonl", "cache", "fpless", "new.svg", "s.json"])
        for name in ("b.jsonl", "new.svg", "s.json"):
            self.assertEqual(os.stat(os.path.join(private, name)).st_uid, 0, name)
        # What is kept from run to run is the other user's, and root's to read.
        kept = [os.path.join(cache, name) for name in os.listdir(cache)]
        self.assertGreater(len(kept), 1)
        for path, mode in [(cache, 0o2750), *((path, 0o640) for path in kept)]:
            stat = os.stat(path)
            self.assertEqual((stat.st_uid, stat.st_gid, stat.st_mode & 0o7777), (self.uid, 0, mode), path)

    def test_a_cache_from_before_is_taken_over(self):
        cache = self.path("cache")
        os.mkdir(cache, 0o700)
        write(os.path.join(cache, "0" * 64), "not a table")
        os.chmod(os.path.join(cache, "0" * 64), 0o600)
        done = self.run_as((), "profile", "-q", "-f", "--cache", cache, "-F", "999", "--", fixture("chain"), "200")
        self.assertEqual((done.returncode, b"kept" in done.stderr), (0, False), done.stderr)
        self.assertGreater(len(os.listdir(cache)), 1)

    def test_but_not_the_command(self):
        """A program that is set-uid still becomes its owner."""
        program = shutil.copy2(shutil.which("id"), self.path("id"))
        os.chown(program, DAEMON, DAEMON)
        os.chmod(program, 0o4755)
        done = self.run_as((), "profile", "-q", "-o", os.path.join(self.outputs, "a.folded"), "--", program)
        self.assertRegex(done.stdout.decode(), r"uid=0\(root\).* euid=1\b")


class EachRightIsWorthWhatIsSaid(RightsCase):
    """Programs of another user: one, one whose file may not be read, one whose file is gone."""

    KINDS = ("plain", "private", "gone")

    def setUp(self):
        super().setUp()
        self.sysctl("kernel/perf_event_paranoid", 2)
        self.pids = {}
        for kind in self.KINDS:
            program = shutil.copy2(fixture("chain"), self.path(kind))
            os.chmod(program, 0o711 if kind == "private" else 0o755)
            process = self.start(*user(DAEMON), program, "60000")
            wait_until_it_runs(process.pid, program)
            wait_until_busy(process.pid)
            self.pids[kind] = process.pid
        os.unlink(self.path("gone"))

    def profile_them(self, caps):
        """(status, stderr, kinds whose stacks are whole and named)."""
        pids = ",".join(map(str, self.pids.values()))
        done = self.run_as(user(NOBODY, caps), "profile", "-q", "-f", "-F", "499", "-d", "0.5",
                           "-p", pids)
        whole, seen = set(self.KINDS), set()
        for line in done.stdout.decode().splitlines():
            kind = line.split(";")[0]
            if line.startswith(kind + ";_start;__libc_start_main;"):
                seen.add(kind)
            else:
                whole.discard(kind)
        return done.returncode, done.stderr.decode(), whole & seen

    def test_all_six(self):
        status, said, whole = self.profile_them(SIX)
        self.assertEqual((status, whole), (0, set(self.KINDS)), said)
        self.assertNotIn("no CAP_", said)

    def test_all_six_on_a_file(self):
        """As `fpless doctor` says to do it."""
        if not shutil.which("setcap"):
            self.skipTest("no setcap")
        caps = ",".join("cap_" + cap for cap in SIX)
        done = subprocess.run(["setcap", caps + "=ep", self.program], check=False,
                              capture_output=True)
        if done.returncode:
            self.skipTest(f"setcap: {done.stderr.decode().strip()}")
        pids = ",".join(map(str, self.pids.values()))
        done = self.run_as(user(NOBODY), "profile", "-q", "-f", "-F", "499", "-d", "0.5", "-p",
                           pids)
        self.assertEqual(done.returncode, 0, done.stderr)
        for kind in self.KINDS:
            self.assertIn(f"{kind};_start;__libc_start_main".encode(), done.stdout)

    def test_without_one(self):
        for lacking, status, whole in (("bpf", 2, set()), ("perfmon", 2, set()),
                                       ("sys_ptrace", 0, set()),
                                       ("dac_read_search", 0, {"plain"}),
                                       ("checkpoint_restore", 0, {"plain", "private"}),
                                       ("syslog", 0, set(self.KINDS))):
            with self.subTest(lacking):
                got, said, seen = self.profile_them([cap for cap in SIX if cap != lacking])
                self.assertEqual((got, seen), (status, whole), said)
                told = [line for line in said.splitlines() if "CAP_" + lacking.upper() in line]
                if lacking == "syslog":
                    continue  # the kernel says the names of its functions all the same
                self.assertEqual(len(told), 1, said)
                self.assertIn(f"no CAP_{lacking.upper()}", told[0])
                if lacking == "sys_ptrace":  # doctor takes its words from the same place
                    done = self.run_as(user(NOBODY, set(SIX) - {lacking}), "doctor")
                    self.assertIn(told[0].split(": ", 2)[2], " ".join(done.stdout.decode().split()))

    def test_kernel_functions_have_names_without_syslog(self):
        caps = [cap for cap in SIX if cap != "syslog"]
        command = ["--", "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=20000"]
        for level in (1, 2):  # /proc/kallsyms hides its addresses; nobody needs it
            self.sysctl("kernel/kptr_restrict", level)
            done = self.run_as(user(NOBODY, caps), "profile", "-q", "-f", "-K", "-F", "999",
                               "-d", "0.5", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, b"clear_user|entry_SYSCALL_64")
            self.assertNotIn(b"CAP_SYSLOG", done.stderr)


if __name__ == "__main__":
    main()
