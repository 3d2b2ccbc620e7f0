# SPDX-License-Identifier: Apache-2.0
"""A build farm: programs that were linked a moment ago, each another, run for a few milliseconds and are deleted."""

import json
import os
import subprocess
import sys
import time

from measure import compile_c

PROGRAM = r"""
#include <stdlib.h>
#include <time.h>
static __attribute__((noinline)) int leaf(int nr)
{
	volatile int sum = 0;
	for (int i = 0; i < nr; i++) sum += i;
	return sum;
}
static __attribute__((noinline)) int middle(int nr) { return leaf(nr) + 1; }
int main(int argc, char **argv)
{
	double ms = argc > 1 ? atof(argv[1]) : 20;
	int sum = 0;
	while (1000.0 * (double)clock() / CLOCKS_PER_SEC < ms) sum += middle(10000);
	return sum == 1;
}
"""

# Begins one script of sh after the other on a schedule, and says what all of them cost. A script that is late delays no other.
FARM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
/* usage: farm SECONDS PER_SECOND SCRIPT: SCRIPT has the number of the program in $1 */
int main(int argc, char **argv)
{
	double seconds = atof(argv[1]), rate = atof(argv[2]), begin = now();
	unsigned nr = 0, nr_open = 0;
	(void)argc;
	for (; nr / rate < seconds; nr++) {
		char number[16];
		double wait_s = begin + nr / rate - now();
		if (wait_s > 0) nanosleep(&(struct timespec){ (time_t)wait_s, (long)(1e9 * (wait_s - (double)(time_t)wait_s)) }, NULL);
		while (nr_open && waitpid(-1, NULL, nr_open < 64 ? WNOHANG : 0) > 0) nr_open--;
		snprintf(number, sizeof(number), "%u", nr);
		pid_t pid = vfork();
		if (pid == 0) { execl("/bin/sh", "sh", "-c", argv[3], "sh", number, (char *)NULL); _exit(127); }
		nr_open += pid > 0;
	}
	while (wait(NULL) > 0) ;
	struct rusage u;
	getrusage(RUSAGE_CHILDREN, &u);
	printf("%u %f\n", nr, (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
	return 0;
}
"""

TICKS = os.sysconf("SC_CLK_TCK")
REPORT_S = 10  # between two looks at fpless
SETTLED_S = 50  # from here on nothing may grow but the profile itself


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def cpu_s(pid):
    """CPU seconds of a process, of all below it, and of those of them that have ended."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS + sum(cpu_s(child) for child in children(pid))
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


class Sight:
    """What fpless uses at a moment."""

    def __init__(self, pid, at, cpu_begin):
        self.at = at
        self.cpu_s = cpu_s(pid) - cpu_begin
        self.descriptors = len(os.listdir("/proc/%d/fd" % pid))
        with open("/proc/%d/status" % pid) as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("VmRSS", "RssAnon"))}
        self.rss_kb, self.anon_kb = sizes["VmRSS"], sizes["RssAnon"]

    def __str__(self):
        return "%.0f s: %d descriptors, RSS %.1f MiB (anonymous %.1f), %.2f s of CPU" % (
            self.at, self.descriptors, self.rss_kb / 1024, self.anon_kb / 1024, self.cpu_s)


def farm(fpless, folder, script, options, figures, name):
    """Returns the sights, the programs, the CPU seconds of the work, those of fpless behind it, and the statistics."""
    farm_program = compile_c(folder, "farm", FARM)
    stats, log = os.path.join(folder, name + ".json"), os.path.join(folder, name + ".log")
    with open(log, "wb") as to:
        child = subprocess.Popen([fpless, "profile", "--no-cache", "-a", "-F", "99", "--stats", stats, "-o",
                                  os.path.join(folder, name + ".jsonl")], stdin=subprocess.DEVNULL, stderr=to)
    time.sleep(2)
    begin, cpu_begin = time.monotonic(), cpu_s(child.pid)
    work = subprocess.Popen([farm_program, str(options.births_seconds), str(options.births), script],
                            stdout=subprocess.PIPE, text=True)
    sights, due = [], REPORT_S
    while work.poll() is None:
        time.sleep(0.2)
        if time.monotonic() - begin >= due:
            sights.append(Sight(child.pid, due, cpu_begin))
            figures.say(name, "after %d s" % due, str(sights[-1]).partition(": ")[2])
            due += REPORT_S
    nr, work_s = work.stdout.read().split()
    sights.append(Sight(child.pid, time.monotonic() - begin, cpu_begin))
    child.terminate()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(open(log, errors="replace").read())
    # what is named at the end of the run is a part of the cost
    in_run_s, sights[-1].cpu_s = sights[-1].cpu_s, usage.ru_utime + usage.ru_stime - cpu_begin
    with open(stats) as file:
        result = json.load(file)
    return sights, int(nr), float(work_s), sights[-1].cpu_s - in_run_s, result


def bench(fpless, folder, figures, options):
    source = os.path.join(folder, "program.c")
    with open(source, "w") as file:
        file.write(PROGRAM)
    os.chdir(folder)
    subprocess.run(["gcc", "-O1", "-c", source], check=True)
    subprocess.run(["gcc", "-o", "known", "program.o"], check=True)
    # what is linked has a build-id of its own
    link = "gcc -Wl,--build-id=uuid -o fresh$1 program.o && %s " + str(options.births_ms) + "; rm fresh$1"
    costs = {}
    for name, program in (("births known", "./known"), ("births", "./fresh$1")):
        sights, nr, work_s, end_s, stats = farm(fpless, folder, link % program, options, figures, name)
        last = sights[-1]
        bpf_s = 1e-9 * stats["bpf_ns"]
        costs[name] = last.cpu_s / nr
        passed = stats["fired"] - stats["idle"] - stats["filtered"]
        judged = stats["user_samples"] - stats["stop"]["exiting"] - stats["stop"]["execing"]
        figures.say(name, "programs; ms of CPU of the work for each", "%d; %.1f" % (nr, 1000 * work_s / nr))
        figures.say(name, "samples", passed)
        figures.say(name, "complete %", 100 * stats["complete"] / max(judged, 1), least=99.0)
        figures.say(name, "frames by snapshot, %", 100 * stats["frames_by_origin"]["cfi_user"] / max(stats["frames"], 1))
        figures.say(name, "fpless and BPF, % of the work", 100 * (last.cpu_s + bpf_s) / work_s,
                    most=1.5 if name == "births" else None)
        figures.say(name, "ms of CPU of fpless for each program", 1000 * costs[name])
        figures.say(name, "of it, ms of CPU of the end of the run, once", 1000 * end_s)
        figures.say(name, "descriptors, at most", max(sight.descriptors for sight in sights))
        figures.say(name, "objects that are left", stats["tables"]["objects"])
    figures.say("births", "ms of CPU for each new file", 1000 * (costs["births"] - costs["births known"]), most=0.5)
    settled = [sight for sight in sights if sight.at >= SETTLED_S]
    if len(settled) > 1:
        # idle files are closed some hundred at a time: peaks are compared
        halves = settled[:len(settled) // 2], settled[len(settled) // 2:]
        before, after = (max(sight.descriptors for sight in half) for half in halves)
        figures.say("births", "descriptors, at most, in the second half / in the first, from %d s on" % SETTLED_S, after / before, most=1.25)
        figures.say("births", "RssAnon, MiB more a minute, from %d s on" % SETTLED_S,
                    60 * (last.anon_kb - settled[0].anon_kb) / 1024 / (last.at - settled[0].at))
