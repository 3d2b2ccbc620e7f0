#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input costs one line that says what and where; the run goes on where it can."""

import json
import os
import random
import re
import shutil
import subprocess
import time

from elf_names import ElfNames
from fpless_run import TIMEOUT_S
from root_case import FPLESS, RootCase, fixture, main

NOBODY = 65534


class RunIsRefused(RootCase):
    def test_pid_that_never_existed(self):
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            pid = file.read().strip()  # one above the largest there can be
        self.assert_refused(self.fpless("profile", "-f", "-d", "1", "-p", pid), 3, pid)

    def test_command_that_cannot_be_executed(self):
        plain = self.path("plain")
        with open(plain, "w", encoding="ascii"):
            pass
        for command in ("/nonexistent/command", "no-such-command-in-path", plain, self.folder):
            with self.subTest(command):
                done = self.fpless("profile", "-f", "-d", "5", "--", command)
                self.assert_refused(done, 3, command)

    def test_output_that_cannot_be_written(self):
        cases = [["-o", "/nonexistent/out.jsonl"], ["-o", "/dev/null/out.folded"],
                 ["--stats", "/nonexistent/stats.json"]]
        for output in cases:
            with self.subTest(output):
                done = self.fpless("profile", "-d", "1", *output, "--", fixture("chain"), "100")
                self.assert_refused(done, 6, output[1])

    def test_output_that_fills_the_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FPLESS, "profile", "-q", "-f", "-d", "30", "--",
                                   fixture("chain"), "200"], stdout=full, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 6, done.stderr)

    def test_usage(self):
        cases = [["-F", "0"], ["-F", "-1"], ["-F", "fast"], ["-d", "x"], ["--max-depth", "0"],
                 ["--unwind", "magic"], ["-o", "out.unknown"], ["-p", "0"], ["-p", "1,x"],
                 ["-p", "-5"], ["--snapshot", "1E"], ["--no-such-option"], ["-a", "-p", "1"]]
        for options in cases:
            with self.subTest(options):
                done = self.fpless("profile", *options, cwd=self.folder)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(done.stdout, b"")
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_rights(self):
        # A copy: the folders above the build need not be open to everyone.
        binary = self.path("fpless")
        shutil.copy2(FPLESS, binary)
        os.chmod(self.folder, 0o755)
        done = subprocess.run(
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "--inh-caps=-all", binary, "profile", "-f", "-d", "1", "--", "/bin/true"],
            capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        self.assert_refused(done, 2, "root")


class TargetsMisbehave(RootCase):
    def test_pid_exits_at_once(self):
        process = self.start(fixture("chain"), "100")
        time.sleep(0.05)
        done = self.fpless("profile", "-f", "-d", "30", "-p", str(process.pid))
        self.assertIn(done.returncode, (0, 3), done.stderr)

    def test_command_exits_at_once(self):
        done = self.fpless("profile", "-f", "-d", "30", "--", "/bin/true")
        self.assertIn(done.returncode, (0, 3), done.stderr)

    def test_stopped_process_stops_nothing(self):
        process = self.start(fixture("chain"), "60000")
        process.send_signal(19)  # SIGSTOP
        self.start(fixture("threads"), "60000")
        self.profile("-F", "999", "-a", "-d", "1")

    def test_one_bad_pid_among_good_ones(self):
        process = self.start(fixture("chain"), "60000")
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            bad = file.read().strip()
        run = self.profile_while_busy([process.pid], 200, "-F", "999", "-p", f"{process.pid},{bad}")
        self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})

    def test_many_short_processes(self):
        script = f"for i in $(seq 60); do {fixture('chain')} 2; {fixture('chain_nopie')} 2; done"
        run = self.profile("-F", "4999", "-d", "600", "--", "/bin/sh", "-c", script)
        pids = {stack["pid"] for stack in run.stacks}
        self.assert_ticks(run, min(len(pids), 120), 120, 0.9)  # of 2 ms at 4999 Hz
        stops = run.books["stop"]
        judged = run.books["user_samples"] - stops["exiting"] - stops["execing"]
        self.assert_share(run.books["complete"], judged, 0.99, stops)


class MachineIsOdd(RootCase):
    """What elsewhere is fatal and should not be."""

    def run_under(self, *wrapper):
        out = self.path("out.jsonl")
        done = subprocess.run([*wrapper, FPLESS, "profile", "-F", "999", "-d", "600", "-o", out,
                               "--", fixture("chain"), "300"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            books = json.loads(file.readlines()[-1])
        self.assertGreater(books["stop"]["outermost"], 0)

    def test_limits_that_may_not_be_raised(self):
        self.run_under("prlimit", "--memlock=65536:65536", "--nofile=256:256",
                       "setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource")

    def test_limits_below_those_of_the_parsers(self):
        self.run_under("prlimit", "--cpu=20:20", "--as=1000000000:1000000000")

    def test_tracefs_unmounted(self):
        self.run_under("unshare", "--mount", "/bin/sh", "-c",
                       "umount -R /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; exec \"$@\"",
                       "sh")

    def test_every_paranoia(self):
        for level in (3, 4, -1):
            self.sysctl("kernel/perf_event_paranoid", level)
            self.run_under()

    def test_path_that_is_another_file_in_the_target_s_namespace(self):
        """The target's /.../place/program is not what that path is here."""
        here, there = self.path("place"), self.path("other")
        os.mkdir(here)
        os.mkdir(there)
        shutil.copy2(fixture("chain_nocfi"), os.path.join(here, "program"))
        shutil.copy2(fixture("chain"), os.path.join(there, "program"))
        run = self.profile("-F", "999", "-d", "600", "--", "unshare", "--mount", "/bin/sh", "-c",
                           f"mount --bind {there} {here} && exec {here}/program 400")
        self.assert_chain_is_complete(run, os.path.join(here, "program"))

    def test_root_that_is_another_in_the_target(self):
        """A program behind chroot, without any of the folders that are here."""
        root = self.path("root")
        os.mkdir(root)
        shutil.copy2(fixture("chain_static"), os.path.join(root, "program"))
        run = self.profile("-F", "999", "-d", "600", "--", "chroot", root, "/program", "400")
        leaves = [stack for stack in run.stacks if stack["user"]
                  and stack["user"][0]["symbol"] == "spin"]
        self.assertTrue(leaves)
        self.assertEqual({(stack["stop"], len(stack["user"])) for stack in leaves},
                         {("outermost", 9)})


class NamesAreHostile(RootCase):
    EVIL = b"\n;\x1b\x07\xff\\\""  # as long as HOSTILE is, one byte each

    def run_hostile(self):
        with open(fixture("hostile"), "rb") as file:
            image = file.read()
        self.assertIn(b"HOSTILE", image)
        program = self.path("hostile;\n\x1b[31mprogram")
        with open(program, "wb") as file:
            file.write(image.replace(b"HOSTILE", self.EVIL))
        os.chmod(program, 0o755)
        return self.profile("-F", "999", "-d", "600", "--", program, "300")

    def test_folded_lines_stay_lines_of_harmless_bytes(self):
        run = self.run_hostile()
        with open(run.folded_path, "rb") as file:
            lines = file.read().split(b"\n")
        self.assertEqual(lines.pop(), b"")
        self.assertTrue(lines)
        for line in lines:
            # Printable ASCII, and backslashes only in what fpless wrote itself.
            self.assertRegex(line, rb"^([ -\[\]-~]|\\x[0-9a-fA-F]{2})+ [0-9]+$")
        spinning = [line for line in lines if rb";spin_\x" in line]
        self.assertTrue(spinning)
        for line in spinning:
            self.assertIn(rb"spin_\x0a\x3b\x1b\x07\xff\x5c", line)
            self.assertIn(rb"a\x3bb 1\x0a\x1b[2J\xff\x5c;", line)

    def test_json_stays_json(self):
        run = self.run_hostile()
        with open(run.jsonl_path, encoding="utf-8") as file:
            for line in file:
                json.loads(line)
                self.assertIsNone(re.search(r"[\x00-\x1f\x7f]", line.rstrip("\n")))

    def test_report_and_text_send_no_control_bytes(self):
        self.run_hostile()
        program = self.path("hostile;\n\x1b[31mprogram")
        done = self.fpless("profile", "-F", "999", "-d", "600", "--", program, "200")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr))


class FilesAreBroken(RootCase):
    def broken_files(self):
        """(what, path) of files that are no whole ELF files."""
        with open(fixture("chain"), "rb") as file:
            image = file.read()
        cases = {
            "empty": b"", "text": b"#!/bin/sh\n", "magic only": image[:4],
            "header only": image[:64], "half": image[:len(image) // 2],
            "no section headers": image[:0x2000],
            "32 bit": image[:4] + b"\x01" + image[5:],
            "big endian": image[:5] + b"\x02" + image[6:],
            "all ones behind the header": image[:64] + b"\xff" * (len(image) - 64),
            "absurd section table": image[:40] + b"\xff" * 8 + image[48:],
        }
        for what, content in cases.items():
            path = self.path(what.replace(" ", "_"))
            with open(path, "wb") as file:
                file.write(content)
            yield what, path
        yield "missing", self.path("missing")
        yield "folder", self.folder
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        yield "fifo", fifo
        yield "device", "/dev/zero"

    def test_tables_and_verify_refuse_or_go_on_but_never_hang_or_crash(self):
        refused = {"empty", "text", "magic only", "32 bit", "big endian", "missing", "folder",
                   "fifo", "device"}
        for verb in (["tables", "--stats"], ["tables", "--rows"], ["verify"]):
            for what, path in self.broken_files():
                with self.subTest((verb, what)):
                    done = self.fpless(*verb, path)
                    self.assertGreaterEqual(done.returncode, 0, "killed by a signal")
                    self.assertLess(done.returncode, 6, done.stderr)
                    said = done.stderr + (done.stdout if verb == ["verify"] else b"")
                    if done.returncode or what in refused:
                        self.assertIn(os.path.basename(path).encode(), said)
                    # verify goes on to the next file, and into folders.
                    if what in refused and verb != ["verify"]:
                        self.assertNotEqual(done.returncode, 0)
                if os.path.lexists(self.path("fifo")):
                    os.unlink(self.path("fifo"))

    def test_command_with_a_broken_section_table_is_profiled(self):
        """The kernel runs it: its program headers are whole. So are its unwind tables."""
        program = self.path("program")
        with open(fixture("chain"), "rb") as file:
            image = bytearray(file.read())
        image[40:48] = b"\xff" * 8  # e_shoff
        with open(program, "wb") as file:
            file.write(image)
        os.chmod(program, 0o755)
        run = self.profile("-F", "999", "-d", "600", "--", program, "300")
        self.assert_chain_is_complete(run, program)

    def test_command_with_random_cfi_is_profiled(self):
        """Whatever the rows say, each walk ends by name and nothing else suffers."""
        with open(fixture("recursion"), "rb") as file:
            image = file.read()
        names = ElfNames(fixture("recursion"))
        start, end = next(section[1:] for section in names.sections if section[0] == ".eh_frame")
        offset = names.file_offset(start)
        for seed in range(8):
            noise = random.Random(seed)
            evil = bytearray(image)
            for _ in range(1 << seed):
                evil[offset + noise.randrange(end - start)] = noise.randrange(256)
            program = self.path(f"evil{seed}")
            with open(program, "wb") as file:
                file.write(evil)
            os.chmod(program, 0o755)
            with self.subTest(seed):
                run = self.profile("-F", "999", "-d", "600", "--", program, "100", "50")
                self.assertGreater(run.books["user_samples"], 0)


if __name__ == "__main__":
    main()
