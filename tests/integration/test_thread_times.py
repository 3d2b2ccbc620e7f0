#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The times of threads by thread (--by tid, --totals): their sums are those of the run, and each is what the thread measured."""

import glob
import json
import subprocess

import waits
from root_case import FPLESS, RootCase, main

KINDS = ("on_cpu", "runnable", "blocked", "unseen")
SLEEP_NS, NR_SLEEPS = 20_000_000, 20
NR_BIRTHS = 300  # more than are listed one by one

# Each thread says its number, its own clock from its first instruction to its last one, its CPU time, and the clock of the thread
# that began it, from before it was there until after it had gone.
PROGRAM = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
struct own { const char *name; pthread_t id; int tid; long long begin, end, cpu, from; };
static long long now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static void *sleeps(void *arg) {
	struct own *own = arg;
	own->begin = now(CLOCK_MONOTONIC);
	own->tid = gettid();
	prctl(PR_SET_NAME, own->name);
	for (int i = 0; i < %d; i++) nanosleep(&(struct timespec){ .tv_nsec = %d }, NULL);
	own->cpu = now(CLOCK_THREAD_CPUTIME_ID);
	own->end = now(CLOCK_MONOTONIC);
	return NULL;
}
static void *runs(void *arg) {
	struct own *own = arg;
	own->begin = now(CLOCK_MONOTONIC);
	own->tid = gettid();
	prctl(PR_SET_NAME, own->name);
	while (now(CLOCK_MONOTONIC) - own->begin < 400000000LL) ;
	own->cpu = now(CLOCK_THREAD_CPUTIME_ID);
	own->end = now(CLOCK_MONOTONIC);
	return NULL;
}
static void *nothing(void *arg) { return arg; }
int main(int argc, char **argv) {
	static struct own own[] = { { "sleeps" }, { "runs_a" }, { "runs_b" }, { "runs_c" } };
	pthread_t id;
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) if (pthread_create(&id, NULL, nothing, NULL) || pthread_join(id, NULL)) return 1;
	for (int i = 0; i < 4; i++) {
		own[i].from = now(CLOCK_MONOTONIC);
		if (pthread_create(&own[i].id, NULL, i ? runs : sleeps, &own[i])) return 1;
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(own[i].id, NULL);
		printf("%%s %%d %%lld %%lld %%lld\\n", own[i].name, own[i].tid, own[i].end - own[i].begin, own[i].cpu, now(CLOCK_MONOTONIC) - own[i].from);
	}
	return 0;
}
""" % (NR_SLEEPS, SLEEP_NS)


# One nap may be told to no program (decision 0031).
NAPS = ("sh", "-c", "sleep 0.05; sleep 0.05; sleep 0.05; exit 0")


class ThreadTimes(RootCase):
    def assert_sums(self, stats):
        """The threads that are listed and the others have together what the run has: exactly."""
        for kind in KINDS:
            self.assertEqual(sum(thread[kind] for thread in stats["threads"]) + stats["threads_others"][kind], stats["times"][kind], kind)
        self.assertEqual(sum(thread["threads"] for thread in stats["threads"]) + stats["threads_others"]["threads"], stats["times"]["threads"])

    def assert_threads(self, stats, said):
        threads = {thread["tid"]: thread for thread in stats["threads"]}
        lines = [line.split() for line in said.splitlines()]
        self.assertEqual(len(lines), 4, said)
        for name, *numbers in lines:
            tid, clock_ns, cpu_ns, span_ns = map(int, numbers)
            mine = threads[tid]
            wall_ns = sum(mine[kind] for kind in KINDS)
            self.assertEqual(mine["comm"], name)
            self.assertGreaterEqual(wall_ns, clock_ns, mine)
            # who began it is told of its end before it leaves its CPU for the last time
            self.assertLessEqual(wall_ns, span_ns * 1.001 + waits.SLACK_NS + mine["runnable"], mine)
            switch_ns = waits.SLACK_NS + 5000 * (mine["blocks"] + mine["runnable_waits"])
            self.assertGreaterEqual(mine["on_cpu"] + mine["unseen"], cpu_ns * 0.99 - switch_ns, mine)
            if name == "sleeps":
                self.assertGreaterEqual(mine["blocked"] + mine["unseen"], 0.9 * NR_SLEEPS * SLEEP_NS)
                if not mine["unseen"]:
                    self.assertGreaterEqual(mine["blocks"], NR_SLEEPS)

    def test_each_thread_is_what_it_measured(self):
        program = self.compile("threads", PROGRAM, "-pthread")
        for option in ("--by", "tid"), ("--totals",):
            for verb in ("offcpu",) if option == ("--totals",) else ("offcpu", "wall"):
                with self.subTest(option=option, verb=verb):
                    run = self.profile(*option, "--", program, verb=verb)
                    self.assert_sums(run.stats)
                    self.assert_threads(run.stats, run.stdout.decode())
                    self.assertEqual(bool(run.stacks), option != ("--totals",))

    def test_beyond_those_that_are_listed_they_are_summed(self):
        run = self.profile("--totals", "--", self.compile("threads", PROGRAM, "-pthread"), str(NR_BIRTHS), verb="offcpu")
        self.assert_sums(run.stats)
        self.assertEqual(len(run.stats["threads"]), 256)
        self.assertEqual(run.stats["times"]["threads"], NR_BIRTHS + 5)
        self.assert_threads(run.stats, run.stdout.decode())

    def test_the_table_is_printed_and_read_back(self):
        path = self.path("times.jsonl")
        for options, has_functions in (("--totals",), False), (("--by", "tid"), True):
            done = subprocess.run([FPLESS, "offcpu", "-q", *options, "--", *NAPS], stdout=subprocess.PIPE, check=True)
            text = done.stdout.decode()
            self.assertRegex(text, r"(?m)^ +on a CPU +runnable +blocked +unseen +waits +thread, pid/tid\n( .* [0-9]+  \S.* \d+/\d+\n)+")
            self.assertEqual("Hottest functions" in text, has_functions)
            subprocess.run([FPLESS, "offcpu", "-q", *options, "-o", path, "--", *NAPS], check=True)
            read = subprocess.run([FPLESS, "report", "-q", path], stdout=subprocess.PIPE, check=True).stdout.decode()
            self.assertRegex(read, r"(?m)^ .* sleep \d+/\d+$")

    def test_windows_have_their_own(self):
        subprocess.run([FPLESS, "offcpu", "-q", "--totals", "--window", "0.3", "-o", self.path("w-%t.jsonl"), "--stats",
                        self.path("w-%t.json"), "--", "sleep", "0.8"], check=True)
        names = glob.glob(self.path("w-*.json"))
        self.assertGreaterEqual(len(names), 2)
        for name in names:
            with open(name, encoding="utf-8") as file:
                stats = json.load(file)
            self.assert_sums(stats)
            self.assertEqual([thread["comm"] for thread in stats["threads"]], ["sleep"])


if __name__ == "__main__":
    main()
