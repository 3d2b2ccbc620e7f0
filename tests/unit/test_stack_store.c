/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/books.h"
#include "profile/stack_hash.h"
#include "profile/stack_store.h"

/* Linked in the place of stack_hash_words(), by ld's --wrap. */
uint64_t __real_stack_hash_words(uint64_t hash, const uint64_t *words, size_t nr);
uint64_t __wrap_stack_hash_words(uint64_t hash, const uint64_t *words, size_t nr);

static bool all_hashes_equal;

uint64_t __wrap_stack_hash_words(uint64_t hash, const uint64_t *words, size_t nr)
{
	return all_hashes_equal ? 1 : __real_stack_hash_words(hash, words, nr);
}

static struct fpl_sample sample_of(uint32_t pid, const char *comm, uint16_t nr_user,
				   uint16_t nr_kernel)
{
	struct fpl_sample sample = {
		.start_ns = 1000,
		.weight = 10,
		.count = 1,
		.tgid = pid,
		.nr_user = nr_user,
		.nr_kernel = nr_kernel,
		.stop = FPL_STOP_OUTERMOST,
	};

	memcpy(sample.comm, comm, strlen(comm));
	return sample;
}

static void free_stacks(struct profile_stack *stacks, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(stacks[i].frames);
	free(stacks);
}

static void equal_stacks_are_one_and_others_are_not(void **state)
{
	static const uint64_t user[] = { 1, 2, 3 }, kernel[] = { 9, 8 }, other[] = { 1, 2, 4 };
	struct fpl_sample base = sample_of(5, "perl", 3, 2), s;
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	assert_int_equal(stack_store_add(store, &base, user, kernel), 0);
	assert_int_equal(stack_store_add(store, &base, user, kernel), 0);
	s = base, s.gen = 77, s.tid = 9, s.cpu = 1, s.version = 3, s.flags = FPL_SAMPLE_RAW;
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0); /* no part of a stack */
	s = base, s.tgid = 6;
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0);
	s = base, s.start_ns = 1001;
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0);
	s = base, s.comm[0] = 'P';
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0);
	s = base, s.stop = FPL_STOP_NO_CFI;
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0);
	s = base, s.flags = FPL_SAMPLE_KTHREAD;
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0);
	assert_int_equal(stack_store_add(store, &base, other, kernel), 0);
	s = base, s.nr_kernel = 1;
	assert_int_equal(stack_store_add(store, &s, user, kernel), 0);
	s = base, s.nr_user = 2, s.nr_kernel = 3; /* same words, cut elsewhere */
	assert_int_equal(stack_store_add(store, &s, user, (uint64_t[]){ 3, 9, 8 }), 0);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 9);

	uint64_t most = 0, sum = 0;

	for (size_t i = 0; i < nr; i++) {
		sum += stacks[i].count;
		if (stacks[i].count > most)
			most = stacks[i].count;
		assert_int_equal(stacks[i].weight, 10 * stacks[i].count);
	}
	assert_int_equal(most, 3);
	assert_int_equal(sum, 11);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void labels_tell_stacks_apart_where_they_were_asked_for(void **state)
{
	static const struct {
		const char *what;
		unsigned by;
		size_t nr;
	} cases[] = {
		{ "none", 0, 1 },
		{ "what always does", PROFILE_BY_PID | PROFILE_BY_COMM, 1 },
		{ "tid", PROFILE_BY_TID, 2 },
		{ "cpu", PROFILE_BY_CPU, 2 },
		{ "cgroup", PROFILE_BY_CGROUP, 2 },
		{ "all", PROFILE_BY_TID | PROFILE_BY_CPU | PROFILE_BY_CGROUP, 4 },
	};
	static const uint64_t user[] = { 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_sample base = sample_of(5, "perl", 1, 0), s;
		struct stack_store *store;
		struct profile_stack *stacks;
		size_t nr;

		assert_int_equal(stack_store_create(1 << 20, &store), 0);
		stack_store_separate(store, cases[i].by);
		base.tid = 5, base.cpu = 1, base.cgroup = 7;
		assert_int_equal(stack_store_add(store, &base, user, NULL), 0);
		s = base, s.tid = 6;
		assert_int_equal(stack_store_add(store, &s, user, NULL), 0);
		s = base, s.cpu = 2;
		assert_int_equal(stack_store_add(store, &s, user, NULL), 0);
		s = base, s.cgroup = 1ull << 32 | 7;
		assert_int_equal(stack_store_add(store, &s, user, NULL), 0);
		assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
		if (nr != cases[i].nr)
			fail_msg("%s: %zu stacks", cases[i].what, nr);
		for (size_t j = 0; j < nr; j++) {
			assert_int_equal(stacks[j].tid != 0, !!(cases[i].by & PROFILE_BY_TID));
			assert_int_equal(stacks[j].cpu != 0, !!(cases[i].by & PROFILE_BY_CPU));
			assert_int_equal(stacks[j].cgroup != 0,
					 !!(cases[i].by & PROFILE_BY_CGROUP));
		}
		free_stacks(stacks, nr);
		stack_store_destroy(store);
	}
}

static void second_walk_is_part_of_the_stack_s_identity(void **state)
{
	/* a kernel frame, then fp frames */
	static const uint64_t user[] = { 1, 2, 3 }, rest[] = { 9, 1, 7 }, other[] = { 9, 1, 8 };
	struct fpl_sample s = sample_of(5, "perl", 3, 1);
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	s.nr_fp = 2;
	assert_int_equal(stack_store_add(store, &s, user, rest), 0);
	assert_int_equal(stack_store_add(store, &s, user, other), 0);
	assert_int_equal(stack_store_add(store, &s, user, rest), 0);
	s.nr_kernel = 2, s.nr_fp = 1; /* same words, cut elsewhere */
	assert_int_equal(stack_store_add(store, &s, user, rest), 0);
	s.nr_kernel = 1, s.nr_fp = 0;
	assert_int_equal(stack_store_add(store, &s, user, rest), 0);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 4);
	for (size_t i = 0; i < nr; i++) {
		size_t nr_rest = (size_t)stacks[i].nr_kernel + stacks[i].nr_fp;
		const uint64_t *found = stacks[i].frames + 3;

		assert_int_equal(stacks[i].nr_user, 3);
		assert_memory_equal(stacks[i].frames, user, sizeof(user));
		assert_int_equal(stacks[i].count,
				 nr_rest == 3 && stacks[i].nr_fp == 2 && found[2] == 7 ? 2 : 1);
		assert_memory_equal(found, found[nr_rest - 1] == 8 ? other : rest, 8 * nr_rest);
	}
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void counts_find_their_frames_by_id(void **state)
{
	struct fpl_sample s = sample_of(5, "perl", 1, 0);
	struct books_join join = { 0 };
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	assert_int_equal(stack_store_create(64 << 20, &join.store), 0);
	s.count = 0;
	for (uint32_t id = 1; id <= 5000; id++) {
		s.id = id * 2654435761u; /* ids of all sizes */
		assert_int_equal(stack_store_add(join.store, &s, (uint64_t[]){ id }, NULL), 0);
	}
	for (uint32_t id = 1; id <= 5000; id += 2) {
		struct window_count count = { .count = id,
					      .weight = id * 10ull,
					      .id = id * 2654435761u };

		books_count(&count, &join);
	}
	books_count(&(struct window_count){ .count = 13, .id = 0x12345 }, &join);
	assert_int_equal(join.nr_without_frames, 13);
	assert_int_equal(stack_store_take(join.store, &stacks, &nr), 0);
	assert_int_equal(nr, 2500); /* what was never counted is no stack of the profile */
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(stacks[i].count, stacks[i].frames[0]);
		assert_int_equal(stacks[i].weight, 10 * stacks[i].count);
	}
	free_stacks(stacks, nr);
	stack_store_destroy(join.store);
}

static void two_ids_of_one_content_add_up(void **state)
{
	struct fpl_sample s = sample_of(5, "perl", 1, 0);
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	s.count = 0;
	s.id = 1;
	assert_int_equal(stack_store_add(store, &s, (uint64_t[]){ 7 }, NULL), 0);
	s.id = 2;
	assert_int_equal(stack_store_add(store, &s, (uint64_t[]){ 7 }, NULL), 0);
	assert_int_equal(stack_store_count(store, 1, 10, 0, 0), 0);
	assert_int_equal(stack_store_count(store, 2, 5, 0, 0), 0);
	assert_int_equal(stack_store_count(store, 3, 5, 0, 0), -ENOENT);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(stacks[0].count, 15);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void a_comm_without_an_end_is_cut(void **state)
{
	struct fpl_sample s = sample_of(5, "", 0, 0);
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	memset(s.comm, 'x', sizeof(s.comm));
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	assert_int_equal(stack_store_add(store, &s, NULL, NULL), 0);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_string_equal(stacks[0].comm, "xxxxxxxxxxxxxxx");
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void store_over_budget_reports_and_keeps_its_stacks(void **state)
{
	static const uint64_t zero[100];
	struct fpl_sample s = sample_of(5, "perl", 100, 0);
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr, nr_kept = 0;
	int code = 0;

	(void)state;
	assert_int_equal(stack_store_create(200000, &store), 0);
	while (!code) {
		uint64_t frames[100] = { nr_kept };

		code = stack_store_add(store, &s, frames, NULL);
		nr_kept += !code;
	}
	assert_int_equal(code, -ENOSPC);
	assert_true(nr_kept > 50);
	assert_true(stack_store_bytes(store) <= 200000);
	/* what is known is still counted */
	assert_int_equal(stack_store_add(store, &s, zero, NULL), 0);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, nr_kept);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static int add_frames(struct stack_store *store, uint16_t nr_user, uint16_t nr_kernel,
		      uint16_t nr_fp, uint32_t count, uint32_t id)
{
	static const uint64_t user[] = { 1, 2, 3 }, rest[] = { 4, 5, 6 };
	struct fpl_sample s = sample_of(5, "perl", nr_user, nr_kernel);

	s.nr_fp = nr_fp;
	s.count = count;
	s.id = id;
	return stack_store_add(store, &s, user, rest);
}

static void every_byte_is_charged(void **state)
{
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr, empty, before;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	empty = stack_store_bytes(store);
	assert_int_equal(empty, 2 * 1024 * 4); /* two indexes */
	assert_int_equal(add_frames(store, 3, 0, 0, 1, 0), 0);
	before = stack_store_bytes(store);
	assert_true(before > empty + 256 * 64); /* the first 256 entries */
	assert_int_equal(add_frames(store, 2, 1, 1, 1, 0), 0);
	assert_int_equal(stack_store_bytes(store) - before, 4 * 8 + 16);
	before = stack_store_bytes(store);
	assert_int_equal(add_frames(store, 2, 1, 1, 1, 0), 0); /* known */
	assert_int_equal(stack_store_bytes(store) - before, 0);
	assert_int_equal(add_frames(store, 0, 0, 0, 1, 0), 0);
	assert_int_equal(stack_store_bytes(store) - before, 16);
	before = stack_store_bytes(store);
	assert_int_equal(add_frames(store, 3, 0, 0, 0, 77), 0);
	assert_int_equal(stack_store_bytes(store) - before, 256 * 16); /* the first 256 ids */
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(before + 256 * 16 - stack_store_bytes(store), 24 + 32 + 3 * 16);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

/* The @i-th of stacks that are all different, each with an id. */
static int add_nth(struct stack_store *store, uint32_t i)
{
	struct fpl_sample s = sample_of(5, "perl", 1, 0);

	s.count = 0;
	s.id = i;
	return stack_store_add(store, &s, (uint64_t[]){ i }, NULL);
}

static void the_budget_is_kept_to_the_byte(void **state)
{
	enum { NR = 600 };
	size_t after[NR];
	struct stack_store *store;

	(void)state;
	assert_int_equal(stack_store_create(SIZE_MAX, &store), 0);
	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(add_nth(store, i), 0);
		after[i] = stack_store_bytes(store);
	}
	stack_store_destroy(store);
	/* A budget of just what the last may need, and of a byte less. */
	for (uint32_t last = 0; last < NR; last++)
		for (size_t less = 0; less < 2; less++) {
			assert_int_equal(stack_store_create(after[last] - less, &store), 0);
			for (uint32_t i = 0; i < last; i++)
				assert_int_equal(add_nth(store, i), 0);
			assert_int_equal(add_nth(store, last), less ? -ENOSPC : 0);
			assert_true(stack_store_bytes(store) <= after[last] - less);
			stack_store_destroy(store);
		}
}

static void known_stack_is_found_at_any_size(void **state)
{
	enum { NR = 3000 };
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	assert_int_equal(stack_store_create(SIZE_MAX, &store), 0);
	for (uint64_t i = 0; i < 2 * NR; i++) {
		const struct fpl_sample s = sample_of(5, "perl", 1, 0);
		const uint64_t frame = i % NR * 0x10001;

		assert_int_equal(stack_store_add(store, &s, &frame, NULL), 0);
		assert_int_equal(add_nth(store, (uint32_t)(1u << 31 | i % NR)), 0);
	}
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(stack_store_count(store, 1u << 31 | i, 2, 20, 0), 0);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 2 * NR);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(stacks[i].count, 2);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void stacks_of_one_hash_are_told_apart(void **state)
{
	static const uint64_t user[] = { 1, 2, 3 }, rest[] = { 4, 5, 6 }, other[] = { 1, 2, 4 };
	static const uint64_t ones[] = { 7, 9, 8 }; /* one higher, one lower than what is there */
	struct fpl_sample base = sample_of(5, "perl", 3, 2), s;
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	all_hashes_equal = true;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(stack_store_add(store, &base, user, rest), 0);
		assert_int_equal(stack_store_add(store, &base, other, rest), 0);
		assert_int_equal(stack_store_add(store, &base, user, rest + 1), 0);
		s = base, s.start_ns--;
		assert_int_equal(stack_store_add(store, &s, user, rest), 0);
		s = base, s.start_ns++;
		assert_int_equal(stack_store_add(store, &s, user, rest), 0);
		s = base, s.nr_user = 0;
		assert_int_equal(stack_store_add(store, &s, NULL, rest), 0);
		s = base, s.nr_kernel = 0;
		assert_int_equal(stack_store_add(store, &s, user, NULL), 0);
		s = base, s.nr_user = s.nr_kernel = 0;
		assert_int_equal(stack_store_add(store, &s, NULL, NULL), 0);
		for (size_t j = 0; j < ARRAY_SIZE(ones); j++) {
			s = base, s.nr_user = 1;
			assert_int_equal(stack_store_add(store, &s, &ones[j], rest), 0);
			s = base, s.nr_kernel = 1;
			assert_int_equal(stack_store_add(store, &s, user, &ones[j]), 0);
		}
	}
	all_hashes_equal = false;
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 14);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(stacks[i].count, 2);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void the_stack_that_makes_the_index_grow_is_found_again(void **state)
{
	enum { NR = 513 }; /* one more than half of the index */
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	for (uint32_t round = 0; round < 16; round++) { /* its place is the same in half of them */
		assert_int_equal(stack_store_create(SIZE_MAX, &store), 0);
		for (uint32_t i = 0; i < NR + 1; i++) {
			const struct fpl_sample s = sample_of(5, "perl", 1, 0);
			const uint64_t frame = (i < NR ? i : NR - 1) * 0x10001ull + round;

			assert_int_equal(stack_store_add(store, &s, &frame, NULL), 0);
		}
		assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
		assert_int_equal(nr, NR);
		free_stacks(stacks, nr);
		stack_store_destroy(store);
	}
}

static void taken_symbols_are_forgotten(void **state)
{
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr, bytes = 0;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 2000; i++)
			assert_int_equal(add_nth(store, i + round), 0);
		assert_int_equal(stack_store_count(store, 1 + round, 3, 30, 0), 0);
		assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
		assert_int_equal(stack_store_count(store, 1 + round, 3, 30, 0), -ENOENT);
		assert_int_equal(nr, 1);
		assert_int_equal(stacks[0].frames[0], 1 + round);
		assert_int_equal(stacks[0].count, 3);
		assert_int_equal(stacks[0].weight, 30);
		free_stacks(stacks, nr);
		assert_true(!round || stack_store_bytes(store) == bytes);
		bytes = stack_store_bytes(store);
	}
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 0);
	free_stacks(stacks, nr);
	stack_store_destroy(store);
	stack_store_destroy(NULL);
}

static void an_id_keeps_the_stack_it_named_first(void **state)
{
	struct stack_store *store;
	struct profile_stack *stacks;
	size_t nr;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	assert_int_equal(add_frames(store, 1, 0, 0, 0, 9), 0);
	assert_int_equal(add_frames(store, 2, 0, 0, 0, 9), 0);
	assert_int_equal(add_frames(store, 3, 0, 0, 3, 9), 0); /* counted itself, not by id */
	assert_int_equal(stack_store_count(store, 9, 2, 20, 0), 0);
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 2);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(stacks[i].count, stacks[i].nr_user == 1 ? 2 : 3);
		assert_int_equal(stacks[i].weight, 10 * stacks[i].count);
		assert_int_equal(stacks[i].pid, 5);
		assert_int_equal(stacks[i].start_ns, 1000);
		assert_int_equal(stacks[i].stop, FPL_STOP_OUTERMOST);
		assert_int_equal(stacks[i].flags, 0);
		assert_string_equal(stacks[i].comm, "perl");
	}
	free_stacks(stacks, nr);
	stack_store_destroy(store);
}

static void the_books_name_every_sample(void **state)
{
	struct fpl_counters counters = {
		.fired = 1000, .idle = 100, .filtered = 50, .bpf_ns = 7000, .sample_ns = 8000
	};
	struct profile_books books;

	(void)state;
	for (unsigned i = 0; i < FPL_LOST_COUNT; i++)
		counters.lost[i] = i + 1;
	counters.fired += FPL_LOST_COUNT * (FPL_LOST_COUNT + 1) / 2;
	books_close(&counters, 3, 5, false, &books);
	assert_int_equal(books.fired, counters.fired);
	assert_int_equal(books.idle, 100);
	assert_int_equal(books.filtered, 50);
	assert_int_equal(books.bpf_ns, 7000);
	assert_int_equal(books.sample_ns, 8000);
	for (unsigned i = 0; i < FPL_LOST_COUNT; i++)
		assert_int_equal(books.lost[i], i + 1 + (i == FPL_LOST_USER_MEMORY ? 3 : 0) +
							(i == FPL_LOST_NO_FRAMES ? 5 : 0));
	assert_int_equal(books_gap(&books, 842), 0);
	assert_int_equal(books_gap(&books, 841), 1);
	assert_int_equal(books_gap(&books, 843), -1);
	books_close(&counters, 3, 5, true, &books);
	assert_int_equal(books.lost[FPL_LOST_USER_MEMORY], FPL_LOST_USER_MEMORY + 1 + 8);
	assert_int_equal(books.lost[FPL_LOST_NO_FRAMES], FPL_LOST_NO_FRAMES + 1);
	assert_int_equal(books_gap(&books, 842), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one_and_others_are_not),
		cmocka_unit_test(labels_tell_stacks_apart_where_they_were_asked_for),
		cmocka_unit_test(second_walk_is_part_of_the_stack_s_identity),
		cmocka_unit_test(counts_find_their_frames_by_id),
		cmocka_unit_test(two_ids_of_one_content_add_up),
		cmocka_unit_test(a_comm_without_an_end_is_cut),
		cmocka_unit_test(store_over_budget_reports_and_keeps_its_stacks),
		cmocka_unit_test(every_byte_is_charged),
		cmocka_unit_test(the_budget_is_kept_to_the_byte),
		cmocka_unit_test(known_stack_is_found_at_any_size),
		cmocka_unit_test(stacks_of_one_hash_are_told_apart),
		cmocka_unit_test(the_stack_that_makes_the_index_grow_is_found_again),
		cmocka_unit_test(taken_symbols_are_forgotten),
		cmocka_unit_test(an_id_keeps_the_stack_it_named_first),
		cmocka_unit_test(the_books_name_every_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
