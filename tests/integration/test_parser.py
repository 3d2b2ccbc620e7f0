#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of targets are read by processes without rights; the death of one costs one file, one line."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from fpless_run import TIMEOUT_S, Run
from parser_processes import NO_CAPABILITIES, spawner, oom_score_adj, readers, status, workers
from root_case import FPLESS, RootCase, fixture, is_dead, main, write
from waiting import cpu_ms, wait_for


class ParserCase(RootCase):
    def begin(self, script, *options):
        """Starts a run of a shell script whose outputs are in the folder."""
        return self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", *options,
                          "-F", "999", "-d", "600", "--", "sh", "-c", script,
                          stderr=subprocess.PIPE)

    def until(self, name):
        """Has a script wait for a file."""
        return f"while [ ! -e {self.path(name)} ]; do sleep 0.02; done"

    def end(self, process):
        _, stderr = process.communicate(timeout=TIMEOUT_S)
        run = Run.of_folder(self.folder, process.returncode, stderr)
        self.assertEqual(run.faults(), [])
        return run

    def copies(self, number, source="chain"):
        """Files with the code of @source that are objects of their own: each has another entry point
        in its .comment's place, which nothing runs, and another owner."""
        with open(fixture(source), "rb") as file:
            content = file.read()
        paths = []
        for i in range(number):
            path = self.path(f"chain{i}")
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, 0o755)
            os.chown(path, 70000 + i, 70000 + i)
            paths.append(path)
        return paths


class WorkersHaveNoRights(ParserCase):
    def test_spawner_and_workers_have_given_up_everything(self):
        process = self.begin(f"exec {fixture('chain')} 800")
        self.wait_while_it_runs(process, "a worker", lambda: workers(process.pid), every_s=0)
        for pid in [spawner(process.pid), *workers(process.pid)]:
            try:
                said = status(pid)
                fds = os.listdir(f"/proc/{pid}/fd")
                oom = oom_score_adj(pid)
            except OSError:
                self.assertNotEqual(pid, spawner(process.pid))
                continue  # a worker that is done is gone
            with self.subTest(pid, name=said["Name"]):
                self.assertEqual(said["NoNewPrivs"], "1")
                self.assertEqual(said["Seccomp"], "2")
                for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(said[name], NO_CAPABILITIES, name)
                self.assertNotIn("0", said["Uid"].split())
                self.assertNotIn("0", said["Gid"].split())
                self.assertEqual(said["Groups"].strip(), "")
                self.assertLessEqual(len(fds), 4)
                self.assertEqual(oom, 1000)  # the kernel ends it before the profiler
        self.assertEqual(oom_score_adj(process.pid), oom_score_adj("self"))
        self.wait_while_it_runs(process, "a worker at work",
                                lambda: any(self.has_limits(pid) for pid in workers(process.pid)), every_s=0)
        self.end(process)

    def has_limits(self, pid):
        """False where it has only just begun, or is gone: it limits itself before it reads a file."""
        try:
            with open(f"/proc/{pid}/limits", encoding="ascii") as file:
                limits = {line[:25].strip(): line[26:47].strip() for line in file}
        except (FileNotFoundError, ProcessLookupError):
            return False
        if limits.get("Max cpu time") == "unlimited":
            return False
        if limits:
            self.assertEqual(limits["Max address space"], str(1 << 30))
            self.assertEqual(limits["Max cpu time"], "60")
            self.assertEqual(limits["Max processes"], "0")
            self.assertEqual(limits["Max open files"], "152")
            self.assertEqual(limits["Max file size"], "0")
        return bool(limits)

    def test_they_end_with_a_run_that_is_killed(self):
        process = self.begin(f"exec {fixture('chain')} 60000")
        self.wait_while_it_runs(process, "a worker", lambda: workers(process.pid))
        own = [spawner(process.pid), *workers(process.pid)]
        process.kill()
        process.wait()
        wait_for(f"the end of {own}", lambda: all(is_dead(pid) for pid in own))


class MapsAreReadByWorkers(ParserCase):
    """Perf maps are text of strangers, too."""

    CODE = 0x100000000000  # where jit_named has its code
    GARBAGE = b"-\n" * (14 << 20)  # some tenths of a second of CPU time, of at most 5 s

    def program(self, content):
        """A program with code of its own, and what it says of it."""
        process = self.start(fixture("jit_named"), "60000", "none")
        path = f"/tmp/perf-{process.pid}.map"
        with open(path, "wb") as file:
            file.write(content)
        self.addCleanup(os.unlink, path)
        return process, path

    def sample(self, *programs):
        """A run that ends when each of the programs has used 100 ms of CPU time in it."""
        pids = [process.pid for process in programs]
        fpless = self.start(FPLESS, "profile", *Run.outputs(self.folder), "--no-cache", "-F", "499", "-p",
                            ",".join(map(str, pids)), stderr=subprocess.PIPE)
        self.wait_until_sampling(fpless)
        wanted = {pid: cpu_ms(pid) + 100 for pid in pids}

        def end():
            wait_for("the programs use CPU time", lambda: fpless.poll() is not None or
                     all(cpu_ms(pid) >= ms for pid, ms in wanted.items()), TIMEOUT_S)
            fpless.send_signal(signal.SIGINT)

        ender = threading.Thread(target=end)
        ender.start()
        self.addCleanup(ender.join)
        return fpless

    def names(self, run, process):
        return {frame["symbol"] for stack in run.stacks if stack["pid"] == process.pid
                for frame in stack["user"] if "addr" in frame}

    def test_by_one_that_has_no_rights(self):
        program, path = self.program(b"%x 40 good\n" % self.CODE + self.GARBAGE)
        fpless = self.sample(program)
        judged = 0
        while not judged and fpless.poll() is None:
            for pid in readers(fpless.pid, path):
                try:
                    said = status(pid)
                except OSError:
                    continue
                self.assertEqual((said["Seccomp"], said["CapEff"]), ("2", NO_CAPABILITIES))
                self.assertNotIn("0", said["Uid"].split())
                judged += 1
        self.assertTrue(judged, "nobody was seen reading")
        self.assertEqual(self.names(self.end(fpless), program), {"good"})

    def test_one_that_is_killed_costs_that_map_and_one_line(self):
        bad, path = self.program(b"%x 40 bad\n" % self.CODE + self.GARBAGE)
        good, _ = self.program(b"%x 40 good\n" % self.CODE)
        fpless = self.sample(bad, good)
        killed = 0
        while fpless.poll() is None:
            for pid in readers(fpless.pid, path):
                try:
                    os.kill(pid, signal.SIGSEGV)
                    killed += 1
                except ProcessLookupError:
                    pass
        self.assertGreater(killed, 0, "nobody was seen reading")
        run = self.end(fpless)
        lines = [line for line in run.stderr.splitlines() if path in line]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn("the process that read it was killed by signal 11", lines[0])
        self.assertEqual((self.names(run, bad), self.names(run, good)), ({None}, {"good"}))
        self.assertEqual(run.stats["run_time_code"]["refused"], 1)

    def test_killed_worker_is_replaced(self):
        program, path = self.program(b"%x 40 good\n" % self.CODE + self.GARBAGE)
        fpless = self.sample(program)
        killed = 0
        while not killed and fpless.poll() is None:
            for pid in readers(fpless.pid, path)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed += 1
        self.assertEqual(killed, 1, "nobody was seen reading")
        self.assertEqual(self.names(self.end(fpless), program), {"good"})


class DeathCostsOneFile(ParserCase):
    def test_workers_killed_at_random(self):
        """Programs come and go while whoever reads them is killed: the books close, and what begins
        when it is over is whole."""
        # without a library: its reader may be killed again and again, and then it has no table in the whole run
        last = self.copies(7, "chain_static")
        script = "".join(f"{path} 40; " for path in last[:-1])
        process = self.begin(f"until [ -e {self.path('enough')} ]; do {script} done; touch {self.path('over')}; "
                             f"{self.until('go')}; exec {last[-1]} 300")
        killed = 0
        while not os.path.exists(self.path("over")) and process.poll() is None:
            for pid in workers(process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
            if killed > 3:
                write(self.path("enough"), "")
            time.sleep(0.015)
        self.assertGreater(killed, 3)
        write(self.path("go"), "")
        run = self.end(process)
        lines = [line for line in run.stderr.splitlines() if "killed by signal 9" in line]
        self.assertTrue(all(line.startswith("fpless: /") for line in lines), lines)
        self.assertLessEqual(len(lines), killed)
        self.assert_complete(run, last[-1])

    def test_spawner_killed(self):
        last = self.copies(3)
        process = self.begin(f"{last[0]} 100; touch {self.path('now')}; {self.until('go')}; {last[1]} 300")
        self.wait_while_it_runs(process, "the second program", lambda: os.path.exists(self.path("now")))
        os.kill(spawner(process.pid), signal.SIGKILL)
        write(self.path("go"), "")
        self.assert_complete(self.end(process), last[1])

    def assert_complete(self, run, path):
        stops = {}
        for stack in run.stacks:
            if stack["comm"] == os.path.basename(path) and stack["user"] \
                    and stack["user"][0].get("object") == path:
                stops[stack["stop"]] = stops.get(stack["stop"], 0) + stack["count"]
        self.assert_ticks(run, sum(stops.values()), 300, 0.5, stops)  # of 300 ms at 999 Hz
        self.assertEqual(set(stops), {"outermost"}, run.stderr)


class FilesThatTakeTooMuch(ParserCase):
    def chain_with_section(self, name, size, content=b""):
        """A copy of `chain` with one more section, of @size bytes, most of them in a hole."""
        path = self.path("greedy")
        with open(self.path("content"), "wb") as file:
            file.write(content)
        subprocess.run(["objcopy", "--add-section", f"{name}={self.path('content')}",
                        fixture("chain"), path], check=True)
        return path

    def test_debug_file_of_8_gib_is_given_up(self):
        """Its checksum would take seconds: one line, and the stacks are whole without it."""
        content = b"huge.debug\0".ljust(12, b"\0") + struct.pack("<I", 0x12345678)
        path = self.chain_with_section(".gnu_debuglink", 0, content)
        subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", path], check=True)
        debug = self.path("huge.debug")
        shutil.copy(fixture("chain"), debug)
        subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", debug], check=True)
        os.truncate(debug, 8 << 30)
        process = self.begin(f"exec {path} 500")
        run = self.end(process)
        lines = [line for line in run.stderr.splitlines() if "more CPU time than a file may" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn(path, lines[0])
        stops = {stack["stop"] for stack in run.stacks
                 if stack["user"] and stack["user"][0].get("object") == path}
        self.assertLessEqual(stops, {"outermost"})
        self.assertIn("spin", json.dumps(run.stacks))

    def test_cfi_without_an_end_is_given_up(self):
        """CIEs and FDEs that say a lot in few bytes: over a limit by name, or compiled in time."""
        path = self.path("verbose")
        with open(fixture("chain"), "rb") as file:
            content = bytearray(file.read())
        section = self.section(bytes(content), b".eh_frame")
        # the section header tells of 400 MB, which are not there
        struct.pack_into("<Q", content, section + 32, 400 << 20)
        with open(path, "wb") as file:
            file.write(content)
        os.truncate(path, 1 << 30)
        os.chmod(path, 0o755)
        run = self.end(self.begin(f"{path} 200; exec {fixture('chain')} 200"))
        lines = [line for line in run.stderr.splitlines() if line.startswith(f"fpless: {path}: ")]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertRegex(lines[0], re.compile("more than"))
        self.assert_chain_is_complete(run, fixture("chain"))

    @staticmethod
    def section(content, name):
        """File offset of the section's header."""
        off, = struct.unpack_from("<Q", content, 0x28)
        size, number, names = struct.unpack_from("<3H", content, 0x3a)
        texts, = struct.unpack_from("<Q", content, off + names * size + 0x18)
        for i in range(number):
            text, = struct.unpack_from("<I", content, off + i * size)
            if content[texts + text:].split(b"\0", 1)[0] == name:
                return off + i * size
        raise ValueError(name)


if __name__ == "__main__":
    main()
