/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text_report.h"
#include "view/share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "recording/sample_type.h"
#include "view/function_index.h"
#include "view/merge.h"
#include "view/neighbours.h"
#include "view/terminal_text.h"

/* What fits two screens; everything is in the folded and .jsonl formats. */
enum { NR_FUNCTIONS = 30, NR_STACKS = 10, NR_FRAMES = 48, NR_NEIGHBOURED = 5 };

/* How often a function ran. */
struct tallied {
	uint32_t function; /* index */
	uint64_t self, total;
	size_t last_stack; /* index + 1 of the stack that counted it last: recursion counts once */
};

/* Functions, and what they are sorted by: their texts. */
struct sorting {
	const struct function_index *index;
	const struct strings *strings;
};

/* The leaf of a stack is its innermost kernel frame where it has any, else the user leaf. */
static void count_stack(struct tallied *list, const struct function_index *index, size_t stack_idx)
{
	const struct recording *recording = index->texts->recording;
	const struct recording_stack *stack = &recording->stacks[stack_idx];
	size_t nr_frames = (size_t)stack->nr_user + stack->nr_kernel;
	size_t leaf = stack->nr_kernel ? stack->nr_user : 0;

	for (size_t i = 0; i < nr_frames; i++) {
		size_t nr;
		const uint32_t *ids =
			function_index_of(index, recording->frame_ids[stack->first_frame + i], &nr);

		for (size_t j = 0; j < nr; j++) {
			struct tallied *tallied = &list[ids[j]];

			if (i == leaf && j == 0)
				tallied->self += stack->count;
			if (tallied->last_stack != stack_idx + 1)
				tallied->total += stack->count;
			tallied->last_stack = stack_idx + 1;
		}
	}
}

static int compare_tallied(const void *left, const void *right, void *ctx)
{
	const struct tallied *a = left, *b = right;
	const struct sorting *sorting = ctx;
	const struct shown_function *f = &sorting->index->list[a->function];
	const struct shown_function *g = &sorting->index->list[b->function];

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	int order = strcmp(strings_text(sorting->strings, f->text),
			   strings_text(sorting->strings, g->text));
	return order ? order : (f->object > g->object) - (f->object < g->object);
}

/* Of functions that ran: of those at the top of @list, sorted. */
static int write_neighbours(FILE *to, const struct function_index *index,
			    const struct tallied *list, uint64_t samples)
{
	uint32_t functions[NR_NEIGHBOURED];
	size_t nr = 0;

	while (nr < NR_NEIGHBOURED && nr < index->nr && list[nr].self) {
		functions[nr] = list[nr].function;
		nr++;
	}
	if (!nr)
		return 0;
	fputs("\nCallers of the hottest functions, and below them what they call\n", to);
	return neighbours_write(to, index, functions, nr, samples);
}

static bool is_narrow(const struct format_options *options)
{
	return options->columns && options->columns < TERMINAL_TEXT_NARROW;
}

/* On a narrow terminal the name is what there is room for. */
static void write_function(FILE *to, const struct function_index *index,
			   const struct tallied *tallied, bool narrow, uint64_t samples)
{
	const char *name =
		strings_text(&index->texts->strings, index->list[tallied->function].text);
	char buf[128], place[128];

	if (narrow) {
		fprintf(to, " %4.1f%% %s\n", share_percent(tallied->self, samples), name);
		return;
	}
	text_escape(place, sizeof(place),
		    function_index_place(index, tallied->function, buf, sizeof(buf)), "");
	fprintf(to, " %6.1f%% %6.1f%%  %s  (%s)\n", share_percent(tallied->self, samples),
		share_percent(tallied->total, samples), name, place);
}

static int write_functions(FILE *to, const struct function_index *index,
			   const struct format_options *options, uint64_t samples)
{
	const struct recording *recording = index->texts->recording;
	const struct strings *strings = &index->texts->strings;
	struct sorting sorting = { .index = index, .strings = strings };
	AUTO_FREE struct tallied *list = calloc(index->nr + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < index->nr; i++)
		list[i].function = (uint32_t)i;
	for (size_t i = 0; i < recording->nr_stacks; i++)
		count_stack(list, index, i);
	qsort_r(list, index->nr, sizeof(*list), compare_tallied, &sorting);

	fputs("\nHottest functions (self: it was running; total: it or what it called)\n\n", to);
	fputs(is_narrow(options) ? "  self function\n" : "    self   total  function\n", to);
	for (size_t i = 0; i < index->nr && i < NR_FUNCTIONS; i++)
		write_function(to, index, &list[i], is_narrow(options), samples);
	if (index->nr > NR_FUNCTIONS)
		fprintf(to, "%*s... and %zu more\n", is_narrow(options) ? 7 : 18, "",
			index->nr - NR_FUNCTIONS);
	return write_neighbours(to, index, list, samples);
}

static void write_frame(FILE *to, const char *name, int indent, uint32_t elided)
{
	fprintf(to, "%*s%s", indent, "", name);
	if (elided && !strcmp(name, RECORDING_GAP))
		fprintf(to, ": %u at most", elided);
	putc('\n', to);
}

static void write_stack(FILE *to, const struct strings *strings, const struct merged_stack *stack,
			const struct format_options *options, uint64_t samples)
{
	int indent = is_narrow(options) ? 2 : 10;
	uint32_t nr_frames = stack->nr - stack->nr_labels;

	fprintf(to, "\n %6.1f%%  %" PRIu64 " of %" PRIu64, share_percent(stack->count, samples),
		stack->count, samples);
	for (uint32_t i = 0; i < stack->nr_labels; i++)
		fprintf(to, "  %s", strings_text(strings, stack->ids[i]));
	putc('\n', to);
	for (uint32_t i = 0; i < nr_frames && i < NR_FRAMES; i++)
		write_frame(to, strings_text(strings, stack->ids[stack->nr - 1 - i]), indent,
			    stack->elided);
	if (nr_frames <= NR_FRAMES)
		return;
	fprintf(to, "%*s... %u more callers", indent, "", nr_frames - NR_FRAMES);
	if (stack->elided)
		fprintf(to, "; frames left out of this stack: %u at most", stack->elided);
	putc('\n', to);
}

static void write_stacks(FILE *to, const struct strings *strings, const struct merged *merged,
			 const struct format_options *options, uint64_t samples)
{
	size_t left = merged->nr;
	uint64_t rest = 0;

	fputs("\nHottest stacks (leaf first)\n", to);
	for (; left > 0 && merged->nr - left < NR_STACKS; left--)
		write_stack(to, strings, &merged->stacks[left - 1], options, samples);
	if (!left)
		return;
	for (size_t i = 0; i < left; i++)
		rest += merged->stacks[i].count;
	fprintf(to, "\n %6.1f%%  %" PRIu64 " of %" PRIu64 "  in %zu other stacks\n",
		share_percent(rest, samples), rest, samples, left);
}

/* What was sampled, as far as it is known. */
static void write_heading(FILE *to, const struct recording *recording, uint64_t samples)
{
	const char *event = recording_string(recording, recording->event);
	char safe[64], counted[128];

	fprintf(to, "%" PRIu64 " %s", samples,
		sample_type_text(recording, counted, sizeof(counted)));
	/* of a heap there is no such thing */
	if (*event && !recording->sample_type) {
		text_escape(safe, sizeof(safe), event, "");
		fprintf(to, ": %s", safe);
		if (recording->hz)
			fprintf(to, " at %" PRIu64 " Hz", recording->hz);
		if (recording->duration_ns)
			fprintf(to, ", %.1f s", (double)recording->duration_ns / 1e9);
		if (recording->nr_cpus)
			fprintf(to, ", %u CPUs", recording->nr_cpus);
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
		.lines = options->lines,
	};
	CLEANUP(frame_texts_fini) struct frame_texts texts = { 0 };
	CLEANUP(function_index_fini) struct function_index index = { 0 };
	CLEANUP(merged_fini) struct merged merged = { 0 };
	uint64_t samples;

	if (frame_texts_init(recording, &text_options, &texts) ||
	    function_index_init(&texts, &index))
		return fpl_fail(err, -ENOMEM, "out of memory for names");
	if (merge_stacks(&texts, MERGE_CFI, options->delimited, &merged, err))
		return -ENOMEM;
	samples = merged_samples(&merged);
	write_heading(to, recording, samples);
	if (write_functions(to, &index, options, samples))
		return fpl_fail(err, -ENOMEM, "out of memory for names");
	write_stacks(to, &texts.strings, &merged, options, samples);
	*ret_shown = samples;
	return 0;
}
