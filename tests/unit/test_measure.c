/* SPDX-License-Identifier: Apache-2.0 */
/* Which number of a stack readers are shown, how it is written, and that writers show it all. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "../support/recording_text.h"
#include "recording/sample_type.h"
#include "view/measure.h"

static void numbers_have_units(void **state)
{
	static const struct {
		const char *what;
		enum measure_kind kind;
		uint64_t unit_ns, value;
		const char *wanted, *plain;
	} cases[] = {
		{ "samples", MEASURE_SAMPLES, 0, 1234, "1,234", "1234" },
		{ "few samples", MEASURE_SAMPLES, 0, 7, "7", "7" },
		{ "a count", MEASURE_COUNT, 0, 1234567, "1,234,567", "1,234,567" },
		{ "nothing", MEASURE_BYTES, 0, 0, "0 B", "0 B" },
		{ "bytes", MEASURE_BYTES, 0, 1023, "1023 B", "1023 B" },
		{ "KiB", MEASURE_BYTES, 0, 1024, "1.0 KiB", "1.0 KiB" },
		{ "MiB", MEASURE_BYTES, 0, 4299162, "4.1 MiB", "4.1 MiB" },
		{ "below a MiB", MEASURE_BYTES, 0, 1048575, "1.0 MiB", "1.0 MiB" },
		{ "GiB", MEASURE_BYTES, 0, 3221225472, "3.0 GiB", "3.0 GiB" },
		{ "TiB, many", MEASURE_BYTES, 0, 20000ull << 40, "20,000 TiB", "20,000 TiB" },
		{ "all bits", MEASURE_BYTES, 0, UINT64_MAX, "16,777,216 TiB", "16,777,216 TiB" },
		{ "ns", MEASURE_TIME, 1, 999, "999 ns", "999 ns" },
		{ "us", MEASURE_TIME, 1, 1200, "1.2 us", "1.2 us" },
		{ "ms", MEASURE_TIME, 1, 12345678, "12.3 ms", "12.3 ms" },
		{ "s", MEASURE_TIME, 1, 2948000000, "2.9 s", "2.9 s" },
		{ "below a second", MEASURE_TIME, 1, 999999999, "1.0 s", "1.0 s" },
		{ "a day", MEASURE_TIME, 1, 86400000000000, "86,400 s", "86,400 s" },
		{ "microseconds", MEASURE_TIME, 1000, 12345, "12.3 ms", "12.3 ms" },
	};
	char buf[MEASURE_NUMBER_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct measure measure = { .kind = cases[i].kind,
						 .unit_ns = cases[i].unit_ns };

		if (strcmp(measure_number(&measure, cases[i].value, buf), cases[i].wanted) != 0)
			fail_msg("%s: %s", cases[i].what, buf);
		if (strcmp(measure_plain(&measure, cases[i].value, buf), cases[i].plain) != 0)
			fail_msg("%s, plain: %s", cases[i].what, buf);
	}
}

#define STACKS(weight)                                                                                                   \
	"{\"type\":\"stack\",\"count\":5,\"" weight "\":4096,\"comm\":\"a\",\"pid\":1,"                                  \
	"\"user\":[{\"symbol\":\"leaf\",\"origin\":\"cfi\"},{\"symbol\":\"main\",\"origin\":\"cfi\"}],\"kernel\":[]}\n"  \
	"{\"type\":\"stack\",\"count\":2,\"" weight "\":1048576,\"comm\":\"a\",\"pid\":1,"                               \
	"\"user\":[{\"symbol\":\"other\",\"origin\":\"cfi\"},{\"symbol\":\"main\",\"origin\":\"cfi\"}],\"kernel\":[]}\n" \
	"{\"type\":\"stack\",\"count\":1,\"" weight "\":0,\"comm\":\"b\",\"pid\":2,"                                     \
	"\"user\":[],\"kernel\":[{\"symbol\":\"idle\"}]}\n"                                                              \
	"{\"type\":\"books\",\"format\":1,\"fired\":8,\"shown\":8}\n"
#define META(rest) "{\"type\":\"meta\",\"format\":1," rest "\"duration_ns\":900000000}\n"
#define CLOCK	   META("\"event\":\"cpu-clock\",\"hz\":100,") STACKS("weight_ns")
#define OFF_CPU \
	META("\"event\":\"off-cpu\",\"weight_type\":\"off-cpu\",\"hz\":0,") STACKS("weight_ns")
#define BLOCKED \
	META("\"event\":\"blocked\",\"weight_type\":\"blocked\",\"hz\":0,") STACKS("weight_ns")
#define BYTES                                                                        \
	META("\"event\":\"uprobe\",\"weight_type\":\"alloc_space\",\"weight_unit\":" \
	     "\"bytes\",\"hz\":0,")                                                  \
	STACKS("weight")
#define FAULTS                                                                            \
	META("\"event\":\"page-faults\",\"weight_type\":\"page-faults\",\"weight_unit\":" \
	     "\"count\",\"hz\":0,")                                                       \
	STACKS("weight")

enum { COUNTS = 5 + 2 + 1, WEIGHTS = 4096 + 1048576 };

static const struct {
	const char *what, *text, *sample_type;
	uint64_t sum;
	const char *said, *reported, *leaf;
} recordings[] = {
	{ "a clock", CLOCK, NULL, COUNTS, "8 samples", "8 samples", "a;main;leaf 5\n" },
	{ "time off the CPU", OFF_CPU, NULL, WEIGHTS, "1.1 ms of off-cpu", "1.1 ms of off-cpu",
	  "a;main;leaf 4096\n" },
	{ "time in a state", BLOCKED, NULL, WEIGHTS, "1.1 ms of blocked time",
	  "1.1 ms of blocked time", "a;main;leaf 4096\n" },
	{ "its samples", OFF_CPU, "samples", COUNTS, "8 samples", "8 samples", "a;main;leaf 5\n" },
	{ "what it weighs, by name", OFF_CPU, "off-cpu", WEIGHTS, "1.1 ms of off-cpu",
	  "1.1 ms of off-cpu", "a;main;leaf 4096\n" },
	{ "bytes", BYTES, NULL, WEIGHTS, "1.0 MiB of alloc_space", "1.0 MiB of alloc_space",
	  "a;main;leaf 4096\n" },
	{ "events", FAULTS, NULL, WEIGHTS, "1,052,672 page-faults", "1,052,672 page-faults",
	  "a;main;leaf 4096\n" },
	{ "samples of events", FAULTS, "samples", COUNTS, "8 samples", "8 samples",
	  "a;main;leaf 5\n" },
};

static void read_one(size_t i, struct recording *ret)
{
	const struct read_options options = { .sample_type = recordings[i].sample_type };
	struct fpl_err err;

	if (recording_of(recordings[i].text, strlen(recordings[i].text), &options, ret, &err))
		fail_msg("%s: %s", recordings[i].what, err.msg);
}

static void weights_that_are_no_clocks_are_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		CLEANUP(recording_fini) struct recording recording = { 0 };
		struct measure measure;
		char said[128], reported[128];

		read_one(i, &recording);
		measure_init(&recording, &measure);
		assert_int_equal(measure_sum(&recording), recordings[i].sum);
		measure_said(&measure, recordings[i].sum, said, sizeof(said));
		measure_reported(&measure, recordings[i].sum, reported, sizeof(reported));
		if (strcmp(said, recordings[i].said) != 0 ||
		    strcmp(reported, recordings[i].reported) != 0)
			fail_msg("%s: %s, %s", recordings[i].what, said, reported);
	}
}

/* The sum of the counts, and that of the weights, as each of the formats shows it. */
static void each_writer_shows_the_whole_sum(void **state)
{
	static const struct format_options options = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		CLEANUP(recording_fini) struct recording recording = { 0 };

		read_one(i, &recording);
		for (size_t j = 0; j < formats_nr; j++) {
			AUTO_FREE char *text = NULL;
			uint64_t shown = 0;
			struct fpl_err err;
			size_t size;
			FILE *to = open_memstream(&text, &size);

			assert_non_null(to);
			if (formats[j].missing)
				print_message("without %s\n", formats[j].name);
			else if (formats[j].write(to, &recording, &options, &shown, &err) ||
				 shown != recordings[i].sum)
				fail_msg("%s as %s: shows %llu", recordings[i].what,
					 formats[j].name, (unsigned long long)shown);
			fclose(to);
			if (!strcmp(formats[j].name, "folded") && !strstr(text, recordings[i].leaf))
				fail_msg("%s: %s", recordings[i].what, text);
		}
	}
}

/* Its periods are what its comment says; those of other files are not taken for weights. */
static void weights_come_back_from_perf_script(void **state)
{
	static const struct format_options options = { 0 };
	static const struct read_options reading = { 0 };
	static const char other[] = "a 1/1 0.1: 4096 page-faults: \n\t1 leaf (a)\n\n";
	static const char wrong[] = "# weight : bytes\na 1/1 0.1: 4096 x: \n\t1 leaf (a)\n\n";
	CLEANUP(recording_fini) struct recording theirs = { 0 }, none = { 0 };
	struct fpl_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		CLEANUP(recording_fini) struct recording recording = { 0 }, back = { 0 };
		struct measure measure;
		char said[128];

		read_one(i, &recording);

		AUTO_FREE char *text = recording_as(&recording, "perf", &options);

		if (recording_of(text, strlen(text), &reading, &back, &err))
			fail_msg("%s: %s", recordings[i].what, err.msg);
		measure_init(&back, &measure);
		measure_said(&measure, measure_sum(&back), said, sizeof(said));
		if (strcmp(said, recordings[i].said) != 0)
			fail_msg("%s: %s", recordings[i].what, said);
	}
	assert_int_equal(recording_of(other, strlen(other), &reading, &theirs, &err), 0);
	assert_int_equal(measure_sum(&theirs), 1);
	assert_int_not_equal(recording_of(wrong, strlen(wrong), &reading, &none, &err), 0);
	assert_non_null(strstr(err.msg, "no weight as \"TYPE UNIT\""));
}

/* A sum that is not told is that of equal samples, and no file gets beyond its bounds. */
static void squares_of_weights_are_kept(void **state)
{
	static const struct {
		const char *what, *told;
		double wanted;
	} cases[] = {
		{ "not told", "", 4 * 25 * 25 },
		{ "told", ",\"weight_squares\":4000", 4000 },
		{ "a fraction", ",\"weight_squares\":2500.5", 2500.5 },
		{ "less than of equal ones", ",\"weight_squares\":1", 4 * 25 * 25 },
		{ "more than of a single one", ",\"weight_squares\":1e300", 100 * 100 },
		{ "below zero", ",\"weight_squares\":-5", 4 * 25 * 25 },
		{ "no number", ",\"weight_squares\":\"x\"", 4 * 25 * 25 },
	};
	static const struct format_options options = { 0 };
	static const struct read_options reading = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording recording = { 0 }, back = { 0 };
		struct fpl_err err;
		char text[512];

		snprintf(
			text, sizeof(text),
			META("\"event\":\"x\",\"weight_type\":\"x\",\"weight_unit\":\"bytes\",") "{\"type\":\"stack\",\"count\":4,\"weight\":100%s,\"comm\":\"a\",\"pid\":1,"
												 "\"user\":[{\"symbol\":\"f\",\"origin\":\"cfi\"}],\"kernel\":[]}\n"
												 "{\"type\":\"books\",\"format\":1,\"fired\":4,\"shown\":4}\n",
			cases[i].told);
		if (recording_of(text, strlen(text), &reading, &recording, &err))
			fail_msg("%s: %s", cases[i].what, err.msg);

		AUTO_FREE char *written = recording_as(&recording, "jsonl", &options);

		if (recording_of(written, strlen(written), &reading, &back, &err))
			fail_msg("%s: %s", cases[i].what, err.msg);
		if (recording.stacks[0].squares != cases[i].wanted ||
		    back.stacks[0].squares != cases[i].wanted)
			fail_msg("%s: %g, %g", cases[i].what, recording.stacks[0].squares,
				 back.stacks[0].squares);
		assert_int_equal(strstr(written, "weight_squares") != NULL,
				 cases[i].wanted != 2500);
	}
}

static void different_weights_are_not_merged(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(recordings); j++) {
			CLEANUP(recording_fini) struct recording a = { 0 }, b = { 0 };
			bool same = recordings[i].text == recordings[j].text &&
				    recordings[i].sum == recordings[j].sum;
			/* samples of different weights in one unit are samples */
			bool samples = recordings[i].sum == COUNTS && recordings[j].sum == COUNTS;
			bool of_ns;

			read_one(i, &a);
			read_one(j, &b);
			of_ns = !a.weight_unit && !b.weight_unit;
			if (sample_types_equal(&a, &b) != (same || (samples && of_ns)))
				fail_msg("%s, %s", recordings[i].what, recordings[j].what);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_units),
		cmocka_unit_test(weights_that_are_no_clocks_are_shown),
		cmocka_unit_test(each_writer_shows_the_whole_sum),
		cmocka_unit_test(weights_come_back_from_perf_script),
		cmocka_unit_test(squares_of_weights_are_kept),
		cmocka_unit_test(different_weights_are_not_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
