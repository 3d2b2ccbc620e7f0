# SPDX-License-Identifier: Apache-2.0
"""One run of fpless with its statistics, and how a figure is printed beside its bound."""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

# Student's t, two-sided 95 %, by degrees of freedom; beyond the table the normal distribution's.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 14: 2.14, 19: 2.09}


TIMED = r"""
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
static double cpu(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) + 1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}
int main(int argc, char **argv)
{
	double begin = now();
	struct rusage child, own;
	int status = 1;
	pid_t pid = argc > 2 ? vfork() : -1;
	if (pid == 0) { execvp(argv[2], argv + 2); _exit(127); }
	while (pid > 0 && waitpid(pid, &status, 0) != pid) ;
	double wall = now() - begin;
	getrusage(RUSAGE_CHILDREN, &child);
	getrusage(RUSAGE_SELF, &own);
	FILE *to = fopen(argv[1], "w");
	if (to) { fprintf(to, "%f %f %f\n", cpu(&child), cpu(&own), wall); fclose(to); }
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
"""


def compile_c(folder, name, text):
    """A program of one file, and where it is."""
    source, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w") as file:
        file.write(text)
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    return program


class Timed:
    """Words before a command that measure it, and next to nothing else, from outside."""

    def __init__(self, folder):
        self.out = os.path.join(folder, "timed.out")
        self.words = [compile_c(folder, "timed", TIMED), self.out]

    def times(self):
        """CPU seconds of the command, of the program before it, and wall seconds of the command."""
        with open(self.out) as file:
            return tuple(map(float, file.read().split()))


class Run:
    """Statistics of one run; cpu_s: of fpless and what it started, with its command's where there is one."""

    def __init__(self, fpless, *args, keep=False):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stats.json")
            stacks = os.path.join(folder, "out.jsonl" if keep else "out.folded")
            self.stacks = []
            with open(os.path.join(folder, "report"), "w+b") as report:
                child = subprocess.Popen([fpless, "profile", "-v", "--stats", path, "-o", stacks, *args],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=report)
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                report.seek(0)
                self.report = report.read().decode("utf-8", "replace")
            if status:
                sys.exit("fpless %s: status %d\n%s" % (" ".join(args), child.returncode, self.report))
            with open(path) as file:
                self.stats = json.load(file)
            if keep:
                with open(stacks) as file:
                    self.stacks = [json.loads(line) for line in file][1:-1]
        self.cpu_s = usage.ru_utime + usage.ru_stime

    @property
    def lost(self):
        return sum(self.stats["lost"].values())

    @property
    def passed(self):
        """Samples of the targets."""
        return self.stats["fired"] - self.stats["idle"] - self.stats["filtered"]

    @property
    def books(self):
        s = self.stats
        gap = s["fired"] - s["shown"] - s["idle"] - s["filtered"] - self.lost
        return "closed" if gap == 0 else "OPEN %d" % gap


def pooled(runs, *path):
    """The sum of one figure over @runs."""
    total = 0
    for run in runs:
        value = run.stats
        for key in path:
            value = value[key]
        total += value
    return total


def complete_pct(runs):
    judged = pooled(runs, "user_samples") - pooled(runs, "stop", "exiting") - pooled(runs, "stop", "execing")
    return 100 * pooled(runs, "complete") / max(judged, 1)


def stops(runs):
    """Every stop that occurred, most frequent first."""
    sums = {key: pooled(runs, "stop", key) for key in runs[0].stats["stop"]}
    return ", ".join("%s %d" % pair for pair in sorted(sums.items(), key=lambda pair: -pair[1]) if pair[1])


def interval(values):
    """(mean, half the width of its 95 % interval)."""
    if len(values) < 2:
        return values[0], math.inf
    nr = len(values) - 1
    t = T95.get(nr) or (min(v for k, v in T95.items() if k < nr) if nr < 30 else 1.96)
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


class Figures:
    """Lines of: bench, figure, value, bound, whether it is kept."""

    def __init__(self):
        self.missed = 0

    def say(self, bench, name, value, least=None, most=None):
        bound = ">= %g" % least if least is not None else "<= %g" % most if most is not None else ""
        kept = (least is None or value >= least) and (most is None or value <= most)
        self.missed += not kept
        text = "%.3f" % value if isinstance(value, float) else str(value)
        print("%s\t%s\t%s\t%s\t%s" % (bench, name, text, bound, "" if not bound else "ok" if kept else "MISSED"), flush=True)

    def common(self, bench, runs, least_complete=99.0):
        """What every bench says of its runs."""
        self.say(bench, "books", ", ".join(sorted({run.books for run in runs})))
        self.say(bench, "user samples", pooled(runs, "user_samples"))
        self.say(bench, "complete %", complete_pct(runs), least=least_complete)
        self.say(bench, "stops", stops(runs))
        self.say(bench, "lost", sum(run.lost for run in runs))
        gaps = [run.stats["drain_gap_max_ms"] for run in runs if "drain_gap_max_ms" in run.stats]
        if gaps:
            self.say(bench, "longest gap between drains, ms", max(gaps))
