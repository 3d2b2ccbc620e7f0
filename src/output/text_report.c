/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/merge.h"

/* What fits two screens; everything is in the folded and .jsonl formats. */
enum { NR_FUNCTIONS = 30, NR_STACKS = 10, NR_FRAMES = 48 };

/* One function: a name in an object. */
struct function {
	uint32_t text;	 /* id of the name */
	uint32_t object; /* index */
	bool kernel;
	uint64_t self, total;
	size_t last_stack; /* index + 1 of the stack that counted it last: recursion counts once */
};

struct function_table {
	struct function *list; /* owned [nr] */
	size_t nr, room;
	struct id_table ids;
};

static void function_table_fini(struct function_table *functions)
{
	free(functions->list);
	id_table_fini(&functions->ids);
}

static bool function_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct function *a = &((const struct function_table *)ctx)->list[index], *b = key;

	return a->text == b->text && a->object == b->object && a->kernel == b->kernel;
}

/* The entry of @key, which is made at first sight; NULL: out of memory. */
static struct function *find_function(struct function_table *functions, const struct function *key)
{
	uint64_t hash =
		((uint64_t)key->text << 32 | key->object << 1 | key->kernel) * 0x9e3779b97f4a7c15u;
	uint32_t idx;

	hash ^= hash >> 32;
	idx = id_table_find(&functions->ids, hash, function_equals, functions, key);
	if (idx != ID_TABLE_NONE)
		return &functions->list[idx];
	if (functions->nr == functions->room) {
		size_t room = functions->room ? 2 * functions->room : 256;
		struct function *list = reallocarray(functions->list, room, sizeof(*list));

		if (!list)
			return NULL;
		functions->list = list;
		functions->room = room;
	}
	if (id_table_add(&functions->ids, hash, (uint32_t)functions->nr))
		return NULL;
	functions->list[functions->nr] = *key;
	return &functions->list[functions->nr++];
}

/* Count frame @frame of a stack, and what is inlined in it. */
static int count_frame(struct function_table *functions, const struct frame_texts *texts,
		       uint32_t frame, size_t stack_idx, bool leaf)
{
	const struct recording *recording = texts->recording;
	uint64_t count = recording->stacks[stack_idx].count;
	struct function key = {
		.object = recording->frames[frame].object,
		.kernel = recording->frames[frame].kind == RECORDING_KERNEL,
	};
	size_t nr;
	const uint32_t *ids = frame_texts_of(texts, frame, &nr);

	for (size_t i = 0; i < nr; i++) {
		struct function *function;

		key.text = ids[i];
		function = find_function(functions, &key);
		if (!function)
			return -ENOMEM;
		if (leaf && i == 0)
			function->self += count;
		if (function->last_stack != stack_idx + 1)
			function->total += count;
		function->last_stack = stack_idx + 1;
	}
	return 0;
}

/* The leaf of a stack is its innermost kernel frame where it has any, else the user leaf. */
static int count_stack(struct function_table *functions, const struct frame_texts *texts,
		       size_t stack_idx)
{
	const struct recording_stack *stack = &texts->recording->stacks[stack_idx];
	size_t nr_frames = (size_t)stack->nr_user + stack->nr_kernel;
	size_t leaf = stack->nr_kernel ? stack->nr_user : 0;
	int err = 0;

	for (size_t i = 0; !err && i < nr_frames; i++)
		err = count_frame(functions, texts,
				  texts->recording->frame_ids[stack->first_frame + i], stack_idx,
				  i == leaf);
	return err;
}

static int compare_functions(const void *left, const void *right, void *strings)
{
	const struct function *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	int order = strcmp(strings_text(strings, a->text), strings_text(strings, b->text));
	return order ? order : (a->object > b->object) - (a->object < b->object);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Where a function lives: the last part of the object's path, escaped. */
static void function_place(const struct recording *recording, const struct function *function,
			   char *buf, size_t size)
{
	const struct recording_frame frame = { .object = function->object,
					       .kind = RECORDING_KERNEL };
	const char *place = recording_string(recording, recording->objects[function->object].path);
	const char *slash = strrchr(place, '/');
	char module[128];

	if (function->kernel) {
		frame_module(recording, &frame, module, sizeof(module));
		place = *module ? module : "kernel";
		slash = NULL;
	}
	text_escape(buf, size, slash && slash[1] ? slash + 1 : *place ? place : "-", "");
}

static int write_functions(FILE *to, struct frame_texts *texts, uint64_t samples)
{
	CLEANUP(function_table_fini) struct function_table functions = { 0 };

	for (size_t i = 0; i < texts->recording->nr_stacks; i++)
		if (count_stack(&functions, texts, i))
			return -ENOMEM;
	if (functions.nr)
		qsort_r(functions.list, functions.nr, sizeof(*functions.list), compare_functions,
			&texts->strings);

	fputs("\nHottest functions (self: it was running; total: it or what it called)\n\n"
	      "    self   total  function\n",
	      to);
	for (size_t i = 0; i < functions.nr && i < NR_FUNCTIONS; i++) {
		const struct function *function = &functions.list[i];
		char place[128];

		function_place(texts->recording, function, place, sizeof(place));
		fprintf(to, " %6.1f%% %6.1f%%  %s  (%s)\n", percent(function->self, samples),
			percent(function->total, samples),
			strings_text(&texts->strings, function->text), place);
	}
	if (functions.nr > NR_FUNCTIONS)
		fprintf(to, "                  ... and %zu more\n", functions.nr - NR_FUNCTIONS);
	return 0;
}

static void write_stack(FILE *to, const struct strings *strings, const struct merged_stack *stack,
			uint64_t samples)
{
	uint32_t nr_frames = stack->nr - stack->nr_labels;

	fprintf(to, "\n %6.1f%%  %" PRIu64 " of %" PRIu64, percent(stack->count, samples),
		stack->count, samples);
	for (uint32_t i = 0; i < stack->nr_labels; i++)
		fprintf(to, "  %s", strings_text(strings, stack->ids[i]));
	putc('\n', to);
	for (uint32_t i = 0; i < nr_frames && i < NR_FRAMES; i++)
		fprintf(to, "          %s\n", strings_text(strings, stack->ids[stack->nr - 1 - i]));
	if (nr_frames > NR_FRAMES)
		fprintf(to, "          ... %u more callers\n", nr_frames - NR_FRAMES);
}

static void write_stacks(FILE *to, const struct strings *strings, const struct merged *merged,
			 uint64_t samples)
{
	size_t left = merged->nr;
	uint64_t rest = 0;

	fputs("\nHottest stacks (leaf first)\n", to);
	for (; left > 0 && merged->nr - left < NR_STACKS; left--)
		write_stack(to, strings, &merged->stacks[left - 1], samples);
	if (!left)
		return;
	for (size_t i = 0; i < left; i++)
		rest += merged->stacks[i].count;
	fprintf(to, "\n %6.1f%%  %" PRIu64 " of %" PRIu64 "  in %zu other stacks\n",
		percent(rest, samples), rest, samples, left);
}

/* What was sampled, as far as it is known. */
static void write_heading(FILE *to, const struct recording *recording, uint64_t samples)
{
	const char *event = recording_string(recording, recording->event);
	char safe[64];

	fprintf(to, "%" PRIu64 " samples", samples);
	if (*event) {
		text_escape(safe, sizeof(safe), event, "");
		fprintf(to, ": %s at %" PRIu64 " Hz, %.1f s, %u CPUs", safe, recording->hz,
			(double)recording->duration_ns / 1e9, recording->nr_cpus);
	}
	putc('\n', to);
}

int text_report_write(FILE *to, const struct recording *recording,
		      const struct format_options *options, uint64_t *ret_shown,
		      struct fpl_err *err)
{
	const struct frame_text_options text_options = {
		.annotate = options->annotate,
		.origin = options->origin,
		.by_function = true,
		.symbols_only = options->inlined == FORMAT_INLINED_NEVER,
	};
	CLEANUP(frame_texts_fini) struct frame_texts texts;
	CLEANUP(merged_fini) struct merged merged = { 0 };
	uint64_t samples;

	if (frame_texts_init(recording, &text_options, &texts))
		return fpl_fail(err, -ENOMEM, "out of memory for names");
	if (merge_stacks(&texts, MERGE_CFI, options->delimited, &merged, err))
		return -ENOMEM;
	samples = merged_samples(&merged);
	write_heading(to, recording, samples);
	if (write_functions(to, &texts, samples))
		return fpl_fail(err, -ENOMEM, "out of memory for names");
	write_stacks(to, &texts.strings, &merged, samples);
	*ret_shown = samples;
	return 0;
}
