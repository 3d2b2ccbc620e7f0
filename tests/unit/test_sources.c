/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>

#include "../support/recording_text.h"
#include "base/cleanup.h"
#include "recording/filter.h"
#include "recording/merge.h"
#include "recording/sources.h"

static const struct format_options plain = { 0 };
static const struct read_options with_times = { .events = true };

#define CLOCK "{\"event\":\"cpu-clock\",\"period_ns\":10,\"hz\":99}"
#define FAULTS \
	"{\"event\":\"page-faults\",\"weight_type\":\"page-faults\",\"weight_unit\":\"count\",\"period\":1,\"hz\":0}"
#define WRITES \
	"{\"event\":\"x:write\",\"weight_type\":\"count\",\"weight_unit\":\"bytes\",\"period\":1,\"hz\":0}"
#define OPENS \
	"{\"event\":\"x:open\",\"weight_type\":\"x:open\",\"weight_unit\":\"count\",\"period\":1,\"hz\":0}"
#define BARE "{\"event\":\"a\"}"

#define META(event, more) \
	"{\"type\":\"meta\",\"format\":1,\"event\":\"" event "\",\"hz\":0," more "\"argv\":[]}\n"
#define MIXED "\"weight_unit\":\"mixed\",\"by_count\":true,"
#define THREE                                 \
	META("cpu-clock,page-faults,x:write", \
	     MIXED "\"sources\":[" CLOCK "," FAULTS "," WRITES "],")
#define STACK(count, weight, event)                                                                \
	"{\"type\":\"stack\",\"count\":" count ",\"weight\":" weight                               \
	",\"comm\":\"a\",\"pid\":7,\"event\":\"" event                                             \
	"\",\"stop\":\"outermost\",\"user\":[{\"symbol\":\"f\",\"offset\":0,\"origin\":\"cfi\"}]," \
	"\"kernel\":[]}\n"
#define TIMES                                                                                  \
	"{\"type\":\"samples\",\"time_ns\":[1,1],\"stack\":[0,1],\"tid\":[7,7],\"cpu\":[0,1]," \
	"\"weight\":[10,1]}\n"
#define BOOKS(shown) "{\"type\":\"books\",\"fired\":" shown ",\"shown\":" shown "}\n"

static const char three[] = THREE STACK("3", "30", "cpu-clock") STACK("5", "5", "page-faults")
	STACK("2", "8192", "x:write") TIMES BOOKS("10");

static void read_text(const char *text, size_t size, const char *type, struct recording *ret)
{
	struct read_options options = with_times;
	struct fpl_err err = { 0 };

	options.sample_type = type;
	if (recording_of(text, size, &options, ret, &err))
		fail_msg("%s", err.msg);
}

/* Write @recording as @format, which may be no text, and read it again. */
static void write_and_read(const struct recording *recording, const char *format,
			   struct recording *ret)
{
	AUTO_FREE char *bytes = NULL;
	struct fpl_err err;
	uint64_t shown;
	size_t size;
	FILE *to = open_memstream(&bytes, &size);

	assert_non_null(to);
	assert_int_equal(
		format_find(&recording_formats, format)->write(to, recording, &plain, &shown, &err),
		0);
	fclose(to);
	read_text(bytes, size, NULL, ret);
}

static void files_keep_what_each_source_is(void **state)
{
	static const char *const names[] = { "jsonl", "pprof" };
	CLEANUP(recording_fini) struct recording first = { 0 };

	(void)state;
	read_text(three, strlen(three), NULL, &first);

	AUTO_FREE char *text = recording_as(&first, "jsonl", &plain);

	assert_int_equal(first.nr_sources, 3);
	assert_int_equal(first.nr_stacks, 3);
	assert_non_null(strstr(text, "\"event\":\"x:write\",\"stop\""));
	assert_non_null(strstr(text, "\"hz\":0,\"shown\":2,\"weight\":8192}"));
	assert_non_null(strstr(text, "\"hz\":99,\"shown\":3,\"weight_ns\":30}"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(recording_fini) struct recording again = { 0 };

		write_and_read(&first, names[i], &again);

		AUTO_FREE char *written = recording_as(&again, "jsonl", &plain);

		assert_string_equal(written, text);
	}
}

static void stacks_are_told_apart_by_event(void **state)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	read_text(three, strlen(three), NULL, &recording);

	AUTO_FREE char *together = recording_as(&recording, "folded", &plain);

	recording.by = RECORDING_HAS_EVENT | RECORDING_HAS_COMM;

	AUTO_FREE char *apart = recording_as(&recording, "folded", &plain);
	AUTO_FREE char *perf = recording_as(&recording, "perf", &plain);

	assert_string_equal(together, "a;f 10\n");
	assert_string_equal(apart, "x:write;a;f 2\ncpu-clock;a;f 3\npage-faults;a;f 5\n");
	assert_non_null(strstr(perf, "page-faults: \n"));
	assert_non_null(strstr(perf, "write: \n"));
	assert_null(strstr(perf, "page-faults,"));
}

/* Add what @text says to @to. */
static int add(struct recording *to, const char *text, const struct filter_options *options,
	       struct merge_result *result)
{
	CLEANUP(recording_fini) struct recording from = { 0 };
	struct filter *filter;
	struct fpl_err err = { 0 };
	int code;

	read_text(text, strlen(text), options->sample_type, &from);
	assert_int_equal(filter_create(options, &filter, &err), 0);
	code = filter_begin(filter, &from, "in", &err);
	if (!code)
		code = recording_merge(to, &from, filter_of(filter), result);
	filter_destroy(filter);
	return code;
}

static void files_of_several_sources_add_up(void **state)
{
	static const char other[] =
		META("x:write,cpu-clock", MIXED "\"sources\":[" WRITES "," CLOCK "],")
			STACK("1", "100", "x:write") STACK("4", "40", "cpu-clock") BOOKS("5");
	static const char another[] =
		META("x:open,cpu-clock", MIXED "\"sources\":[" OPENS "," CLOCK "],")
			STACK("9", "9", "x:open") BOOKS("9");
	CLEANUP(recording_fini) struct recording to = { 0 };
	const struct filter_options all = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, three, &all, &result), 0);
	assert_int_equal(add(&to, other, &all, &result), 0);
	assert_int_equal(to.nr_sources, 3);
	assert_int_equal(to.nr_stacks, 3);
	assert_int_equal(to.stacks[0].weight, 70);
	assert_int_equal(to.stacks[2].weight, 8292);
	assert_int_equal(add(&to, another, &all, &result), 0);
	assert_int_equal(to.nr_sources, 4);
	assert_string_equal(recording_string(&to, to.event),
			    "cpu-clock,page-faults,x:write,x:open");
	assert_string_equal(recording_string(&to, sources_event(&to, &to.stacks[3])), "x:open");
	assert_false(result.events_differ);
	/* what weighs nanoseconds alone is no such mixture */
	assert_int_equal(
		add(&to,
		    META("cpu-clock",
			 "\"period_ns\":10,") "{\"type\":\"stack\",\"count\":1,\"weight_ns\":10}\n",
		    &all, &result),
		-EDOM);
}

static void one_source_alone_is_what_it_would_have_been(void **state)
{
	static const struct {
		const char *what;
		struct filter_options options;
		const char *event, *unit;
		uint64_t shown, counts, refused;
	} cases[] = {
		{ "its event", { .event = "x:write" }, "x:write", "bytes", 8192, 2, 8 },
		{ "what it weighs", { .sample_type = "count" }, "x:write", "bytes", 8192, 2, 8 },
		{ "a clock", { .event = "cpu-clock" }, "cpu-clock", "", 3, 3, 7 },
		{ "its time", { .sample_type = "cpu" }, "cpu-clock", "", 3, 3, 7 },
		{ "event and a time",
		  { .event = "page-faults", .has_time = true, .to_ns = 5 },
		  "page-faults",
		  "count",
		  1,
		  1,
		  9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording to = { 0 };
		struct merge_result result = { 0 };

		assert_int_equal(recording_init(&to), 0);
		if (add(&to, three, &cases[i].options, &result) || to.nr_sources ||
		    to.nr_stacks != 1 || to.stacks[0].source ||
		    strcmp(recording_string(&to, to.event), cases[i].event) ||
		    strcmp(recording_string(&to, to.weight_unit), cases[i].unit) ||
		    measure_sum(&to) != cases[i].shown || to.stacks[0].count != cases[i].counts ||
		    result.refused != cases[i].refused)
			fail_msg("%s", cases[i].what);
	}
}

static void no_source_is_called_so(void **state)
{
	const struct filter_options options = { .event = "x:close" };
	CLEANUP(recording_fini) struct recording to = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	assert_int_equal(recording_init(&to), 0);
	assert_int_equal(add(&to, three, &options, &result), -ENODATA);
}

static void events_of_one_unit_are_added(void **state)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct recording_source list[2] = { 0 };
	struct measure measure;

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		assert_int_equal(
			recording_add_text(&recording, i ? "x:open" : "x:close", &list[i].event),
			0);
		list[i].weight_type = list[i].event;
		assert_int_equal(recording_add_text(&recording, "count", &list[i].weight_unit), 0);
	}
	assert_int_equal(sources_set(&recording, list, 2), 0);
	measure_init(&recording, &measure);
	assert_true(measure.weight);
	assert_string_equal(measure.noun, "events");
	list[1].weight_unit = 0;
	assert_int_equal(sources_set(&recording, list, 2), 0);
	measure_init(&recording, &measure);
	assert_false(measure.weight || measure.weighs_ns);
	assert_string_equal(measure.noun, "samples");
	assert_int_equal(sources_set(&recording, list, RECORDING_SOURCES_MAX + 1), -E2BIG);
}

static void values_of_a_field_tell_stacks_apart(void **state)
{
	static const char text[] = META(
		"x:write",
		"\"weight_unit\":\"count\",\"key\":\"fd\",") "{\"type\":\"stack\",\"count\":1,\"weight\":1,\"comm\":\"a\",\"pid\":7,\"key\":\"-3\"}\n"
							     "{\"type\":\"stack\",\"count\":2,\"weight\":2,\"comm\":\"a\",\"pid\":7,\"key\":\"/tmp\"}\n"
							     "{\"type\":\"stack\",\"count\":4,\"weight\":4,\"comm\":\"a\",\"pid\":7}\n" BOOKS(
								     "7");
	CLEANUP(recording_fini) struct recording first = { 0 }, again = { 0 }, merged = { 0 };
	const struct filter_options all = { .comm = "a" };
	struct merge_result result = { 0 };

	(void)state;
	read_text(text, strlen(text), NULL, &first);
	assert_int_equal(first.nr_stacks, 3);
	write_and_read(&first, "pprof", &again);

	AUTO_FREE char *left = recording_as(&first, "jsonl", &plain);
	AUTO_FREE char *right = recording_as(&again, "jsonl", &plain);

	assert_string_equal(left, right);
	assert_int_equal(recording_init(&merged), 0);
	assert_int_equal(add(&merged, text, &all, &result), 0);
	merged.by = RECORDING_HAS_KEY | RECORDING_HAS_COMM;

	AUTO_FREE char *folded = recording_as(&merged, "folded", &plain);

	assert_string_equal(folded, "fd -3;a 1\n/tmp;a 2\na 4\n");
}

static void hostile_sources_are_refused(void **state)
{
	static const struct {
		const char *what, *text;
	} cases[] = {
		{ "one", META("a", "\"sources\":[" BARE "],") },
		{ "no list", META("a", "\"sources\":7,") },
		{ "no objects", META("a,b", "\"sources\":[1,2],") },
		{ "two of one name", META("a,b", "\"sources\":[" CLOCK "," CLOCK "],") },
		{ "without a name", META("a,b", "\"sources\":[" CLOCK ",{\"hz\":1}],") },
		{ "17", META("a,b", "\"sources\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],") },
		{ "a stack of no source", THREE STACK("1", "1", "x:close") BOOKS("1") },
		{ "a stack without one",
		  THREE "{\"type\":\"stack\",\"count\":1,\"weight\":1}\n" BOOKS("1") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording recording = { 0 };
		struct fpl_err err = { 0 };

		if (recording_of(cases[i].text, strlen(cases[i].text), &with_times, &recording,
				 &err) != -EBADMSG)
			fail_msg("%s: %s", cases[i].what, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_keep_what_each_source_is),
		cmocka_unit_test(stacks_are_told_apart_by_event),
		cmocka_unit_test(files_of_several_sources_add_up),
		cmocka_unit_test(one_source_alone_is_what_it_would_have_been),
		cmocka_unit_test(no_source_is_called_so),
		cmocka_unit_test(events_of_one_unit_are_added),
		cmocka_unit_test(values_of_a_field_tell_stacks_apart),
		cmocka_unit_test(hostile_sources_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
