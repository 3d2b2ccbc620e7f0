/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>

#include "../support/recording_text.h"
#include "base/cleanup.h"
#include "recording/filter.h"
#include "recording/merge.h"
#include "recording/recount.h"

static const struct format_options plain = { 0 };

/* Add what @text says to @to. */
static int add(struct recording *to, const char *text, const struct merge_filter *filter,
	       struct merge_result *result)
{
	const struct read_options options = { .events = true };
	CLEANUP(recording_fini) struct recording from = { 0 };
	struct fpl_err err = { 0 };

	if (recording_of(text, strlen(text), &options, &from, &err))
		fail_msg("%s", err.msg);
	return recording_merge(to, &from, filter, result);
}

static void stacks_of_files_add_up(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, "a;f 1\nb;g;sys_[k] 2\n", NULL, &result), 0);
	assert_int_equal(add(&to, "a;f 4\nc;[/x+0x1] 1\n", NULL, &result), 0);

	AUTO_FREE char *folded = recording_as(&to, "folded", &plain);

	assert_string_equal(folded, "c;[x+0x1] 1\nb;g;sys 2\na;f 5\n");
	assert_int_equal(recording_number(&to, "fired"), 8);
	assert_int_equal(recording_number(&to, "shown"), 8);
	assert_int_equal(result.nr, 2);
	assert_false(result.events_differ || result.periods_differ);
}

#define META(event, period) \
	"{\"type\":\"meta\",\"format\":1,\"event\":\"" event "\",\"period_ns\":" period "}\n"
#define STACK(count, weight, build_id)                                                    \
	"{\"type\":\"stack\",\"count\":" count ",\"weight_ns\":" weight                   \
	",\"comm\":\"a\",\"pid\":7,\"stop\":\"outermost\",\"user\":[{\"object\":\"/x\","  \
	"\"build_id\":\"" build_id "\",\"vaddr\":\"0x10\",\"symbol\":\"f\",\"offset\":0," \
	"\"origin\":\"cfi\"}],\"kernel\":[]}\n"
#define BOOKS(fired, shown, lost, peak)                                          \
	"{\"type\":\"books\",\"fired\":" fired ",\"shown\":" shown               \
	",\"idle\":1,\"lost\":{\"ring_full\":" lost "},\"rss_peak_bytes\":" peak \
	",\"user_samples\":" shown ",\"incomplete\":{\"most\":[{\"stop\":\"expr\"}]}}\n"

static void the_books_add_up_and_close(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(
		add(&to, META("cpu-clock", "10") STACK("3", "30", "aa") BOOKS("5", "3", "1", "100"),
		    NULL, &result),
		0);
	assert_int_equal(add(&to,
			     META("cycles", "20") STACK("4", "80", "aa") STACK("1", "20", "bb")
				     BOOKS("6", "5", "0", "70"),
			     NULL, &result),
			 0);
	assert_int_equal(add(&to, "a;g 2\n", NULL, &result), 0);
	assert_int_equal(recording_number(&to, "fired"), 13);
	assert_int_equal(recording_number(&to, "fired"),
			 recording_shown(&to) + recording_number(&to, "idle") +
				 recording_number(&to, "lost.ring_full"));
	assert_int_equal(recording_number(&to, "rss_peak_bytes"), 100);
	assert_true(result.events_differ && result.periods_differ);
	assert_true(result.has_weight && result.has_weightless);
	/* the same path with another build-id is another object */
	assert_int_equal(to.nr_stacks, 3);
	assert_int_equal(to.stacks[0].count, 7);
	assert_int_equal(to.stacks[0].weight, 110);
	assert_string_equal(recording_string(&to, to.event), "cpu-clock");

	recording_recount(&to, false);
	assert_int_equal(recording_number(&to, "user_samples"), 10);
	recording_recount(&to, true);
	for (size_t i = 0; i < to.nr_numbers; i++)
		assert_null(strstr(recording_string(&to, to.numbers[i].key), "incomplete"));
}

#define FRAME(origin) \
	"{\"object\":\"/x\",\"vaddr\":\"0x10\",\"symbol\":\"f\",\"origin\":\"" origin "\"}"
#define FOUND(count, frames)                                                \
	"{\"type\":\"stack\",\"count\":" count ",\"comm\":\"a\",\"pid\":7," \
	"\"stop\":\"outermost\",\"user\":[" frames "],\"kernel\":[]}\n"

/* The same function, found in different ways, is not one frame. */
static void how_frames_were_found_outlives_a_merge(void **state)
{
	static const char synth[] = META("cpu-clock", "10")
		FOUND("3", FRAME("cfi") "," FRAME("synth") "," FRAME(
				   "synth")) "{\"type\":\"books\",\"fired\":3,\"shown\":3,\"frames_"
					     "by_origin\":{\"cfi\":3,"
					     "\"fp\":0,\"synth\":6},\"samples_by_origin\":{\"cfi\":"
					     "3,\"fp\":0,\"synth\":3}}\n";
	static const char fp[] = META("cpu-clock", "10")
		FOUND("2", FRAME("cfi") "," FRAME("fp") "," FRAME(
				   "synth")) "{\"type\":\"books\",\"fired\":2,\"shown\":2,\"frames_"
					     "by_origin\":{\"cfi\":2,"
					     "\"fp\":2,\"synth\":2},\"samples_by_origin\":{\"cfi\":"
					     "2,\"fp\":2,\"synth\":2}}\n";
	static const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "frames_by_origin.cfi", 8 },	  { "frames_by_origin.fp", 2 },
		{ "frames_by_origin.synth", 14 }, { "samples_by_origin.cfi", 8 },
		{ "samples_by_origin.fp", 2 },	  { "samples_by_origin.synth", 8 },
	};
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, synth, NULL, &result), 0);
	assert_int_equal(add(&to, fp, NULL, &result), 0);
	assert_int_equal(add(&to, synth, NULL, &result), 0);
	for (int recounted = 0; recounted < 2; recounted++) {
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
			if (recording_number(&to, numbers[i].key) != numbers[i].value)
				fail_msg("%s", numbers[i].key);
		recording_recount(&to, true);
	}

	AUTO_FREE char *folded =
		recording_as(&to, "folded", &(struct format_options){ .origin = true });

	assert_string_equal(folded, "a;f_[synth];f_[fp];f 2\na;f_[synth];f_[synth];f 6\n");
}

#define PLACE(samples, stop, function, advice)                                  \
	"{\"samples\":" samples ",\"stop\":\"" stop "\",\"function\":" function \
	",\"object\":\"/x\",\"advice\":" advice "}"
#define PLACES(samples, places, list)                                                             \
	META("cpu-clock", "10")                                                                   \
	STACK("3", "30", "aa")                                                                    \
	"{\"type\":\"books\",\"fired\":3,\"shown\":3,\"lost\":{\"ring_full\":0},\"incomplete\":{" \
	"\"samples\":" samples ",\"places\":" places ",\"most\":[" list                           \
	"]},\"run_time_code\":{\"frames\":5},\"drain_gap_max_ms\":" places "}\n"

static const char joined[] = "\"incomplete\":{\"samples\":100,\"places\":12,\"most\":["
	/* clang-format off */
	PLACE("45", "expr", "\"f\"", "\"install\"") ","
	PLACE("20", "no_cfi", "\"f\"", "null") ","
	PLACE("4", "no_cfi", "null", "null")
	/* clang-format on */
	"]},\"run_time_code\":{\"frames\":10},\"drain_gap_max_ms\":7}\n";

static void places_of_files_are_one_list(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, "a;f 1\n", NULL, &result), 0);
	assert_int_equal(add(&to,
			     PLACES("60", "7",
				    PLACE("20", "no_cfi", "\"f\"",
					  "null") "," PLACE("15", "expr", "\"f\"", "\"install\"")),
			     NULL, &result),
			 0);
	assert_int_equal(add(&to,
			     PLACES("40", "6",
				    PLACE("30", "expr", "\"f\"",
					  "\"install\"") "," PLACE("4", "no_cfi", "null", "null")),
			     NULL, &result),
			 0);

	AUTO_FREE char *jsonl = recording_as(&to, "jsonl", &plain);

	const char *found = strstr(jsonl, "\"incomplete\"");

	assert_non_null(found);
	assert_string_equal(found, joined);
}

static void untrusted_lists_are_bounded(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
#define FOUR(stop)                                                                             \
	PLACE("9", stop, "\"f\"", "null")                                                      \
	"," PLACE("0", stop, "\"g\"", "null") "," PLACE("8", stop, "\"h\"", "null") "," PLACE( \
		"7", stop, "\"i\"", "null")
	assert_int_equal(add(&to, PLACES("1", "0", FOUR("expr") "," FOUR("no_cfi")), NULL, &result),
			 0);
	assert_int_equal(add(&to, PLACES("1", "0", FOUR("expr")), NULL, &result), 0);
	assert_int_equal(add(&to, PLACES("1", "0", FOUR("bad_ra")), NULL, &result), 0);

	AUTO_FREE char *jsonl = recording_as(&to, "jsonl", &plain);
	size_t nr = 0;

	for (const char *at = jsonl; (at = strstr(at, "\"advice\"")); at++)
		nr++;
	assert_int_equal(nr, 5);
	assert_non_null(strstr(jsonl, "\"places\":0,"));
}

#define HEAP_META(counted) "{\"type\":\"meta\",\"format\":1," counted "}\n"
#define HEAP(counted)	   HEAP_META(counted) STACK("4", "0", "aa") BOOKS("5", "4", "0", "1")

static void bytes_and_samples_are_not_added(void **state)
{
	static const struct {
		const char *heap, *type, *text;
	} cases[] = {
		{ HEAP("\"sample_type\":\"space\",\"sample_unit\":\"bytes\""), "space",
		  "8 B of space\n" },
		{ HEAP("\"sample_unit\":\"bytes\""), "", "8 B\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording to = { 0 };
		struct merge_result result = { 0 };

		assert_int_equal(recording_init(&to), 0);
		assert_int_equal(add(&to, cases[i].heap, NULL, &result), 0);
		assert_int_equal(add(&to, cases[i].heap, NULL, &result), 0);
		assert_string_equal(recording_string(&to, to.sample_type), cases[i].type);
		assert_string_equal(recording_string(&to, to.sample_unit), "bytes");
		assert_int_equal(recording_shown(&to), 8);
		assert_int_equal(add(&to, "a;f 1\n", NULL, &result), -EDOM);
		assert_int_equal(recording_shown(&to), 8);

		AUTO_FREE char *text = recording_as(&to, "text", &plain);

		if (!strstr(text, cases[i].text))
			fail_msg("%s", text);
	}
}

static void counts_that_overflow_are_refused(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, "a;f 18446744073709551614\n", NULL, &result), 0);
	assert_int_equal(add(&to, "b;f 9\n", NULL, &result), -EOVERFLOW);
}

struct filter_case {
	const char *what;
	struct filter_options options;
	const char *folded;
};

static const char samples[] =
	"sh 1/2 [003] 7.000: 10 cpu-clock:u:\n\tffffffff81000000 sys_read ([kernel.kallsyms])\n"
	"\t7f read (/a)\n\t80 main (/a)\n\n"
	"sh 1/2 [003] 8.000: 10 cpu-clock:u:\n\t7f write (/a)\n\t80 main (/a)\n\n"
	"dd 5/6 [001] 9.000: 10 cpu-clock:u:\n\t7f write (/a)\n\t80 [unknown] (/lib/libx.so)\n\n"
	"dd 5/6 [001] 9.500: 10 cpu-clock:u:\n\t7f write (/a)\n\t80 [unknown] (/lib/libx.so)\n\n";

static void excluded_samples_are_counted_filtered(void **state)
{
	static const pid_t pids[] = { 5, 9 };
	static const struct filter_case cases[] = {
		{ "nothing",
		  { 0 },
		  "sh;main;read;sys_read 1\nsh;main;write 1\ndd;[libx.so];write 2\n" },
		{ "by name", { .comm = "^s" }, "sh;main;read;sys_read 1\nsh;main;write 1\n" },
		{ "by pid", { .pids = pids, .nr_pids = 2 }, "dd;[libx.so];write 2\n" },
		{ "by time",
		  { .has_time = true, .from_ns = 1000000000, .to_ns = 2500000000 },
		  "dd;[libx.so];write 1\nsh;main;write 1\n" },
		{ "a function of the kernel", { .focus = "sys_.*" }, "sh;main;read;sys_read 1\n" },
		{ "either", { .focus = "read|nothing" }, "sh;main;read;sys_read 1\n" },
		{ "without", { .ignore = "write" }, "sh;main;read;sys_read 1\n" },
		{ "an object without names", { .focus = "libx" }, "dd;[libx.so];write 2\n" },
		{ "all at once",
		  { .focus = "main", .ignore = "read", .comm = "sh" },
		  "sh;main;write 1\n" },
		{ "none", { .focus = "nothing" }, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct read_options options = { .events = true };
		CLEANUP(recording_fini) struct recording to = { 0 }, from = { 0 };
		struct merge_result result = { 0 };
		struct filter *filter;
		struct fpl_err err = { 0 };

		assert_int_equal(recording_init(&to), 0);
		assert_int_equal(recording_of(samples, strlen(samples), &options, &from, &err), 0);
		assert_int_equal(filter_create(&cases[i].options, &filter, &err), 0);
		assert_int_equal(filter_begin(filter, &from, "in", &err), 0);
		assert_int_equal(recording_merge(&to, &from, filter_of(filter), &result), 0);
		recording_recount(&to, true);

		AUTO_FREE char *folded = recording_as(&to, "folded", &plain);

		if (strcmp(folded, cases[i].folded) != 0)
			fail_msg("%s: '%s'", cases[i].what, folded);
		assert_int_equal(to.nr_events, recording_shown(&to));
		assert_int_equal(recording_number(&to, "fired"), 4);
		assert_int_equal(recording_number(&to, "filtered") + recording_shown(&to), 4);
		assert_int_equal(recording_number(&to, "filtered"), result.refused);
		filter_destroy(filter);
	}
}

static void a_filter_says_what_it_cannot_do(void **state)
{
	static const pid_t pids[] = { 5 };
	const struct filter_options broken = { .focus = "(" };
	const struct filter_options by_time = { .has_time = true, .to_ns = 1 };
	const struct filter_options by_pid = { .pids = pids, .nr_pids = 1 };
	const struct filter_options *impossible[] = { &by_time, &by_pid };
	const struct read_options options = { .events = true };
	CLEANUP(recording_fini) struct recording from = { 0 };
	struct filter *filter;
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(filter_create(&broken, &filter, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--focus ("));
	assert_int_equal(recording_of("a;f 1\n", 6, &options, &from, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(impossible); i++) {
		assert_int_equal(filter_create(impossible[i], &filter, &err), 0);
		assert_int_equal(filter_begin(filter, &from, "in", &err), -ENODATA);
		assert_non_null(strstr(err.msg, "in: --"));
		filter_destroy(filter);
	}
}

/* Folded lines are numbered as a merge would number them: they become the other one as they are. */
static void a_recording_as_merged_is_taken_as_it_is(void **state)
{
	static const char text[] = "a;f;g_[i];h 1\nb;g;sys_[k] 2\nb;[/x+0x10];f_[fp] 3\na 4\n";
	const struct read_options options = { .events = true };
	CLEANUP(recording_fini) struct recording to = { 0 }, from = { 0 }, merged = { 0 };
	struct merge_result result = { 0 }, wanted = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(recording_init(&merged), 0);
	if (recording_of(text, strlen(text), &options, &from, &err))
		fail_msg("%s", err.msg);

	const struct recording_stack *stacks = from.stacks;

	assert_int_equal(add(&merged, text, NULL, &wanted), 0);
	assert_int_equal(recording_merge_whole(&to, &from, &result), 0);
	assert_ptr_equal(to.stacks, stacks);
	assert_memory_equal(&result, &wanted, sizeof(result));
	assert_int_equal(recording_number(&to, "fired"), 10);

	AUTO_FREE char *ours = recording_as(&to, "jsonl", &plain);
	AUTO_FREE char *theirs = recording_as(&merged, "jsonl", &plain);

	assert_string_equal(ours, theirs);
	/* and what comes behind it adds up */
	assert_int_equal(add(&to, "a;f;g_[i];h 5\n", NULL, &result), 0);
	assert_int_equal(to.nr_stacks, 4);
	assert_int_equal(result.shown, 15);
}

/* If numbers are not in the order of first use, the merge orders them: ties are written by it. */
static void a_recording_in_another_order_is_copied(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 }, from = { 0 };
	const struct recording_stack key = { .count = 1, .nr_user = 1 };
	struct merge_result result = { 0 };
	uint32_t frames[2];

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(recording_init(&from), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct recording_frame frame = { .address = i,
						       .start = RECORDING_NO_ADDRESS };

		assert_int_equal(recording_add_frame(&from, &frame, NULL, &frames[i]), 0);
	}
	assert_int_equal(recording_add_stack(&from, &key, &frames[1], NULL), 0);
	assert_int_equal(recording_add_stack(&from, &key, &frames[0], NULL), 0);
	assert_int_equal(recording_merge_whole(&to, &from, &result), 0);
	assert_int_equal(from.nr_stacks, 2);
	assert_int_equal(to.nr_stacks, 2);
	assert_int_equal(to.frames[to.frame_ids[0]].address, 1);
	assert_int_equal(to.frame_ids[0], 0);
}

/* The hash table is dropped, and the contents stay right. */
static void a_settled_recording_is_written_the_same(void **state)
{
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };
	uint32_t text, again;

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, "a;f;g_[i];h 1\nb\\x3bc;g;sys_[k] 2\n", NULL, &result), 0);
	assert_int_equal(recording_add_text(&to, "sys", &text), 0);

	AUTO_FREE char *before = recording_as(&to, "text", &plain);
	size_t bytes = recording_bytes(&to);

	recording_settle(&to);
	assert_true(recording_bytes(&to) < bytes);

	AUTO_FREE char *after = recording_as(&to, "text", &plain);

	assert_string_equal(after, before);
	assert_int_equal(recording_add_text(&to, "sys", &again), 0);
	assert_int_equal(text, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_as_merged_is_taken_as_it_is),
		cmocka_unit_test(a_recording_in_another_order_is_copied),
		cmocka_unit_test(a_settled_recording_is_written_the_same),
		cmocka_unit_test(stacks_of_files_add_up),
		cmocka_unit_test(the_books_add_up_and_close),
		cmocka_unit_test(how_frames_were_found_outlives_a_merge),
		cmocka_unit_test(counts_that_overflow_are_refused),
		cmocka_unit_test(places_of_files_are_one_list),
		cmocka_unit_test(untrusted_lists_are_bounded),
		cmocka_unit_test(bytes_and_samples_are_not_added),
		cmocka_unit_test(excluded_samples_are_counted_filtered),
		cmocka_unit_test(a_filter_says_what_it_cannot_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
