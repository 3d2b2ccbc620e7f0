#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tools that other people read profiles with see the samples that fpless wrote?

usage: run.py FPLESS [--node-modules DIR] [--record FILE.tsv]

One run of a program with threads, kernel time and short processes is written in every format. Each reader
that is installed says what it found; a line of TSV per reader: what it is, its total, the total of the
books, and whether they are equal. A reader that is missing is a line that says so.

    cargo install inferno                                    inferno-collapse-perf, in PATH
    stackcollapse-perf.pl                                    of FlameGraph, in PATH
    npm install speedscope ajv @firefox-devtools/profiler-cli node@24      in DIR's parent
    apt-get install chromium                                 speedscope's page
"""

import argparse
import base64
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SCHEMA_CHECK = """
const Ajv = require("ajv"), fs = require("fs");
const [schema, file] = process.argv.slice(1).map(name => JSON.parse(fs.readFileSync(name)));
const check = new (Ajv.default || Ajv)({ strict: false }).compile(schema);
if (!check(file)) { console.error(check.errors); process.exit(1); }
"""
WORKLOAD = (
    "perl -e '$n += $_ for 1 .. 3e7' & perl -e 'open F, q(/dev/zero); sysread F, $x, 4096 for 1 .. 1e6' & "
    "for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/include >/dev/null; done; wait"
)


def folded(text):
    """Counts of folded lines, by line."""
    counts = collections.Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        counts[stack] += int(count)
    return counts


def collapse(tool, path):
    return sum(folded(subprocess.run([tool, path], check=True, capture_output=True, text=True,
                                     errors="surrogateescape").stdout).values())


class ProfilerCli:
    """Firefox Profiler's own reader, as its command line runs it."""

    def __init__(self, modules):
        self.tool = os.path.join(modules, ".bin", "profiler-cli")
        node = os.path.join(modules, "node", "bin")
        self.env = dict(os.environ, PATH=node + ":" + os.environ["PATH"], PROFILER_CLI_NO_SYMBOLICATE="1",
                        PROFILER_CLI_LOAD_TIMEOUT_MS="60000")

    def run(self, *args):
        return subprocess.run([self.tool, *args], check=True, capture_output=True, text=True,
                              env=self.env, timeout=120).stdout

    def load(self, path):
        """It gives up on its own daemon after half a second, which a busy machine does not keep."""
        for left in reversed(range(10)):
            try:
                self.run("load", path)
                return
            except subprocess.CalledProcessError as error:
                for pid in re.findall(r'run "kill (\d+)"', error.stderr):
                    os.kill(int(pid), signal.SIGTERM)
                if not left:
                    raise
                time.sleep(2)

    def total(self, path):
        self.load(path)
        try:
            handles = re.findall(r"^\*?\s+(t-\d+)\s", self.run("thread", "list", "--limit", "0"), re.M)
            return sum(self.samples(handle) for handle in handles)
        finally:
            self.run("stop", "--all")

    def samples(self, handle):
        text = self.run("thread", "samples", "--thread", handle, "--include-idle")
        found = re.search(r"\((\d+) (?:running )?samples\)", text)
        return int(found.group(1)) if found else 0


def speedscope_total(modules, path):
    """Milliseconds of the profile of everything, once speedscope's own schema has it for valid."""
    schema = os.path.join(modules, "speedscope", "dist", "release", "file-format-schema.json")
    subprocess.run(["node", "-e", SCHEMA_CHECK, schema, path], check=True,
                   env=dict(os.environ, NODE_PATH=modules))
    with open(path, encoding="utf-8") as file:
        return sum(json.load(file)["profiles"][0]["weights"])


def seconds(nanoseconds):
    """As speedscope's page shows them."""
    return f"{nanoseconds / 1e9:.2f}s" if nanoseconds >= 1e9 else f"{nanoseconds / 1e6:.2f}ms"


def speedscope_page(modules, work, path):
    """The weight of the profile of everything, as the page shows it in a browser without a screen."""
    script = os.path.join(work, "profile.js")
    with open(path, "rb") as file, open(script, "w", encoding="ascii") as to:
        to.write('speedscope.loadFileFromBase64("run", "%s")' % base64.b64encode(file.read()).decode())
    page = os.path.join(modules, "speedscope", "dist", "release", "index.html")
    text = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader",
         "--allow-file-access-from-files", "--virtual-time-budget=15000", "--user-data-dir=" + os.path.join(work, "user"),
         "--dump-dom", f"file://{page}#localProfilePath={script}"],
        check=True, capture_output=True, text=True, timeout=180).stdout
    words = re.sub(r"(\s*<[^>]+>\s*)+", "|", text)
    found = re.search(r"\|1\|all\|([\d.]+m?s)\|", words)
    return found.group(1) if found else "nothing"


def readers(modules, work, books):
    """(what, installed, function to its total, the total it has to be)"""
    perf, firefox = os.path.join(work, "run.perf"), os.path.join(work, "run.json")
    speedscope = os.path.join(work, "run.speedscope.json")
    for tool in ("inferno-collapse-perf", "stackcollapse-perf.pl"):
        yield tool + " of .perf", shutil.which(tool), lambda t=tool: collapse(t, perf), books["shown"]
    cli = modules and os.path.exists(os.path.join(modules, ".bin", "profiler-cli"))
    yield "profiler-cli of .json", cli, lambda: ProfilerCli(modules).total(firefox), books["shown"]
    yield "profiler-cli of .perf", cli, lambda: ProfilerCli(modules).total(perf), books["shown"]
    schema = modules and os.path.exists(os.path.join(modules, "speedscope"))
    yield "speedscope's schema", schema, lambda: speedscope_total(modules, speedscope), books["weight_ns"]
    yield ("speedscope's page", schema and shutil.which("chromium"),
           lambda: speedscope_page(modules, work, speedscope), seconds(books["weight_ns"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fpless")
    parser.add_argument("--node-modules", help="where npm put its packages")
    parser.add_argument("--record", help="a file for the table, too")
    options = parser.parse_args()
    failed = False
    lines = ["reader\ttotal\twanted\tverdict"]

    with tempfile.TemporaryDirectory() as work:
        outputs = ["run.folded", "run.perf", "run.json", "run.speedscope.json"]
        command = [options.fpless, "profile", "-q", "-F", "997", "--stats", os.path.join(work, "stats")]
        for name in outputs:
            command += ["-o", os.path.join(work, name)]
        subprocess.run(command + ["--", "sh", "-c", WORKLOAD], check=True)
        with open(os.path.join(work, "stats"), encoding="utf-8") as file:
            books = json.load(file)
        modules = options.node_modules and os.path.abspath(options.node_modules)
        for what, installed, total, wanted in readers(modules, work, books):
            if not installed:
                lines.append(f"{what}\t-\t{wanted}\tnot installed")
                continue
            try:
                got = total()
            except (subprocess.SubprocessError, OSError) as error:
                got = f"did not run: {error}"
            failed = failed or got != wanted
            lines.append(f"{what}\t{got}\t{wanted}\t{'equal' if got == wanted else 'DIFFERS'}")
    print("\n".join(lines))
    if options.record:
        with open(options.record, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
