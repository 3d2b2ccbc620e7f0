#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What doctor says is true: `fpless profile` runs where doctor says so, and is refused with the same
words where it says not. Sysctls are put back."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys

from fpless_run import TIMEOUT_S
from parser_processes import NO_CAPABILITIES, readers, status
from pending_case import CALLER, STEPS, Hurry
from root_case import FPLESS, RootCase, fixture, main, write
from seccomp_filter import refuse_calls
from slow_code import slow_file
from waiting import wait_for, wait_until_it_runs

NOBODY = 65534
ALL = "+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog,+sys_nice"
SYS_BPF, SYS_PERF_EVENT_OPEN = 321, 298


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return file.read()


class DoctorCase(RootCase):
    def setUp(self):
        super().setUp()
        # A copy: the folders above the build need not be open to everyone.
        self.program = shutil.copy2(FPLESS, self.path("fpless"))
        os.chmod(self.folder, 0o755)

    @staticmethod
    def as_nobody(caps=""):
        wrapper = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return wrapper + ([f"--inh-caps={caps}", f"--ambient-caps={caps}"] if caps
                          else ["--inh-caps=-all"])

    def run_it(self, wrapper, *args, **more):
        return subprocess.run([*wrapper, self.program, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False, **more)

    def doctor(self, wrapper=(), **more):
        """Its JSON, with the checks by subject; text and JSON agree about the exit status."""
        done = self.run_it(wrapper, "doctor", "--json", **more)
        self.assertEqual(done.stderr, b"")
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if report["can_run"] else 2, report["summary"])
        self.assertEqual(report["can_run"], "error" not in report["trial"])
        report["by"] = {check["subject"]: check for check in report["checks"]}
        return report

    def agree(self, wrapper=(), **more):
        """doctor's verdict, after profile was found to do as it says."""
        report = self.doctor(wrapper, **more)
        done = self.run_it(wrapper, "profile", "-q", "-f", "--", "/bin/true", **more)
        said = done.stderr.decode()
        if report["can_run"]:
            self.assertIn(done.returncode, (0, 3), said)
        else:
            self.assertEqual(done.returncode, 2, said)
            self.assertEqual("fpless cannot run here: " + said.rstrip("\n").split("\n")[-1]
                             .removeprefix("fpless: "), report["summary"])
        return report


class VerdictsAreTrue(DoctorCase):
    def test_root(self):
        report = self.agree()
        self.assertTrue(report["can_run"], report["summary"])
        self.assertFalse([check for check in report["checks"] if check["verdict"] == "fail"])
        # A busy thread of its own was sampled, and walked to its end.
        self.assertGreater(report["trial"]["samples"], 0)
        self.assertGreater(report["trial"]["complete"], 0)

    def test_rights(self):
        for caps, can_run, fails in (
                ("", False, {"CAP_BPF", "CAP_PERFMON", "event", "trial"}),
                ("+bpf", False, {"CAP_PERFMON", "event", "trial"}),
                ("+perfmon", False, {"CAP_BPF", "trial"}),
                ("+bpf,+perfmon", True, set()),
                ("+sys_admin", True, set()),
                (ALL, True, set())):
            with self.subTest(caps):
                self.sysctl("kernel/perf_event_paranoid", 2)
                report = self.agree(self.as_nobody(caps))
                self.assertEqual(report["can_run"], can_run, report["summary"])
                self.assertEqual({subject for subject, check in report["by"].items()
                                  if check["verdict"] == "fail"}, fails)
                for cap in ("SYS_PTRACE", "DAC_READ_SEARCH"):
                    self.assertEqual(report["by"]["CAP_" + cap]["verdict"],
                                     "ok" if cap.lower() in caps else "warn")

    def test_paranoia(self):
        for level in (-1, 3, 4):
            for caps in ("", "+bpf,+perfmon", "+bpf,+perfmon,+sys_admin"):
                with self.subTest((level, caps)):
                    self.sysctl("kernel/perf_event_paranoid", level)
                    report = self.agree(self.as_nobody(caps))
                    verdict = report["by"]["perf_event_paranoid"]["verdict"]
                    if level <= 2 or report["can_run"]:
                        self.assertEqual(verdict, "ok")
                    else:
                        self.assertEqual(verdict, "fail" if caps else "warn")

    def test_namespaces(self):
        for wrapper, subject in (
                (["unshare", "--user", "--map-root-user"], "user namespace"),
                (["unshare", "--pid", "--fork"], "PID namespace")):
            with self.subTest(wrapper):
                report = self.agree(wrapper)
                self.assertFalse(report["can_run"])
                self.assertEqual(report["by"][subject]["verdict"], "fail")
        report = self.agree(["unshare", "--pid", "--fork", "--mount-proc"])
        self.assertTrue(report["can_run"], report["summary"])

    def test_container_filters(self):
        self.sysctl("kernel/perf_event_paranoid", 2)  # higher, it would be what is said
        for calls, can_run in (((SYS_BPF,), False), ((SYS_PERF_EVENT_OPEN,), False),
                               ((SYS_BPF, SYS_PERF_EVENT_OPEN), False), ((169,), True)):
            with self.subTest(calls):
                report = self.agree(preexec_fn=refuse_calls(*calls))
                self.assertEqual(report["can_run"], can_run, report["summary"])
                self.assertEqual(report["by"]["seccomp"]["verdict"], "ok" if can_run else "warn")
                if not can_run:
                    self.assertIn("seccomp", report["summary"])

    def test_sysctls(self):
        for name, value, wrapper, subject in (
                ("kernel/kptr_restrict", 2, (), "kernel symbols"),
                ("kernel/kptr_restrict", 1, self.as_nobody("+bpf,+perfmon"), "kernel symbols"),
                ("net/core/bpf_jit_harden", 2, (), "BPF JIT hardening")):
            with self.subTest((name, value)):
                self.sysctl(name, value)
                report = self.doctor(wrapper)
                self.assertTrue(report["can_run"], report["summary"])
                self.assertEqual(report["by"][subject]["verdict"], "warn")

    def test_kernel_without_btf(self):
        """Something else, or nothing, where the kernel's BTF should be: in a mount namespace."""
        cut = self.path("cut")
        with open("/sys/kernel/btf/vmlinux", "rb") as file:
            head = file.read(5000)
        with open(cut, "wb") as file:
            file.write(head)
        for what in ("mount --bind /dev/null /sys/kernel/btf/vmlinux",
                     f"mount --bind {cut} /sys/kernel/btf/vmlinux",
                     "mount -t tmpfs none /sys/kernel/btf"):
            with self.subTest(what):
                report = self.agree(["unshare", "--mount", "/bin/sh", "-c",
                                     what + ' && exec "$@"', "sh"])
                self.assertFalse(report["can_run"])
                self.assertEqual(report["by"]["BTF"]["verdict"], "fail")
                self.assertIn(report["by"]["BTF"]["fact"], report["summary"])

    def test_rate_is_refused_as_said(self):
        """In a mount namespace: the kernel's own limit would be that of all who sample on this machine, and stay where this
        test is killed. fpless asks no more than the file."""
        limit = self.path("limit")
        write(limit, "50\n")
        wrapper = ["unshare", "--mount", "/bin/sh", "-c",
                   f'mount --bind {limit} /proc/sys/kernel/perf_event_max_sample_rate && exec "$@"', "sh"]
        report = self.doctor(wrapper)
        self.assertTrue(report["can_run"], report["summary"])
        self.assertEqual(report["by"]["sample rate"]["verdict"], "warn")
        self.assertIn("-F 50", report["by"]["sample rate"]["cost"])
        for rate, status in (("51", 2), ("50", 0)):
            done = self.run_it(wrapper, "profile", "-q", "-f", "-I", "-d", "0.5", "-F", rate)
            self.assertEqual(done.returncode, status, done.stderr)


class ProcessesAreReported(DoctorCase):
    def report(self, pid, wrapper=()):
        done = self.run_it(wrapper, "doctor", "--json", str(pid))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        report = json.loads(done.stdout)
        self.assertEqual(report["pid"], pid)
        report["by"] = {check["subject"]: check for check in report["checks"]}
        report["object"] = {found["object"]: found for found in report["objects"]}
        self.assertEqual(len(report["object"]), len(report["objects"]))
        return report

    def test_each_object_is_as_its_file(self):
        process = self.start(fixture("chain"), "60000")
        report = self.report(process.pid)
        self.assertEqual({check["verdict"] for check in report["checks"]}, {"ok"})
        self.assertIn(fixture("chain"), report["object"])
        self.assertIn("[vdso]", report["object"])
        for path, found in report["object"].items():
            if path == "[vdso]":
                continue
            done = self.run_it((), "doctor", "--json", path)
            alone = json.loads(done.stdout)
            for key in ("build_id", "table", "coverage", "symbols", "debug_info", "package"):
                self.assertEqual(found[key], alone[key], path)
            coverage = found["coverage"]
            self.assertEqual(coverage["code_bytes"], coverage["covered_bytes"]
                             + coverage["padding_bytes"] + coverage["bare_bytes"])
            self.assertEqual(coverage["covered_bytes"], sum(coverage["covered_by"].values()))
        text = self.run_it((), "doctor", str(process.pid)).stdout.decode()
        for path in report["object"]:
            self.assertIn(" " + path, text)

    def test_code_without_cfi_has_rows_of_its_own(self):
        done = self.run_it((), "doctor", "--json", fixture("chain_nocfi"))
        coverage = json.loads(done.stdout)["coverage"]
        self.assertEqual((coverage["functions_bare"], coverage["largest_bare"]), (0, []))
        self.assertGreater(coverage["covered_by"]["synth"], coverage["covered_bytes"] / 2)

    def test_code_made_at_run_time(self):
        process = self.start(fixture("jit"), "60000", stdout=subprocess.DEVNULL)
        report = wait_for("code made at run time", lambda: (
            found := self.report(process.pid))["runtime_code_bytes"] and found)
        self.assertEqual(report["by"]["run-time code"]["verdict"], "warn")

    def test_language_says_what_would_name_its_functions(self):
        """By the name of its file; a perf map of its own is what is wanted."""
        program = shutil.copy2(fixture("chain"), self.path("python3.12"))
        process = self.start(program, "60000")
        wait_until_it_runs(process.pid, program)
        language = self.report(process.pid)["by"]["language"]
        self.assertEqual((language["verdict"], language["fact"]), ("warn", "Python 3.12"))
        self.assertIn("-X perf", language["fix"])
        text = self.run_it((), "doctor", str(process.pid)).stdout.decode()
        self.assertRegex(text, r"(?m)^warn  language       Python 3\.12: .*; fix: .*-X perf")
        names = f"/tmp/perf-{process.pid}.map"
        self.addCleanup(os.unlink, names)
        write(names, "1000 10 py::f\n")
        language = self.report(process.pid)["by"]["language"]
        self.assertEqual(language["verdict"], "ok", language)

    def test_python_of_a_known_version_needs_nothing(self):
        """By what it exports: fpless shows functions of CPython 3.11 to 3.13."""
        if not (3, 11) <= sys.version_info[:2] <= (3, 13):
            self.skipTest("another version of Python")
        process = self.start(sys.executable, "-c", "while True: pass")
        wait_until_it_runs(process.pid, os.path.realpath(sys.executable))
        language = self.report(process.pid)["by"]["language"]
        self.assertEqual(language["verdict"], "ok", language)
        self.assertIn("stacks show its functions, with file and line", language["fact"])

    def test_files_are_read_by_workers_and_one_that_dies_costs_one_file(self):
        slow = slow_file(self.path("slow.so"), 4 * STEPS)
        process = self.start(CALLER, "600000", "0", slow)
        wait_for(f"{slow} is mapped", lambda: slow in maps(process.pid))
        whole = self.report(process.pid)
        doctor = self.start(self.program, "doctor", "--json", str(process.pid), stdout=subprocess.PIPE)
        with Hurry():
            worker = self.wait_while_it_runs(doctor, "a worker that reads", lambda: readers(doctor.pid, slow))[0]
            said = status(worker)
            os.kill(worker, signal.SIGSEGV)
        self.assertEqual((said["CapEff"], said["NoNewPrivs"]), (NO_CAPABILITIES, "1"))
        report = json.loads(doctor.communicate(timeout=TIMEOUT_S)[0])
        self.assertEqual(doctor.returncode, 0)
        self.assertEqual([lost["object"] for lost in report["refused"]], [slow])
        self.assertIn("killed by signal 11", report["refused"][0]["error"])
        objects = {found["object"] for found in report["objects"]}
        self.assertEqual(objects | {slow}, set(whole["object"]))

    def test_deleted_program(self):
        program = shutil.copy2(fixture("chain"), self.path("program"))
        process = self.start(program, "60000")
        wait_until_it_runs(process.pid, program)
        os.unlink(program)
        report = self.report(process.pid)
        self.assertTrue(report["object"][program]["deleted"])
        self.assertEqual(report["by"]["deleted files"]["verdict"], "ok")
        wrapper = self.as_nobody("+sys_ptrace,+dac_read_search")
        report = self.report(process.pid, wrapper)
        self.assertNotIn(program, report["object"])
        self.assertIn(program, {refused["object"] for refused in report["refused"]})
        self.assertEqual(report["by"]["deleted files"]["verdict"], "warn")
        self.assertEqual(report["by"]["rights"]["verdict"], "fail")

    def test_32_bit_program(self):
        code = b"\xeb\xfe"  # jmp .
        header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, 0x8048054, 52,
                             0, 0, 52, 32, 1, 0, 0, 0)
        segment = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 86, 86, 5, 4096)
        program = self.path("program32")
        with open(program, "wb") as file:
            file.write(header + segment + code)
        os.chmod(program, 0o755)
        try:
            process = self.start(program)
        except OSError as error:
            self.skipTest(f"the kernel runs no 32-bit programs: {error.strerror}")
        report = self.report(process.pid)
        self.assertEqual(report["by"]["code"]["verdict"], "fail")
        self.assertIn(program, {refused["object"] for refused in report["refused"]})

    def test_unreadable_process(self):
        thread = self.start(fixture("threads"), "60000")
        tids = []
        while not tids:
            tids = [tid for tid in os.listdir(f"/proc/{thread.pid}/task")
                    if int(tid) != thread.pid]
        said = f"pid {tids[0]}: a thread of process {thread.pid}; `profile -t {tids[0]}' takes it"
        self.assert_refused(self.fpless("doctor", tids[0]), 3, said)
        # `profile -p` says the same of it.
        self.assert_refused(self.fpless("profile", "-d", "1", "-p", tids[0]), 3, said)
        for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                    flags = int(file.read().rsplit(")", 1)[1].split()[6])
            except OSError:
                continue
            if flags & 0x200000:  # PF_KTHREAD
                self.assert_refused(self.fpless("doctor", pid), 2, pid, "kernel thread")
                break
        done = self.run_it(self.as_nobody(), "doctor", str(thread.pid))
        self.assert_refused(done, 2, str(thread.pid), "CAP_SYS_PTRACE")
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assert_refused(self.fpless("doctor", str(gone.pid)), 3, str(gone.pid))


if __name__ == "__main__":
    main()
