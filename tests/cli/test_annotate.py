#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_annotate.py FPLESS [CLASS]: fpless annotate, of recordings made here, of a program compiled here.

What each instruction and line has is held against the recording, objdump, addr2line, perf annotate and go tool pprof."""

import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

FPLESS = os.path.realpath(sys.argv[1])
GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
TIMEOUT_S = 120
SOURCE = """#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	x ^= x << 13;
	return x ^ x >> 5;	/* "back\\\\slash" */
}

__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 0, x = 1;

	for (unsigned i = 0; i < n; i++) {
		x = mix(x);
		if (x & 1)
			sum += x / (1 + (x & 15));
		else
			puts("even");
	}
	return sum;
}

__attribute__((noinline)) unsigned idle(unsigned n) { return work(n) + 1; }

int main(int argc, char **argv)
{
	return argc > 1 ? (int)idle((unsigned)atoi(argv[1])) : 0;
}
"""
PATH = "/opt/bin/prog"


def run(*args, status=0, timeout_s=TIMEOUT_S, **env):
    done = subprocess.run(args, stdin=subprocess.DEVNULL, timeout=timeout_s, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **env})
    if done.returncode != status:
        raise AssertionError(f"{args}: {done.returncode}, expected {status}\n{done.stdout}\n{done.stderr}")
    return done


def build_id_of(path):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path).stdout).group(1)


def instructions(path, function):
    """Addresses of the instructions of @function by objdump."""
    text = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", path).stdout
    return [int(found, 16) for found in re.findall(r"^\s+([0-9a-f]+):\t", text, re.MULTILINE)]


def frame_of(path, build_id, vaddr, symbol, start, exact=True, **more):
    frame = {"object": path, "build_id": build_id, "vaddr": hex(vaddr), "symbol": symbol, "offset": vaddr - start,
             "origin": "cfi", **more}
    return {**frame, "exact": True} if exact else frame


def write_recording(path, stacks):
    """A recording of @stacks: (count, user frames, kernel frames)."""
    total = sum(count for count, _, _ in stacks)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "meta", "format": 1, "event": "cpu-clock", "period_ns": 1000000, "hz": 1000,
                               "start_unix_ns": 1, "duration_ns": 1000000000, "cpus": 1, "kernel": "6.1",
                               "argv": ["fpless"]}) + "\n")
        for count, user, kernel in stacks:
            file.write(json.dumps({"type": "stack", "count": count, "weight_ns": count * 1000000, "comm": "prog",
                                   "pid": 7, "stop": "outermost", "user": user, "kernel": kernel}) + "\n")
        file.write(json.dumps({"type": "books", "fired": total, "shown": total, "idle": 0, "filtered": 0,
                               "lost": {}}) + "\n")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="fpless-test-")
        cls.addClassCleanup(shutil.rmtree, cls.made)
        cls.source = os.path.join(cls.made, "src", "prog.c")
        os.mkdir(os.path.dirname(cls.source))
        with open(cls.source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        cls.program = os.path.join(cls.made, "prog")
        run("gcc", "-O2", "-g", "-fcf-protection=none", "-Wl,--build-id", cls.source, "-o", cls.program)
        cls.build_id = build_id_of(cls.program)
        cls.insns = instructions(cls.program, "work")
        cls.counts = {vaddr: i % 4 for i, vaddr in enumerate(cls.insns) if i % 4}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fpless-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "root")
        os.makedirs(self.root + os.path.dirname(PATH))
        shutil.copy(self.program, self.root + PATH)

    def frame(self, vaddr, symbol="work", start=None, path=PATH, build_id=None, exact=True, **more):
        return frame_of(path, self.build_id if build_id is None else build_id, vaddr, symbol,
                        self.insns[0] if start is None else start, exact, **more)

    def record(self, stacks, name="x.jsonl"):
        path = os.path.join(self.folder, name)
        write_recording(path, stacks)
        return path

    def usual(self):
        """Samples of work() at each address as self.counts says, and others."""
        caller = [self.frame(self.insns[0] - 9, "idle", self.insns[0] - 16, exact=False)]
        stacks = [(count, [self.frame(vaddr), *caller], []) for vaddr, count in self.counts.items()]
        stacks.append((5, [self.frame(self.insns[3]), *caller],
                       [{"addr": "0xffffffff81000010", "symbol": "do_it", "offset": 16, "module": None}]))
        stacks.append((6, [self.frame(0x10, "other", 0), self.frame(self.insns[4], exact=False)], []))
        return self.record(stacks)

    def annotate(self, *args, status=0, **env):
        return run(FPLESS, "annotate", "--symfs", self.root, *args, status=status, **env)

    def compile(self, path):
        """The program, whose debugging information says that its source is @path."""
        program = os.path.join(self.folder, "liar")
        subprocess.run(["gcc", "-O2", "-g", "-fcf-protection=none", "-Wl,--build-id", "-xc", "-", "-o", program],
                       input=f'#line 1 "{path}"\n' + SOURCE, text=True, check=True, timeout=TIMEOUT_S)
        return program

    def annotate_first(self, program, *args):
        """fpless annotate of a sample at the first instruction of its work()."""
        start = instructions(program, "work")[0]
        frame = self.frame(start, start=start, path=program, build_id=build_id_of(program))
        return run(FPLESS, "annotate", *args, "work", self.record([(1, [frame], [])])).stdout

    def functions(self, *args, **env):
        return json.loads(self.annotate("--json", *args, **env).stdout)["functions"]


class AgainstPprof(Case):
    def test_samples_of_instructions_and_lines_are_those_of_pprof(self):
        if not GO:
            self.skipTest("no go")
        version = run(GO, "env", "GOVERSION").stdout.strip()
        if re.match(r"go1\.(\d|1\d|20)(\.|$)", version):
            self.skipTest(f"pprof of {version} finds no function in the program")
        stacks = [(count, [self.frame(vaddr, path=self.program)], []) for vaddr, count in self.counts.items()]
        recording = self.record(stacks)
        profile = os.path.join(self.folder, "x.pb.gz")
        run(FPLESS, "report", "-q", "--symfs", "/", recording, "-o", profile)

        def pprof(option):
            return run(GO, "tool", "pprof", "-sample_index=0", option, self.program, profile, timeout_s=580,
                       PPROF_TMPDIR=self.folder).stdout

        insns = {int(vaddr, 16): int(count) for count, vaddr in
                 re.findall(r"^ +(\d+) +\d+ +([0-9a-f]+): ", pprof("-disasm=work"), re.MULTILINE)}
        # pprof takes a function's last byte for the end behind it: the return there is not in its listing
        self.assertEqual(insns, {vaddr: count for vaddr, count in self.counts.items() if vaddr != self.insns[-1]})
        lines = {int(number): int(count) for count, number in
                 re.findall(r"^ +(\d+) +\d+ +(\d+):", pprof("-list=work|mix"), re.MULTILINE)}
        self.assertEqual(sum(lines.values()), sum(self.counts.values()))
        for given in (recording, profile):
            function, = json.loads(run(FPLESS, "annotate", "--json", "work", given).stdout)["functions"]
            self.assertEqual({int(insn["vaddr"], 16): insn["samples"] for insn in function["instructions"][:-1]
                              if insn["samples"]}, insns)
            self.assertEqual({line["line"]: line["samples"] for line in function["lines"] if line["samples"]}, lines)


class StrippedGo(Case):
    def test_stripped_go_has_its_functions(self):
        if not GO:
            self.skipTest("no go")
        source, whole, stripped = (os.path.join(self.folder, name) for name in ("x.go", "whole", "stripped"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("package main\n\n//go:noinline\nfunc work(n uint64) uint64 {\n\tx := n\n\tfor i := uint64(0); i < n; i++ {\n"
                       "\t\tx ^= x<<7 + i\n\t}\n\treturn x\n}\n\nfunc main() { println(work(3)) }\n")
        for path, flags in ((whole, ""), (stripped, "-s -w ")):
            run(GO, "build", "-ldflags", flags + "-B 0x" + 20 * "5a", "-o", path, source, timeout_s=580,
                GOCACHE=os.path.join(self.folder, "cache"), GOFLAGS="-mod=mod", GO111MODULE="off")
        insns = instructions(whole, "main.work")
        self.assertEqual(run("nm", stripped).stdout, "")
        frames = [{**frame_of(stripped, 20 * "5a", insn, None, insn), "offset": None, "start": hex(insns[0])} for insn in (insns[1], insns[4])]
        name, recording = f"[stripped+{insns[0]:#x}]", self.record([(3, frames[:1], []), (4, frames[1:], [])])
        function, = json.loads(run(FPLESS, "annotate", "--json", name, recording).stdout)["functions"]
        self.assertEqual({int(insn["vaddr"], 16): insn["samples"] for insn in function["instructions"] if insn["samples"]},
                         {insns[1]: 3, insns[4]: 4})
        self.assertEqual([int(insn["vaddr"], 16) for insn in function["instructions"]][:len(insns)], insns)


class Annotate(Case):
    def test_samples_of_each_instruction_are_those_of_the_recording(self):
        function, = self.functions("work", self.usual())
        self.assertEqual([int(insn["vaddr"], 16) for insn in function["instructions"]], self.insns)
        self.assertEqual({int(insn["vaddr"], 16): insn["samples"] for insn in function["instructions"] if insn["samples"]},
                         self.counts)
        self.assertEqual(function["samples"], sum(self.counts.values()))
        self.assertEqual(function["elsewhere"], 0)
        self.assertEqual(sum(line["samples"] for line in function["lines"]), function["samples"])

    def test_samples_are_those_of_perf_annotate(self):
        if not shutil.which("perf"):
            self.skipTest("no perf")
        data = os.path.join(self.folder, "perf.data")
        write_perf_data(data, self.program, self.counts)
        text = run("perf", "annotate", "--stdio", "-n", "-i", data, "-s", "work", HOME=self.folder).stdout
        found = {int(vaddr, 16): int(count) for count, vaddr in
                 re.findall(r"^\s+(\d+)\s*:\s+([0-9a-f]+):", text, re.MULTILINE) if int(count)}
        self.assertTrue(found, text)
        function, = self.functions("work", self.usual())
        self.assertEqual({int(insn["vaddr"], 16): insn["samples"] for insn in function["instructions"] if insn["samples"]},
                         found)

    def test_lines_and_inlined_functions_are_those_of_addr2line(self):
        function, = self.functions("work", self.usual())
        said = run("addr2line", "-fie", self.program, *map(hex, self.insns)).stdout.splitlines()
        self.assertGreater(len(said), 2 * len(self.insns))  # something is inlined
        for insn in function["instructions"]:
            chain = insn.get("inlined", [{"function": "work", "file": insn["file"], "line": insn.get("line", 0)}])
            for site in chain:
                where = re.sub(r" \(discriminator.*", "", said.pop(1))
                self.assertEqual((site["function"], f"{site['file']}:{site.get('line', '?')}"), (said.pop(0), where))
            self.assertEqual((insn["file"], insn.get("line")), (chain[0]["file"], chain[0].get("line")))
        self.assertEqual(said, [])
        source = SOURCE.splitlines()
        for line in function["lines"]:
            self.assertEqual(line.get("source", ""), source[line["line"] - 1].expandtabs(8).rstrip())

    def test_jumps_are_those_of_the_code(self):
        function, = self.functions("work", self.usual())
        text = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=work", self.program).stdout
        jumps = {vaddr: to for vaddr, to in re.findall(r"^\s+([0-9a-f]+):\tj\w+\s+([0-9a-f]+) <work", text, re.MULTILINE)}
        self.assertGreater(len(jumps), 2)
        self.assertEqual({insn["vaddr"][2:]: insn["jumps_to"][2:] for insn in function["instructions"]
                          if "jumps_to" in insn}, jumps)
        self.assertIn("puts@plt", [insn.get("target") for insn in function["instructions"]])

    def test_text_has_lines_samples_and_jumps(self):
        text = self.annotate("work", self.usual()).stdout
        total = sum(self.counts.values())
        self.assertTrue(text.startswith(f"work in {PATH}\n  {total} of {total + 11} samples ("), text)
        self.assertRegex(text, r"Hottest lines\n +\d+\.\d% +\d+  prog\.c:\d+  ")
        self.assertRegex(text, r"\n +mix, inlined in work at prog\.c:15\n")
        self.assertRegex(text, r'prog\.c:7 +return x \^ x >> 5; +/\* "back\\\\slash" \*/\n')
        vaddr, count = max(self.counts.items(), key=lambda item: item[1])
        self.assertRegex(text, rf"\n +{100 * count / total:.1f}% +{count} +{vaddr:x} ")
        self.assertRegex(text, r" /-+ +j")
        self.assertRegex(text, r" \\-+> ")
        self.assertRegex(text, r"call +0x[0-9a-f]+ <puts@plt>\n")
        self.assertRegex(self.annotate("-M", "intel", "work", self.usual()).stdout, r"xor +e?[a-z0-9]+, e?[a-z0-9]+\n")
        self.assertNotIn("sum += x", self.annotate("--no-source", "work", self.usual()).stdout)

    def test_a_terminal_of_unicode_has_its_characters(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([FPLESS, "annotate", "--symfs", self.root, "--color", "never", "work", self.usual()], stdout=theirs,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"}) as process:
            os.close(theirs)
            with open(ours, "rb", buffering=0) as terminal:
                text = b""
                try:
                    while part := terminal.read(65536):
                        text += part
                except OSError:  # the other end has closed it
                    pass
            self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertRegex(text.decode(), " ┌─+ +j")
        self.assertRegex(text.decode(), " └─+> ")

    def test_a_missing_file_is_named(self):
        recording = self.usual()
        os.remove(self.root + PATH)
        done = self.annotate("work", recording, status=2)
        self.assertIn(f"no file here has the code: {PATH} of build-id {self.build_id} is missing", done.stdout)
        shutil.copy("/bin/true", self.root + PATH)
        self.assertIn("not used: its build-id is", self.annotate("work", recording, status=2).stderr)
        by_id = os.path.join(self.root, ".build-id", self.build_id[:2], self.build_id[2:])
        os.makedirs(os.path.dirname(by_id))
        shutil.copy(self.program, by_id)
        self.assertIn(f"its code is from {by_id}", self.annotate("-q", "work", recording).stdout)

    def test_packages_of_what_is_missing_are_named(self):
        if not os.path.exists("/var/lib/dpkg/status"):
            self.skipTest("no dpkg")
        path = os.path.realpath("/usr/bin/true")
        recording = self.record([(1, [self.frame(0x2000, start=0x2000, path=path, build_id="ab" * 20)], [])])
        done = run(FPLESS, "annotate", "-q", "work", recording, status=2)
        self.assertRegex(done.stdout, rf"no file here has the code: {path} of build-id (ab){{20}} is missing\n"
                         r"  the installed file is of coreutils \S+: it was another version\n")
        run("strip", "-o", os.path.join(self.folder, "prog"), self.program)
        stacks = [(1, [self.frame(self.insns[0], path=os.path.join(self.folder, "prog"))], [])]
        self.assertIn("no package owns it: build it with -g", run(FPLESS, "annotate", "work", self.record(stacks)).stdout)

    def test_a_stripped_file_has_its_debug_file_or_says_what_is_missing(self):
        recording = self.usual()
        debug = os.path.join(self.root + os.path.dirname(PATH), "prog.debug")
        run("objcopy", "--only-keep-debug", self.program, debug)
        run("strip", self.root + PATH)
        run("objcopy", f"--add-gnu-debuglink={debug}", self.root + PATH)
        function, = self.functions("work", recording)
        self.assertIn("sum += x / (1 + (x & 15));", json.dumps(function["lines"]))
        os.remove(debug)
        function, = self.functions("work", recording)
        self.assertEqual(function["lines"], [])
        self.assertRegex(" ".join(function["notes"]), "no lines of source: .*no debugging information")
        self.assertEqual(sum(insn["samples"] for insn in function["instructions"]), sum(self.counts.values()))

    def test_other_names_are_answered(self):
        kernel = [{"addr": "0xffffffff81000010", "symbol": "do_it", "offset": 16, "module": None}]
        recording = self.record([
            (3, [self.frame(self.insns[1], inlined=[{"symbol": "mix"}]), self.frame(9, "idle", 0, exact=False)], []),
            (1, [self.frame(self.insns[1])], kernel),
            (2, [{"addr": "0x7f0000001000", "symbol": "jitted", "offset": 0, "origin": "fp", "exact": True}], []),
            (2, [self.frame(0x99, "ns::run<int>(int)", 0x90, build_id="")], [])])
        for name, status, said in (
                ("wor", 3, r"no function 'wor' in .*: fpless report lists the hottest\n.*did you mean 'work', 3 samples"),
                ("idle", 3, "idle has no samples of its own: what it calls has them"),
                ("mix", 3, "mix is inlined: fpless annotate 'work' shows it"),
                ("do_it", 3, "do_it is code of the kernel"),
                ("jitted", 2, "this code is in no file: it was made at run time"),
                ("run<int>", 2, "the recording knows no build-id of it"),
                ("work\x1b", 3, r"no function 'work\\x1b'")):
            with self.subTest(name=name):
                done = self.annotate(name, recording, status=status)
                self.assertRegex(done.stdout + done.stderr, said)
        self.annotate("--object", "other", "work", recording, status=3)
        self.annotate("--object", "prog", "work", recording)
        folded = os.path.join(self.folder, "x.folded")
        with open(folded, "w", encoding="utf-8") as file:
            file.write("prog;main;work 4\n")
        self.assertIn("keeps no addresses", self.annotate("work", folded, status=3).stderr)
        self.annotate(status=1)
        self.annotate("work", recording, "more", status=1)
        self.annotate("-M", "mips", "work", recording, status=1)

    def test_functions_of_scripts_have_lines(self):
        """A sample is that of the innermost function of a script, whatever ran below it."""
        script = os.path.join(self.folder, "app.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("".join(f"line {i} \x1b\n" for i in range(1, 2000)))

        def frame(symbol, line, start):
            return {"object": "[python]", "build_id": "", "vaddr": None, "symbol": symbol, "offset": None, "file": script,
                    "line": line, "start_line": start, "origin": "script"}

        native = self.frame(0x10, "work", 0x10)
        main, recording = frame("main", 20, 19), os.path.join(self.folder, "x.jsonl")
        write_recording(recording, [
            (5, [native, frame("App.run", 12, 10), main], []), (2, [frame("App.run", 14, 10), main], []),
            (1, [native, frame("App.run", 12, 10), main], [{"object": "kernel", "build_id": "", "vaddr": "0x1", "symbol": "do_it", "offset": 0}]),
            (3, [frame("run", 30, 30)], []), (4, [frame("long", 100, 100)], []), (4, [frame("long", 1900, 100)], [])])
        found, = json.loads(self.annotate("App.run", "--json", recording).stdout)["functions"]
        self.assertEqual((found["function"], found["object"], found["samples"]), ("App.run", script, 8))
        self.assertEqual([(line["line"], line["samples"], line["source"]) for line in found["lines"]],
                         [(10, 0, "line 10 ?"), (11, 0, "line 11 ?"), (12, 6, "line 12 ?"), (13, 0, "line 13 ?"), (14, 2, "line 14 ?")])
        text = self.annotate("App.run", recording).stdout
        self.assertRegex(text, r"(?s)8 of 19 samples \(42\.1%\).*Hottest lines\n +75\.0% +6  app\.py:12  line 12 \?\n +25\.0%"
                               r".*CODE\n +app\.py:10 .*\n.*\n +75\.0% +6  app\.py:12")
        # the whole name is meant first; a long function has its lines with samples alone
        self.assertRegex(self.annotate("run", recording).stdout, "^run in ")
        self.assertEqual(len(json.loads(self.annotate("long", "--json", recording).stdout)["functions"][0]["lines"]), 2)
        self.assertIn("main has no samples of its own", self.annotate("main", recording, status=3).stderr)

    def test_sources_are_looked_for_below_a_folder(self):
        os.makedirs(os.path.join(self.folder, "sources", "src"))
        with open(os.path.join(self.folder, "sources", "src", "prog.c"), "w", encoding="utf-8") as file:
            file.write("".join(f"line {i} \x1b\t|\n" for i in range(1, 40)))
        text = self.annotate("--source", os.path.join(self.folder, "sources"), "work", self.usual()).stdout
        self.assertRegex(text, r"prog\.c:17  line 17 \? +\|\n")

    def test_no_path_leaves_the_folder_of_sources(self):
        outside = os.path.join(self.folder, "outside.c")
        with open(outside, "w", encoding="utf-8") as file:
            file.write("hunter2\n" * 40)
        os.mkdir(os.path.join(self.folder, "sources"))
        for path in ("../outside.c", "/x/../outside.c"):
            program = self.compile(path)
            text = self.annotate_first(program, "--source", os.path.join(self.folder, "sources"))
            self.assertNotIn("hunter2", text)
            self.assertRegex(text, r"source .*outside\.c: ")

    def test_debugging_information_gets_no_secret_shown(self):
        """It names files as it likes; one whose name is not that of a source is not read, nor another user's own."""
        secret = os.path.join(self.made, "secret.key")
        cases = [(secret, "its name is not that of a source")]
        if os.getuid() == 0:
            private = os.path.join(self.made, "private.c")
            cases.append((private, "it is another user's"))
        for path, why in cases:
            with open(path, "w", encoding="utf-8") as file:
                file.write("hunter2\n" * 40)
            os.chmod(path, 0o600)
            program = self.compile(path)
            if path != secret:
                os.chown(program, 12345, 12345)
            text = self.annotate_first(program)
            self.assertIn(f"source {path}: {why}", text)
            self.assertNotIn("hunter2", text)

    def test_servers_are_asked_for_code_lines_and_sources(self):
        recording = self.usual()
        server = os.path.join(self.folder, "server", "buildid", self.build_id)
        os.makedirs(server + "/source" + os.path.dirname(self.source))
        stripped, debug = os.path.join(server, "executable"), os.path.join(server, "debuginfo")
        run("objcopy", "--only-keep-debug", self.program, debug)
        run("strip", "-o", stripped, self.program)
        with open(server + "/source" + self.source, "w", encoding="utf-8") as file:
            file.write("".join(f"fetched {i}\n" for i in range(1, 40)))
        os.remove(self.root + PATH)
        os.rename(self.source, self.source + ".away")
        self.addCleanup(os.rename, self.source + ".away", self.source)
        env = {"DEBUGINFOD_URLS": f"file://{self.folder}/server", "DEBUGINFOD_CACHE_PATH": os.path.join(self.folder, "cache")}
        done = subprocess.run([FPLESS, "annotate", "--debuginfod", "work", recording], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False, env={**os.environ, **env})
        if "libdebuginfod" in done.stderr:
            self.skipTest("no libdebuginfod")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("prog.c:17  fetched 17\n", done.stdout)


def write_perf_data(path, program, counts):
    """A perf.data with one sample for each count of @counts: {vaddr: count}, as if @program were mapped at a base."""
    headers = re.search(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+\s+0x\w+ (0x\w+)\s+R E", run("readelf", "-lW", program).stdout)
    off, vaddr, size = (int(text, 16) for text in headers.groups())
    base = 0x555555554000
    stat = os.stat(program)

    def record(kind, body, misc=2):
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    def text(value):
        raw = value.encode() + b"\0"
        return raw.ljust((len(raw) + 7) // 8 * 8, b"\0")

    page = off // 4096 * 4096
    data = record(3, struct.pack("<II", 77, 77) + text("prog"))  # PERF_RECORD_COMM
    data += record(10, struct.pack("<IIQQQIIQQII", 77, 77, base + vaddr - (off - page), size + off - page, page,
                                   os.major(stat.st_dev), os.minor(stat.st_dev), stat.st_ino, 0, 5, 2) + text(program))
    for at, count in counts.items():
        data += record(9, struct.pack("<QII", base + at, 77, 77)) * count  # IP | TID
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 1, 3, 0, 1 << 8 | 1 << 9 | 1 << 23).ljust(128, b"\0")  # cpu-clock; mmap, comm, mmap2
    head = 8 + 8 * 2 + 16 * 3 + 32
    with open(path, "wb") as file:
        file.write(b"PERFILE2" + struct.pack("<QQ", head, len(attr) + 16) + struct.pack("<QQ", head, len(attr) + 16)
                   + struct.pack("<QQ", head + len(attr) + 16, len(data)) + struct.pack("<QQ", 0, 0) + bytes(32))
        file.write(attr + struct.pack("<QQ", 0, 0) + data)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(sys.argv[2:] or ["Annotate"])], verbosity=2)
