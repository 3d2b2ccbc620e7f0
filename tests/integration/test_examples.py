#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_examples.py FPLESS FIXTURES PAGES...

What the manual (.scd: the blocks under EXAMPLES) and the cookbook (.md: the blocks marked sh) tell the
reader to type works as it stands: it succeeds, and says or writes something. Only durations are cut.
The examples of a page, and the blocks of a recipe, are run one after another in a folder of their own, several pages or
recipes side by side: most of the time they sample.
A recipe that needs a program this machine lacks is left out, and so are pages that this fpless was
built without."""

import concurrent.futures
import gzip
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from fpless_run import need_root

FPLESS = os.path.realpath(sys.argv[1])
PAGES = sys.argv[3:]
HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 300
AT_A_TIME = 4

WORK = """#!/usr/bin/perl
my %seen; for (1 .. ROUNDS) { my $word = lc "Word" . $_ % 1000; $seen{$word} .= "x"; $n += length $word; }
"""
PERF = """perl  100/100   [000]     1.000000:     250000 cpu-clock:
\t    55d0c0de1234 main+0x14 (/usr/bin/prog)
\t    55d0c0de0034 _start+0x24 (/usr/bin/prog)

perl  100/100   [001]     1.010000:     250000 cpu-clock:
\t    55d0c0de1280 leaf+0x10 (/usr/bin/prog)
\t    55d0c0de0034 _start+0x24 (/usr/bin/prog)

"""


def in_manual(text):
    """[(heading, command, pattern)] of the section EXAMPLES."""
    section = re.search(r"^# EXAMPLES$(.*?)(?=^# |\Z)", text, re.M | re.S)
    blocks = re.findall(r"^([^\n`]*)\n\n```\n(.*?)```$", section[1], re.M | re.S) if section else []
    return [(heading, command.replace("\\\\", "\\"), "") for heading, command in blocks]


def is_here(name):
    """A program, or cgroups of version 2."""
    if name == "cgroup2":
        with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
            return any(line.split()[2] == "cgroup2" for line in mounts)
    return shutil.which(name)


def has_pages():
    """Was this fpless built with what it writes HTML by?"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([FPLESS, "report", "-q", "-o", os.path.join(folder, "x.html"), "-"], check=False,
                              input="a;b 1\n", stderr=subprocess.PIPE, text=True)
    return done.returncode != 2 or "without npm" not in done.stderr


def in_cookbook(text):
    """The same of a recipe's blocks, without those of recipes that cannot run here."""
    found = []
    for recipe in re.split(r"^## ", text, flags=re.M)[1:]:
        heading = recipe.split("\n", 1)[0]
        needs = re.search(r"<!-- needs: (.*?) -->", recipe)
        lacking = [name for name in (needs[1].split() if needs else []) if not is_here(name)]
        if lacking:
            print(f"left out: {heading}: {' '.join(lacking)} is not here")
            continue
        for command, pattern in re.findall(r"^```sh\n(.*?)```\n(?:<!-- shows: (.*?) -->)?", recipe,
                                           re.M | re.S):
            found.append((heading, command, pattern))
    return found


def examples():
    """[(page, heading, command, pattern)]"""
    found, pages = [], has_pages()
    for path in PAGES:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        read = in_cookbook(text) if path.endswith(".md") else in_manual(text)
        found += [(os.path.basename(path), *example) for example in read
                  if pages or ".html" not in example[1]]
    return found


class Examples(unittest.TestCase):
    """In folders with the files that the examples speak of."""

    @classmethod
    def setUpClass(cls):
        cls.folders = tempfile.mkdtemp()
        cls.folder = os.path.join(cls.folders, "first")
        os.mkdir(cls.folder)
        cls.bin = os.path.join(cls.folder, ".bin")
        cls.put("work.pl", WORK.replace("ROUNDS", "1_500_000"))
        cls.put("old/prog", WORK.replace("ROUNDS", "300_000"))
        cls.put("new/prog", WORK.replace("ROUNDS", "400_000"))
        # works in the kernel, too: on an idle machine nothing else would be seen there; a quarter of a CPU is enough
        cls.put("busy.pl", "alarm 1200;  # whatever becomes of the test\n"
                           "for (;;) { for (1 .. 300) { -e '/' } select undef, undef, undef, 0.003 }\n")
        cls.put("perf.txt", PERF)
        with gzip.open(os.path.join(HERE, "../../fixtures/perf/fp.data.gz")) as packed, \
                open(os.path.join(cls.folder, "perf.data"), "wb") as file:
            file.write(packed.read())
        for name in ("fpless", "fpless-bcc-profile", "fpless-bcc-stackcount"):
            program = os.path.join(os.path.dirname(FPLESS), name)
            cls.put(f".bin/{name}", f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/example_shim.py" '
                                    f'"{program}" "$@"\n')
        for name in ("run.jsonl", "monday.jsonl", "tuesday.jsonl", "before.pb.gz", "after.pb.gz"):
            cls.shell(f"fpless profile -q -F 499 -o {name} -- perl work.pl", cls.folder)
        # one on each CPU: an example that looks at one of them finds something
        cls.busy = []
        for cpu in os.sched_getaffinity(0):
            # pylint: disable-next=consider-using-with
            cls.busy.append(subprocess.Popen(["perl", "busy.pl"], cwd=cls.folder))
            os.sched_setaffinity(cls.busy[-1].pid, {cpu})

    @classmethod
    def tearDownClass(cls):
        for process in cls.busy:
            process.kill()
            process.wait()
        shutil.rmtree(cls.folders)

    @classmethod
    def put(cls, name, text):
        """A file, which can be run."""
        path = os.path.join(cls.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    @classmethod
    def shell(cls, command, folder, **more):
        """(status, stdout and stderr)"""
        env = dict(os.environ, PATH=cls.bin + ":" + os.environ["PATH"], PYTHONDONTWRITEBYTECODE="1",
                   TERM="dumb", **more)
        with subprocess.Popen(["bash", "-eu", "-o", "pipefail", "-c", command], cwd=folder,
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as shell:
            try:
                said = shell.communicate(timeout=TIMEOUT_S)[0]
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGKILL)
                said = "no end within its time: " + shell.communicate()[0]
        return shell.returncode, said

    def run_one(self, folder, page, heading, command, pattern):
        """One example."""
        files = [name for name in re.findall(r"(?:-o|--stats|>) (\S+)", command)
                 if not re.search(r"[\"'$*?]", name)]
        for name in files:
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        status, said = self.shell(command, folder, PID=str(self.busy[0].pid))
        # head has enough: fpless then ends as on Ctrl-C, the pipe with its status
        where = f"{page}: {heading}\n{command}\n{said[-3000:]}"
        # new/prog does a third more than old/prog: whether that is more than the noise is for --fail-on to say, by 7
        self.assertIn(status, (0, 7) if "--fail-on" in command else (0,), where)
        self.assertRegex(said, re.compile(pattern, re.M) if pattern else r"\S|^$", where)
        for name in files:
            self.assertGreater(os.path.getsize(os.path.join(folder, name)), 0, where)
        if not files:
            self.assertTrue(said.strip(), where)

    def run_group(self, nr, group):
        """[(example, what is wrong with it)] of examples that may build on each other."""
        folder = os.path.join(self.folders, str(nr))
        shutil.copytree(self.folder, folder)
        faults = []
        for example in group:
            try:
                self.run_one(folder, *example)
            except AssertionError as error:
                faults.append((example, error))
        return faults

    def test_all(self):
        """Each."""
        found = examples()
        self.assertGreaterEqual(len({page for page, *_ in found}), min(len(PAGES), 1))
        # the blocks of a recipe of the cookbook, or the examples of a page of the manual
        groups = [list(group) for _, group in itertools.groupby(
            found, lambda example: example[:2] if example[0].endswith(".md") else example[0])]
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            done = list(pool.map(self.run_group, range(len(groups)), groups))
        for example, error in itertools.chain(*done):
            with self.subTest(page=example[0], heading=example[1]):
                raise error


if __name__ == "__main__":
    need_root()
    if subprocess.run([FPLESS, "profile", "-q", "-I", "-d", "0.1", "-f"], check=False,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 2:
        print("SKIP: sampling needs BPF and perf events")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
