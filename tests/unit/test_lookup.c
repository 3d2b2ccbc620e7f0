/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of table images: the rule at every address, and how far it is the same. */
#include "cmocka_all.h"

#include <sys/mman.h>

#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"

/* Chunks of the pool: the table's own from @first on. */
struct env {
	const struct table *table; /* NULL: */
	const uint8_t *chunk;	   /* the only one */
	uint32_t first, missing;   /* the chunk that is not there; UINT32_MAX: none */
};

static const __u8 *env_chunk(struct env *env, __u32 chunk_no)
{
	uint32_t own = chunk_no - env->first;

	if (!env->table)
		return env->chunk;
	return own < env->table->nr_chunks && chunk_no != env->missing ? env->table->chunks[own]
								       : NULL;
}

#include "bpf/lookup.h"

enum { PAGE = 1 << FPL_PAGE_LOG2, SPAN = 1 << FPL_SPAN_LOG2, START = 2 * PAGE };

/* A table with rows of @step bytes from START on, whose CFA offsets cycle through @nr_offsets. */
static struct table *make_table(unsigned nr, unsigned step, unsigned nr_offsets)
{
	struct cfi_builder b;
	const struct cfi_builder *const builders[] = { &b };
	struct cfi_file *file;
	struct table *table = NULL;
	struct fpl_err err;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde_begin(&b);
	cfi_builder_uint(&b, START - (CFI_BUILDER_VADDR + b.size), 4);
	cfi_builder_uint(&b, (uint64_t)nr * step, 4);
	cfi_builder_uleb(&b, 0);
	for (unsigned i = 0; i < nr; i++) {
		cfi_builder_put(&b, BYTES("\x0e"));
		cfi_builder_uleb(&b, 8 + 8 * (i % nr_offsets));
		cfi_builder_uint(&b, CFA_ADVANCE_LOC | step, 1);
	}
	cfi_builder_end(&b);
	if (cfi_builder_open(builders, 1, &patient_limits, &file, &err) ||
	    table_compile_file(file, &table, &err))
		fail_msg("%s", err.msg);
	cfi_file_close(file);
	cfi_builder_fini(&b);
	return table;
}

static struct fpl_object object_of(const struct table *table, uint32_t first_chunk)
{
	return (struct fpl_object){
		.images = { { .base = first_chunk << FPL_CHUNK_LOG2,
			      .rules_off = table->rules_off,
			      .dir_off = table->dir_off } },
		.nr_pages = table->nr_pages,
		.first_vaddr = table->first_vaddr,
	};
}

static void every_address_has_its_rule_and_reach(void **state)
{
	static const struct {
		const char *what;
		unsigned nr, step, nr_offsets;
	} cases[] = {
		{ "a row on each byte", 3 * SPAN, 1, 5 },
		{ "a row on each byte, wide", 3 * SPAN, 1, 300 },
		{ "eight rows a span", 400, 32, 7 },
		{ "seven and eight rows a span", 400, 33, 7 },
		{ "seven rows a span", 400, 37, 7 },
		{ "seven rows a span, wide", 1500, 37, 300 },
		{ "over two pages", 2000, 61, 9 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table *table = make_table(cases[i].nr, cases[i].step, cases[i].nr_offsets);
		struct env env = { table, NULL, 5, UINT32_MAX };
		const struct fpl_object object = object_of(table, env.first);
		uint64_t size = (uint64_t)cases[i].nr * cases[i].step;

		for (uint64_t at = 0; at < size; at++) {
			uint64_t row = at / cases[i].step;
			uint64_t start = row * cases[i].step, end = start + cases[i].step;
			uint64_t span = at & ~(uint64_t)(SPAN - 1);
			struct lookup_reach reach;
			const struct fpl_rule *rule =
				table_lookup(&env, &object, &object.images[0], START + at, &reach);

			if (start < span)
				start = span;
			if (end > span + SPAN)
				end = span + SPAN;
			if (!rule || rule->cfa_off != 8 + 8 * (int)(row % cases[i].nr_offsets))
				fail_msg("%s: at %#lx: another rule", cases[i].what,
					 (unsigned long)at);
			if (reach.start != START + start || reach.end != START + end)
				fail_msg("%s: at %#lx: reach %#llx to %#llx", cases[i].what,
					 (unsigned long)at, (unsigned long long)reach.start,
					 (unsigned long long)reach.end);
		}
		table_destroy(table);
	}
}

static void uncovered_page_has_no_rule(void **state)
{
	struct table *table = make_table(10, 32, 3);
	struct env env = { table, NULL, 5, UINT32_MAX };
	const struct fpl_object object = object_of(table, env.first);
	const uint64_t end = object.first_vaddr + (uint64_t)object.nr_pages * PAGE;
	/* a page without rows, the last vaddr and the first behind it, and far away */
	const uint64_t vaddrs[] = {
		10 * PAGE + 7, end - 1, end, end + PAGE, 1ull << 48, UINT64_MAX
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(vaddrs); i++) {
		struct lookup_reach reach;
		const struct fpl_rule *rule =
			table_lookup(&env, &object, &object.images[0], vaddrs[i], &reach);

		assert_non_null(rule);
		assert_int_equal(rule->cfa, FPL_CFA_NONE);
		assert_int_equal(reach.start, vaddrs[i]);
		assert_int_equal(reach.end, vaddrs[i] + 1);
	}
	table_destroy(table);
}

static void a_table_begins_and_ends_where_its_object_says(void **state)
{
	struct table *table = make_table(10, 32, 3);
	struct env env = { table, NULL, 5, UINT32_MAX };
	struct fpl_object object = object_of(table, env.first);
	struct lookup_reach reach;
	uint64_t moved = 7 * PAGE;

	(void)state;
	object.first_vaddr += moved;
	assert_int_equal(
		table_lookup(&env, &object, &object.images[0], moved + START + 40, &reach)->cfa_off,
		16);
	assert_int_equal(reach.start, moved + START + 32);
	assert_int_equal(reach.end, moved + START + 64);
	assert_int_equal(table_lookup(&env, &object, &object.images[0], moved - 1, &reach)->cfa,
			 FPL_CFA_NONE);
	assert_int_equal(table_lookup(&env, &object, &object.images[0], START, &reach)->cfa,
			 FPL_CFA_NONE);
	/* The page of START is there, but not one of this object's. */
	object.nr_pages = START / PAGE;
	assert_int_equal(table_lookup(&env, &object, &object.images[0], moved + START, &reach)->cfa,
			 FPL_CFA_NONE);
	object.nr_pages++;
	assert_int_equal(
		table_lookup(&env, &object, &object.images[0], moved + START, &reach)->cfa_off, 8);
	table_destroy(table);
}

static void a_table_that_is_gone_or_wrong_gives_no_rule(void **state)
{
	struct table *table = make_table(10, 32, 3);
	struct env env = { table, NULL, 5, UINT32_MAX };
	struct fpl_object object = object_of(table, env.first);
	struct lookup_reach reach;

	(void)state;
	assert_int_equal(table->nr_chunks, 1);
	assert_non_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	env.missing = 5;
	assert_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	env.missing = UINT32_MAX;
	object.images[0].rules_off = FPL_CHUNK_SIZE; /* in the next chunk, which is not there */
	assert_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	object.images[0].rules_off = table->rules_off;
	object.images[0].dir_off = FPL_CHUNK_SIZE;
	assert_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	object.images[0].dir_off = table->dir_off;
	/* Rule 1 is in force at START: the last place it may be in, and the next. */
	object.images[0].rules_off = FPL_CHUNK_SIZE - FPL_RULE_REACH - sizeof(struct fpl_rule);
	assert_non_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	object.images[0].rules_off += sizeof(struct fpl_rule);
	assert_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	object.images[0].rules_off = table->rules_off;

	struct fpl_page *page =
		(void *)(table->chunks[0] + table->dir_off + START / PAGE * sizeof(*page));

	page->off += FPL_CHUNK_SIZE;
	assert_null(table_lookup(&env, &object, &object.images[0], START, &reach));
	table_destroy(table);
}

/* Nothing lies around the chunk, and its bytes say the worst: nothing else may be read. */
static void whatever_an_image_says_nothing_outside_its_chunk_is_read(void **state)
{
	const size_t guard = 1 << 20;
	uint8_t *bytes = mmap(NULL, FPL_CHUNK_SIZE + 2 * guard, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct env env = { .chunk = bytes + guard };
	struct fpl_object object = { .nr_pages = 1 };
	struct fpl_page *page = (void *)(bytes + guard);

	(void)state;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	assert_int_equal(mprotect(bytes + guard, FPL_CHUNK_SIZE, PROT_READ | PROT_WRITE), 0);
	for (unsigned fill = 0; fill < 256; fill += 85) {
		memset(bytes + guard, (int)fill, FPL_CHUNK_SIZE);
		for (unsigned i = 0; i < 64; i++) {
			page->nr_dict = i & 1 ? UINT16_MAX : 0;
			page->off = i & 2 ? FPL_CHUNK_SIZE - 1 - i / 4 : 1 + i;
			object.images[0].rules_off = i & 8 ? UINT32_MAX - i : i;
			for (uint64_t vaddr = 0; vaddr < PAGE; vaddr += 251) {
				struct lookup_reach reach;
				const uint8_t *rule = (const void *)table_lookup(
					&env, &object, &object.images[0], vaddr, &reach);

				assert_true(!rule ||
					    (rule >= env.chunk &&
					     rule + FPL_RULE_REACH <= env.chunk + FPL_CHUNK_SIZE));
			}
		}
	}
	munmap(bytes, FPL_CHUNK_SIZE + 2 * guard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_has_its_rule_and_reach),
		cmocka_unit_test(uncovered_page_has_no_rule),
		cmocka_unit_test(a_table_begins_and_ends_where_its_object_says),
		cmocka_unit_test(a_table_that_is_gone_or_wrong_gives_no_rule),
		cmocka_unit_test(whatever_an_image_says_nothing_outside_its_chunk_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
