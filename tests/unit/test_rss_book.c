/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "profile/rss_book.h"

#define NAMED 7u
#define CHILD 8u

/* Sums of a process by id of the stack. */
struct sums {
	uint64_t by_id[8];
	uint32_t tgid;
};

static bool is_named(void *ctx, uint32_t pid)
{
	(void)ctx;
	return pid == NAMED;
}

static void add(uint32_t tgid, uint32_t id, uint64_t bytes, void *ctx)
{
	struct sums *sums = ctx;

	if (tgid == sums->tgid)
		sums->by_id[id % 8] += bytes;
}

static struct sums sums_of(const struct rss_book *book, uint32_t tgid)
{
	struct sums sums = { .tgid = tgid };

	rss_book_for_each(book, add, &sums);
	return sums;
}

/* A change of anonymous memory by the process itself. */
static struct fpl_rss change(uint32_t tgid, uint32_t mm_id, uint64_t before, uint64_t size,
			     uint32_t id)
{
	return (struct fpl_rss){
		.before = before,
		.size = size,
		.mm_id = mm_id,
		.id = id,
		.tgid = tgid,
		.kind = FPL_RSS_ANON,
		.flags = FPL_RSS_OWN,
	};
}

static void note(struct rss_book *book, struct fpl_rss one, uint16_t flags)
{
	one.flags = (uint16_t)(one.flags | flags);
	rss_book_note(book, &one);
}

static void what_is_given_back_is_taken_off_the_oldest(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };
	struct sums sums;

	(void)state;
	note(&book, change(NAMED, 1, 0, 10, 1), FPL_RSS_FIRST);
	note(&book, change(NAMED, 1, 10, 30, 2), 0);
	note(&book, change(NAMED, 1, 30, 45, 3), 0);
	note(&book, change(NAMED, 1, 45, 20, 0), 0);
	sums = sums_of(&book, NAMED);
	assert_int_equal(sums.by_id[1], 0);
	assert_int_equal(sums.by_id[2], 5);
	assert_int_equal(sums.by_id[3], 15);
}

static void changes_that_were_missed_have_no_stack(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };
	struct sums sums;

	(void)state;
	note(&book, change(NAMED, 1, 0, 10, 1), FPL_RSS_FIRST);
	note(&book, change(NAMED, 1, 25, 30, 2), 0); /* 15 more were not told of */
	sums = sums_of(&book, NAMED);
	assert_int_equal(sums.by_id[0], 15);
	assert_int_equal(sums.by_id[1], 10);
	assert_int_equal(sums.by_id[2], 5);
	note(&book, change(NAMED, 1, 20, 21, 3), 0); /* so were 10 less, of the oldest */
	sums = sums_of(&book, NAMED);
	assert_int_equal(sums.by_id[0] + sums.by_id[2], 20);
	assert_int_equal(sums.by_id[1], 0);
	assert_int_equal(sums.by_id[3], 1);
}

static void what_was_there_before_is_the_oldest(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };
	const struct rss_start start = {
		.tgid = NAMED,
		.bytes = { [FPL_RSS_ANON] = 100, [FPL_RSS_FILE] = 50 },
		.comm = "name",
	};
	struct sums sums;

	(void)state;
	assert_int_equal(rss_book_start(&book, &start), 0);
	assert_int_equal(sums_of(&book, NAMED).by_id[0], 150);
	note(&book, change(NAMED, 1, 0, 110, 1), FPL_RSS_FIRST);
	note(&book, change(NAMED, 1, 110, 80, 0), 0);
	sums = sums_of(&book, NAMED);
	assert_int_equal(sums.by_id[0], 50 + 70);
	assert_int_equal(sums.by_id[1], 10);
	assert_string_equal(rss_book_comm(&book, NAMED), "name");
	assert_null(rss_book_comm(&book, CHILD));
}

static void memory_that_was_copied_by_a_fork_is_the_childs(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };
	struct fpl_rss copied = change(NAMED, 2, 0, 64, 0);
	struct sums sums;

	(void)state;
	copied.flags = FPL_RSS_FIRST; /* by the parent */
	rss_book_note(&book, &copied);
	assert_int_equal(sums_of(&book, NAMED).by_id[0], 0);
	assert_int_equal(sums_of(&book, CHILD).by_id[0], 0);
	note(&book, change(CHILD, 2, 64, 70, 5), 0);
	sums = sums_of(&book, CHILD);
	assert_int_equal(sums.by_id[0], 64);
	assert_int_equal(sums.by_id[5], 6);
}

static void what_a_named_process_had_at_its_end_counts(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };

	(void)state;
	note(&book, change(NAMED, 1, 0, 10, 1), FPL_RSS_FIRST);
	note(&book, change(CHILD, 2, 0, 20, 2), FPL_RSS_FIRST);
	for (uint32_t mm_id = 1; mm_id <= 2; mm_id++) {
		struct fpl_rss over = change(NAMED, mm_id, 0, 4, 0);

		over.flags = FPL_RSS_OVER;
		rss_book_note(&book, &over);
	}
	assert_int_equal(sums_of(&book, NAMED).by_id[1], 10);
	assert_int_equal(sums_of(&book, CHILD).by_id[2], 0);
	/* the number of the memory is another process's now */
	note(&book, change(CHILD, 1, 0, 3, 4), FPL_RSS_FIRST);
	assert_int_equal(sums_of(&book, NAMED).by_id[1], 10);
	assert_int_equal(sums_of(&book, CHILD).by_id[4], 3);
}

static void an_exec_drops_what_the_process_had(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };
	struct fpl_rss over = change(NAMED, 1, 0, 0, 0);

	(void)state;
	over.flags = FPL_RSS_OVER;
	note(&book, change(NAMED, 1, 0, 10, 1), FPL_RSS_FIRST);
	rss_book_note(&book, &over);
	note(&book, change(NAMED, 2, 0, 5, 2), FPL_RSS_FIRST);
	assert_int_equal(sums_of(&book, NAMED).by_id[1], 0);
	assert_int_equal(sums_of(&book, NAMED).by_id[2], 5);
}

static void a_child_that_has_ended_holds_nothing(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };

	(void)state;
	note(&book, change(NAMED, 1, 0, 10, 1), FPL_RSS_FIRST);
	note(&book, change(CHILD, 2, 0, 20, 2), FPL_RSS_FIRST);
	rss_book_end(&book, CHILD);
	rss_book_end(&book, NAMED);
	assert_int_equal(sums_of(&book, CHILD).by_id[2], 0);
	assert_int_equal(sums_of(&book, NAMED).by_id[1], 10);
}

/* Many processes that come and go take the places of those before them. */
static void places_are_used_again(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		struct fpl_rss over = change(CHILD, i, 0, 0, 0);

		note(&book, change(CHILD + i, i, 0, 4096, 1), FPL_RSS_FIRST);
		over.flags = FPL_RSS_OVER;
		rss_book_note(&book, &over);
	}
	assert_int_equal(book.spaces.nr, 1);
	assert_int_equal(book.nr_pieces, 0);
}

/* Memory that is taken and given back again and again needs no more room. */
static void pieces_that_were_given_back_take_no_room(void **state)
{
	CLEANUP(rss_book_fini) struct rss_book book = { .is_named = is_named };

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		note(&book, change(NAMED, 1, 100, 200, 1 + i % 2), i ? 0 : FPL_RSS_FIRST);
		note(&book, change(NAMED, 1, 200, 100, 0), 0);
	}
	assert_in_range(book.nr_pieces, 1, 4096);
	assert_int_equal(book.nr_pieces, book.spaces.list[0].pieces.nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_given_back_is_taken_off_the_oldest),
		cmocka_unit_test(changes_that_were_missed_have_no_stack),
		cmocka_unit_test(what_was_there_before_is_the_oldest),
		cmocka_unit_test(memory_that_was_copied_by_a_fork_is_the_childs),
		cmocka_unit_test(what_a_named_process_had_at_its_end_counts),
		cmocka_unit_test(an_exec_drops_what_the_process_had),
		cmocka_unit_test(a_child_that_has_ended_holds_nothing),
		cmocka_unit_test(places_are_used_again),
		cmocka_unit_test(pieces_that_were_given_back_take_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
