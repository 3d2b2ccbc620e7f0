/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "view/frame_texts.h"

/* A frame of each kind: what it is, and its texts joined by '|' with and without addresses. */
struct frame_case {
	const char *what;
	const char *path;	  /* of its object; NULL: none */
	const char *functions[3]; /* the innermost first; NULL: no more */
	uint64_t address, start;
	enum recording_kind kind;
	enum fpl_origin origin;
	const char *text, *addresses, *symbols_only, *module;
};

static const struct frame_case cases[] = {
	{ "a function",
	  "/bin/app",
	  { "main" },
	  0x10,
	  0x8,
	  RECORDING_USER,
	  FPL_ORIGIN_CFI,
	  "main",
	  "main",
	  "main",
	  "" },
	{ "with what is inlined",
	  "/bin/app",
	  { "in;ner", "mid", "out" },
	  0x11,
	  0x8,
	  RECORDING_USER,
	  FPL_ORIGIN_FP,
	  "in\\x3bner_[i]_[fp]|mid_[i]_[fp]|out_[fp]",
	  "in\\x3bner_[i]_[fp]|mid_[i]_[fp]|out_[fp]",
	  "out_[fp]",
	  "" },
	{ "no name",
	  "/bin/a\x1bpp",
	  { NULL },
	  0x12,
	  0x8,
	  RECORDING_USER,
	  FPL_ORIGIN_SYNTH,
	  "[a\\x1bpp+0x8]_[synth]",
	  "[a\\x1bpp+0x12]_[synth]",
	  "[a\\x1bpp+0x8]_[synth]",
	  "" },
	{ "no name, no start",
	  "/bin/",
	  { NULL },
	  0x13,
	  RECORDING_NO_ADDRESS,
	  RECORDING_USER,
	  FPL_ORIGIN_CFI,
	  "[/bin/+0x13]",
	  "[/bin/+0x13]",
	  "[/bin/+0x13]",
	  "" },
	{ "no address",
	  "/bin/app",
	  { NULL },
	  RECORDING_NO_ADDRESS,
	  RECORDING_NO_ADDRESS,
	  RECORDING_USER,
	  FPL_ORIGIN_CFI,
	  "[app]",
	  "[app]",
	  "[app]",
	  "" },
	{ "nothing at all",
	  NULL,
	  { NULL },
	  RECORDING_NO_ADDRESS,
	  RECORDING_NO_ADDRESS,
	  RECORDING_USER,
	  FPL_ORIGIN_CFI,
	  "[unknown]",
	  "[unknown]",
	  "[unknown]",
	  "" },
	{ "no object",
	  NULL,
	  { NULL },
	  0x7f0000,
	  RECORDING_NO_ADDRESS,
	  RECORDING_USER,
	  FPL_ORIGIN_CFI,
	  "[0x7f0000]",
	  "[0x7f0000]",
	  "[0x7f0000]",
	  "" },
	{ "the kernel",
	  "[kernel.kallsyms]",
	  { "schedule" },
	  UINT64_MAX - 9,
	  UINT64_MAX - 19,
	  RECORDING_KERNEL,
	  FPL_ORIGIN_CFI,
	  "schedule_[k]",
	  "schedule_[k]",
	  "schedule_[k]",
	  "" },
	{ "a module without a name",
	  "[ext4]",
	  { NULL },
	  0xffffffffc0000000,
	  RECORDING_NO_ADDRESS,
	  RECORDING_KERNEL,
	  FPL_ORIGIN_CFI,
	  "[0xffffffffc0000000]_[k]",
	  "[0xffffffffc0000000]_[k]",
	  "[0xffffffffc0000000]_[k]",
	  "ext4" },
	{ "a module as other tools write it",
	  "/lib/ext4.ko",
	  { "f" },
	  0xffffffffc0000001,
	  0,
	  RECORDING_KERNEL,
	  FPL_ORIGIN_CFI,
	  "f_[k]",
	  "f_[k]",
	  "f_[k]",
	  "/lib/ext4.ko" },
};

static uint32_t add_case(struct recording *recording, const struct frame_case *one)
{
	struct recording_frame frame = { .address = one->address,
					 .start = one->start,
					 .kind = (uint8_t)one->kind,
					 .origin = (uint8_t)one->origin };
	struct recording_line lines[3] = { 0 };
	uint32_t ret;

	if (one->path) {
		struct recording_object object = { 0 };

		assert_int_equal(recording_add_text(recording, one->path, &object.path), 0);
		assert_int_equal(recording_add_object(recording, &object, &frame.object), 0);
	}
	for (; frame.nr_lines < 3 && one->functions[frame.nr_lines]; frame.nr_lines++) {
		struct recording_function function = { 0 };

		assert_int_equal(recording_add_text(recording, one->functions[frame.nr_lines],
						    &function.name),
				 0);
		assert_int_equal(recording_add_function(recording, &function,
							&lines[frame.nr_lines].function),
				 0);
	}
	assert_int_equal(recording_add_frame(recording, &frame, lines, &ret), 0);
	return ret;
}

static void assert_texts(const struct recording *recording, const uint32_t *frames,
			 const struct frame_text_options *options, size_t want_at)
{
	CLEANUP(frame_texts_fini) struct frame_texts texts;

	frame_texts_init(recording, options, &texts);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *want = *(const char *const *)((const char *)&cases[i] + want_at);
		char got[128] = "";
		uint32_t nr;
		size_t at = 0;
		const uint32_t *ids = &texts.ids[frame_slots(&texts, frames[i], &nr)];

		for (size_t j = 0; j < nr; j++)
			at += (size_t)snprintf(got + at, sizeof(got) - at, j ? "|%s" : "%s",
					       strings_text(&texts.strings, ids[j]));
		if (strcmp(got, want) != 0)
			fail_msg("%s: \"%s\", want \"%s\"", cases[i].what, got, want);
	}
}

static void a_frame_reads_as_its_functions_or_as_where_it_is(void **state)
{
	CLEANUP(recording_fini) struct recording recording;
	uint32_t frames[ARRAY_SIZE(cases)];

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		frames[i] = add_case(&recording, &cases[i]);
	assert_texts(&recording, frames,
		     &(struct frame_text_options){ .annotate = true, .origin = true },
		     offsetof(struct frame_case, text));
	assert_texts(
		&recording, frames,
		&(struct frame_text_options){ .annotate = true, .origin = true, .addresses = true },
		offsetof(struct frame_case, addresses));
	assert_texts(&recording, frames,
		     &(struct frame_text_options){
			     .annotate = true, .origin = true, .symbols_only = true },
		     offsetof(struct frame_case, symbols_only));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char module[32];

		frame_module(&recording, &recording.frames[frames[i]], module, sizeof(module));
		if (strcmp(module, cases[i].module) != 0)
			fail_msg("%s: module \"%s\"", cases[i].what, module);
	}
}

static void a_line_stands_behind_its_function(void **state)
{
	static const struct {
		const char *what, *file;
		uint32_t line;
		const char *text;
	} rows[] = {
		{ "known", "/src/a;b.c", 12, "f (a\\x3bb.c:12)_[fp]" },
		{ "without a folder", "a.c", 4294967295u, "f (a.c:4294967295)_[fp]" },
		{ "that ends in a slash", "/src/", 1, "f (/src/:1)_[fp]" },
		{ "no line", "a.c", 0, "f_[fp]" },
		{ "no file", "", 12, "f_[fp]" },
	};
	const struct frame_text_options options = { .lines = true, .origin = true };
	CLEANUP(recording_fini) struct recording recording;
	uint32_t frames[ARRAY_SIZE(rows)];

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct recording_frame frame = { .nr_lines = 1, .origin = FPL_ORIGIN_FP };
		struct recording_line line = { .line = rows[i].line };
		struct recording_function function = { 0 };

		assert_int_equal(recording_add_text(&recording, "f", &function.name), 0);
		assert_int_equal(recording_add_text(&recording, rows[i].file, &function.file), 0);
		assert_int_equal(recording_add_function(&recording, &function, &line.function), 0);
		assert_int_equal(recording_add_frame(&recording, &frame, &line, &frames[i]), 0);
	}

	CLEANUP(frame_texts_fini) struct frame_texts texts;
	uint32_t nr;

	frame_texts_init(&recording, &options, &texts);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint32_t *ids = &texts.ids[frame_slots(&texts, frames[i], &nr)];

		assert_int_equal(nr, 1);
		if (strcmp(strings_text(&texts.strings, ids[0]), rows[i].text) != 0)
			fail_msg("%s: %s", rows[i].what, strings_text(&texts.strings, ids[0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_reads_as_its_functions_or_as_where_it_is),
		cmocka_unit_test(a_line_stands_behind_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
