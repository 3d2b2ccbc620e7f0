# SPDX-License-Identifier: Apache-2.0
"""Programs of 2 to 20 ms of CPU time, 200 a second: real ones of the distribution, and one that is made here."""

import os
import shutil

from measure import Run, compile_c, pooled

SPIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static __attribute__((noinline)) void work(int *v, int nr)
{
	char text[64];
	for (int i = 0; i < nr; i++) v[i] = (i * 7919) % 10007;
	qsort(v, (size_t)nr, sizeof(*v), by_value);
	for (int i = 0; i < nr; i += 16) snprintf(text, sizeof(text), "%d %f", v[i], v[i] / 3.0);
}
int main(int argc, char **argv)
{
	static int v[256];
	double ms = argc > 1 ? atof(argv[1]) : 2;
	while (1000.0 * (double)clock() / CLOCKS_PER_SEC < ms) work(v, 256);
	return 0;
}
"""

# Starts programs on a schedule, whatever the machine can take; a program that is late delays no other.
LAUNCHER = r"""
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define OPEN_MAX_NR 64
extern char **environ;
static uint64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
/* usage: launcher SECONDS PER_SECOND PROGRAM... : each PROGRAM is a line of words separated by \1 */
int main(int argc, char **argv)
{
	double seconds = atof(argv[1]), rate = atof(argv[2]);
	uint64_t begin = now(), period = (uint64_t)(1e9 / rate), started = 0;
	int nr_open = 0;
	for (uint64_t i = 0; (double)(i * period) < seconds * 1e9; i++) {
		uint64_t due = begin + i * period;
		char line[512], *words[16];
		int nr = 0;
		pid_t pid;
		for (uint64_t t = now(); t < due; t = now()) {
			struct timespec ts = { 0, (long)(due - t) };
			nanosleep(&ts, NULL);
		}
		while (nr_open && waitpid(-1, NULL, nr_open < OPEN_MAX_NR ? WNOHANG : 0) > 0) nr_open--;
		snprintf(line, sizeof(line), "%s", argv[3 + (int)(i % (uint64_t)(argc - 3))]);
		for (char *w = strtok(line, "\1"); w && nr < 15; w = strtok(NULL, "\1")) words[nr++] = w;
		words[nr] = NULL;
		/* every second one as a shell does it: fork, then exec */
		if (i & 1) {
			pid = fork();
			if (pid == 0) { execvp(words[0], words); _exit(127); }
		} else if (posix_spawnp(&pid, words[0], NULL, NULL, words, environ)) {
			pid = -1;
		}
		if (pid > 0) { nr_open++; started++; }
	}
	while (wait(NULL) > 0) ;
	struct rusage usage;
	getrusage(RUSAGE_CHILDREN, &usage);
	double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	FILE *to = fopen(getenv("STORM_OUT"), "w");
	if (to) { fprintf(to, "%llu %f %f\n", (unsigned long long)started, cpu, 1e-9 * (double)(now() - begin)); fclose(to); }
	return 0;
}
"""

REAL = [["perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1 .. 6000; print length join ',', sort values %h"],
        ["gawk", "BEGIN { for (i = 0; i < 12000; i++) h[i % 97] = h[i % 97] i; print length(h[3]) }"],
        ["bash", "-c", "for ((i = 0; i < 600; i++)); do x=$x$((i * 7 % 11)); done; echo ${#x}"],
        ["sed", "-n", "$=", "/usr/share/dict/words"],
        ["sort", "-n", "/proc/self/maps"],
        ["git", "--version"],
        ["grep", "-c", "[aeiou][^aeiou]*e$", "/etc/services"]]


def bench(fpless, folder, figures, options):
    spin = compile_c(folder, "spin", SPIN)
    launcher = compile_c(folder, "launcher", LAUNCHER)
    programs = [[spin, str(ms)] for ms in (2, 3, 5, 8, 12, 20)]
    programs += [words for words in REAL if shutil.which(words[0])]
    out = os.path.join(folder, "storm.out")
    os.environ["STORM_OUT"] = out
    runs = []
    for _ in range(options.rounds):
        runs.append(Run(fpless, "-F", str(options.hz), "--", launcher, str(options.seconds), "200",
                        *("\1".join(words) for words in programs)))
        started, cpu, seconds = open(out).read().split()
        figures.say("storm", "programs a second; ms of CPU time each", "%.0f; %.1f" % (
            int(started) / float(seconds), 1000 * float(cpu) / int(started)))
    figures.common("storm", runs)
    users = pooled(runs, "user_samples")
    named = sum(pooled(runs, "stop", key) for key in ("outermost", "exiting", "execing"))
    figures.say("storm", "complete, exiting or execing, % of user samples", 100 * named / users, least=99.0)
    for key in ("outermost", "exiting", "execing"):
        figures.say("storm", key + " %", 100 * pooled(runs, "stop", key) / users)
    untabled = pooled(runs, "stop", "no_table") + pooled(runs, "stop", "no_mapping")
    figures.say("storm", "no_table + no_mapping %", 100 * untabled / users, most=0.5)
