#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_kernel.py SERIES FPLESS FIXTURES EXPECTATIONS SEQUENCE PROGRAMS_TEST UPROBE_TEST HEAP_TEST

Boots a kernel of Debian under qemu, once, for everything that is tested there. fpless profiles the programs with known
stacks and programs of this machine; a cgroup has its share, and a user with few rights is told what lacks. The stacks
are judged here, by the code that judges those of the running kernel, and compared with the running kernel's. Time in
the guest counts instructions; how long it took here is told, never judged.
"""

import collections
import json
import os
import shlex
import shutil
import sys
import tempfile

import boot
import guest
import programs
from blocked_time import BlockedTime
from cgroup_share import CgroupShare
from cpu_limit import CpuLimit
from expectation import Frame, Judge
from fpless_run import Files, Run
from probe_calls import ProbeCalls
from programs import SAMPLES_MIN
from rights import Rights
from rss_holders import RssHolders
from run_fixture import copies

HZ = 197  # no divisor of the kernel's tick
HOST_HZ = 997
HOST_SHORTER = 4  # of the time on the running kernel, whose own tests take all of it
COMPLETE_STOPS = {"outermost", "exiting", "execing", "no_user_regs"}
VERIFIED_MAX = 125000  # instructions: decision 0005
FP_DEPTH = 50  # perf_event_max_stack for compare; nobody else samples in a guest
UPROBE_CALLS, HEAP_OPERATIONS = "1000", "500"  # of each thread
# With both walks the most there can be to verify, profile's and compare's; the other one has the programs of locks, which
# a filter by cgroup leaves nothing to do.
CONFIGS = ["filters and labels", "waits at locks"]


class GuestRun:
    """One `fpless profile` in the guest, its programs and where its outputs are."""

    def __init__(self, name, options, members, attached=False):
        self.name, self.options, self.members, self.attached = name, options, members, attached
        self.run = None

    def script(self, fpless, sequence):
        folder = "/out/" + self.name
        lines = ["mkdir -p " + shlex.join([folder] + [member.folder for member in self.members
                                                      if member.folder])]
        words = [fpless, "profile", "-F", str(HZ), *self.options, *Run.outputs(folder)]
        if self.attached:
            for member in self.members:
                lines.append(f"{shlex.join(member.words)} & echo $! 0 >> {folder}/notes")
            pids = f"$(cut -d' ' -f1 {folder}/notes | paste -sd,)"
            command = f"{shlex.join(words)} -d 2 -p {pids}"
        else:
            command = shlex.join(words + ["--", sequence, f"/{self.name}.programs",
                                          f"{folder}/notes"])
        lines += [f"{command} 2> {folder}/stderr", f"echo $? > {folder}/status"]
        if self.attached:
            lines.append("kill $(cut -d' ' -f1 " + folder + "/notes); wait")
        return "\n".join(lines) + "\n"

    def read(self, out):
        """Deals the samples to the programs; returns faults of the books."""
        folder = os.path.join(out, self.name)
        with open(os.path.join(folder, "stderr"), "rb") as file:
            stderr = file.read()
        with open(os.path.join(folder, "status"), encoding="ascii") as file:
            self.run = Run.of_folder(folder, int(file.read()), stderr)
        faults = [f"run {self.name}: {fault}" for fault in self.run.faults()]
        if faults:
            return faults
        if self.run.stats["bpf_runs"] != self.run.stats["fired"]:
            faults.append(f"run {self.name}: the kernel ran the program "
                          f"{self.run.stats['bpf_runs']} times, fired {self.run.stats['fired']}")
        programs.deal(self.members, self.run.stacks, os.path.join(folder, "notes"))
        faults += [f"{member.name}: status {member.status}" for member in self.members
                   if member.status]
        return faults


class Test:
    def __init__(self, fpless, fixtures, expectations, sequence, programs_test, uprobe_test, heap_test):
        self.fpless, self.sequence = os.path.realpath(fpless), os.path.realpath(sequence)
        self.fixtures, self.programs_test = os.path.realpath(fixtures), programs_test
        self.uprobe_test, self.heap_test = uprobe_test, heap_test
        self.expectations = expectations
        known = {options: [programs.for_guest(program) for program in members]
                 for options, members in self.known("/tmp").items()}
        self.distro = programs.distro()
        self.main = GuestRun("main", (), known.pop(()) + self.distro)
        self.runs = [self.main] + [GuestRun(members[0].name, options, members)
                                   for options, members in known.items()]
        attached = [programs.for_guest(program) for program in self.known("/tmp")[()]
                    if program.name in programs.ATTACHED]
        for program in attached:
            program.words[1] = "50000"
        self.runs.append(GuestRun("attached", (), attached, attached=True))
        self.blocked = BlockedTime(self.fpless, self.fixtures)
        self.cgroup = CgroupShare(self.fpless, os.path.join(self.fixtures, "caller"))
        self.limit = CpuLimit(self.fpless, self.fixtures)
        self.probes = ProbeCalls(self.fpless, self.fixtures)
        self.rights = Rights(self.fpless, self.fixtures)
        self.rss = RssHolders(self.fpless, self.fixtures)

    def known(self, place):
        return programs.known(self.fixtures, self.expectations, place)

    def archive(self):
        archive = guest.base_archive()
        for tool in ("cut", "paste"):
            archive.program(shutil.which(tool))
        for program in (self.fpless, self.sequence, self.programs_test, self.uprobe_test,
                        self.heap_test):
            archive.program(os.path.realpath(program))
        for entry in os.scandir(self.fixtures):
            if entry.is_file():
                archive.program(entry.path)
        for run in self.runs:
            archive.text(f"/{run.name}.programs", programs.listing(run.members))
        for program in self.distro:
            archive.program(program.words[0])
            if program.name == "python3":
                for path in programs.python_files():
                    archive.file(path)
        with open(os.path.realpath(__file__), encoding="utf-8") as file:
            archive.text("/tmp/input", file.read() * 12)
        self.cgroup.add_to(archive)
        self.rights.add_to(archive)
        return archive

    def script(self):
        lines = ["echo 1 > /proc/sys/kernel/bpf_stats_enabled",
                 guest.part("programs"),
                 f"FPLESS_VERIFIED_MAX={VERIFIED_MAX} "
                 + shlex.join([os.path.realpath(self.programs_test), *CONFIGS])
                 + " > /out/verified 2>&1; echo $? >> /out/verified",
                 guest.part("uprobe"),
                 shlex.join([os.path.realpath(self.uprobe_test), UPROBE_CALLS])
                 + " > /out/uprobe 2>&1; echo $? >> /out/uprobe",
                 guest.part("heap"),
                 shlex.join([os.path.realpath(self.heap_test), HEAP_OPERATIONS])
                 + " > /out/heap 2>&1; echo $? >> /out/heap"]
        for run in self.runs:
            lines += [guest.part("run " + run.name), run.script(self.fpless, self.sequence)]
        for part in self.blocked, self.cgroup, self.limit, self.probes, self.rights, self.rss:
            lines += [guest.part(type(part).__name__), part.script()]
        words = [self.fpless, "compare", "-F", str(HZ), "--json", "--",
                 os.path.join(self.fixtures, "frames"), "750", "200"]
        lines += [guest.part("compare"), f"echo {FP_DEPTH} > /proc/sys/kernel/perf_event_max_stack",
                  shlex.join(words) + " > /out/compare.json 2> /out/compare.err"]
        return "\n".join(lines) + "\n"

    def judge_compare(self, out):
        """The kernel's own walk goes as far as it was told to, and no frame behind that counts."""
        try:
            with open(os.path.join(out, "compare.json"), encoding="utf-8") as file:
                told = json.load(file)
        except ValueError:
            with open(os.path.join(out, "compare.err"), encoding="utf-8") as file:
                return ["compare: no JSON: " + file.read()]
        classes = {name: told["classes"][name] for name in ("agree", "wrong", "skip", "cut")}
        print(f"compare, frame pointers {FP_DEPTH} deep: {told['judged']} judged, {classes}")
        if told["fp_max"] != FP_DEPTH or classes["cut"] or classes["wrong"] or \
                classes["agree"] < SAMPLES_MIN or sum(classes.values()) != told["judged"]:
            return [f"compare: fp_max {told['fp_max']}, {told['judged']} judged, {classes}"]
        return []

    def files(self, members):
        """Copies of one file are one object, under the path that was seen first."""
        copied = {}
        for program in members:
            copied |= copies(program.expectation, program.words)
        return Files(self.fixtures, os.path.dirname(self.sequence), copies=copied)

    def judge_known(self, run):
        members = [program for program in run.members if program.expectation]
        faults, files = [], self.files(members)
        for program in members:
            judge = Judge(program.expectation, files)
            for stack in program.stacks:
                judge.add(stack)
            print(f"  {program.name}: {judge.judged} samples judged, {judge.others} others")
            faults += [f"{run.name}: {program.name}: {fault}" for fault in judge.finish()]
        return faults

    def compare_with_host(self, known):
        """The programs whose stacks are all told beforehand have the same ones here and there."""
        with tempfile.TemporaryDirectory(prefix="fpless-test-") as folder:
            members = [program for program in self.known(folder)[()]
                       if stacks_are_few(program.expectation)
                       and program.name not in programs.ROUNDS]
            for program in members:
                os.mkdir(program.folder)
                if not program.name.startswith("badmap"):  # its file is to be opened while it lives
                    program.words[1] = str(int(program.words[1]) // HOST_SHORTER)
            listing, notes = os.path.join(folder, "programs"), os.path.join(folder, "notes")
            with open(listing, "w", encoding="utf-8") as file:
                file.write(programs.listing(members))
            run = Run(self.fpless, folder, ["-F", str(HOST_HZ), "--", self.sequence, listing,
                                            notes])
            if run.status:
                print("SKIP: no stacks of this kernel to compare with:", run.stderr.strip())
                return []
            programs.deal(members, run.stacks, notes)
            faults = run.faults()
        guests = {program.name: program for program in known.members}
        files = self.files(members + [guests[program.name] for program in members])
        nr = 0
        for program in members:
            here, there = (stack_set(p, files) for p in (program, guests[program.name]))
            nr += len(here)
            faults += [f"{program.name}: only on this kernel: {stack}" for stack in here - there]
            faults += [f"{program.name}: not on this kernel: {stack}" for stack in there - here]
        print(f"  {nr} distinct stacks of {len(members)} programs compared with this kernel's")
        return faults

    def judge_distro(self):
        faults = []
        for program in self.distro:
            stops = collections.Counter()
            for stack in program.stacks:
                # crtbegin's functions, which have no CFI, have no names in a stripped file
                if stack["stop"] == "no_cfi" and len(stack["user"]) == 1:
                    stops["no_cfi of a leaf"] += stack["count"]
                else:
                    stops[stack["stop"]] += stack["count"]
            print(f"  {program.name}: {dict(stops)}")
            user = sum(stops.values()) - stops["exiting"] - stops["execing"]
            left = {stop: nr for stop, nr in stops.items()
                    if stop not in COMPLETE_STOPS | {"no_cfi of a leaf"}}
            if not stops["outermost"] or left or stops["no_cfi of a leaf"] * 50 > user:
                faults.append(f"{program.name}: not complete: {dict(stops)}")
        return faults


def stacks_are_few(expectation):
    """Each stack that may appear must, and can be told apart from the others."""
    return all(pattern.must_appear for pattern in expectation.patterns) and not expectation.wrong \
        and not any(mark in pattern.text for pattern in expectation.patterns for mark in "(|?*+")


def stack_set(program, files):
    """The distinct stacks from the functions that are judged on: functions of the programs, places
    in other files, whose names may come from debug files that the guest does not have, and code
    without a file, which is anywhere."""
    found = set()
    for stack in program.stacks:
        frames = [Frame(record, files) for record in stack["user"]]
        if frames and any(frames[0].matches(name) for name in program.expectation.spin):
            found.add(" < ".join(frame.symbol if frame.names else "[anon]" if not frame.basename else
                                 f"{frame.basename}+{frame.address:#x}" for frame in frames))
    return found


def instructions(out):
    """Prints what the verifier said of each program; the test there has bounded it."""
    with open(os.path.join(out, "verified"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    told = [line for line in lines if "instructions verified" in line]
    for line in told:
        print(" ", line)
    return [] if told and lines[-1] == "0" else ["programs: " + line for line in lines]


def probes(out):
    """Prints how calls of probed functions were counted; the tests there have judged it."""
    faults = []
    for name, what in ("uprobe", "runs by the uprobe"), ("heap", "bytes"):
        with open(os.path.join(out, name), encoding="utf-8") as file:
            lines = file.read().splitlines()
        told = [line for line in lines if what in line]
        for line in told:
            print(" ", line)
        if not told or lines[-1] != "0":
            faults += [f"{name}: {line}" for line in lines]
    return faults


def main():
    series, test = sys.argv[1], Test(*sys.argv[2:9])
    kernel = boot.kernel_or_skip(series)
    out = tempfile.mkdtemp(prefix="fpless-vm-")
    try:
        done = boot.boot(kernel, test.archive(), test.script(), out)
        print(f"Linux {kernel}: {done}")
        for cpu_s, name in sorted(done.parts, reverse=True):
            print(f"  {cpu_s:6.1f} s of CPU: {name}")
        faults = instructions(out) + probes(out)
        for run in test.runs:
            print(f"run {run.name}:")
            wrong = run.read(out)
            if run.run.stats:
                print(f"  {run.run.books['shown']} samples, {len(run.run.stacks)} stacks")
            faults += wrong or test.judge_known(run)
        if test.main.run.status == 0:
            faults += test.judge_distro() + test.compare_with_host(test.main)
        faults += test.judge_compare(out) + test.blocked.judge(out) + test.cgroup.judge(out)
        faults += test.limit.judge(out) + test.probes.judge(out) + test.rights.judge(out) + test.rss.judge(out)
        if faults and os.environ.get("FPLESS_TEST_KEEP"):
            shutil.copytree(out, os.environ["FPLESS_TEST_KEEP"], dirs_exist_ok=True)
        return boot.end(faults)
    finally:
        shutil.rmtree(out)


if __name__ == "__main__":
    sys.exit(main())
