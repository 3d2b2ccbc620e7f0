/* SPDX-License-Identifier: Apache-2.0 */
/* A time of a store, of one source of samples. */
#include "cmocka_all.h"

#include "../support/store_folder.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/must_add.h"
#include "recording/sources.h"

#define S  UINT64_C(1000000000)
#define T0 (UINT64_C(1790000000) * S)

/* Put in a window of @count samples of each of the events @names [@nr], in turn, at @t0. */
static void put_sources(struct store *store, const char *const *names, size_t nr, uint64_t count,
			uint64_t t0)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct recording_source sources[4] = { 0 };
	struct fpl_err err = { 0 };

	must_recording_init(&recording);
	recording.start_unix_ns = t0;
	recording.duration_ns = 10 * S;
	for (size_t i = 0; i < nr; i++) {
		sources[i].event = must_add_text(&recording, names[i]);
		sources[i].period = 1 + i;
	}
	assert_int_equal(sources_set(&recording, sources, nr), 0);
	for (size_t i = 0; i < nr; i++) {
		const struct recording_frame frame = { .address = RECORDING_NO_ADDRESS,
						       .start = RECORDING_NO_ADDRESS,
						       .origin = RECORDING_NO_ORIGIN };
		uint32_t frames[] = { must_add_frame(&recording, &frame, NULL) };
		const struct recording_stack key = { .nr_user = 1,
						     .count = count + i,
						     .weight = count + i,
						     .source = (uint8_t)i,
						     .stop = FPL_STOP_OUTERMOST };

		must_add_stack(&recording, &key, frames);
	}
	must_add_number(&recording, "fired", recording_shown(&recording));
	assert_int_equal(store_insert(store, &recording, "", &err), 0);
}

static int add_samples(void *ctx, const struct store_window *window)
{
	uint64_t *sum = ctx;

	*sum += window->samples;
	return 0;
}

static void one_source_of_several_is_read(void **state)
{
	static const char *const both[] = { "page-faults", "cpu-clock" }, *const one[] = {
		"blocked"
	};
	static const struct {
		const char *source, *event;
		uint64_t samples;
		size_t windows;
	} cases[] = {
		{ "cpu", "cpu-clock", 101, 1 },	 { "page-faults", "page-faults", 100, 1 },
		{ "off-cpu", "blocked", 70, 1 }, { "heap", "", 0, 0 },
		{ "blocked", "blocked", 70, 1 },
	};
	struct store *store = open_store(&unlimited);

	(void)state;
	put_sources(store, both, 2, 100, T0);
	put_sources(store, one, 1, 70, T0 + 10 * S);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording got = { 0 };
		struct store_range range = all;
		uint64_t listed = 0;
		size_t nr;
		struct fpl_err err = { 0 };

		range.source = cases[i].source;
		must_recording_init(&got);
		assert_int_equal(store_read(store, &range, &got, &nr, &err), 0);
		assert_int_equal(nr, cases[i].windows);
		assert_int_equal(recording_shown(&got), cases[i].samples);
		assert_string_equal(recording_string(&got, got.event), cases[i].event);
		/* one source needs no list, and its weights have a sum */
		assert_int_equal(got.nr_sources, 0);
		assert_false(got.by_count);
		assert_int_equal(recording_number(&got, "fired"),
				 cases[i].samples + recording_number(&got, "filtered"));
		assert_int_equal(store_list(store, &range, add_samples, &listed, &err), 0);
		assert_int_equal(listed, cases[i].samples);
	}
	store_close(store);
}

static void words_stand_for_events(void **state)
{
	static const struct {
		const char *word, *event;
		uint8_t state;
		bool want;
	} cases[] = {
		{ "cpu", "cpu-cycles", RECORDING_STATE_NONE, true },
		{ "cpu", "blocked", RECORDING_STATE_NONE, false },
		{ "cpu", "wall", RECORDING_STATE_ON_CPU, true },
		{ "cpu", "wall", RECORDING_STATE_BLOCKED, false },
		{ "cpu", "wall", RECORDING_STATE_COUNT, true },
		{ "off-cpu", "wall", RECORDING_STATE_RUNNABLE, true },
		{ "off-cpu", "wall", RECORDING_STATE_ON_CPU, false },
		{ "off-cpu", "blocked", RECORDING_STATE_NONE, true },
		{ "off-cpu", "cpu-clock", RECORDING_STATE_NONE, false },
		{ "heap", "allocations", RECORDING_STATE_NONE, true },
		{ "wall", "wall", RECORDING_STATE_BLOCKED, true },
		{ "page", "page-faults", RECORDING_STATE_NONE, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (sources_word_means(cases[i].word, cases[i].event, cases[i].state) !=
		    cases[i].want)
			fail_msg("%s: %s in state %u", cases[i].word, cases[i].event,
				 cases[i].state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_stand_for_events),
		cmocka_unit_test_setup_teardown(one_source_of_several_is_read, make_folder,
						remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
