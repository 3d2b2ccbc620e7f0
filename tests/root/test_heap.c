// SPDX-License-Identifier: Apache-2.0
/*
 * usage: test_heap [OPERATIONS]
 *
 * The programs of heap.h hold against a ledger: threads allocate and free by functions of this
 * program that are probed, and write down what they did.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "fpless.skel.h"
#include "profile/samplers.h"
#include "tests/root/uprobe_rig.h"

#define NR_THREADS 4u
#define KEPT_MAX   512u /* allocations that a thread holds at a time */
#define SIZE_MAX_B 20000u

static uint64_t nr_operations = 10000; /* of each thread */

/*
 * The functions under probes. They are not inlined, and the calls in them stay calls or jumps as
 * written.
 */
#define PROBED __attribute__((__noinline__, __noclone__)) static

PROBED void *take_size(size_t size)
{
	void *ret = malloc(size);

	__asm__ volatile("" : : : "memory");
	return ret;
}

PROBED void *take_count(size_t count, size_t size)
{
	void *ret = calloc(count, size);

	__asm__ volatile("" : : : "memory");
	return ret;
}

/* As libc's: with no old memory it jumps to the other, so one return ends both. */
PROBED __attribute__((__optimize__("optimize-sibling-calls"))) void *take_again(void *old,
										size_t size)
{
	if (!old)
		return take_size(size);
	if (size > SIZE_MAX_B)
		return NULL; /* the old memory stays */

	void *ret = realloc(old, size);

	__asm__ volatile("" : : : "memory");
	return ret;
}

PROBED void *take_aligned(size_t alignment, size_t size)
{
	void *ret = aligned_alloc(alignment, size);

	__asm__ volatile("" : : : "memory");
	return ret;
}

PROBED int take_stored(void **ret, size_t alignment, size_t size)
{
	int code = posix_memalign(ret, alignment, size);

	__asm__ volatile("" : : : "memory");
	return code;
}

PROBED void give(void *addr)
{
	__asm__ volatile("" : : "r"(addr) : "memory");
	free(addr);
}

/* A program that samples itself says so by these. */
PROBED void *tell_taken(void *addr, size_t size, uint64_t weight)
{
	__asm__ volatile("" : "+D"(addr) : "S"(size), "d"(weight) : "memory");
	return addr;
}

PROBED void tell_given(void *addr)
{
	__asm__ volatile("" : : "D"(addr) : "memory");
}

/* The registers of their arguments, by offset in struct pt_regs. */
#define ARGUMENT(offset)                                               \
	{                                                              \
		.off = (offset), .size = 8, .kind = FPL_FIELD_UNSIGNED \
	}
static const struct fpl_told tolds[] = {
	{ .addr = ARGUMENT(112), .size = ARGUMENT(104), .weight = ARGUMENT(96), .from_caller = 1 },
	{ .addr = ARGUMENT(112) },
};

static const struct {
	const void *function;
	enum fpl_alloc kind;
} takers[] = {
	{ (const void *)(uintptr_t)take_size, FPL_ALLOC_SIZE },
	{ (const void *)(uintptr_t)take_count, FPL_ALLOC_COUNT },
	{ (const void *)(uintptr_t)take_again, FPL_ALLOC_AGAIN },
	{ (const void *)(uintptr_t)take_aligned, FPL_ALLOC_ALIGNED },
	{ (const void *)(uintptr_t)take_stored, FPL_ALLOC_STORED },
};

/* The deeds of a thread. */
struct ledger {
	uint32_t seed;
	void *addrs[KEPT_MAX];
	size_t sizes[KEPT_MAX];
	uint64_t bytes, objects; /* all that it allocated */
	double variance;	 /* of the sampled number of objects, over a stride's square */
	uint64_t stride;
};

static uint32_t next(struct ledger *ledger)
{
	ledger->seed = ledger->seed * 1664525u + 1013904223u;
	return ledger->seed >> 8;
}

static void *take_one(struct ledger *ledger, size_t *size)
{
	void *ret = NULL;

	switch (next(ledger) % 5) {
	case 0:
		return take_count(2, *size / 2);
	case 1:
		return take_again(NULL, *size);
	case 2:
		return take_aligned(16, *size);
	case 3:
		return take_stored(&ret, 64, *size) ? NULL : ret;
	default:
		return take_size(*size);
	}
}

static void note(struct ledger *ledger, size_t at, void *addr, size_t size)
{
	double chance = (double)size / (double)ledger->stride;

	assert_non_null(addr);
	ledger->addrs[at] = addr;
	ledger->sizes[at] = size;
	ledger->bytes += size;
	/* an allocation without bytes is sampled only where all are */
	ledger->objects += size || ledger->stride == 1;
	chance -= floor(chance);
	if (size)
		ledger->variance += chance * (1 - chance) * (double)ledger->stride / (double)size *
				    (double)ledger->stride / (double)size;
}

static void *use_memory(void *arg)
{
	struct ledger *ledger = arg;

	for (uint64_t i = 0; i < nr_operations; i++) {
		size_t at = next(ledger) % KEPT_MAX;
		size_t size = next(ledger) % (next(ledger) % 8 ? 256 : SIZE_MAX_B) / 16 * 16;

		if (!ledger->addrs[at]) {
			void *addr = take_one(ledger, &size);

			note(ledger, at, addr, size);
		} else if (next(ledger) % 4 == 0) {
			if (ledger->stride == 1 && next(ledger) % 8 == 0)
				assert_null(take_again(ledger->addrs[at], SIZE_MAX_B + 1));
			note(ledger, at, take_again(ledger->addrs[at], size + 1), size + 1);
		} else {
			give(ledger->addrs[at]);
			ledger->addrs[at] = NULL;
		}
	}
	return NULL;
}

#define FILES_MAX 32

struct rig {
	struct fpless_bpf *skel;
	struct ring_buffer *ring;
	struct uprobe_sums sums;
	struct ledger ledgers[NR_THREADS];
	int files[FILES_MAX];
	size_t nr_files;
};

static void probe(struct rig *rig, const void *function, bool at_return, int program,
		  uint64_t cookie)
{
	int event = uprobe_rig_open(function, at_return);

	assert_true(event >= 0 && rig->nr_files + 2 <= FILES_MAX);
	rig->files[rig->nr_files++] = event;
	rig->files[rig->nr_files++] = uprobe_rig_attach(program, event, cookie);
}

static void begin(struct rig *rig, uint64_t stride, uint32_t nr_tolds)
{
	const struct source source = { .sampler = SAMPLER_ALLOC,
				       .tolds = tolds,
				       .nr_tolds = nr_tolds,
				       .event = &(struct fpl_source){ .stride = stride } };
	struct fpl_err err = { 0 };
	struct fpl_target self = { .flags = FPL_TARGET_ACTIVE };
	uint32_t pid = (uint32_t)getpid(), zero = 0;

	*rig = (struct rig){ 0 };
	if (samplers_prepare(&source, 1, &err))
		fail_msg("%s", err.msg);
	rig->skel = fpless_bpf__open();
	assert_non_null(rig->skel);
	rig->skel->rodata->config = (struct fpl_config){
		.flags = FPL_CONFIG_USER,
		.max_depth = FPL_DEPTH_MAX,
		.wakeup_bytes = 1 << 20,
		.nr_stack_groups = 8192,
		.nr_sources = 1,
	};
	assert_int_equal(samplers_choose(rig->skel, &source, 1), 0);
	assert_int_equal(fpless_bpf__load(rig->skel), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.sources), &zero,
					     source.event, BPF_ANY),
			 0);
	assert_int_equal(
		bpf_map_update_elem(bpf_map__fd(rig->skel->maps.targets), &pid, &self, BPF_ANY), 0);
	rig->ring = ring_buffer__new(bpf_map__fd(rig->skel->maps.ring), uprobe_rig_add_record,
				     &rig->sums, NULL);
	assert_non_null(rig->ring);
	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
		uint64_t cookie = (uint64_t)takers[i].kind << 8;

		probe(rig, takers[i].function, false, samplers_alloc_fd(rig->skel), cookie);
		probe(rig, takers[i].function, true, samplers_fd(rig->skel, SAMPLER_ALLOC), cookie);
	}
	probe(rig, (const void *)(uintptr_t)give, false, samplers_free_fd(rig->skel), 0);
	for (uint32_t i = 0; i < nr_tolds; i++) {
		uint64_t cookie = (uint64_t)FPL_ALLOC_TOLD << 8 | (uint64_t)i << 16;

		assert_int_equal(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.tolds), &i,
						     &tolds[i], BPF_ANY),
				 0);
		probe(rig,
		      i ? (const void *)(uintptr_t)tell_given : (const void *)(uintptr_t)tell_taken,
		      false,
		      i ? samplers_free_fd(rig->skel) : samplers_fd(rig->skel, SAMPLER_ALLOC),
		      cookie);
	}
	rig->skel->bss->gate = 1;
}

static void run_threads(struct rig *rig, uint64_t stride)
{
	pthread_t threads[NR_THREADS];

	for (uint32_t i = 0; i < NR_THREADS; i++) {
		rig->ledgers[i].seed = i + 1;
		rig->ledgers[i].stride = stride;
		assert_int_equal(pthread_create(&threads[i], NULL, use_memory, &rig->ledgers[i]),
				 0);
	}
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	rig->skel->bss->gate = 0;
	while (ring_buffer__consume(rig->ring) > 0)
		;

	struct uprobe_sums stacks = uprobe_rig_stacks(rig->skel);

	rig->sums.count += stacks.count;
	rig->sums.weight += stacks.weight;
	rig->sums.objects += stacks.objects;
}

static void end(struct rig *rig)
{
	while (rig->nr_files)
		close(rig->files[--rig->nr_files]);
	for (size_t i = 0; i < NR_THREADS; i++)
		for (size_t k = 0; k < KEPT_MAX; k++)
			free(rig->ledgers[i].addrs[k]);
	ring_buffer__free(rig->ring);
	fpless_bpf__destroy(rig->skel);
}

static void nothing_is_lost(const struct rig *rig)
{
	struct fpl_counters count;

	assert_int_equal(samplers_counters(rig->skel, (uint32_t[FPL_SOURCES_MAX]){ 0 }, &count), 0);
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		assert_int_equal(count.lost[i], 0);
	assert_int_equal(count.full[FPL_FULL_LIVE], 0);
	assert_int_equal(count.fired, rig->sums.count);
}

/* The entry of `live` for the address. */
static bool find_live(const struct rig *rig, const void *addr, struct fpl_live *ret)
{
	struct fpl_live_key key = { .addr = (uint64_t)(uintptr_t)addr, .tgid = (uint32_t)getpid() };

	return !bpf_map_lookup_elem(bpf_map__fd(rig->skel->maps.live), &key, ret);
}

static uint64_t nr_live(const struct rig *rig)
{
	int map = bpf_map__fd(rig->skel->maps.live);
	struct fpl_live_key key, *at = NULL;
	uint64_t nr = 0;

	for (; !bpf_map_get_next_key(map, at, &key); at = &key)
		nr++;
	return nr;
}

static void a_stride_of_a_byte_is_exact(void **state)
{
	static struct rig rig;
	uint64_t bytes = 0, objects = 0, nr_kept = 0;

	(void)state;
	begin(&rig, 1, 0);
	run_threads(&rig, 1);
	nothing_is_lost(&rig);
	for (size_t i = 0; i < NR_THREADS; i++) {
		const struct ledger *ledger = &rig.ledgers[i];

		bytes += ledger->bytes;
		objects += ledger->objects;
		for (size_t k = 0; k < KEPT_MAX; k++) {
			struct fpl_live entry;

			if (!ledger->addrs[k])
				continue;
			nr_kept++;
			assert_true(find_live(&rig, ledger->addrs[k], &entry));
			assert_int_equal(entry.weight, ledger->sizes[k]);
			assert_int_equal(entry.objects, FPL_OBJECT);
			assert_int_not_equal(entry.id, 0);
		}
	}
	printf("%llu bytes of %llu allocations; %llu not freed\n", (unsigned long long)bytes,
	       (unsigned long long)objects, (unsigned long long)nr_kept);
	assert_int_equal(rig.sums.weight, bytes);
	assert_int_equal(nr_live(&rig), nr_kept);
	assert_int_equal(rig.sums.objects, objects * FPL_OBJECT);
	end(&rig);
}

static void a_longer_stride_has_no_bias(void **state)
{
	const uint64_t stride = 512;
	static struct rig rig;
	uint64_t bytes = 0, objects = 0;
	double variance = 0, found, off;

	(void)state;
	begin(&rig, stride, 0);
	run_threads(&rig, stride);
	nothing_is_lost(&rig);
	for (size_t i = 0; i < NR_THREADS; i++) {
		bytes += rig.ledgers[i].bytes;
		objects += rig.ledgers[i].objects;
		variance += rig.ledgers[i].variance;
	}
	found = (double)rig.sums.objects / FPL_OBJECT;
	off = (found - (double)objects) / sqrt(variance);
	printf("%llu of %llu bytes, %.0f of %llu objects (%.2f sigma), by %llu samples\n",
	       (unsigned long long)rig.sums.weight, (unsigned long long)bytes, found,
	       (unsigned long long)objects, off, (unsigned long long)rig.sums.count);
	/* of each slot the last stratum is open: at most one stride more or less */
	assert_in_range(rig.sums.weight + stride * 3 * (uint64_t)libbpf_num_possible_cpus() - bytes,
			0, 2 * stride * 3 * (uint64_t)libbpf_num_possible_cpus());
	/* points of different strata are independent, so this variance is an upper bound; 5.3 sigma
	 * are passed by chance once in 10 million runs */
	assert_true(fabs(off) < 5.3);
	end(&rig);
}

/* Beside functions that are probed. */
static void what_a_program_tells_is_counted(void **state)
{
	enum { NR = 1000, SIZE = 100, WEIGHT = 300 };
	static struct rig rig;
	struct fpl_live entry;

	(void)state;
	begin(&rig, 1, sizeof(tolds) / sizeof(tolds[0]));
	for (uintptr_t i = 1; i <= NR; i++)
		tell_taken((void *)(i << 12), SIZE, WEIGHT);
	for (uintptr_t i = 1; i <= NR; i += 2)
		tell_given((void *)(i << 12));
	assert_non_null(take_size(0)); /* 0 bytes, and an object that is never freed */
	rig.skel->bss->gate = 0;
	while (ring_buffer__consume(rig.ring) > 0)
		;

	struct uprobe_sums stacks = uprobe_rig_stacks(rig.skel);

	rig.sums.count += stacks.count;
	nothing_is_lost(&rig);
	assert_int_equal(rig.sums.count, NR + 1);
	assert_int_equal(rig.sums.weight + stacks.weight, NR * WEIGHT);
	assert_int_equal(rig.sums.objects + stacks.objects,
			 (NR * WEIGHT / SIZE + 1) * (uint64_t)FPL_OBJECT);
	assert_int_equal(nr_live(&rig), NR / 2 + 1);
	assert_true(find_live(&rig, (void *)(2ul << 12), &entry));
	assert_int_equal(entry.weight, WEIGHT);
	assert_int_equal(entry.objects, WEIGHT / SIZE * FPL_OBJECT);
	assert_false(find_live(&rig, (void *)(1ul << 12), &entry));
	end(&rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stride_of_a_byte_is_exact),
		cmocka_unit_test(a_longer_stride_has_no_bias),
		cmocka_unit_test(what_a_program_tells_is_counted),
	};

	if (argc > 1)
		nr_operations = strtoull(argv[1], NULL, 10);
	if (geteuid()) {
		fprintf(stderr, "not root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
