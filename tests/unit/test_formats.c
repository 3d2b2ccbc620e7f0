/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file is, and what formats without counts are written from. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/formats.h"
#include "view/samples.h"
#include "view/threads.h"

static void a_file_has_the_format_of_its_longest_extension(void **state)
{
	static const struct {
		const char *path, *name; /* name NULL: none */
	} cases[] = {
		{ "a.folded", "folded" },
		{ "a.txt", "text" },
		{ "a.linux-perf.txt", "perf" },
		{ "a.json", "firefox" },
		{ "a.speedscope.json", "speedscope" },
		{ "a.firefox.json", "firefox" },
		{ "a.speedscope.json/b.jsonl", "jsonl" },
		{ "/x.json/out", NULL },
		{ "a.pb.gz", "pprof" },
		{ "a.gz", NULL },
		{ "a.html", "html" },
		{ "a.json.htm", "html" },
		{ "a.perf", "perf" },
		{ "a.perf ", NULL },
		{ ".json", NULL }, /* a name and no extension */
		{ "d/.speedscope.json", "firefox" },
		{ "a.svg", "svg" },
		{ "-", NULL },
		{ "", NULL },
		{ "json", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct format *format = format_by_path(&recording_formats, cases[i].path);
		const char *name = format ? format->name : NULL;

		if ((name && cases[i].name) ? strcmp(name, cases[i].name) != 0
					    : name != cases[i].name)
			fail_msg("%s: %s", cases[i].path, name ? name : "none");
	}
	for (size_t i = 0; i < formats_nr; i++)
		assert_ptr_equal(format_find(&recording_formats, formats[i].name), &formats[i]);
	assert_null(format_find(&recording_formats, "png"));
	assert_null(format_find(&recording_formats, ""));
}

static void lists_are_cut_without_room(void **state)
{
	char all[256], few[8];

	(void)state;
	formats_list_names(&recording_formats, all, sizeof(all));
	assert_memory_equal(all, "folded, text, ", 14);
	assert_non_null(strstr(all, " or "));
	formats_list_names(&recording_formats, few, sizeof(few));
	assert_string_equal(few, "folded,");
	formats_list_extensions(&recording_formats, all, sizeof(all));
	assert_non_null(strstr(all, ".speedscope.json"));
}

/* Stacks without frames: pid 1 three times, pid 2 once and twice, and one of no process. */
static void make(struct recording *recording)
{
	static const struct {
		uint32_t pid;
		uint64_t count, weight, task;
	} stacks[] = { { 2, 1, 10, 0 }, { 1, 3, 31, 0 }, { 2, 2, 20, 7 }, { 0, 1, 10, 0 } };

	assert_int_equal(recording_init(recording), 0);
	recording->duration_ns = 700;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		const struct recording_stack stack = {
			.count = stacks[i].count,
			.weight = stacks[i].weight,
			.pid = stacks[i].pid,
			.task = stacks[i].task,
			.has = stacks[i].pid ? RECORDING_HAS_PID : 0,
		};

		assert_int_equal(recording_add_stack(recording, &stack, NULL, NULL), 0);
	}
}

static void add_event(struct recording *recording, uint32_t stack, uint64_t time_ns, uint32_t tid)
{
	const struct recording_event event = {
		.time_ns = time_ns, .weight = 10, .stack = stack, .tid = tid, .cpu = 5
	};

	assert_int_equal(recording_add_event(recording, &event), 0);
}

static void samples_are_as_many_as_were_counted_in_the_order_of_time(void **state)
{
	CLEANUP(recording_fini) struct recording recording;

	(void)state;
	make(&recording);
	for (unsigned round = 0; round < 2; round++) {
		CLEANUP(samples_fini) struct samples samples;
		struct sample sample;
		uint64_t nr = 0, weight = 0, last_ns = 0;

		samples_init(&recording, &samples);
		for (; samples_next(&samples, &sample); nr++) {
			assert_true(sample.time_ns >= last_ns && sample.time_ns <= 800);
			if (round && nr < 3)
				assert_int_equal(sample.cpu, 5);
			last_ns = sample.time_ns;
			weight += sample.weight;
		}
		assert_false(samples_next(&samples, &sample));
		assert_int_equal(nr, 7);
		assert_int_equal(weight, 71);
		add_event(&recording, 1, 100, 1);
		add_event(&recording, 1, 200, 9);
		add_event(&recording, 0, 800,
			  2); /* behind the end: what follows is not before it */
	}
}

static void every_sample_is_of_one_thread(void **state)
{
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(threads_fini) struct threads by_process = { 0 }, by_thread = { 0 };
	uint64_t count = 0;

	(void)state;
	make(&recording);
	threads_init(&recording, &by_process);
	assert_int_equal(by_process.nr, 4); /* two processes had pid 2 */
	assert_int_equal(by_process.list[0].pid, 1);
	assert_int_equal(by_process.list[0].count, 3);
	assert_int_equal(by_process.list[0].nr, 1);
	for (size_t i = 0; i < by_process.nr; i++)
		count += by_process.list[i].count;
	assert_int_equal(count, 7);

	add_event(&recording, 1, 100, 1);
	add_event(&recording, 1, 200, 9);
	threads_init(&recording, &by_thread);
	assert_int_equal(by_thread.nr, 5);
	count = 0;
	for (size_t i = 0; i < by_thread.nr; i++) {
		const struct thread *thread = &by_thread.list[i];

		count += thread->count;
		if (thread->tid == 9)
			assert_int_equal(by_thread.samples[thread->first].time_ns, 200);
	}
	assert_int_equal(count, 7);
}

static void a_block_for_each_of_too_many_samples_is_refused(void **state)
{
	const struct format *perf = format_find(&recording_formats, "perf");
	const struct recording_stack stack = { .count = UINT64_MAX };
	const struct format_options options = { .delimited = false };
	CLEANUP(recording_fini) struct recording recording;
	AUTO_FREE char *text = NULL;
	struct fpl_err err = { 0 };
	uint64_t shown = 0;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	assert_int_equal(recording_add_stack(&recording, &stack, NULL, NULL), 0);
	assert_int_equal(perf->write(to, &recording, &options, &shown, &err), -EFBIG);
	assert_int_equal(shown, 0);
	assert_non_null(strstr(err.msg, "18446744073709551615 samples"));
	fclose(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_the_format_of_its_longest_extension),
		cmocka_unit_test(lists_are_cut_without_room),
		cmocka_unit_test(samples_are_as_many_as_were_counted_in_the_order_of_time),
		cmocka_unit_test(every_sample_is_of_one_thread),
		cmocka_unit_test(a_block_for_each_of_too_many_samples_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
