#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Allocations by stack, against a program that keeps a ledger of what it allocates and frees: where each byte is sampled,
bytes and objects of each caller are those of the ledger, what was freed is not live, and what went with its program is not."""

import os
import subprocess
import sys

import pprof_file
from fpless_run import skip
from heap_ledger import EACH, KINDS, HeapCase, ledger, sums, symbols
from return_probes import need_uprobes
from root_case import fixture, main

HEAP, STATIC = fixture("heap"), fixture("heap_static")
ROUNDS = 1000
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

# malloc and free of its own, which libc does not see, and functions of other names.
OWN = """
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
static void *take(size_t size)
{
	void *ret = pool + used;
	used += (size + 15) / 16 * 16;
	return ret;
}
__attribute__((noinline)) void *pool_take(size_t size) { void *p = take(size); __asm__ volatile("" : : : "memory"); return p; }
__attribute__((noinline)) void pool_give(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
"""
OWN_LIBRARY = OWN + """
__attribute__((noinline)) void *malloc(size_t size) { void *p = take(size); __asm__ volatile("" : : : "memory"); return p; }
__attribute__((noinline)) void free(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
"""
OWN_PROGRAM = """
void *pool_take(unsigned long);
void pool_give(void *);
__attribute__((noinline)) void keeps(void) { void *p = pool_take(100); __asm__ volatile("" : : "r"(p) : "memory"); }
__attribute__((noinline)) void gives(void) { pool_give(pool_take(30)); __asm__ volatile("" : : : "memory"); }
int main(void) { for (int i = 0; i < 50; i++) { keeps(); gives(); } return 0; }
"""
# One stack allocates blocks of two sizes, and all but one of each are freed.
UNLIKE = """
#include <stdlib.h>
__attribute__((noinline)) void *takes(size_t size) { void *p = malloc(size); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
int main(void)
{
	void *taken[20];
	for (int i = 0; i < 20; i++) taken[i] = takes(i % 2 ? 1000 : 100000);
	for (int i = 2; i < 20; i++) free(taken[i]);
	return 0;
}
"""


class Heap(HeapCase):
    def shown(self, name):
        """{caller: number} of folded stacks."""
        found = {}
        with open(self.path(name), encoding="utf-8") as file:
            for line in file:
                stack, number = line.rsplit(" ", 1)
                for name in stack.split(";"):
                    found[name] = found.get(name, 0) + int(number)
        return found

    def test_bytes_and_objects_are_those_of_the_ledger(self):
        run = self.heap("--", HEAP, str(ROUNDS))
        self.assert_is_ledger(run, run.stdout)
        wanted, shown = ledger(run.stdout), self.shown("out.folded")
        self.assertEqual({caller: shown[caller] for caller in wanted},
                         {caller: wanted[caller]["inuse_space"] for caller in wanted})
        self.assertEqual((run.meta["weight_type"], run.meta["weight_unit"]), ("inuse_space", "bytes"))
        self.assertRegex(run.stderr, r"(?m)^fpless: heap: a call of malloc and its free cost 1\.5 to 3\.0 us more")
        self.assertRegex(run.stderr, r"(?m)^  heap  .* allocated, .* not freed$")
        self.assertRegex(run.stderr, r"(?m)^  probes  .* calls that allocate, .* that free: BPF ")

    def test_what_is_shown_is_chosen(self):
        for options, kind in ((("--allocs",), "alloc_space"), (("--allocs", "--objects"), "alloc_objects"),
                              (("--objects",), "inuse_objects"), (("--live",), "inuse_space")):
            with self.subTest(kind):
                run = self.heap(*options, "--", HEAP, "64")
                self.assert_is_ledger(run, run.stdout)
                wanted, shown = ledger(run.stdout), self.shown("out.folded")
                self.assertEqual({caller: shown[caller] for caller in wanted},
                                 {caller: wanted[caller][kind] for caller in wanted})
                self.assertEqual(run.meta["weight_type"], kind)

    def test_squares_are_those_of_what_is_live(self):
        """diff computes the noise of a stack from them."""
        program = self.compile("unlike", UNLIKE)
        for options, squares in (((), 100000 ** 2 + 1000 ** 2), (("--objects",), None)):
            with self.subTest(options):
                run = self.heap(*options, "--", program)
                stack, = (stack for stack in run.stacks if "takes" in symbols(stack))
                self.assertEqual((stack["count"], stack["inuse_objects"], stack["inuse_space"]), (20, 2, 101000))
                # 2 objects of 20 samples: more than if each sample stood for a tenth
                self.assertAlmostEqual(stack["weight_squares"], squares or 2)

    def test_a_static_program(self):
        run = self.heap("--", STATIC, str(ROUNDS))
        self.assert_is_ledger(run, run.stdout)

    def test_a_program_that_runs(self):
        with subprocess.Popen([HEAP, str(ROUNDS), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            run, said = self.heap_of(process, nr_links=6)  # of three programs that follow processes, and three of its own
        self.assert_is_ledger(run, said)

    def test_what_went_with_its_program_is_not_live(self):
        run = self.heap("--", HEAP, "64", "exec", "/bin/true")
        wanted = ledger(run.stdout)
        self.assertEqual(len(wanted), 10)
        for caller, of_it in wanted.items():
            found = sums(run, caller)
            self.assertEqual((found["alloc_space"], found["inuse_space"], found["inuse_objects"]),
                             (of_it["alloc_space"], 0, 0))
        self.assertRegex(run.stderr, r"(?m)^  gone  .* \d+ sampled allocations were not freed")

    def test_a_child_that_ended_has_no_memory(self):
        run = self.heap("--", HEAP, "64", "fork")
        self.assert_is_ledger(run, run.stdout)
        self.assertEqual(sums(run, "from_child"),
                         {"alloc_objects": 1, "alloc_space": 4242, "inuse_objects": 0, "inuse_space": 0})

    def test_leaks_are_older(self):
        # the new ones have 8 s until the run has ended
        program = ("@old = map { 'x' x (100_000 + $_) } 1 .. 50; select undef, undef, undef, shift; "
                   "@new = map { 'y' x (1000 + $_) } 1 .. 50; ")
        run = self.heap("--leaks-older", "8", "--", "perl", "-e", program, "9")
        older = sum(stack["inuse_space"] for stack in run.stacks)
        run = self.heap("--", "perl", "-e", program, "0")
        live = sum(stack["inuse_space"] for stack in run.stacks)
        self.assertGreater(older, 5_000_000)
        self.assertGreater(live, older + 50_000)

    def test_pprof_has_four_values(self):
        out = self.path("heap.pb.gz")
        run = self.heap("-o", out, "--", HEAP, "64")
        data = pprof_file.read(out)
        texts = [value.decode() for number, value in pprof_file.fields(data) if number == pprof_file.STRING]
        types = [[texts[value] for _, value in pprof_file.fields(value)] for number, value in pprof_file.fields(data)
                 if number == pprof_file.SAMPLE_TYPE]
        self.assertEqual(types, [["alloc_objects", "count"], ["alloc_space", "bytes"], ["inuse_objects", "count"],
                                 ["inuse_space", "bytes"]])
        all_of = [0] * 4
        for number, value in pprof_file.fields(data):
            if number == pprof_file.SAMPLE:
                values = next(pprof_file.numbers(field) for which, field in pprof_file.fields(value) if which == 2)
                all_of = [a + b for a, b in zip(all_of, values, strict=True)]
        self.assertEqual(all_of, [sum(stack[kind] for stack in run.stacks) for kind in KINDS])
        # read back it shows the same, and is written the same from the recording
        folded = self.path("again.folded")
        self.assertEqual(self.fpless("report", "-q", "-o", folded, out).returncode, 0)
        nonzero = {name: number for name, number in self.shown("out.folded").items() if number}
        self.assertEqual({name: number for name, number in self.shown("again.folded").items() if number}, nonzero)
        again = self.path("again.pb.gz")
        self.assertEqual(self.fpless("report", "-q", "-o", again, self.path("out.jsonl")).returncode, 0)
        self.assertEqual(pprof_file.read(again), data)

    def test_formats(self):
        names = [self.path(name) for name in ("a.svg", "a.speedscope.json", "a.json.gz", "a.perf", "a.txt")]
        self.heap(*(word for name in names for word in ("-o", name)), "--", HEAP, "16")
        for name in names:
            self.assertGreater(os.path.getsize(name), 0, name)
        with open(self.path("a.svg"), encoding="utf-8") as file:
            self.assertIn("inuse_space", file.read())
        with open(self.path("a.txt"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?m)^\d+\.\d KiB of inuse_space in ")

    def test_sampled_sums_have_no_bias(self):
        """Each stratum of the stride has one point: a sum of S bytes is off by at most a stride for each slot."""
        stride = 4096
        run = self.profile("--sample-bytes", "4K", "--ring-memory", "256M", "--allocs", "--", HEAP, "4000", verb="heap")
        wanted = sum(of_it["alloc_space"] for of_it in ledger(run.stdout).values())
        found = sum(stack["alloc_space"] for stack in run.stacks)
        slots = 3 * os.cpu_count()
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        # what libc and the loader allocate beside the callers is below 200,000 bytes
        self.assertGreaterEqual(found, wanted - slots * stride)
        self.assertLessEqual(found, wanted + slots * stride + 200_000)
        self.assertGreaterEqual(run.stats["shown"], 1000)

    def test_interpreters_are_whole(self):
        for command in (("perl", "-e", "push @list, 'x' x $_ for 1 .. 2000"),
                        (sys.executable, "-c", "import json; kept = [json.loads('[1, 2, {\"a\": 3}]') for i in range(20000)]")):
            with self.subTest(command[0]):
                run = self.heap("--", *command)
                self.assertGreater(run.stats["shown"], 1000)
                print(f"{command[0]}: {run.stats['complete']} of {run.stats['user_samples']} complete")

    def test_what_has_no_room_is_said(self):
        run = self.profile(*EACH, "--max-live", "1024", "--", HEAP, str(ROUNDS), verb="heap")
        self.assertRegex(run.stderr, r"(?m)^  live  .* sampled allocations found no room among 1024 .*--max-live")
        self.assertGreater(run.stats["maps"]["live"]["refused"], 0)
        self.assertEqual(sum(sums(run, caller)["alloc_space"] for caller in ledger(run.stdout)),
                         sum(of_it["alloc_space"] for of_it in ledger(run.stdout).values()))

    def test_functions_that_are_named(self):
        program = self.compile("pool", OWN + OWN_PROGRAM)
        run = self.heap("--allocator", "pool_take=malloc,pool_give=free", "--", program)
        self.assertEqual(sums(run, "keeps"), {"alloc_objects": 50, "alloc_space": 5000, "inuse_objects": 50, "inuse_space": 5000})
        self.assertEqual(sums(run, "gives"), {"alloc_objects": 50, "alloc_space": 1500, "inuse_objects": 0, "inuse_space": 0})
        self.assertEqual(run.stats["shown"], 100)

    def test_a_library_that_is_named(self):
        library = self.compile("libmine.so", OWN_LIBRARY, "-shared", "-fPIC", "-fno-builtin")
        program = self.compile("user", OWN_PROGRAM.replace("pool_take", "malloc").replace("pool_give", "free"),
                               "-fno-builtin", library, f"-Wl,-rpath,{self.folder}")
        run = self.heap("--allocator", library, "--", program)
        self.assertEqual((sums(run, "keeps")["inuse_space"], sums(run, "gives")["inuse_space"]), (5000, 0))
        self.assertEqual((sums(run, "keeps")["alloc_space"], sums(run, "gives")["alloc_space"]), (5000, 1500))

    def test_jemalloc(self):
        if not os.path.exists(JEMALLOC):
            self.skipTest("libjemalloc2 is not installed")
        run = self.heap("--", "env", f"LD_PRELOAD={JEMALLOC}", HEAP, str(ROUNDS))
        self.assert_is_ledger(run, run.stdout)

    def test_what_has_no_allocator_is_refused(self):
        static = self.path("stripped")
        subprocess.run(["strip", "-o", static, STATIC], check=True)
        self.refused("a program without libraries, in which no function is called malloc: --allocator FUNC,...", "--", static)
        self.refused("--allocator: no function is called my_malloc in the program", "--allocator", "my_malloc,free", "--", HEAP)
        self.refused("--allocator: /nowhere.so: No such file", "--allocator", "/nowhere.so", "--", HEAP)
        self.refused("--allocator odd: no library, and no function whose name tells its kind", "--allocator", "odd", "--", HEAP)
        self.refused("wanted functions that allocate and that free", "--allocator", "by_malloc", "--", HEAP)
        self.refused("no function of it is called malloc", "--allocator", "libm.so.6", "--", HEAP)
        sleeper = self.start("sleep", "100")
        self.refused("--allocator: no function is called my_free in the program", "--allocator", "my_free", "-p", str(sleeper.pid))

if __name__ == "__main__":
    if not os.path.exists(HEAP):
        skip("no g++: the program is not there")
    need_uprobes()
    main(at_a_time=4)  # each waits for the kernel, which takes a second to remove the probes of a run
