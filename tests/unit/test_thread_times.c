// SPDX-License-Identifier: Apache-2.0
/* The times of threads by thread: as numbers of a recording, and as a table. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/thread_table.h"
#include "recording/must_add.h"
#include "report/thread_tally.h"

enum { NR = 300, NR_LISTED = 256 };

/* Thread @i of a profile: the later ones had a CPU longer. */
static struct profile_thread thread(uint32_t i)
{
	struct profile_thread ret = {
		.pid = 7,
		.tid = 100 + i,
		.sum = { .ns = { 1000u * (i + 1), i, 3, 4 },
			 .blocks = 2,
			 .waits = 1,
			 .threads = 1 },
	};

	snprintf(ret.sum.comm, sizeof(ret.sum.comm), "t%u", i);
	return ret;
}

static void those_beyond_the_list_are_summed(void **state)
{
	struct profile_thread threads[NR];
	const struct profile profile = {
		.has_threads = true,
		.threads = threads,
		.nr_threads = NR,
		.threads_beyond = { .ns = { 1, 2, 3, 4 }, .blocks = 5, .waits = 6, .threads = 7 },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };
	uint64_t nr_others = NR - NR_LISTED;

	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		threads[i] = thread(i);
	assert_int_equal(recording_init(&recording), 0);
	thread_tally_add(&recording, &profile);
	assert_string_equal(recording_note(&recording, "threads[].0.comm"), "t299");
	assert_int_equal(recording_number(&recording, "threads[].0.pid"), 7);
	assert_int_equal(recording_number(&recording, "threads[].0.tid"), 399);
	assert_int_equal(recording_number(&recording, "threads[].0.on_cpu"), 300000);
	assert_int_equal(recording_number(&recording, "threads[].0.runnable_waits"), 1);
	assert_string_equal(recording_note(&recording, "threads[].255.comm"), "t44");
	assert_null(recording_note(&recording, "threads[].256.comm"));
	assert_int_equal(recording_number(&recording, "threads_others.threads"), nr_others + 7);
	assert_int_equal(recording_number(&recording, "threads_others.on_cpu"),
			 1000 * nr_others * (nr_others + 1) / 2 + 1);
	assert_int_equal(recording_number(&recording, "threads_others.blocked"), 3 * nr_others + 3);
	assert_int_equal(recording_number(&recording, "threads_others.blocks"), 2 * nr_others + 5);
}

/* The table of @recording, which the caller frees. */
static char *table_of(const struct recording *recording, size_t nr)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	thread_table_write(to, recording, nr);
	fclose(to);
	return text;
}

static void the_table_has_the_first_ones(void **state)
{
	struct profile_thread threads[3] = { thread(0), thread(1), thread(2) };
	const struct profile profile = { .has_threads = true, .threads = threads, .nr_threads = 3 };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	AUTO_FREE char *text = NULL;

	(void)state;
	memcpy(threads[2].sum.comm, "a\033[2Jbcdefghijkl", 16); /* no end, and a terminal's code */
	assert_int_equal(recording_init(&recording), 0);
	thread_tally_add(&recording, &profile);
	assert_true(thread_table_is_all(&recording));
	text = table_of(&recording, 2);
	assert_non_null(strstr(text, "on a CPU"));
	assert_non_null(strstr(text, "bcdefghijkl 7/102\n"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, " t1 7/101\n"));
	assert_null(strstr(text, "t0"));
	assert_non_null(strstr(text, "... and 1 more\n"));
	assert_null(strstr(text, "all others"));
}

static void a_recording_without_them_has_no_table(void **state)
{
	const struct profile profile = { 0 };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	AUTO_FREE char *text = NULL;

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	thread_tally_add(&recording, &profile);
	assert_int_equal(recording.nr_numbers, 0);
	assert_false(thread_table_is_all(&recording));
	text = table_of(&recording, 10);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_beyond_the_list_are_summed),
		cmocka_unit_test(the_table_has_the_first_ones),
		cmocka_unit_test(a_recording_without_them_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
