#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fpless compare: both walks of each sample, judged as docs/man/fpless-compare.1.scd says, recomputed here."""

import itertools
import json
import os
import subprocess

from fpless_run import TIMEOUT_S, Run
from root_case import FPLESS, RootCase, children, fixture, main
from waiting import executable, wait_for, wait_until_busy

CLASSES = ("agree", "wrong", "skip", "cut")
PARTED = ("wrong", "skip", "cut")


def pcs(frames):
    return [(frame["object"], frame["vaddr"]) if "object" in frame else frame["addr"]
            for frame in frames]


def is_return_probe(pc):
    """Is it in the page where the kernel catches returns of probed functions? The walk leaves it, so the first frame is the
    caller's; programs of other tests have such probes."""
    return isinstance(pc, str) and int(pc, 16) & ~0xfff == 0x7fffffffe000


def is_in_order_part(part, whole):
    rest = iter(whole)
    return all(pc in rest for pc in part)


def class_of(stack, fp_max):
    """The class by the words of the manual, from the frames of both walks."""
    if stack["stop"] != "outermost" or "fp" in {frame["origin"] for frame in stack["user"]}:
        return "unjudged"
    cfi, fp = pcs(stack["user"]), pcs(stack["fp"])
    if not is_in_order_part(fp, cfi):
        return "wrong"
    if cfi[:len(fp)] != fp:
        return "skip"
    return "agree" if len(fp) >= min(len(cfi), fp_max) else "cut"


def only_child(pid):
    # what reads files for fpless is its child, too
    return wait_for(f"a child of {pid}", lambda: [child for child in children(pid) if executable(child) not in ("", FPLESS)])[0]


def folded_counts(path):
    with open(path, "rb") as file:
        return [line.rstrip(b"\n").rsplit(b" ", 1) for line in file]


class CompareCase(RootCase):
    def compare(self, *args):
        """A run whose books close and whose outputs agree; its --json is in run.compared."""
        out = self.path("out")
        run = Run(FPLESS, self.folder, ["--json", "--out-dir", out, *args], verb="compare")
        self.assertEqual(run.faults(), [], run.command)
        run.compared = json.loads(run.stdout)
        self.check_sums(run)
        self.check_classes(run)
        for name in ("cfi", "fp"):
            lines = folded_counts(os.path.join(out, f"{name}.folded"))
            self.assertEqual(sum(int(count) for _, count in lines), run.books["shown"], name)
        self.assertEqual(sorted(os.listdir(out)), ["cfi.folded", "fp.folded"])
        return run

    def check_sums(self, run):
        got = run.compared
        classes = got["classes"]
        self.assertEqual((got["type"], got["format"]), ("compare", 1))
        self.assertEqual(got["shown"], run.books["shown"])
        self.assertEqual(sum(classes[key] for key in CLASSES), got["judged"])
        self.assertEqual(sum(classes.values()), got["shown"])
        self.assertEqual(sum(got["unjudged"].values()), classes["unjudged"])
        self.assertEqual(got["books"], run.stats)
        for key in PARTED:
            self.assertEqual(sum(got["at"][key].values()), classes[key])
            for table in ("objects", "objects_before"):
                self.assertEqual(sum(row[key] for row in got[table]), classes[key])
        for key in classes:
            self.assertEqual(sum(row[key] for row in got["programs"]), classes[key])
        self.assertEqual(sum(row["samples"] for row in got["partings"])
                         + got["partings_left"]["samples"], sum(classes[key] for key in PARTED))
        self.assertLessEqual(len(got["partings"]), 20)

    def check_classes(self, run):
        """Every class in the .jsonl follows from its frames, and they add up to the document."""
        sums, objects = dict.fromkeys([*CLASSES, "unjudged"], 0), {}
        frames = right = 0
        for stack in run.stacks:
            want = class_of(stack, run.compared["fp_max"])
            self.assertEqual(stack["class"], want, stack)
            sums[want] += stack["count"]
            self.assertEqual({frame["origin"] for frame in stack["fp"]} - {"fp"}, set())
            if stack["user"] and stack["fp"]:
                if not is_return_probe(pcs(stack["fp"])[0]):
                    self.assertEqual(pcs(stack["fp"])[0], pcs(stack["user"])[0])
                self.assertTrue(stack["fp"][0]["exact"])
            pairs = zip(pcs(stack["user"]), pcs(stack["fp"]))
            common = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
            if want != "unjudged":
                frames += stack["count"] * min(len(stack["user"]), run.compared["fp_max"])
                right += stack["count"] * common
            if want in PARTED:
                path = stack["user"][min(common, len(stack["user"]) - 1)].get("object")
                objects[path] = objects.get(path, 0) + stack["count"]
        self.assertEqual(sums, run.compared["classes"])
        self.assertEqual((frames, right), (run.compared["frames"], run.compared["frames_common"]))
        # The same path may be two files in one run.
        got = {}
        for row in run.compared["objects"]:
            got[row["object"]] = got.get(row["object"], 0) + row["samples"]
        self.assertEqual(got, objects)

    def share(self, run, *classes):
        """How many of the judged samples, and of how many."""
        return sum(run.compared["classes"][key] for key in classes), run.compared["judged"]


class FramePointersThroughout(CompareCase):
    def check_all_explained(self, run):
        self.assert_share(*self.share(run, "agree"), 0.95, run.compared)
        for key in PARTED:
            for rule in ("frame_pointer", "unknown"):
                self.assertEqual(run.compared["at"][key][rule], 0, run.compared)

    def test_agree_but_for_prologues_epilogues_and_leaves(self):
        run = self.compare("-F", "1999", "-d", "600", "--", fixture("frames"), "600")
        self.check_all_explained(run)
        self.assertIn("compare      ", run.stderr)

    def test_agree_as_far_as_the_kernel_walks(self):
        run = self.compare("-F", "1999", "-d", "600", "--", fixture("frames"), "600", "400")
        self.check_all_explained(run)
        deep = [stack for stack in run.stacks if len(stack["user"]) > run.compared["fp_max"]]
        self.assertTrue(deep)
        self.assertEqual({len(stack["fp"]) for stack in deep}, {run.compared["fp_max"]})


class FramePointersInPart(CompareCase):
    def test_a_libc_without_cuts_the_stacks_of_a_program_with(self):
        run = self.compare("-F", "1999", "-d", "600", "--", fixture("chain_keepfp"), "600")
        self.assert_share(*self.share(run, "cut"), 0.9, run.compared)
        first = run.compared["partings"][0]
        self.assertEqual((first["class"], first["at"]), ("cut", "no_frame_pointer"))
        self.assertIn("libc", first["object"])
        self.assertIn("libc", run.compared["objects_before"][0]["object"])

    def test_programs_without_are_judged(self):
        for name, ms in (("chain", "300"), ("threads", "300"), ("vfork", "3000")):  # of which 450 are its own
            with self.subTest(name):
                run = self.compare("-F", "1999", "-d", "600", "--", fixture(name), ms)
                self.assert_share(run.compared["judged"], run.compared["shown"], 0.9, run.compared)

    def test_of_the_whole_machine(self):
        self.start(fixture("frames"), "60000")
        run = self.compare("-F", "999", "-a", "-d", "1", "--delimited", "--annotate")
        self.assertIn("frames", {row["comm"] for row in run.compared["programs"]})
        # A task without a user part reads the same in both files.
        threads = {stack["comm"] for stack in run.stacks if stack["stop"] is None}
        threads -= {stack["comm"] for stack in run.stacks if stack["stop"] is not None}
        both = [[line for line in folded_counts(self.path(f"out/{name}.folded"))
                 if line[0].split(b";")[0].decode("utf-8", "replace") in threads]
                for name in ("cfi", "fp")]
        self.assertEqual(both[0], both[1])


class Outputs(CompareCase):
    def test_text_says_the_same_as_json(self):
        done = self.fpless("compare", "-F", "999", "-d", "600", "--out-dir", self.path("new"), "--",
                           fixture("frames"), "300")
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("samples judged", "agree", "By program", "frames"):
            self.assertIn(words, text)
        self.assertEqual(sorted(os.listdir(self.path("new"))), ["cfi.folded", "fp.folded"])

    def test_only_o_leaves_stdout_to_the_command(self):
        done = self.fpless("compare", "-q", "-o", self.path("x.folded"), "-d", "600", "-F", "999",
                           "--", "/bin/sh", "-c", f"echo said; {fixture('frames')} 100")
        self.assertEqual((done.returncode, done.stdout), (0, b"said\n"), done.stderr)

    def test_old_files_are_replaced(self):
        os.mkdir(self.path("out"))
        for name in ("cfi", "fp"):
            with open(self.path(f"out/{name}.folded"), "w", encoding="ascii") as file:
                file.write("old 1\n")
        self.compare("-d", "600", "-F", "999", "--", fixture("frames"), "200")


class BadInput(CompareCase):
    def refused(self, status, word, *args, one_line=True):
        before = sorted(os.listdir(self.folder))
        done = self.fpless("compare", *args)
        if one_line:
            self.assert_refused(done, status, word)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_folder_that_cannot_be_written(self):
        with open(self.path("file"), "w", encoding="ascii"):
            pass
        os.mkdir(self.path("taken"))
        os.mkdir(self.path("taken/fp.folded"))
        marker = self.path("ran")
        for folder in ("file", "file/below", "no/parent", "taken"):
            with self.subTest(folder):
                self.refused(6, self.path(folder), "--out-dir", self.path(folder), "--",
                             "/bin/sh", "-c", f"touch {marker}")
        self.refused(6, "/proc/self/", "--out-dir", "/proc/self", "--", "/bin/true")
        self.assertEqual(os.listdir(self.path("taken")), ["fp.folded"])

    def test_usage(self):
        self.refused(1, "--unwind fp", "--unwind", "fp", "1")
        self.refused(1, "-K", "-K", "1")
        self.refused(1, "--json", "--json", "-f", "1")

    def test_target_that_is_not_there(self):
        self.refused(3, "/nonexistent/command", "--out-dir", self.path("new"), "--",
                     "/nonexistent/command")
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            pid = file.read().strip()
        self.refused(3, pid, "--out-dir", self.path("new"), "-d", "1", "-p", pid)

    def test_target_that_exits_at_once(self):
        done = self.fpless("compare", "--json", "-q", "--out-dir", self.path("new"), "-d", "30", "--",
                           "/bin/true")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        got = json.loads(done.stdout)
        for name in ("cfi", "fp"):
            lines = folded_counts(self.path(f"new/{name}.folded"))
            self.assertEqual(sum(int(count) for _, count in lines), got["shown"])

    def test_disk_that_is_full(self):
        os.mkdir(self.path("full"))
        os.symlink("/dev/full", self.path("full/fp.folded"))
        done = self.fpless("compare", "-q", "--json", "--out-dir", self.path("full"), "-d", "600",
                           "-F", "999", "--", fixture("frames"), "200")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn(b"fp.folded: No space", done.stderr)
        self.assertEqual(os.listdir(self.path("full")), ["fp.folded"])
        self.assertGreater(json.loads(done.stdout)["judged"], 0)

    def test_program_that_cannot_be_judged(self):
        for name, options, reasons in (
                ("chain_nocfi", ("--no-synth",), ("no_cfi", "bad_ra", "fp_end")),
                ("chain_fp", ("--no-synth",), ("fp_frame",))):
            with self.subTest(name, options=options):
                process = self.start(fixture(name), "60000")
                wait_until_busy(process.pid, 100)  # behind the interpreter, which can be judged
                done = self.fpless("compare", "--json", "-q", *options, "--out-dir",
                                   self.path(name), "-F", "999", "-d", "0.5", "-p",
                                   str(process.pid))
                lines = done.stderr.decode().splitlines()
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("no stack could be judged: ", lines[-1])
                self.assertTrue(any(f" are {reason}: " in lines[-1] for reason in reasons), lines)
                got = json.loads(done.stdout)
                self.assertEqual(got["judged"], 0)
                self.assertGreater(got["shown"], 0)
                self.assertEqual(sorted(os.listdir(self.path(name))), ["cfi.folded", "fp.folded"])

    def test_frames_by_rows_from_code_are_judged(self):
        """chain_nocfi has neither CFI nor frame pointers: what is right is what its code says."""
        process = self.start(fixture("chain_nocfi"), "60000")
        wait_until_busy(process.pid, 100)
        run = self.profile_while_busy([process.pid], 300, "--json", "-q", "-F", "999", "-p", str(process.pid), verb="compare")
        got = json.loads(run.stdout)
        self.assert_share(got["judged"], got["shown"], 0.9)
        self.assertEqual(got["unjudged"]["synth_frame"], 0)
        self.assertEqual(got["classes"]["agree"], 0)
        self.assertEqual(got["judged"], got["shown"] - got["classes"]["unjudged"])

    def test_ctrl_c_writes_everything(self):
        out = self.path("out")
        with subprocess.Popen([FPLESS, "compare", "-q", "--json", "-F", "999", "--out-dir", out, "--",
                               fixture("frames"), "60000"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            wait_until_busy(only_child(process.pid), 200)
            process.send_signal(2)
            text, _ = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0)
        self.assertGreater(json.loads(text)["judged"], 0)
        self.assertEqual(sorted(os.listdir(out)), ["cfi.folded", "fp.folded"])


if __name__ == "__main__":
    main()
