# SPDX-License-Identifier: Apache-2.0
"""A built copy of the source tree, in which one file at a time is replaced and tests are run.

Nothing but the objects that include the file is compiled again, and only the tests that link one
of them are linked again: the objects go before the static libraries that hold the originals.
"""
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77
MEMORY_BYTES = 2 << 30
FILE_BYTES = 256 << 20


@dataclass
class Test:
    """What ctest would run, and the programs of the build that it runs."""

    name: str
    argv: list
    cwd: str
    programs: list  # outputs of the build among argv
    objects: set = field(default_factory=set)  # linked into them
    cpu_s: float = 0.0
    kills: int = 0


class TreeError(Exception):
    """The unmodified tree does not configure, build or pass."""


def run_checked(argv, **kwargs):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    if done.returncode:
        raise TreeError(f"{shlex.join(argv)}:\n{done.stdout[-4000:]}")
    return done.stdout


def copy_tree(source, target):
    """
    Copy what git would keep of @source, but write only what differs: its objects stay good. Where
    there is no git, copy all but builds.
    """
    listed = subprocess.run(
        ["git", "-C", source, "ls-files", "-z", "-co", "--exclude-standard", "."],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    names = [n for n in listed.stdout.decode().split("\0") if n]
    for name in names:
        old, new = Path(source, name), Path(target, name)
        if not old.is_file():
            new.unlink(missing_ok=True)
        elif not (new.is_file() and new.read_bytes() == old.read_bytes()):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(old, new)
            shutil.copymode(old, new)
    if not names:  # no repository
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("build", ".*"), dirs_exist_ok=True)


class TestTree:
    """A copy of @source under @folder, configured and built."""

    def __init__(self, source, folder, labels, names, sanitize=""):
        self.root = Path(folder, "tree").resolve()
        self.build = Path(folder, "build").resolve()
        self.sanitize = sanitize
        self.labels = labels
        self.names = names
        copy_tree(source, self.root)

    def configure(self, jobs):
        self.build.mkdir(parents=True, exist_ok=True)
        argv = ["cmake", "-S", str(self.root), "-B", str(self.build), "-G", "Ninja"]
        argv += ["-DCMAKE_BUILD_TYPE=", "-DCMAKE_C_FLAGS=-O1 -w", "-DBUILD_TESTING=ON"]
        argv += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DFPL_SANITIZE={self.sanitize}"]
        run_checked(argv)
        run_checked(["cmake", "--build", str(self.build), "-j", str(jobs)])
        self.read_commands()
        self.read_tests()

    def ninja(self, *args):
        return run_checked(["ninja", "-C", str(self.build), *args])

    def read_commands(self):
        """How each object is compiled, what it includes."""
        self.compile = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            argv = shlex.split(entry["command"])
            self.compile[argv[argv.index("-o") + 1]] = argv
        self.includes = {}
        for block in self.ninja("-t", "deps").split("\n\n"):
            lines = block.strip().split("\n")
            name = re.sub(r"^.*?(\S+): #deps .*", r"\1", lines[0])
            paths = {os.path.normpath(self.build / line.strip()) for line in lines[1:]}
            self.includes[name] = {
                os.path.relpath(p, self.root) for p in paths if p.startswith(f"{self.root}/")
            }

    def read_tests(self):
        labels = ["-L", f"^({self.labels})$", "-LE", "^(root|slow|system)$"]
        labels += ["-R", self.names] if self.names else []
        shown = json.loads(
            run_checked(["ctest", "--test-dir", str(self.build), "--show-only=json-v1", *labels])
        )
        self.tests = []
        self.links = {}
        for test in shown["tests"]:
            cwd = next(
                (p["value"] for p in test.get("properties", []) if p["name"] == "WORKING_DIRECTORY"),
                str(self.build),
            )
            programs = [p for p in map(self.program_of, test["command"]) if p]
            self.tests.append(Test(test["name"], test["command"], cwd, programs))
        for test in self.tests:
            for program in test.programs:
                if program not in self.links:
                    self.links[program] = self.link_of(program)
                test.objects |= self.links[program][1]

    def program_of(self, path):
        """The build's name of the program at @path; None: the build does not link it."""
        if not path.startswith(f"{self.build}/") or not os.access(path, os.X_OK):
            return None
        name = os.path.relpath(path, self.build)
        done = subprocess.run(
            ["ninja", "-C", self.build, "-t", "commands", "-s", name],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        return name if done.returncode == 0 and f" -o {name}" in done.stdout else None

    def link_of(self, program):
        """(the command that links @program, the objects that it takes)."""
        command = self.ninja("--quiet", "-t", "commands", "-s", program)
        argv = shlex.split(next(p for p in command.split("&&") if f" -o {program}" in p))
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile("r") as listing:
            test_argv = list(argv)
            test_argv[argv.index("-o") + 1] = out.name
            run_checked([*test_argv, f"-Wl,-Map,{listing.name}"], cwd=self.build)
            loaded = set(re.findall(r"^LOAD (\S+\.o)$", listing.read(), re.MULTILINE))
            listing.seek(0)
            members = set(re.findall(r"^\s*\.text\S*\s.*?(\S+\.a)\((\S+\.o)\)", listing.read(), re.M))
        objects = {name for name in loaded if name in self.compile}
        for archive, member in members:
            archive = Path(os.path.relpath(self.build / archive, self.build))
            folder = str(archive.parent / "CMakeFiles" / f"{archive.stem[3:]}.dir") + "/"
            objects |= {n for n in self.compile if n.startswith(folder) and n[len(folder) :] == member}
        return argv, objects

    def dependents(self, file):
        """The objects some test links that @file is compiled into."""
        linked = set().union(*(test.objects for test in self.tests))
        return sorted(n for n in linked if file in self.includes.get(n, ()))


class Bench:
    """One worker's place: a file replaced, its objects, its programs. Not shared between threads."""

    def __init__(self, tree, folder, file, wall_s):
        self.tree = tree
        self.file = file
        self.wall_s = wall_s
        self.folder = Path(folder).resolve()
        self.overlay = self.folder / "overlay"
        self.scratch = self.folder / "tmp"
        shutil.rmtree(self.overlay, ignore_errors=True)  # what another file's bench left there
        for path in ((self.overlay / file).parent, self.scratch):
            path.mkdir(parents=True, exist_ok=True)
        self.objects = tree.dependents(file)
        self.originals = {}
        self.linked = {}  # program: whether it links with what was compiled last

    def compile(self, name, optimised=False):
        """
        Compile object @name; returns its digest, or None where the compiler refuses. What tests
        run is compiled without optimisation, in half the time.
        """
        argv = list(self.tree.compile[name])
        out = self.folder / ("optimised" if optimised else "objects") / name
        out.parent.mkdir(parents=True, exist_ok=True)
        if not optimised and not self.tree.sanitize:
            argv = ["-O0" if a == "-O1" else a for a in argv]
        argv[argv.index("-o") + 1] = str(out)
        source = str(self.tree.root / self.file)
        argv = [str(self.overlay / self.file) if a == source else a for a in argv]
        argv[1:1] = [f"-I{self.overlay}", f"-ffile-prefix-map={self.overlay}={self.tree.root}"]
        done = subprocess.run(argv, cwd=self.tree.build, capture_output=True)
        return None if done.returncode else hashlib.sha256(out.read_bytes()).digest()

    def replace(self, text):
        (self.overlay / self.file).write_text(text)
        self.linked = {}

    def link(self, program, changed):
        """Whether @program links; once for all tests of a text: its objects do not change."""
        if program not in self.linked:
            self.linked[program] = self.link_anew(program, changed)
        return self.linked[program]

    def link_anew(self, program, changed):
        argv, objects = self.tree.links[program]
        argv = list(argv)
        out = self.folder / "programs" / program
        out.parent.mkdir(parents=True, exist_ok=True)
        argv[argv.index("-o") + 1] = str(out)
        for name in sorted(changed & objects):
            own = str(self.folder / "objects" / name)
            if name in argv:
                argv[argv.index(name)] = own
            else:
                argv.insert(next(i for i, a in enumerate(argv) if a.endswith((".o", ".a"))), own)
        return subprocess.run(argv, cwd=self.tree.build, capture_output=True).returncode == 0

    def run(self, test, changed):
        """Whether @test passes, and the CPU time it took."""
        argv = list(test.argv)
        for program in test.programs:
            if changed & self.tree.links[program][1]:
                if not self.link(program, changed):
                    return False, 0.0
                original = str(self.tree.build / program)
                argv = [str(self.folder / "programs" / program) if a == original else a for a in argv]
        limit_s = int(1 + 5 * test.cpu_s)

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
            if not self.tree.sanitize:  # AddressSanitizer reserves terabytes
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

        env = dict(os.environ, TMPDIR=str(self.scratch), ASAN_OPTIONS="hard_rss_limit_mb=1024")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.Popen(
            argv, cwd=test.cwd, env=env, preexec_fn=limit, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            code = child.wait(self.wall_s)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(child.pid, signal.SIGKILL)  # what it started and left behind
        except ProcessLookupError:
            pass
        child.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return code in (0, SKIPPED), cpu_s

    def prepare(self):
        """Compile the original the way mutants are. The tests must pass with it."""
        self.replace((self.tree.root / self.file).read_text())
        for name in self.objects:
            self.originals[name] = self.compile(name), self.compile(name, optimised=True)
            if not self.originals[name][0]:
                raise TreeError(f"{name}: does not compile outside the build")

    def tests(self):
        return [t for t in self.tree.tests if t.objects & set(self.objects)]

    def measure(self):
        """Run each test with the original: it must pass, and its CPU time is a measure."""
        for test in self.tests():
            test.cpu_s = 5.0
            passed, test.cpu_s = self.run(test, set(self.objects))
            if not passed:
                raise TreeError(f"{test.name} fails without any mutation of {self.file}")

    def judge(self, text, tests):
        """What becomes of the file's new @text: (outcome, name of the test that failed)."""
        self.replace(text)
        changed, compiled = set(), set()
        for test in tests:
            for name in self.objects:
                if name in test.objects and name not in compiled:
                    digest = self.compile(name)
                    if not digest:
                        return "invalid", ""
                    compiled.add(name)
                    if digest != self.originals[name][0]:
                        changed.add(name)
            if changed & test.objects and not self.run(test, changed)[0]:
                return "killed", test.name
        return ("survived" if self.differs(changed) else "equivalent"), ""

    def differs(self, changed):
        """Whether an optimising compiler too finds a difference in one of @changed."""
        return any(self.compile(n, optimised=True) != self.originals[n][1] for n in sorted(changed))
