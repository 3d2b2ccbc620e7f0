#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of code made at run time: from perf maps and jitdumps, which are files of strangers."""

import os
import shutil
import signal
import socket
import subprocess

from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, children, fixture, main
from waiting import executable, wait_for, wait_until_busy

NOBODY = 65534
CODE = 0x100000000000  # where jit_named has its code


def pairs(run):
    """(what the code is called, what it called): count, of all stacks in which it called spin."""
    found = {}
    for stack in run.stacks:
        for callee, frame in zip(stack["user"], stack["user"][1:]):
            if (callee["symbol"] or "").startswith("spin_") and "object" not in frame:
                key = frame["symbol"], callee["symbol"]
                found[key] = found.get(key, 0) + stack["count"]
    return found


class ProgramsNameTheirCode(RootCase):
    def run_named(self, how, *options):
        run = self.profile("-F", "499", *options, "--", fixture("jit_named"), "600", how,
                           cwd=self.folder)
        self.addCleanup(self.remove_maps, run)
        return run

    @staticmethod
    def remove_maps(run):
        for pid in {stack["pid"] for stack in run.stacks}:
            try:
                os.unlink(f"/tmp/perf-{pid}.map")
            except FileNotFoundError:
                pass

    def test_the_later_line_of_a_perf_map_wins(self):
        run = self.run_named("map")
        found = pairs(run)
        self.assertEqual(set(found), {("jit_b of map", "spin_a"), ("jit_b of map", "spin_b")})
        frame = next(frame for stack in run.stacks for frame in stack["user"]
                     if frame["symbol"] == "jit_b of map")
        self.assertEqual(int(frame["addr"], 16) - frame["offset"], CODE)
        self.assertNotIn("object", frame)
        with open(run.folded_path, encoding="utf-8") as file:
            self.assertIn(";enter;jit_b of map;spin_b ", file.read())
        code = run.stats["run_time_code"]
        self.assertEqual((code["named"], code["uncertain"], code["files"], code["refused"],
                          code["functions"]), (code["frames"], 0, 1, 0, 2))

    def test_a_jitdump_names_code_as_of_its_time(self):
        found = pairs(self.run_named("dump"))
        self.assertEqual(set(found), {("jit_a of dump", "spin_a"), ("jit_b of dump", "spin_b")})

    def test_a_jitdump_met_while_it_runs(self):
        process = self.start(fixture("jit_named"), "600000", "dump", cwd=self.folder)
        wait_until_busy(process.pid, 300)
        run = self.profile_while_busy([process.pid], 300, "-F", "499", "-p", str(process.pid))
        self.assertEqual(set(pairs(run)), {("jit_a of dump", "spin_a")})

    def test_each_image_has_its_own_names(self):
        found = pairs(self.run_named("exec"))
        self.assertEqual(set(found), {("jit_a of map", "spin_a"), ("jit_b of map", "spin_b")})

    def test_a_map_that_the_next_image_wrote_over_names_nothing_of_the_first(self):
        run = self.run_named("rush")
        found = set(pairs(run))
        # the map of the first image is read in time, or not at all
        if "was written to after the program had ended" in run.stderr:
            self.assertEqual(found, {(None, "spin_a"), ("jit_b of map", "spin_b")})
        else:
            self.assertEqual(found, {("jit_a of map", "spin_a"), ("jit_b of map", "spin_b")})

    def test_a_child_has_the_code_of_its_parent(self):
        found = pairs(self.run_named("fork"))
        self.assertEqual(set(found), {("jit_a of map", "spin_a"), ("jit_a of map", "spin_b")})

    def test_unnamed_code_stays_an_address(self):
        run = self.run_named("none")
        self.assertEqual(set(pairs(run)), {(None, "spin_a")})
        with open(run.folded_path, encoding="utf-8") as file:
            self.assertIn(f";enter;[{CODE + 10:#x}];spin_a ", file.read())

    def test_a_program_in_namespaces_of_its_own(self):
        # with what it runs: the build may lie below /tmp
        tmp = self.path("tmp")
        os.mkdir(tmp)
        script = (f"mount -t tmpfs none {tmp} && cp {fixture('jit_named')} {tmp} &&"
                  f" mount --bind {tmp} /tmp && exec /tmp/jit_named 600000 map")
        outer = self.start("unshare", "--fork", "--pid", "--mount", "--mount-proc", "--kill-child",
                           "sh", "-c", script)
        inner = self.child_of(outer.pid, "jit_named")
        # here, where it is not looked for
        decoy = f"/tmp/perf-{inner}.map"
        with open(decoy, "w", encoding="ascii") as file:
            file.write(f"{CODE:x} 40 decoy\n")
        self.addCleanup(os.unlink, decoy)
        run = self.profile_while_busy([inner], 300, "-F", "499", "-p", str(inner))
        self.assertEqual(set(pairs(run)), {("jit_a of map", "spin_a")})

    def child_of(self, parent, comm):
        return wait_for(f"a child runs {comm}", lambda: next(
            (child for child in children(parent) if os.path.basename(executable(child)) == comm), None))

    def test_node(self):
        if not shutil.which("node"):
            self.skipTest("no node")
        program = self.path("fib.js")
        with open(program, "w", encoding="ascii") as file:
            file.write("function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
                       "while (process.cpuUsage().user < 2e6) fib(20);\n")
        for option in ("--perf-basic-prof", "--perf-prof"):  # a perf map, a jitdump
            with self.subTest(option):
                # else its functions are named by its frames
                run = self.profile("-F", "499", "--no-script", "--", "node", option, program)
                self.addCleanup(self.remove_maps, run)
                self.assert_most_are_fib(run)

    def assert_most_are_fib(self, run):
        def is_fib(frame):
            return "fib" in (frame["symbol"] or "") and "object" not in frame

        raw = [(stack["count"], frame) for stack in run.stacks for frame in stack["user"]
               if "addr" in frame]
        named = sum(count for count, frame in raw if frame["symbol"])
        self.assert_share(named, sum(count for count, _ in raw), 0.995)
        fib = sum(stack["count"] for stack in run.stacks if any(map(is_fib, stack["user"])))
        self.assert_share(fib, run.books["user_samples"], 0.5)


class FilesOfStrangers(RootCase):
    def setUp(self):
        super().setUp()
        self.process = self.start(fixture("jit_named"), "30000", "none")
        self.map = f"/tmp/perf-{self.process.pid}.map"
        self.addCleanup(self.remove)

    def remove(self):
        try:
            os.unlink(self.map)
        except FileNotFoundError:
            pass

    def write(self, data):
        with open(self.map, "wb") as file:
            file.write(data)

    def sample(self, *options):
        return self.profile_while_busy([self.process.pid], 200, "-F", "499", "-p", str(self.process.pid), *options)

    def assert_refused_for(self, why, run=None):
        run = run or self.sample()
        self.assertEqual(run.stats["run_time_code"]["refused"], 1)
        self.assertEqual(set(pairs(run)), {(None, "spin_a")})
        lines = [line for line in run.stderr.splitlines() if self.map in line]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn(why, lines[0])

    GOOD = f"{CODE:x} 40 good\n".encode()

    def test_a_file_of_root_is_read(self):
        self.write(self.GOOD)
        self.assertEqual(set(pairs(self.sample())), {("good", "spin_a")})

    def test_a_file_of_another_owner(self):
        self.write(self.GOOD)
        os.chown(self.map, NOBODY, NOBODY)
        self.assert_refused_for(f"owned by user {NOBODY}, not by the process's (0) or root")

    def test_a_symbolic_link(self):
        with open(self.path("target"), "wb") as file:
            file.write(self.GOOD)
        os.symlink(self.path("target"), self.map)
        self.assert_refused_for("a symbolic link: not followed")

    def test_a_file_with_another_name(self):
        folder = f"/tmp/names-{self.process.pid}"
        with open(folder, "wb") as file:
            file.write(self.GOOD)
        os.link(folder, self.map)
        self.addCleanup(os.unlink, folder)
        self.assert_refused_for("has 2 hard links: not trusted")

    def test_a_fifo_a_folder_and_a_socket(self):
        os.mkfifo(self.map)
        self.assert_refused_for("not a regular file")
        os.unlink(self.map)
        os.mkdir(self.map)
        self.assert_refused_for("not a regular file")
        os.rmdir(self.map)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.map)
            self.assert_refused_for("not a regular file")

    def test_ten_sparse_gigabytes(self):
        self.write(self.GOOD)
        os.truncate(self.map, 10 << 30)
        run = self.sample()
        self.assertEqual(set(pairs(run)), {("good", "spin_a")})
        self.assertIn(f"{self.map}: only the first 67108864 bytes were read", run.stderr)

    def test_garbage(self):
        self.write(os.urandom(1 << 20))
        run = self.sample()
        self.assertEqual({symbol for _, symbol in pairs(run)}, {"spin_a"})
        self.assertIn("left out, the first at offset", run.stderr)

    def test_lines_that_overlap(self):
        self.write(b"%x 1000 all\n%x 8 head\n%x 30 tail\n%x 1 byte\n" % (CODE, CODE, CODE + 8, CODE + 9))
        self.assertEqual(set(pairs(self.sample())), {("byte", "spin_a")})

    def test_names_that_would_break_a_line(self):
        self.write(b"%x 40 a;b\x1b[31m\\\xff\n" % CODE)
        run = self.sample()
        with open(run.folded_path, "rb") as file:
            self.assertIn(rb";enter;a\x3bb\x1b[31m\x5c\xff;spin_a ", file.read())

    def test_more_names_than_there_is_room_for(self):
        self.write(self.GOOD + b"".join(b"%x 10 function number %d\n" % (16 * i, i)
                                        for i in range(20000)))
        run = self.sample("--jit-memory", "64K")
        self.assertEqual(set(pairs(run)), {("good", "spin_a")})
        self.assertIn("raise --jit-memory", run.stderr)

    def test_a_map_that_is_written_anew_and_one_that_is_gone(self):
        self.write(b"%x 40 old\n" % CODE)
        fpless = self.start(FPLESS, "profile", "-q", "-f", "-F", "499", "-p", str(self.process.pid), stdout=subprocess.PIPE)
        self.wait_until_sampling(fpless)
        for write in (lambda: os.unlink(self.map), lambda: self.write(self.GOOD)):
            self.wait_until_used(fpless, [self.process.pid], 300)
            write()
        self.wait_until_used(fpless, [self.process.pid], 300)
        fpless.send_signal(signal.SIGINT)
        self.assertIn(b";enter;good;spin_a ", fpless.communicate(timeout=TIMEOUT_S)[0])


if __name__ == "__main__":
    main()
