#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Allocations that programs sample themselves: by the library of --preload, and by otel_memory probes of their own. Where each is
told, bytes and objects are those of the program's ledger."""

import os
import re
import shutil
import subprocess

from fpless_run import skip
from heap_ledger import HeapCase, ledger, sums, symbols
from return_probes import need_uprobes
from root_case import FPLESS, fixture, main

HEAP, STATIC, TELLS = fixture("heap"), fixture("heap_static"), fixture("tells")
LIBRARY = os.path.join(os.path.dirname(FPLESS), "libfpless-heap.so")
PRELOAD = ("--preload", "--")
ROUNDS = 1000

# Frees in another thread, a realloc() that fails, one of a child, and a thread that ends with memory of others.
HARD = """
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define NR 500
#define FRAME __attribute__((noinline, noclone))
static void *volatile box[NR];
FRAME void made_here(int i) { box[i] = malloc(100); __asm__ volatile("" : : : "memory"); }
FRAME void *made_there(void *arg) { for (int i = 0; i < NR; i++) { free(box[i]); box[i] = malloc(40); } return arg; }
FRAME void fails(void) {
	char *p = malloc(1000);
	volatile size_t much = SIZE_MAX / 2 - 4096;
	if (realloc(p, much)) abort();
	p[999] = 1;
	__asm__ volatile("" : : "r"(p) : "memory");
}
FRAME void grows(void) {
	void *p = malloc(10);
	for (int i = 1; i <= 100; i++) p = realloc(p, i * 1000);
	free(realloc(p, 0) ? p : NULL);
	__asm__ volatile("" : : : "memory");
}
FRAME void child_frees(void) {
	void *p = malloc(77);
	pid_t pid = fork();
	if (!pid) { free(p); _exit(0); }
	waitpid(pid, NULL, 0);
	__asm__ volatile("" : : "r"(p) : "memory");
}
int main(void) {
	pthread_t id;
	for (int i = 0; i < NR; i++) made_here(i);
	if (pthread_create(&id, NULL, made_there, NULL)) return 1;
	pthread_join(id, NULL);
	for (int i = 0; i < NR / 2; i++) free(box[i]);
	fails(); grows(); child_frees();
	return 0;
}
"""

OWN_MALLOC = """
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t size) { void *ret = pool + used; used += (size + 15) / 16 * 16; return ret; }
void free(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
int main(void) { for (int i = 0; i < 50; i++) free(malloc(100)); return 0; }
"""


class Preload(HeapCase):
    def leaves(self, run):
        return {symbols(stack)[-1] for stack in run.stacks if stack["user"]} | {
            symbols(stack)[0] for stack in run.stacks if stack["user"]}

    def test_bytes_and_objects_are_those_of_the_ledger(self):
        run = self.heap(*PRELOAD, HEAP, str(ROUNDS))
        self.assert_is_ledger(run, run.stdout)
        # stacks end at who called malloc()
        for stack in run.stacks:
            self.assertNotIn("libfpless-heap.so", str(stack["user"]))
        self.assertLess({"by_malloc", "by_calloc", "by_realloc", "by_aligned", "by_posix"}, self.leaves(run))
        self.assertRegex(run.stderr, r"(?m)^fpless: heap: a call of malloc and its free cost 2 ns more")
        self.assertRegex(run.stderr, r"(?m)^  probes  .*otel_memory, by which programs tell of their own samples: ")

    def test_what_went_with_its_program_is_not_live(self):
        run = self.heap(*PRELOAD, HEAP, "64", "exec", "/bin/true")
        for caller, of_it in ledger(run.stdout).items():
            found = sums(run, caller)
            self.assertEqual((found["alloc_space"], found["inuse_space"], found["inuse_objects"]), (of_it["alloc_space"], 0, 0))
        self.assertRegex(run.stderr, r"(?m)^  gone  .* \d+ sampled allocations were not freed")

    def test_children_sample_too(self):
        run = self.heap(*PRELOAD, HEAP, "64", "fork")
        self.assert_is_ledger(run, run.stdout)
        self.assertEqual(sums(run, "from_child"),
                         {"alloc_objects": 1, "alloc_space": 4242, "inuse_objects": 0, "inuse_space": 0})
        run = self.heap("--allocs", *PRELOAD, "sh", "-c", f"{HEAP} 64; exit 0")
        wanted = ledger(run.stdout)
        self.assertEqual({caller: sums(run, caller)["alloc_space"] for caller in wanted},
                         {caller: wanted[caller]["alloc_space"] for caller in wanted})

    def test_threads_failures_and_forks(self):
        run = self.heap(*PRELOAD, self.compile("hard", HARD, "-fno-builtin", "-pthread"))
        self.assertEqual(sums(run, "made_here"),
                         {"alloc_objects": 500, "alloc_space": 50000, "inuse_objects": 0, "inuse_space": 0})
        self.assertEqual(sums(run, "made_there"),
                         {"alloc_objects": 500, "alloc_space": 20000, "inuse_objects": 250, "inuse_space": 10000})
        # the old memory is told again where it stays
        self.assertEqual((sums(run, "fails")["inuse_objects"], sums(run, "fails")["inuse_space"]), (1, 1000))
        self.assertEqual((sums(run, "grows")["alloc_space"], sums(run, "grows")["inuse_objects"]), (10 + 1000 * 5050, 0))
        self.assertEqual((sums(run, "child_frees")["alloc_space"], sums(run, "child_frees")["inuse_objects"]), (77, 1))

    def test_sampled_sums_have_no_bias(self):
        """Each stratum of a thread has one point, so a thread's sum of S bytes is off by at most a stride."""
        stride, nr_threads = 4096, 5
        run = self.heap("--allocs", *PRELOAD, HEAP, "4000", each=("--sample-bytes", "4K", "--ring-memory", "256M"))
        wanted = sum(of_it["alloc_space"] for of_it in ledger(run.stdout).values())
        found = sum(stack["alloc_space"] for stack in run.stacks)
        # what libc and the loader allocate beside the callers is below 200,000 bytes
        self.assertGreaterEqual(found, wanted - nr_threads * stride)
        self.assertLessEqual(found, wanted + nr_threads * stride + 200_000)
        self.assertGreaterEqual(run.stats["shown"], 1000)
        self.assertEqual(sums(run, "all_freed")["inuse_space"], 0)

    def test_sums_hold_with_a_bound_of_samples(self):
        """One sample a second: after 16 that came faster each stands for twice as many bytes. The program's bytes are 3,000
        strides; eight times 16 samples stand for 4,080. The sum is off by at most the last stride."""
        size, nr = 64 << 10, 24000
        program = self.compile("many", """
            #include <stdlib.h>
            int main(void) { for (int i = 0; i < %d; i++) { void *p = malloc(%d); __asm__ volatile("" : : "r"(p) : "memory"); free(p); } return 0; }
            """ % (nr, size), "-fno-builtin")
        for options, least, most in ((("--max-rate", "1"), 16, 16 * 8), (("--max-rate", "0"), 2999, 3002),
                                     (("--sample-bytes", "512K"), 2999, 3002)):
            with self.subTest(options):
                run = self.heap("--allocs", *options, *PRELOAD, program, each=())
                self.assertTrue(least <= run.stats["shown"] <= most, run.stats["shown"])
                self.assertLess(abs(sum(stack["alloc_space"] for stack in run.stacks) - size * nr), 2 * (512 << 10 << 7))

    def test_interpreters_are_whole(self):
        for command in (("perl", "-e", "push @list, 'x' x $_ for 1 .. 2000"),
                        ("python3", "-c", "import json; kept = [json.loads('[1, 2, {\"a\": 3}]') for i in range(5000)]")):
            with self.subTest(command[0]):
                run = self.heap(*PRELOAD, *command)
                self.assertGreater(run.stats["shown"], 1000)

    def test_other_libraries_stay_preloaded(self):
        done = subprocess.run([FPLESS, "heap", "-q", "-o", self.path("x.folded"), "--preload", "--", "sh", "-c",
                               "echo $LD_PRELOAD $FPLESS_SAMPLE_BYTES $FPLESS_SAMPLE_RATE"], env={**os.environ, "LD_PRELOAD": "libc.so.6"},
                              stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.stdout.decode().split(), [f"{LIBRARY}:libc.so.6", str(512 << 10), "1000"])

    def test_a_process_that_has_the_library(self):
        env = {**os.environ, "LD_PRELOAD": LIBRARY, "FPLESS_SAMPLE_BYTES": "1"}
        with subprocess.Popen([HEAP, "64", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
            run, said = self.heap_of(process, nr_links=3)
        self.assert_is_ledger(run, said)

    def test_a_program_with_probes_of_its_own(self):
        run = self.heap("--", TELLS, "50")
        self.assert_is_ledger(run, run.stdout, nr=2)
        self.assertEqual(run.stats["shown"], 100)
        self.assertRegex(run.stderr, r"(?m)^  probes  .*otel_memory, by which programs tell of their own samples: 100 allocations, 50")
        with subprocess.Popen([TELLS, "50", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            run, said = self.heap_of(process, nr_links=2, nr_lines=2)
        self.assert_is_ledger(run, said, nr=2)

    def test_what_cannot_load_the_library_is_refused(self):
        self.refused("--preload: wants -- COMMAND", "--preload", "-p", str(os.getpid()), "1")
        self.refused("--preload and --allocator exclude each other", "--preload", "--allocator", "libc.so.6", "--", HEAP)
        self.refused("a program without libraries loads none", "--preload", "--", STATIC)
        other = self.path("other")
        shutil.copy(HEAP, other)
        os.chown(other, 65534, 65534)
        os.chmod(other, 0o4755)
        self.refused("runs as another user or group (setuid)", "--preload", "--", other)

    def test_an_allocator_of_the_program_is_said(self):
        program = self.compile("own", OWN_MALLOC, "-fno-builtin")
        done = self.fpless("heap", "-o", self.path("x.folded"), "--preload", "--", program)
        said = re.findall(r"own has an allocator of its own, which comes before the library's", done.stderr.decode())
        self.assertEqual((len(said), done.returncode), (1, 3), done.stderr)


if __name__ == "__main__":
    if not os.path.exists(HEAP):
        skip("no g++: the program is not there")
    need_uprobes()
    main(at_a_time=4)  # each waits for the kernel, which takes a moment to remove the probes of a run
