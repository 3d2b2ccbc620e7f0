#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file system that stops answering holds nobody up but the programs on it.

Each test mounts one file system for each request that it does not answer. A run over all of them
must wait for them for no more than 3 s, by its own account, and end within LATE_S by the clock of a busy machine, with the
books closed and the stacks of others whole.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import root_case
from fpless_run import TIMEOUT_S, Run, skip
from root_case import FPLESS, RootCase, die_with_the_tests, fixture, main
from waiting import cpu_ms, wait_for, wait_until_they_wait
from silent_fs import SilentFs, can_make_overlays, enter_namespace, mount_over, overlay_in_user_namespace

SERVER = fixture("silent_fs")
REQUESTS = ["lookup", "open", "getattr", "read", "readdir", "statfs"]
NEEDED = ["open", "getattr", "read"]  # without these no file can be read, whoever asks
USER = 61234  # nobody else's: equal files of one owner are one object, by the path of the first
WAIT_S = 3.1  # for all that do not answer, and the pauses of 10 ms between two looks
LATE_S = 40
RUN_S = 1
LIVES_MS = 60000
PYTHON = os.path.realpath(sys.executable)  # not every user may run it


class SilentFsCase(RootCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o711)
        self.systems, self.processes = {}, []
        # in this order: who waits for a file system can be waited for only after that
        self.addCleanup(self.end_processes)
        self.addCleanup(self.abort)

    def abort(self):
        for system in self.systems.values():
            system.abort()
        root_case.BEFORE_END.clear()

    def end_processes(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def begin(self, *command, own_tmp=None, user=USER, overlay=None):
        """Returns when the program runs. @own_tmp: a folder that it has in the place of /tmp. @overlay: the folders and
        the place of an overlay that it has made, and is in."""
        def become_user():
            die_with_the_tests()
            if own_tmp:
                mount_over(own_tmp, "/tmp")
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            if overlay:
                overlay_in_user_namespace(*overlay)

        # by descriptor where the program may be below the /tmp that is hidden from it
        held = [os.open(command[0], os.O_PATH)] if own_tmp else []
        process = subprocess.Popen(command, executable=f"/proc/self/fd/{held[0]}" if held else None, pass_fds=held,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=become_user)
        for one in held:
            os.close(one)
        self.processes.append(process)
        wait_for(f"{command[0]} runs", lambda: os.readlink(f"/proc/{process.pid}/exe") == command[0], TIMEOUT_S)
        return process

    def mount_at(self, name, point=None):
        system = SilentFs(SERVER, self.folder, name, point)
        self.systems[name] = system
        root_case.BEFORE_END.append(system.abort)
        system.__enter__()
        return system

    def mount(self, name):
        """One with a program in it."""
        system = self.mount_at(name)
        path = os.path.join(system.source, name)
        shutil.copy(fixture("chain_static"), path)
        os.chown(path, USER, USER)
        return os.path.join(system.point, name)

    def begin_programs(self):
        """One on each file system, and one on none."""
        self.pids = {name: self.begin(self.mount(name), str(LIVES_MS)).pid for name in REQUESTS}
        self.begin_bystander()

    def begin_bystander(self):
        self.bystander = self.path("bystander")
        shutil.copy(fixture("chain"), self.bystander)
        os.chown(self.bystander, USER, USER)
        bystander = self.begin(self.bystander, str(LIVES_MS))
        # on a busy machine it has its samples all the same
        os.setpriority(os.PRIO_PROCESS, bystander.pid, -10)

    def silence(self):
        for name, system in self.systems.items():
            system.silence(name)

    def start_verb(self, *args, stderr=subprocess.DEVNULL):
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=stderr, preexec_fn=die_with_the_tests)
        self.processes.append(process)
        return process

    def begin_run(self, *args, seconds=RUN_S):
        command = [FPLESS, "profile", "-a", "-F", "199", "-d", str(seconds), *Run.outputs(self.folder),
                   "--no-cache", *args]
        with open(self.path("stderr"), "wb") as stderr:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
                                       preexec_fn=die_with_the_tests)
        self.processes.append(process)
        return process

    def said(self):
        with open(self.path("stderr"), "rb") as file:
            return file.read()

    def end_when_sampled(self, process, **more):
        """Ends a run when each program that waits for nothing has used 100 ms of CPU time in it."""
        wanted = {pid: cpu_ms(pid) + 100 for name, pid in self.pids.items() if name not in NEEDED}
        self.wait_while_it_runs(process, "the programs use CPU time",
                                lambda: all(cpu_ms(pid) >= ms for pid, ms in wanted.items()))
        process.send_signal(signal.SIGINT)
        return self.end_run(process, 0, **more)

    def end_run(self, process, seconds=RUN_S, was_stopped=False):
        try:
            process.wait(seconds + LATE_S)
        except subprocess.TimeoutExpired:
            self.fail(f"it did not end {LATE_S} s after its time")
        run = Run.of_folder(self.folder, process.returncode, self.said())
        self.assertEqual(run.faults(), [], run.stderr)
        if not was_stopped:  # a busy machine may give it no CPU for a second; who waited for a file would be away to the end
            self.assertLess(run.stats["away_ms"], 10000, run.stderr)
        return run

    def stacks_of(self, run, path):
        return [stack for stack in run.stacks if stack["user"] and
                any(frame.get("object") == path for frame in stack["user"])]

    def assert_others_are_whole(self, run):
        self.assertTrue(self.stacks_of(run, self.bystander), run.stderr)
        self.assert_chain_is_complete(run, self.bystander)

    def assert_is_read(self, run, name, point=None):
        """Its file system answers all that has to be asked: stacks are whole, and have names."""
        path = os.path.join(point or self.systems[name].point, name)
        stacks = self.stacks_of(run, path)
        self.assertTrue(stacks, (name, run.stderr))
        self.assertEqual({stack["stop"] for stack in stacks}, {"outermost"}, (name, run.stderr))
        self.assertTrue(any(frame.get("symbol") == "far_away" for stack in stacks for frame in stack["user"]), name)

    def assert_said(self, run, *points, cost=sum):
        """Each of these file systems is named once, with what it cost; all together cost no more than they may."""
        costs = dict(re.findall(r"file system fuse at (\S+) \(0:\d+\) did not answer for ([\d.]+) s: ", run.stderr))
        self.assertEqual(set(costs), set(points), run.stderr)
        self.assertEqual(run.stderr.count("did not answer for"), len(points), run.stderr)
        self.assertLess(cost(map(float, costs.values())), WAIT_S)

    def points(self, names):
        return [self.systems[name].point for name in names]


def opened(pid):
    """Paths of the files that the process has open."""
    files = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            files.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass  # closed meanwhile
    return files


class SilentFsTest(SilentFsCase):
    def test_silent_before_the_run(self):
        self.begin_programs()
        self.silence()
        process = self.begin_run(seconds=TIMEOUT_S)
        self.wait_until_sampling(process)
        run = self.end_when_sampled(process)
        self.assert_others_are_whole(run)
        self.assert_said(run, *self.points(NEEDED))
        for name in set(REQUESTS) - set(NEEDED):
            self.assert_is_read(run, name)

    def test_silent_as_soon_as_a_program_runs(self):
        """The run meets its file when nothing answers any more."""
        # it may be stopped for seconds: what is sampled meanwhile has room
        process = self.begin_run("--ring-memory", "64M", seconds=TIMEOUT_S)
        self.wait_until_sampling(process)
        process.send_signal(signal.SIGSTOP)
        self.begin_programs()
        self.silence()
        process.send_signal(signal.SIGCONT)
        run = self.end_when_sampled(process, was_stopped=True)
        self.assert_others_are_whole(run)
        self.assert_said(run, *self.points(NEEDED))
        for name in set(REQUESTS) - set(NEEDED):
            self.assert_is_read(run, name)

    def test_silent_at_the_end_of_the_run(self):
        """All files were read, and are asked for names."""
        self.begin_programs()
        process = self.begin_run("-vv", seconds=TIMEOUT_S)
        paths = {name: os.path.join(self.systems[name].point, name) for name in REQUESTS}
        self.wait_while_it_runs(process, "a table of each", lambda: all(
            re.search(rb"%b: object \d+: table of" % re.escape(path.encode()), self.said()) for path in paths.values()))
        self.wait_until_sampling(process, 199)
        self.silence()
        process.send_signal(signal.SIGINT)
        run = self.end_run(process, 0)
        self.assert_others_are_whole(run)
        # stacks were walked by tables that were made before
        for name in REQUESTS:
            stacks = self.stacks_of(run, paths[name])
            self.assertEqual({stack["stop"] for stack in stacks}, {"outermost"}, name)

    def test_folders_that_are_looked_into(self):
        """For a debug file, beside a program; for a map of code, in the /tmp that a process has."""
        folder = self.path("bin")
        os.mkdir(folder)
        program = os.path.join(folder, "chain_split")
        shutil.copy(fixture("chain_split"), program)
        os.chown(program, USER, USER)
        debug = self.mount_at("debug", os.path.join(folder, ".debug"))
        tmp = self.mount_at("tmp")
        self.begin_bystander()
        self.begin(program, str(LIVES_MS))
        self.begin(fixture("jit"), str(LIVES_MS), own_tmp=tmp.point)
        for system in (debug, tmp):
            system.silence("lookup", "getattr", "open")
        run = self.end_run(self.begin_run())
        self.assert_others_are_whole(run)
        # two threads wait at the same time
        self.assert_said(run, debug.point, "/tmp", cost=max)
        self.assertTrue(self.stacks_of(run, program), run.stderr)

    def test_overlay_of_a_user_namespace(self):
        """A user without rights makes one above each file system: what it asks, the one below is asked."""
        if not can_make_overlays():
            self.skipTest("no overlays in user namespaces here")
        self.pids = {}
        for name in REQUESTS:
            self.mount(name)
            system, upper, point = self.systems[name], self.path(f"{name}.upper"), self.path(f"{name}.overlay")
            os.mkdir(upper)
            os.mkdir(point)
            self.pids[name] = self.begin(os.path.join(point, name), str(LIVES_MS), overlay=((upper, system.point), point)).pid
        self.begin_bystander()
        self.silence()
        process = self.begin_run(seconds=TIMEOUT_S)
        self.wait_until_sampling(process)
        run = self.end_when_sampled(process)
        self.assert_others_are_whole(run)
        costs = dict(re.findall(r"file system overlay at (\S+) \(0:\d+\) did not answer for ([\d.]+) s: ", run.stderr))
        self.assertEqual(set(costs), {self.path(f"{name}.overlay") for name in NEEDED}, run.stderr)
        self.assertLess(sum(map(float, costs.values())), WAIT_S)
        for name in set(REQUESTS) - set(NEEDED):
            self.assert_is_read(run, name, self.path(f"{name}.overlay"))
        began_s = time.monotonic()
        doctors = [self.start_verb(FPLESS, "doctor", str(pid)) for pid in self.pids.values()]
        for doctor in doctors:
            doctor.communicate(timeout=max(0, began_s + LATE_S - time.monotonic()))

    def test_programs_that_are_executed_anew_for_ever(self):
        """The kernel closes a file for them that does not let go, and lets nobody look into them meanwhile."""
        system = self.mount_at("closed")
        path = os.path.join(system.source, "file")
        with open(path, "w", encoding="ascii"):
            pass
        go = self.path("go")
        code = (f"import os, time\nfd = os.open({os.path.join(system.point, 'file')!r}, os.O_RDONLY | os.O_CLOEXEC)\n"
                f"while not os.path.exists({go!r}): time.sleep(0.01)\n"
                f"os.execv({fixture('chain')!r}, ['chain', '{LIVES_MS}'])")
        self.begin_bystander()
        stuck = [self.begin(PYTHON, "-c", code, user=0).pid for _ in range(3)]
        file = os.path.join(system.point, "file")
        wait_for("all have the file open", lambda: all(file in opened(pid) for pid in stuck))
        system.silence("flush")
        with open(go, "w", encoding="ascii"):
            pass
        time.sleep(0.5)
        doctors = [self.start_verb(FPLESS, "doctor", str(pid)) for pid in stuck]
        run = self.end_run(self.begin_run())
        for doctor in doctors:
            doctor.communicate(timeout=LATE_S)
        self.assert_others_are_whole(run)
        costs = re.findall(r"pid (\d+): its exec blocked reads .* for ([\d.]+) s: ", run.stderr)
        self.assertEqual({int(pid) for pid, _ in costs}, set(stuck), run.stderr)
        self.assertLess(sum(float(cost) for _, cost in costs), WAIT_S)


class VerbsTest(SilentFsCase):
    def test_no_verb_waits_for_ever(self):
        self.begin_programs()
        self.mount("flush")
        recorded = self.end_run(self.begin_run())
        self.silence()
        outputs = [(["top", "--plain", "-d", "1", "-a"], 1), (["report", "--symfs", "/", recorded.jsonl_path], 0),
                   (["verify", "--live", "-d", "1", str(self.pids["getattr"])], 1)]
        outputs += [(["doctor", str(self.pids[name])], 0) for name in REQUESTS]
        began_s = time.monotonic()
        runs = [(args, seconds, self.start_verb(FPLESS, *args)) for args, seconds in outputs]
        bcc_profile = os.path.join(os.path.dirname(FPLESS), "fpless-bcc-profile")
        runs.append((["bcc-profile"], 1, self.start_verb(bcc_profile, "1")))
        # a command that does not end, with a file that does not let go of it
        path = os.path.join(self.systems["flush"].point, "flush")
        command = [FPLESS, "profile", "-d", "1", "-o", self.path("command.folded"), "--", PYTHON, "-c",
                   f"file = open({path!r}, 'rb')\nwhile True: pass"]
        runs.append((command, 1, self.start_verb(*command)))
        for args, seconds, process in runs:
            try:
                process.communicate(timeout=max(0, began_s + seconds + LATE_S - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.fail(f"{args}: did not end {LATE_S} s after its time")

    def assert_end_by_sigint(self, runs, status=-signal.SIGINT):
        """As Ctrl-C has it. Who waits for a file system in the kernel would not. @runs: processes and what they are."""
        wait_until_they_wait([process.pid for process, _ in runs], FPLESS)
        for process, _ in runs:
            process.send_signal(signal.SIGINT)
        for process, what in runs:
            try:
                process.communicate(timeout=LATE_S)
            except subprocess.TimeoutExpired:
                self.fail(f"{what}: Ctrl-C does not end it")
            self.assertEqual(process.returncode, status, what)

    def test_files_that_are_named_are_waited_for_until_ctrl_c(self):
        """Whichever request is not answered, LOOKUP of the path itself included."""
        verbs = [["report"], ["diff"], ["doctor"], ["tables"], ["verify"]]
        for name in ("lookup", "getattr", "open", "read"):
            self.mount(name)
        self.silence()
        runs = []
        for verb in verbs:
            for name, system in self.systems.items():
                path = os.path.join(system.point, name)
                args = [*verb, path, path] if verb == ["diff"] else [*verb, path]
                runs.append((self.start_verb(FPLESS, *args), (args, name)))
        self.assert_end_by_sigint(runs)

    def test_files_of_such_file_systems_are_read(self):
        """As long as they answer, what a verb does with them is what it does with any other."""
        path = self.mount("file")
        for args in (["doctor"], ["tables"], ["verify"], ["report"]):
            done, there = (self.fpless(*args, file) for file in (path, os.path.join(self.systems["file"].source, "file")))
            self.assertEqual(done.returncode, there.returncode, args)
            self.assertEqual(done.returncode, 2 if args == ["report"] else 0, args)
            self.assertEqual(bool(done.stdout), args != ["report"], args)

    def test_command_of_a_silent_file_system(self):
        """The run begins and ends all the same, after its time or by Ctrl-C."""
        path = self.mount("open")
        self.silence()
        said = self.path("stderr")
        with open(said, "wb") as stderr:  # no pipe: who is left behind keeps it open
            timed = self.start_verb(FPLESS, "profile", "-d", "2", "-f", "--", path, str(LIVES_MS), stderr=stderr)
        endless = self.start_verb(FPLESS, "profile", "-f", "--", path, str(LIVES_MS))
        self.assert_end_by_sigint([(endless, "profile")], 3)
        try:
            timed.wait(timeout=LATE_S)
        except subprocess.TimeoutExpired:
            self.fail("-d does not end it")
        with open(said, encoding="utf-8", errors="replace") as file:
            text = file.read()
        self.assertIn(f"{path}: has not begun for a second", text)
        self.assertIn(f"{path}: does not end: it is left behind", text)


if __name__ == "__main__":
    if not os.path.exists(SERVER):
        skip("no libfuse3 when this was built")
    if not os.path.exists("/dev/fuse"):
        skip("no /dev/fuse here")
    root_case.need_root()
    enter_namespace()
    main()
