# SPDX-License-Identifier: Apache-2.0
"""One program, sampled: by fpless, as by default or with more options, and by perf. It runs in the root of its packages."""

import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

from caller_check import Check, is_gap
from debian_root import ENV

LEFT_OUT = ("exiting", "execing")  # nothing to walk: no part of the share
LAUNCHERS = ("fpless", "chroot")   # what starts the program is none of it
OUTERMOST = re.compile(r"^(_start|main|__libc_start_.*|clone3|__clone3?|start_thread|_dl_start_user|_dl_start|"
                       r"runtime\.(goexit|mstart|rt0_go|main)(\.abi0)?)$")
SHORT_SHARE = 0.08  # of the samples one busy CPU gives: a program with fewer has not worked
PERF_S = 2


class Failed(Exception):
    """The program has not worked; why."""


class Figures:
    """Sums over the runs of one program in one way."""

    def __init__(self):
        self.complete = self.samples = self.judged = self.wrong = self.named = self.jit = 0
        self.stops, self.whys, self.origins = (collections.Counter() for _ in range(3))
        self.open_books = self.lost = 0

    def add(self, stats, stacks, check):
        """@check: a Check, or None."""
        lost = sum(stats["lost"].values())
        self.lost += lost
        self.open_books += stats["fired"] != stats["shown"] + stats["idle"] + stats["filtered"] + lost
        for stack in stacks:
            self.samples += stack["count"]
            if stack["stop"] == "outermost":
                self.complete += stack["count"]
            else:
                self.stops[stack["stop"]] += stack["count"]
            for frame in stack["user"]:
                if is_gap(frame):
                    continue
                self.origins[frame["origin"]] += stack["count"]
                # a script frame of V8 stands for the frame of code made at run time that it was made of
                if "addr" in frame or frame.get("object") == "[javascript]":
                    self.jit += stack["count"]
                    self.named += stack["count"] * (frame["symbol"] is not None)
            if check:
                check.take(stack)
        if check:
            judged, wrong, whys = check.judge()
            self.judged += judged
            self.wrong += wrong
            self.whys.update(whys)

    def complete_pct(self):
        return 100 * self.complete / self.samples if self.samples else 0.0

    def wrong_pct(self):
        return 100 * self.wrong / self.judged if self.judged else 0.0

    def named_pct(self):
        return 100 * self.named / self.jit if self.jit else None


class Machine:
    """@root: what the programs run in, with @folder as its `work`; @scratch: of the measurements."""

    def __init__(self, fpless, root, folder, scratch):
        self.fpless, self.root, self.folder, self.scratch = fpless, root, folder, scratch
        self.said = os.path.join(scratch, "stderr")

    def inside(self, words, env=None):
        """The words and the environment to run a command in the root."""
        return self.root.inside(words, env)

    def locate(self, name):
        path = os.path.join(self.root.path, name.lstrip("/"))
        return path if name.startswith("/") and os.path.isfile(path) else None

    def run(self, words, env, ways, options, figures):
        """From its start on, in one way after the other: {way: words for fpless}; adds to @figures, {way: Figures}. @options:
        hz, seconds. Returns the stacks of the first."""
        hz, seconds = options
        command, env = self.inside(words, env)
        found = []
        for way, more in ways.items():
            with self.fpless_run(way, hz, seconds, [*more, "--", *command], env) as run:
                self.wait(run, seconds)
            found.append(self.take(way, hz * seconds, figures[way]))
        return found[0]

    def run_beside(self, words, env, ways, options, figures):
        """The same in all ways at once, of a process that has begun: for what differs from run to run."""
        hz, seconds = options
        command, env = self.inside(words, env)
        null = subprocess.DEVNULL
        child = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env={**os.environ, **env}, start_new_session=True)
        try:
            time.sleep(0.7)
            pid = str(busiest(child.pid))
            with contextlib.ExitStack() as stack:
                runs = [stack.enter_context(self.fpless_run(way, hz, seconds, [*more, "-p", pid], env))
                        for way, more in ways.items()]
                for run in runs:
                    self.wait(run, seconds)
        finally:
            end_group(child)
        return [self.take(way, hz * seconds, figures[way]) for way in ways][0]

    @contextlib.contextmanager
    def fpless_run(self, way, hz, seconds, more, env):
        """A running `fpless profile`; at the end all is ended that it has started."""
        cache = os.path.join(self.scratch, "cache-" + way)
        shutil.rmtree(cache, ignore_errors=True)
        for name in ("out.jsonl", "stats.json"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.output(way, name))
        own = {**os.environ, **env, "PATH": ENV["PATH"] + ":" + os.environ.get("PATH", "")}
        with open(self.said, "wb") as said:
            run = subprocess.Popen([self.fpless, "profile", "-q", "-F", str(hz), "-d", str(seconds), "--cache", cache,
                                    "-o", self.output(way, "out.jsonl"), "--stats", self.output(way, "stats.json"), *more],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=own, start_new_session=True)
            try:
                yield run
            finally:
                end_group(run)

    def wait(self, run, seconds):
        try:
            run.wait(seconds + 60)
        except subprocess.TimeoutExpired:
            raise Failed("fpless profile does not end") from None

    def output(self, way, name):
        return os.path.join(self.scratch, way + "-" + name)

    def take(self, way, most, figures):
        """Adds what a run has written; the way `default` is checked. @most: the samples of one busy CPU."""
        if not os.path.exists(self.output(way, "stats.json")):
            raise Failed("nothing was sampled: " + self.last_words())
        with open(self.output(way, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        if stats["user_samples"] < most * SHORT_SHARE:
            raise Failed("%d samples: %s" % (stats["user_samples"], self.last_words()))
        with open(self.output(way, "out.jsonl"), encoding="utf-8") as file:
            stacks = [one for one in map(json.loads, file) if one["type"] == "stack" and one["stop"]
                      and one["stop"] not in LEFT_OUT and one["comm"] not in LAUNCHERS]
        figures.add(stats, stacks, Check(self.locate) if way == "default" else None)
        return stacks

    def last_words(self):
        with open(self.said, encoding="utf-8", errors="replace") as file:
            return (file.read().strip().splitlines() or ["it said nothing"])[-1][:160]

    def perf(self, words, env, graph):
        """Per cent of the stacks of `perf record --call-graph` that reach the outermost function; None: no perf here."""
        if not os.path.exists(os.path.join(self.root.path, "usr/bin/perf")):
            return None
        null = subprocess.DEVNULL
        command, env = self.inside(words, env)
        child = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env={**os.environ, **env}, start_new_session=True)
        try:
            time.sleep(0.7)
            # -N -B: some builds of perf 6.1 abort while they store build-ids.
            record, _ = self.inside(["perf", "record", "-q", "-N", "-B", "-e", "cpu-clock:u", "-F", "99", "--call-graph", graph,
                                     "-o", "/tmp/perf.data", "-p", str(busiest(child.pid)), "--", "sleep", str(PERF_S)])
            subprocess.run(record, stdin=null, stdout=null, stderr=null, env={**os.environ, **ENV}, timeout=60, check=False)
            script, _ = self.inside(["perf", "script", "-F", "comm,ip,sym", "-i", "/tmp/perf.data"])
            text = subprocess.run(script, stdin=null, stdout=subprocess.PIPE, stderr=null, env={**os.environ, **ENV}, text=True,
                                  errors="replace", timeout=120, check=False).stdout
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_group(child)
        return reaching(text)


def end_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def reaching(text):
    """Of the stacks that perf script prints, per cent of which one of the last two frames is an outermost function: a
    stripped program has no name for _start, so its callee's stands for it."""
    samples = reach = 0
    for block in text.split("\n\n"):
        lines = [line.split() for line in block.splitlines() if line.startswith(("\t", " ")) and line.strip()]
        if lines:
            samples += 1
            reach += any(OUTERMOST.match(re.sub(r"@.*", "", words[1])) for words in lines[-2:] if len(words) > 1)
    return 100 * reach / samples if samples else None


def busiest(pid):
    """The process of the tree under @pid that has used the most CPU lately: perf -p follows no children."""
    def cpu():
        used, parents = {}, {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            used[int(entry)], parents[int(entry)] = int(fields[11]) + int(fields[12]), int(fields[1])
        return used, parents
    before, _ = cpu()
    time.sleep(0.3)
    after, parents = cpu()
    tree = {pid}
    for _ in range(5):
        tree |= {one for one, parent in parents.items() if parent in tree}
    return max((one for one in tree if one in after), key=lambda one: after[one] - before.get(one, 0), default=pid)
