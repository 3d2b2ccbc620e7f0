#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in namespaces of their own, behind other roots, on layers, and from files that are gone
are profiled as completely as any, with the names they have there."""

import os
import shutil
import subprocess

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, children, fixture, main, write
from waiting import executable, wait_for, wait_until_busy

CHAIN = ["spin", "far_away", "indirect", "wide", "outer", "main", "__libc_start_call_main",
         "__libc_start_main", "_start"]


def is_cut(stack):
    """A process that forks may be met while the kernel copies a page of its stack, and a thread before it has touched its own:
    the page is not mapped then."""
    faults = {"handle_mm_fault", "ret_from_fork"} & {frame["symbol"] for frame in stack["kernel"]}
    return stack["stop"] not in ("outermost", "exiting", "execing") and not (stack["stop"] == "read_fault" and faults)


class ContainerCase(RootCase):
    def find(self, process, name):
        """The pid, here, of the program @name that the process is or has started."""
        def look():
            todo = [process.pid]
            while todo:
                pid = todo.pop()
                if os.path.basename(executable(pid).removesuffix(" (deleted)")) == name:
                    return pid
                todo += children(pid)
            return None

        pid = wait_for(f"{name} begins", look)
        wait_until_busy(pid)  # it has left ld.so then
        return pid

    def script(self, text, *wrapper):
        """A shell script, in a mount namespace in which it may mount what it likes."""
        return [*wrapper, "/bin/sh", "-ec", text, "sh"]

    def assert_whole(self, run, path, pid=None, leaf="spin"):
        """All stacks of `chain` that was run as @path are whole and have its names."""
        spinning = [stack for stack in run.stacks
                    if stack["user"] and stack["user"][0]["symbol"] == leaf
                    and (pid is None or stack["pid"] == pid)]
        self.assertTrue(spinning, (run.books, run.stderr, [stack["user"][:1] for stack in run.stacks[:5]]))
        for stack in spinning:
            self.assertEqual(stack["stop"], "outermost")
            self.assertEqual([frame["symbol"] for frame in stack["user"]], CHAIN)
            self.assertEqual({frame["object"] for frame in stack["user"][:6]}, {path})
        if pid is not None:
            self.assertEqual([stack for stack in run.stacks if stack["stop"] and is_cut(stack)], [])

    def both_ways(self, path, command, leaf_path=None, ms="250"):
        """The program is whole when it is launched, and when it runs already."""
        name = os.path.basename(path)
        with self.subTest("launched"):
            run = self.profile("-v", "-F", "999", "-d", "600", "--", *command(ms))
            self.assert_whole(run, leaf_path or path)
        with self.subTest("attached"):
            process = self.start(*command("60000"), start_new_session=True)
            pid = self.find(process, name)
            run = self.profile_while_busy([pid], 150, "-F", "999", "-p", str(pid))
            self.assert_whole(run, leaf_path or path, pid)
            os.kill(pid, 9)

    def copy(self, name, source="chain"):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return shutil.copy2(fixture(source), path)


class ProgramIsElsewhere(ContainerCase):
    def test_all_namespaces_of_its_own(self):
        program = self.copy("program")
        self.both_ways(program, lambda ms: [
            "unshare", "--mount", "--pid", "--fork", "--mount-proc", "--uts", "--ipc", "--net",
            "--cgroup", program, ms])

    def test_user_namespace(self):
        program = self.copy("program")
        os.chmod(self.folder, 0o755)
        self.both_ways(program, lambda ms: [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
            "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", program, ms])

    def test_pid_is_the_one_seen_here(self):
        """In its own namespace it has the number 1."""
        program = self.copy("program")
        process = self.start("unshare", "--pid", "--fork", program, "60000")
        pid = self.find(process, "program")
        run = self.profile_while_busy([pid], 500, "-F", "99", "-a")
        # whole: but for the first, while the tables of all else that runs are made
        self.assertIn((pid, "outermost", program),
                      {(stack["pid"], stack["stop"], stack["user"][0].get("object"))
                       for stack in run.stacks if stack["user"]})
        os.kill(pid, 9)

    def test_another_file_at_its_path_here(self):
        """It is the bind mount of its namespace that counts."""
        here, there = self.copy("place/program", "chain_nocfi"), self.copy("other/program")
        mount = f'mount --bind {os.path.dirname(there)} {os.path.dirname(here)}; exec "$@"'
        self.both_ways(here, lambda ms: self.script(mount, "unshare", "--mount") + [here, ms])

    def test_chroot(self):
        root = self.path("root")
        for source in (fixture("chain"), *self.libraries(fixture("chain"))):
            target = root + (source if source != fixture("chain") else "/program")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
        self.both_ways("/program", lambda ms: ["chroot", root, "/program", ms],
                       leaf_path="/program")

    @staticmethod
    def libraries(path):
        done = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
        return [word for line in done.stdout.splitlines() for word in line.split()
                if word.startswith("/")]

    def test_overlayfs(self):
        """Its files have the numbers of one layer in /proc/PID/maps and of another to fstat(2)."""
        self.copy("lower/program")
        for name in ("upper", "work", "merged", "base"):
            os.mkdir(self.path(name))
        merged = self.path("merged")
        # On a tmpfs: the layer above may not be an overlay itself, as it is in a container.
        mount = f"""mount -t tmpfs none {self.path("base")}
            mkdir {self.path("base")}/upper {self.path("base")}/work
            mount -t overlay none -o lowerdir={self.path("lower")},upperdir={self.path("base")}/upper,workdir={self.path("base")}/work {merged}
            exec "$@" """
        if subprocess.run(self.script(mount, "unshare", "--mount") + ["true"], check=False,
                          capture_output=True).returncode:
            self.skipTest("no overlayfs")
        program = os.path.join(merged, "program")
        self.both_ways(program, lambda ms: self.script(mount, "unshare", "--mount") + [program, ms])
        copied_up = mount.replace("exec", f"touch {program}; exec")
        self.both_ways(program,
                       lambda ms: self.script(copied_up, "unshare", "--mount") + [program, ms])


class ProfilerIsInside(ContainerCase):
    """fpless in a PID namespace of its own profiles what is in it, by the numbers it has there."""

    def inside(self, script, *words, level=1):
        """Runs the script in as many namespaces inside each other; $@ profiles to the outputs."""
        wrapper = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"] * level
        words = [FPLESS, "profile", "-F", "999", *Run.outputs(self.folder), *words]
        done = subprocess.run([*wrapper, "/bin/sh", "-ec", script, "sh", *words],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S,
                              check=False)
        run = Run.of_folder(self.folder, done.returncode, done.stderr)
        self.assertEqual(run.faults(), [])
        return run

    def stopwatch(self):
        """A command that ends when process $1 has used $2 ticks of CPU time."""
        path = self.path("used")
        write(path, """#!/bin/sh
until [ "$(cut -d ' ' -f 14 /proc/$1/stat)" -ge "$2" ]; do sleep 0.02; done
""")
        os.chmod(path, 0o755)
        return path

    def pid(self):
        """What the script wrote of a process: the number it has inside."""
        with open(self.path("pid"), encoding="ascii") as file:
            return int(file.read())

    def test_command(self):
        program = self.copy("program")
        for level in (1, 3):
            with self.subTest(level):
                script = f'echo $$ > {self.path("pid")}; exec {program} 250'
                run = self.inside('"$@"', "-d", "600", "--", "/bin/sh", "-c", script, level=level)
                self.assert_whole(run, program)
                self.assertEqual({stack["pid"] for stack in run.stacks}, {self.pid()})

    def test_process_that_runs(self):
        program = self.copy("program")
        used = self.stopwatch()
        start = f'{program} 60000 & {used} $! 5; "$@" -p $! -- {used} $! 35; echo $! > {self.path("pid")}'
        run = self.inside(start)
        pid = self.pid()
        self.assert_whole(run, program, pid)
        self.assertEqual({stack["pid"] for stack in run.stacks}, {pid})

    def test_all_it_can_see_and_none_else(self):
        """Also what is in a namespace further inside, by the number it has here."""
        inner, outer = self.copy("inner"), self.copy("outer")
        process = self.start(outer, "60000")
        self.find(process, "outer")
        used = self.stopwatch()
        start = f"""unshare --pid --fork {inner} 60000 &
            until pgrep -x inner > {self.path("pid")}; do sleep 0.02; done
            pid=$(cat {self.path("pid")}); {used} $pid 5; "$@" -a -- {used} $pid 45"""
        run = self.inside(start)
        self.assert_whole(run, inner, self.pid())
        self.assertNotIn("outer", {stack["comm"] for stack in run.stacks})
        self.assertGreater(run.books["filtered"], 0)

    def test_children_come_and_go(self):
        """As complete as outside, to the last samples of those that exit."""
        program = self.copy("program")

        def sample(length):
            script = f"for i in $(seq {80 * length}); do {program} 4; {program} 2; done"
            run = self.inside('"$@"', "-d", "600", "--", "/bin/sh", "-c", script)
            # of 2 ms and of 4 ms at 999 Hz
            self.assert_ticks(run, len({stack["pid"] for stack in run.stacks} - {1}), 160 * length, 0.6)
            stops = run.books["stop"]
            judged = run.books["user_samples"] - stops["exiting"] - stops["execing"]
            self.assert_share(run.books["complete"], judged, 0.99, stops)
            return stops["exiting"]

        self.until_seen("a sample of a process that exits", sample, bool)


class FileIsGone(ContainerCase):
    def attach(self, change):
        """Profiles a program whose file was changed after it began."""
        program = self.copy("program")
        process = self.start(program, "60000")
        pid = self.find(process, "program")
        change(program)
        return self.profile_while_busy([pid], 150, "-F", "999", "-p", str(pid)), program, pid

    def test_deleted(self):
        run, program, pid = self.attach(os.unlink)
        self.assert_whole(run, program, pid)

    def test_replaced(self):
        def replace(program):
            other = self.copy("other", "chain_nocfi")
            os.rename(other, program)
        run, program, pid = self.attach(replace)
        self.assert_whole(run, program, pid)

    def test_replaced_and_not_to_be_read(self):
        """Where map_files stays closed the file that is there now is not taken for it."""
        os.chmod(self.folder, 0o755)
        fpless = shutil.copy2(FPLESS, self.path("fpless"))
        program = self.copy("program")
        process = self.start("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                             "--inh-caps=-all", program, "60000")
        pid = self.find(process, "program")
        os.rename(self.copy("other", "leaf"), program)
        self.sysctl("kernel/perf_event_paranoid", 2)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             "--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon", fpless,
             "profile", "-q", "-F", "999", "-f", "-d", "0.3", "-p", str(pid)],
            env={**os.environ, "HOME": self.folder}, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{program}: ".encode(), done.stderr)
        self.assertTrue(done.stdout)
        for line in done.stdout.splitlines():
            # addresses, and kernel functions behind them: nothing of the other program
            self.assertRegex(line, rb"^program;\[0x[0-9a-f]+\]")
            self.assertNotIn(b"main", line.rsplit(b" ", 1)[0].split(b";"))

    def test_memfd(self):
        """A program that never had a file: /memfd:program (deleted). It can be read only as long as it runs."""
        code = """import os, sys
fd = os.memfd_create("program", 0)
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(fd, ["program", sys.argv[2]], os.environ)"""
        self.both_ways("/memfd:program",
                       lambda ms: ["python3", "-c", code, fixture("chain"), ms], ms="1000")


if __name__ == "__main__":
    main()
