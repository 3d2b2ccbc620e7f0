/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory: every allocation of a run fails once. Linked so that the calls of the project's
 * own code come here first (ld's --wrap).
 */
#include "cmocka_all.h"

#include <errno.h>
#include <sys/mman.h>

#include "profile/stack_store.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__real_reallocarray(void *ptr, size_t nr, size_t size);
void *__wrap_reallocarray(void *ptr, size_t nr, size_t size);
void *__real_mmap(void *ptr, size_t size, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *ptr, size_t size, int prot, int flags, int fd, off_t off);
int __real_munmap(void *ptr, size_t size);
int __wrap_munmap(void *ptr, size_t size);

/* The allocation from here that fails, counted from 1; 0: none. */
static unsigned failing;

/* Bytes of mappings made and not given back: no sanitizer looks for those. */
static size_t mapped_bytes;

static bool fails(void)
{
	return failing && --failing == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return fails() ? NULL : __real_realloc(ptr, size);
}

void *__wrap_reallocarray(void *ptr, size_t nr, size_t size)
{
	return fails() ? NULL : __real_reallocarray(ptr, nr, size);
}

void *__wrap_mmap(void *ptr, size_t size, int prot, int flags, int fd, off_t off)
{
	if (fails())
		return MAP_FAILED;
	mapped_bytes += size;
	return __real_mmap(ptr, size, prot, flags, fd, off);
}

int __wrap_munmap(void *ptr, size_t size)
{
	mapped_bytes -= size;
	return __real_munmap(ptr, size);
}

static int compile(const struct cfi_builder *b, struct table **table, struct fpl_err *err)
{
	const struct cfi_builder *const builders[] = { b };
	struct cfi_file *file;
	int code = cfi_builder_open(builders, 1, &patient_limits, &file, err);

	if (code)
		return code;
	code = table_compile_file(file, table, err);
	cfi_file_close(file);
	return code;
}

static void a_table_without_memory_is_refused_by_name(void **state)
{
	enum { NR_FDES = 600 };
	unsigned nr_failed = 0;
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	/* Enough rules for the set of them to grow in slots and in hashes, by both interpreters. */
	for (unsigned i = 0; i < NR_FDES; i++) {
		const uint8_t code[] = { CFA_DEF_CFA_OFFSET,
					 (uint8_t)(0x80 | i),
					 (uint8_t)(i >> 7),
					 CFA_ADVANCE_LOC | 8,
					 CFA_VAL_OFFSET,
					 3,
					 2 };

		cfi_builder_fde(&b, CFI_BUILDER_TEXT + 16 * i, 16, code, i & 1 ? sizeof(code) : 4);
	}
	for (;; nr_failed++) {
		struct table *table = NULL;
		struct fpl_err err = { 0 };

		failing = nr_failed + 1;

		int code = compile(&b, &table, &err);
		bool failed = failing == 0;

		failing = 0;
		if (!failed) {
			assert_int_equal(code, 0);
			assert_true(table->stats.rules > 512);
			table_destroy(table);
			assert_int_equal(mapped_bytes, 0);
			break;
		}
		if (code != -ENOMEM || table || strcmp(err.msg, "test: out of memory") != 0)
			fail_msg("allocation %u: %d %s", nr_failed + 1, code, err.msg);
		assert_int_equal(mapped_bytes, 0);
	}
	assert_true(nr_failed > 15);
	cfi_builder_fini(&b);
}

/* Do to @store what a run does: stacks of their own, ids of others, counts. Returns the first
 * error. */
static int fill(struct stack_store *store, unsigned *nr_refused)
{
	enum { NR_STACKS = 550 };

	for (unsigned i = 0; i < 2 * NR_STACKS; i++) {
		const uint64_t frames[] = { i, 7 };
		const struct fpl_sample sample = {
			.count = i & 1, .weight = 1, .nr_user = 2, .id = i
		};
		int code = stack_store_add(store, &sample, frames, NULL);

		if (code) { /* refused whole: nothing is half there, so it can be done again */
			if (code != -ENOMEM || failing)
				return code;
			++*nr_refused;
			code = stack_store_add(store, &sample, frames, NULL);
		}
		if (!code && !(i & 1))
			code = stack_store_count(store, i, 1, 1, 0);
		if (code)
			return code;
	}
	return 0;
}

static void a_stack_without_memory_is_refused_whole(void **state)
{
	unsigned nr_failed = 0, nr_refused = 0;
	bool failed;

	(void)state;
	do {
		struct stack_store *store = NULL;
		struct profile_stack *stacks = NULL;
		size_t nr = 0;
		uint64_t sum = 0;

		failing = ++nr_failed;

		int code = stack_store_create(1 << 20, &store);

		if (code) {
			failed = true;
			assert_int_equal(code, -ENOMEM);
			assert_null(store);
			continue;
		}
		code = fill(store, &nr_refused);
		if (code)
			fail_msg("allocation %u: %d", nr_failed, code);
		code = stack_store_take(store, &stacks, &nr);
		failed = failing == 0;
		failing = 0;
		if (code) {
			assert_int_equal(code, -ENOMEM);
			code = stack_store_take(store, &stacks, &nr);
		}
		assert_int_equal(code, 0);
		assert_int_equal(nr, 1100);
		for (size_t i = 0; i < nr; i++) {
			sum += stacks[i].count;
			free(stacks[i].frames);
		}
		assert_int_equal(sum, 1100);
		free(stacks);
		stack_store_destroy(store);
	} while (failed);
	assert_true(nr_refused > 1100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_without_memory_is_refused_by_name),
		cmocka_unit_test(a_stack_without_memory_is_refused_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
