/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of the table pool, made ahead: the kernel has what is written to each. */
#include "tests/unit/cmocka_all.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/shared.h"
#include "profile/chunk_maker.h"

enum { NR_CHUNKS = 4, NOT_PERMITTED = 77 };

/* The kernel's content of chunk @number: its first byte. */
static uint8_t first_byte(const struct chunk_maker *maker, uint32_t number)
{
	static uint8_t bytes[FPL_CHUNK_SIZE];
	uint32_t id, zero = 0;

	assert_int_equal(bpf_map_lookup_elem(chunk_maker_fd(maker), &number, &id), 0);

	AUTO_FD int fd = bpf_map_get_fd_by_id(id);

	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, bytes), 0);
	return bytes[0];
}

static void chunks_are_what_the_kernel_sees(void **state)
{
	static const uint32_t order[] = { 0, 1, 3, 2, 0 };
	struct chunk_maker *maker;
	struct fpl_err err = { 0 };
	void *chunks[NR_CHUNKS] = { NULL };

	(void)state;
	assert_int_equal(chunk_maker_create(NR_CHUNKS, &maker, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		uint32_t number = order[i];
		void *chunk;

		assert_int_equal(chunk_maker_get(maker, number, &chunk, &err), 0);
		assert_true(!chunks[number] || chunks[number] == chunk);
		chunks[number] = chunk;
		memset(chunk, (int)number + 1, FPL_CHUNK_SIZE);
	}
	for (uint32_t i = 0; i < NR_CHUNKS; i++)
		assert_int_equal(first_byte(maker, i), i + 1);
	assert_true(chunk_maker_bytes(maker) >= NR_CHUNKS * (uint64_t)FPL_CHUNK_SIZE);
	chunk_maker_destroy(maker);
	chunk_maker_destroy(NULL);
}

static void one_alone_is_enough(void **state)
{
	struct chunk_maker *maker;
	struct fpl_err err = { 0 };
	void *chunk;

	(void)state;
	assert_int_equal(chunk_maker_create(1, &maker, &err), 0);
	assert_int_equal(chunk_maker_get(maker, 0, &chunk, &err), 0);
	chunk_maker_destroy(maker);
	/* begun, and not waited for */
	assert_int_equal(chunk_maker_create(NR_CHUNKS, &maker, &err), 0);
	chunk_maker_destroy(maker);
}

static void what_failed_is_tried_again(void **state)
{
	enum { MANY = 64 };
	struct rlimit before, none;
	struct chunk_maker *maker;
	struct fpl_err err = { 0 };
	uint32_t number = 0;
	void *chunk;
	int code = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(chunk_maker_create(MANY, &maker, &err), 0);
	setrlimit(RLIMIT_NOFILE, &none);
	/* one or two may be at hand */
	while (!code && number < MANY)
		code = chunk_maker_get(maker, number++, &chunk, &err);
	assert_int_equal(code, -EMFILE);
	assert_int_equal(err.code, -EMFILE);
	assert_int_equal(chunk_maker_get(maker, number - 1, &chunk, &err), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(chunk_maker_get(maker, number - 1, &chunk, &err), 0);
	chunk_maker_destroy(maker);

	setrlimit(RLIMIT_NOFILE, &none);
	assert_int_equal(chunk_maker_create(MANY, &maker, &err), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_what_the_kernel_sees),
		cmocka_unit_test(one_alone_is_enough),
		cmocka_unit_test(what_failed_is_tried_again),
	};

	if (geteuid() != 0) {
		print_message("SKIP: needs root\n");
		return NOT_PERMITTED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
