#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the tables right, and the stacks whole, in every release of Debian that can be had, and on musl?

usage: releases.py FPLESS [--only SUITE,...] [--seconds 3] [--hz 499] [--cache DIR] [--no-documents]

Each release is a root of packages of its own below --cache ($FPLESS_PROGRAMS_CACHE, else ~/.cache/fpless-programs), fetched by
the machine's own apt with the release in place of its own, not installed. `fpless verify` judges every ELF file of the root;
then programs run in it, sampled from their start on with nothing kept of earlier runs, callers checked as in run.py. One
is built with musl-tools in four ways, since musl itself has no CFI. Of some that wait every wait is sampled (fpless offcpu).

A run of all releases writes the table into docs/verification.md, with commit and date. Fails where verify disagrees or cannot judge a file,
where a program is below its threshold, and where it has wrong frames. Needs root.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import documents
from debian_root import DebianRoot, Unavailable, default_cache
from inputs import SOURCES
from measure import Failed, Figures, Machine
from run import enter_namespace, mount

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "vm"))
from apt_root import AptError, AptRoot  # noqa: E402

MARK = "releases"
SUITES = {"bullseye": "11", "bookworm": "12", "trixie": "13", "sid": "sid"}
PACKAGES = ("libc6", "python3", "perl", "bash", "coreutils", "openssl", "gawk", "zstd", "xz-utils", "sqlite3", "gdb", "ruby", "gcc", "busybox",
            "musl-tools")
LEAST, WRONG_MAX = 99.5, 0.1
VERIFY_TIMEOUT_S = 900
TOTALS = (re.compile(r"^total: (?P<files>\d+) files judged, .* (?P<lost>\d+) could not be judged, (?P<bad>\d+) with disagreements", re.M),
          re.compile(r"^total: (?P<fdes>\d+) FDEs, (?P<rows>\d+) rows, (?P<pcs>\d+) pcs,", re.M))
RUBY = "def f(n) n<2?n:f(n-1)+f(n-2) end; loop{f(22); (1..9999).map{|x|x.to_s}.sort}"
PERL = "while (1) { my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 5000; join q(,), sort { $h{$a} cmp $h{$b} } keys %h }"
PYTHON = "import json, re\nwhile True: re.findall(r'x(\\d+)7', json.dumps([{'k': i, 's': 'x%d' % i} for i in range(999)]))"
PYTHON_LOOPS = """
class Sum:
    def __init__(self): self.sum = 0
    def add(self, n): self.sum += n * 1.5; return self
def loops(n):
    total, found = Sum(), {}
    for i in range(n):
        total.add(i); found[i % 97] = str(i)
    return sorted(found.values(), key=lambda text: text[::-1])
while True: loops(20000)
"""
GAWK = 'BEGIN { for (;;) { x[i++ % 1000] = i; s = s "a"; gsub(/1/, "z", s); if (length(s) > 1000) s = "" } }'
PROGRAMS = (
    ("python3", ("/usr/bin/python3", "-c", PYTHON)),
    # where python3 has a JIT: that of sid
    ("python3, PYTHON_JIT=1", ("/usr/bin/env", "PYTHON_JIT=1", "/usr/bin/python3", "-c", PYTHON_LOOPS)),
    ("perl", ("/usr/bin/perl", "-e", PERL)),
    ("ruby", ("/usr/bin/ruby", "-e", RUBY)),
    ("gawk", ("/usr/bin/gawk", GAWK)),
    ("bash", ("/usr/bin/bash", "-c", 'while :; do x=${x}a; [[ $x =~ a+b ]]; ((${#x} > 300)) && x=; done')),
    ("openssl rsa2048", ("/usr/bin/openssl", "speed", "-seconds", "60", "rsa2048")),
    ("openssl aes-256-gcm", ("/usr/bin/openssl", "speed", "-seconds", "60", "-evp", "aes-256-gcm")),
    ("sort", ("/usr/bin/bash", "-c", "while :; do seq 200000 | sort -R | sort -n > /dev/null; done")),
)
WAITING = (
    ("python3, waits", ("/usr/bin/python3", "-c", "import select, subprocess, time\nwhile True:\n    time.sleep(0.002)\n    select.select([], [], [], 0.002)\n    "
                        "subprocess.run(['/usr/bin/true'])")),
    ("perl, waits", ("/usr/bin/perl", "-e", "while (1) { select(undef, undef, undef, 0.002); system('/usr/bin/true') }")),
    ("sort, waits", ("/usr/bin/bash", "-c", "while :; do seq 200000 | sort -R | sort -n > /dev/null; done")),
)
LEAST_WAITS = 99.9
MUSL = (("dynamic", ("-O2",)), ("-Os", ("-Os", "-fomit-frame-pointer")), ("static", ("-O2", "-static")),
        ("static, no CFI at all", ("-O2", "-static", "-fno-asynchronous-unwind-tables")))
SPECS = "/usr/lib/x86_64-linux-musl/musl-gcc.specs"


class Release:
    def __init__(self, suite):
        self.suite, self.cells, self.faults = suite, {}, []

    def cell(self, name, text, fault=None):
        self.cells[name] = text
        if fault:
            self.faults.append("Debian %s, %s: %s" % (SUITES[self.suite], name, fault))
        print("Debian %s\t%s\t%s" % (SUITES[self.suite], name, text), flush=True)


def verify(fpless, root, release):
    done = subprocess.run([fpless, "verify", "-t", "120", os.path.join(root.path, "usr/bin"), os.path.join(root.path, "usr/lib")],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=VERIFY_TIMEOUT_S, check=False)
    found = [one.search(done.stdout) for one in TOTALS]
    if not all(found):
        release.cell("verify", "not run", "verify: " + (done.stdout.strip().splitlines() or ["it said nothing"])[-1][:160])
        return
    totals = {key: int(value) for match in found for key, value in match.groupdict().items()}
    bad = totals["bad"] or totals["lost"]
    release.cell("verify", "%(files)d files, %(pcs)d pcs, %(bad)d disagree" % totals,
                 "%(bad)d files disagree, %(lost)d could not be judged" % totals if bad else None)


def profile(machine, name, words, release, options):
    figures = Figures()
    try:
        machine.run(words, {}, {"default": ()}, (options.hz, options.seconds), {"default": figures})
    except Failed as why:
        release.cell(name, "not run: " + str(why))
        return
    stops = ", ".join("%s %d" % pair for pair in figures.stops.most_common())
    faults = []
    if figures.complete_pct() < LEAST:
        faults.append("%.2f %% complete (%s)" % (figures.complete_pct(), stops))
    if figures.wrong_pct() > WRONG_MAX:
        faults.append("%.2f %% wrong: %s" % (figures.wrong_pct(), figures.whys.most_common(1)))
    release.cell(name, "%.2f" % figures.complete_pct() + (" (%s)" % stops if stops else ""), "; ".join(faults))


def waits(machine, name, words, release, options):
    """Every wait of the program and its children, from its start on."""
    command, env = machine.inside(words)
    stats = os.path.join(machine.scratch, "waits.json")
    done = subprocess.run([options.fpless, "offcpu", "-q", "--exact", "-d", str(options.seconds), "--no-cache", "-f", "--stats", stats, "--", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **env}, check=False)
    if done.returncode not in (0, 143):  # the run ends the program by SIGTERM
        release.cell(name, "not run: " + done.stderr.strip()[:200])
        return
    with open(stats, encoding="ascii") as file:
        books = json.load(file)
    stop, lost = books["stop"], sum(books["lost"].values())
    judged = books["user_samples"] - stop["exiting"] - stop["execing"]
    complete = 100 * books["complete"] / max(judged, 1)
    stops = ", ".join("%s %d" % (why, nr) for why, nr in stop.items() if nr and why not in ("outermost", "exiting", "execing"))
    fault = "%.3f %% of %d complete (%s), %d lost" % (complete, judged, stops, lost)
    release.cell(name, "%.2f" % complete + (" (%s)" % stops if stops else ""), fault if complete < LEAST_WAITS or lost or not judged else None)


def build_musl(machine, number, flags):
    """The path, inside, of the program for musl."""
    compiler = sorted(glob.glob(os.path.join(machine.root.path, "usr/bin/gcc-[0-9]*")), key=lambda one: int(re.sub(r"\D", "", one.rsplit("-", 1)[1]) or 0))
    if not compiler:
        raise Unavailable("no compiler")
    shutil.copy(os.path.join(SOURCES, "musl.c"), machine.folder)
    path = "/work/musl-%s-%d" % (os.path.basename(os.path.dirname(machine.folder)), number)
    command, env = machine.inside(["/usr/bin/" + os.path.basename(compiler[-1]), "-specs", SPECS, *flags, "-o", path, "/work/musl.c"])
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, **env})
    if done.returncode:
        raise Unavailable((done.stdout.strip().splitlines() or ["it cannot be built"])[-1][:160])
    return path


def measure(suite, options, scratch):
    release = Release(suite)
    cache = os.path.join(options.cache or default_cache(), "releases", suite)
    try:
        apt = AptRoot(tempfile.mkdtemp(dir=scratch), [suite])
        root = DebianRoot(cache, apt.environment())
        root.add(PACKAGES)
    except (AptError, Unavailable) as why:
        release.cell("verify", "not run: " + " ".join(str(why).split())[:200])
        return release
    verify(options.fpless, root, release)
    folder = os.path.join(root.cache, "inputs")
    os.makedirs(folder, exist_ok=True)
    mount(root.path, folder)
    machine = Machine(options.fpless, root, folder, scratch)
    for name, words in PROGRAMS:
        profile(machine, name, words, release, options)
    for name, words in WAITING:
        waits(machine, name, words, release, options)
    for number, (name, flags) in enumerate(MUSL):
        name = "musl, " + name
        try:
            profile(machine, name, [build_musl(machine, number, flags)], release, options)
        except Unavailable as why:
            release.cell(name, "not run: " + str(why))
    return release


def table(releases):
    names = list(dict.fromkeys(name for one in releases for name in one.cells))
    head = ("", *("Debian " + SUITES[one.suite] for one in releases))
    return documents.markdown(head, [(name if name == "verify" else name + ", complete %", *(one.cells.get(name, "-") for one in releases))
                                     for name in names])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless", type=os.path.realpath)
    parser.add_argument("--only", default="")
    parser.add_argument("--cache")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--no-documents", action="store_true")
    options = parser.parse_args()
    enter_namespace()
    only = options.only.split(",") if options.only else SUITES
    with tempfile.TemporaryDirectory(prefix="fpless-releases-") as scratch:
        releases = [measure(suite, options, scratch) for suite in SUITES if suite in only]
    if not (options.only or options.no_documents):
        documents.replace("docs/verification.md", MARK, documents.made_from() + "\n\n" + table(releases))
    faults = [fault for one in releases for fault in one.faults]
    print("\n".join(faults) if faults else "nothing below what is asked")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
