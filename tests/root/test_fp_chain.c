// SPDX-License-Identifier: Apache-2.0
/*
 * usage: test_fp_chain
 *
 * The frame-pointer walk of compare (bpf/fp_chain.h) gives what bpf_get_stack gives, word for word,
 * of the same samples: wherever rbp leads.
 */
#include "tests/unit/cmocka_all.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "tests/root/fp_chain.h"
#include "test_fp_chain.skel.h"
#include "tests/support/skip_test.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NR_PAGES      16u
#define PAGE	      4096u

/* Memory for chains; the pages around it are not there. */
static uint8_t *pages;

/* A child sets it when it has begun to spin: what it does before that has frames of its own. */
static volatile uint8_t *spins;

/* Run with rbp = @fp for good. */
static __attribute__((__noreturn__)) void spin(uint64_t fp)
{
	*spins = 1;
	__asm__ volatile("movq %0, %%rbp\n"
			 "1: pause\n"
			 "jmp 1b\n"
			 :
			 : "r"(fp)
			 : "memory");
	__builtin_unreachable();
}

/* A frame at @off whose caller's is at @next. */
static void put_frame(uint64_t off, uint64_t next)
{
	uint64_t words[2] = { next, 0x400000 + off };

	memcpy(pages + off, words, sizeof(words));
}

/* Frames @step bytes apart from @off on, @nr of them; the last one's caller is at @end. */
static uint64_t put_chain(uint64_t off, uint64_t step, uint32_t nr, uint64_t end)
{
	for (uint32_t i = 0; i < nr; i++, off += step)
		put_frame(off, i + 1 < nr ? (uint64_t)(uintptr_t)pages + off + step : end);
	return (uint64_t)(uintptr_t)pages + off - step * nr;
}

static unsigned max_stack(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned nr = FPL_FP_DEPTH_MAX;

	if (file && fscanf(file, "%u", &nr) != 1)
		nr = FPL_FP_DEPTH_MAX;
	if (file)
		fclose(file);
	return nr < FPL_FP_DEPTH_MAX ? nr : FPL_FP_DEPTH_MAX;
}

/* Sample a child that spins with rbp = @fp, in @run, until there are enough samples. */
static struct fp_chain_result sample(struct test_fp_chain_bpf *skel, void (*run)(uint64_t fp),
				     uint64_t fp)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = 200000 };

	spins = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(spins != MAP_FAILED);

	pid_t pid = fork();

	if (pid == 0) {
		run(fp);
		_exit(1);
	}
	for (int i = 0; i < 12000 && !*spins; i++)
		usleep(5000);
	munmap((void *)spins, PAGE);
	memset(&skel->bss->result, 0, sizeof(skel->bss->result));

	int event = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	assert_true(event >= 0);

	struct bpf_link *link = bpf_program__attach_perf_event(skel->progs.both_chains, event);
	volatile const __u64 *nr = &skel->bss->result.nr_samples;

	assert_non_null(link);
	for (int i = 0; i < 2000 && *nr < 20; i++)
		usleep(5000);
	bpf_link__destroy(link);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return skel->bss->result;
}

static void both_walks_are_the_same(void **state)
{
	struct test_fp_chain_bpf *skel = *state;
	uint64_t first = (uint64_t)(uintptr_t)pages, end = first + NR_PAGES * PAGE;
	const struct {
		const char *what;
		uint64_t fp;
		uint64_t longest; /* 0: as deep as is allowed */
	} cases[] = {
		{ "zero", 0, 1 },
		{ "nowhere", 0x1234567, 1 },
		{ "the kernel's memory", 0xffff888000000000ull, 1 },
		{ "no address at all", 0x0000900000000000ull, 1 },
		{ "the last user addresses", 0x00007fffffffeff0ull, 1 },
		{ "the highest address", UINT64_MAX - 7, 1 },
		{ "a short chain", put_chain(0, 48, 5, 0), 6 },
		{ "a chain longer than may be", put_chain(PAGE, 64, 200, 0), 0 },
		{ "large frames", put_chain(4 * PAGE + 512, 3000, 8, 0), 9 },
		{ "an unaligned chain", put_chain(10 * PAGE + 3, 40, 10, 0), 11 },
		{ "back down", put_chain(11 * PAGE, 160, 5, first), 11 },
		{ "in a circle", put_chain(11 * PAGE + 2048, 16, 1, first + 11 * PAGE + 2048), 0 },
		{ "up to the end of memory", put_chain(13 * PAGE, 16, 3 * PAGE / 16, end), 0 },
		{ "the last 16 bytes", end - 16, 2 },
		{ "the last 8 bytes", end - 8, 1 },
		{ "just below memory", first - 8, 1 },
		{ "into memory that is not there", put_chain(12 * PAGE, 32, 4, end - 8), 5 },
		{ "on to an odd address", put_chain(12 * PAGE + 512, 32, 4, first + 10 * PAGE + 3),
		  15 },
		{ "into the kernel's memory",
		  put_chain(12 * PAGE + 1024, 32, 4, 0xffffffff81000000ull), 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fp_chain_result got = sample(skel, spin, cases[i].fp);
		uint64_t longest = cases[i].longest ? cases[i].longest : max_stack();

		print_message("%s: %llu samples, %llu frames\n", cases[i].what, got.nr_samples,
			      got.nr_frames);
		if (got.nr_wrong)
			fail_msg("%s: %llu of %llu differ, at %llu: %#llx, the kernel's %#llx",
				 cases[i].what, got.nr_wrong, got.nr_samples, got.wrong_idx,
				 got.own, got.kernel);
		assert_true(got.nr_samples > 0);
		if (got.longest != longest)
			fail_msg("%s: %llu frames", cases[i].what, got.longest);
	}
}

#define NR_PENDING 3u
#define MARK	   0x1111u /* in place of the trampoline's address, which a child knows later */

/* The line of the mapping of this process that holds @addr, or has @name. */
static int find_mapping(uint64_t addr, const char *name, uint64_t *ret_start, uint64_t *ret_off)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		uint64_t end;

		if (sscanf(line, "%lx-%lx %*s %lx", ret_start, &end, ret_off) == 3)
			found = name ? strstr(line, name) != NULL
				     : addr >= *ret_start && addr < end;
	}
	if (file)
		fclose(file);
	return found;
}

/* Under a return probe. In the last call the trampoline takes the place of the marks. */
static __attribute__((__noinline__)) void probed(uint64_t fp, unsigned nr_more)
{
	uint64_t trampoline, unused, word;

	if (nr_more) {
		probed(fp, nr_more - 1);
	} else if (find_mapping(0, "[uprobes]", &trampoline, &unused)) {
		for (uint8_t *at = pages; at < pages + PAGE; at += sizeof(word)) {
			memcpy(&word, at, sizeof(word));
			if (word == MARK)
				memcpy(at, &trampoline, sizeof(trampoline));
		}
		spin(fp);
	}
	__asm__ volatile("" ::: "memory");
}

static void spin_probed(uint64_t fp)
{
	probed(fp, NR_PENDING - 1);
}

static int open_return_probe(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attr = { .size = sizeof(attr), .config = 1 /* retprobe */ };
	uint64_t addr = (uint64_t)(uintptr_t)probed, start = 0, off = 0;
	char path[512] = "";

	if (!file || fscanf(file, "%u", &attr.type) != 1)
		attr.type = 0;
	if (file)
		fclose(file);
	if (!attr.type || readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 ||
	    !find_mapping(addr, NULL, &start, &off))
		return -1;
	attr.uprobe_path = (uint64_t)(uintptr_t)path;
	attr.probe_offset = addr - start + off;
	return (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Does the kernel's walk see behind trampolines, as from v6.11 on? */
static int kernel_sees_behind(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 11));
}

static void return_addresses_behind_the_trampoline_are_the_same(void **state)
{
	struct test_fp_chain_bpf *skel = *state;
	int probe = kernel_sees_behind() ? open_return_probe() : -1;

	if (probe < 0) {
		skip_test("the kernel has no uprobes, or its walk does not see behind");
	}
	/* one call that is not probed between them, and two trampolines more than calls */
	for (unsigned i = 0; i < NR_PENDING + 3; i++) {
		uint64_t words[2] = { (uint64_t)(uintptr_t)pages + 64 * (i + 1),
				      i == 1 ? 0x400000 : MARK };

		memcpy(pages + (uint64_t)64 * i, words, sizeof(words));
	}
	memset(pages + (uint64_t)64 * (NR_PENDING + 3), 0, 16);

	struct fp_chain_result got = sample(skel, spin_probed, (uint64_t)(uintptr_t)pages);

	close(probe);
	if (got.nr_wrong)
		fail_msg("%llu of %llu differ, at %llu: %#llx, the kernel's %#llx", got.nr_wrong,
			 got.nr_samples, got.wrong_idx, got.own, got.kernel);
	assert_true(got.nr_samples > 0);
	assert_int_equal(got.longest, NR_PENDING + 3 + 2);
}

static int setup(void **state)
{
	struct test_fp_chain_bpf *skel = test_fp_chain_bpf__open();
	uint8_t *memory =
		mmap(NULL, (NR_PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!skel || memory == MAP_FAILED)
		return -1;
	pages = memory + PAGE;
	skel->rodata->max_frames = max_stack();
	*state = skel;
	return mprotect(pages, NR_PAGES * PAGE, PROT_READ | PROT_WRITE) ||
	       test_fp_chain_bpf__load(skel);
}

static int teardown(void **state)
{
	test_fp_chain_bpf__destroy(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_walks_are_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(return_addresses_behind_the_trampoline_are_the_same,
						setup, teardown),
	};

	if (geteuid()) {
		puts("SKIP: loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
