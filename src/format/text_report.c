/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text_report.h"
#include "format/lock_table.h"
#include "format/thread_table.h"
#include "view/share.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "recording/sample_type.h"
#include "picture/picture_options.h"
#include "view/function_index.h"
#include "view/function_tally.h"
#include "view/measure.h"
#include "view/merge.h"
#include "view/neighbours.h"
#include "view/terminal_text.h"

/* As many lines as fit two screens; everything is in the folded and .jsonl formats. */
enum { NR_THREADS = 30, NR_FUNCTIONS = 30, NR_STACKS = 10, NR_FRAMES = 48, NR_NEIGHBOURED = 5 };

/* All that the report is about. */
struct whole {
	const struct format_options *options;
	struct measure measure;
	uint64_t sum; /* over all stacks */
};

static double share_of(const struct whole *whole, uint64_t shown)
{
	return share_percent(shown, whole->sum);
}

/* Does a line of @shown stay, by --min-share? */
static bool is_large(const struct whole *whole, uint64_t shown)
{
	const struct picture_options *picture = whole->options->picture;

	return !picture || share_of(whole, shown) >= picture->min_share;
}

/* Drop those of @list [@nr] that are not in as much. Returns how many are left. */
static size_t large_ones(const struct function_tallies *tallies, uint32_t *list, size_t nr,
			 const struct whole *whole)
{
	size_t left = 0;

	for (size_t i = 0; i < nr; i++)
		if (is_large(whole, tallies->list[list[i]].total))
			list[left++] = list[i];
	return left;
}

/* Write the callers and callees of the first of @hottest [@nr], of functions that ran. */
static void write_neighbours(FILE *to, const struct function_tallies *tallies,
			     const uint32_t *hottest, size_t nr, const struct whole *whole)
{
	size_t nr_ran = 0;

	while (nr_ran < NR_NEIGHBOURED && nr_ran < nr && tallies->list[hottest[nr_ran]].self)
		nr_ran++;
	if (!nr_ran)
		return;
	fputs("\nCallers of the hottest functions, and below them what they call\n", to);
	neighbours_write(to, tallies->index, hottest, nr_ran, whole->sum);
}

static bool is_narrow(const struct whole *whole)
{
	size_t columns = whole->options->columns;

	return columns && columns < TERMINAL_TEXT_NARROW;
}

/* On a narrow terminal the name is what there is room for. */
static void write_function(FILE *to, const struct function_tallies *tallies, uint32_t function,
			   const struct whole *whole)
{
	const struct function_index *index = tallies->index;
	const struct function_tally *tally = &tallies->list[function];
	const char *name = function_index_text(index, function);
	char buf[128], place[128];

	if (is_narrow(whole)) {
		fprintf(to, " %4.1f%% %s\n", share_of(whole, tally->self), name);
		return;
	}
	text_escape(place, sizeof(place), function_index_place(index, function, buf, sizeof(buf)),
		    "");
	fprintf(to, " %6.1f%% %6.1f%%  %s  (%s)\n", share_of(whole, tally->self),
		share_of(whole, tally->total), name, place);
}

static void write_functions(FILE *to, const struct recording *recording, const struct whole *whole)
{
	struct frame_text_options text_options = format_texts(whole->options, false);
	CLEANUP(frame_texts_fini) struct frame_texts texts = { 0 };
	CLEANUP(function_index_fini) struct function_index index = { 0 };
	CLEANUP(function_tallies_fini) struct function_tallies tallies = { 0 };
	uint32_t hottest[NR_FUNCTIONS];
	size_t nr;

	text_options.by_function = true;
	frame_texts_init(recording, &text_options, &texts);
	function_index_init(&texts, &index);
	function_tallies_init(&index, &whole->measure, &tallies);
	nr = large_ones(&tallies, hottest,
			function_tallies_hottest(&tallies, hottest, NR_FUNCTIONS), whole);
	fprintf(to, "\nHottest functions (self: it was %s; total: it or what it called)\n\n",
		whole->measure.clock ? "running" : "the leaf");
	fputs(is_narrow(whole) ? "  self function\n" : "    self   total  function\n", to);
	for (size_t i = 0; i < nr; i++)
		write_function(to, &tallies, hottest[i], whole);
	if (tallies.nr > nr)
		fprintf(to, "%*s... and %zu more\n", is_narrow(whole) ? 7 : 18, "",
			tallies.nr - nr);
	write_neighbours(to, &tallies, hottest, nr, whole);
}

static void write_frame(FILE *to, const char *name, int indent, uint32_t elided)
{
	fprintf(to, "%*s%s", indent, "", name);
	if (elided && !strcmp(name, RECORDING_GAP))
		fprintf(to, ": %u at most", elided);
	putc('\n', to);
}

/* "35.9%  123 of 456" in a line of its own, which goes on. */
static void write_part(FILE *to, const struct whole *whole, uint64_t shown)
{
	char part[MEASURE_NUMBER_SIZE], all[MEASURE_NUMBER_SIZE];

	fprintf(to, "\n %6.1f%%  %s of %s", share_of(whole, shown),
		measure_plain(&whole->measure, shown, part),
		measure_plain(&whole->measure, whole->sum, all));
}

static void write_stack(FILE *to, const struct merged *merged, uint32_t idx,
			const struct whole *whole)
{
	const struct merged_stack *stack = &merged->stacks.list[idx];
	const struct sequence *line = &merged->lines.list[idx];
	const struct strings *strings = merged->strings;
	const uint32_t *ids = sequence_ids(&merged->lines, idx);
	int indent = is_narrow(whole) ? 2 : 10;
	uint32_t nr_frames = line->nr - line->nr_labels;

	write_part(to, whole, stack->shown);
	for (uint32_t i = 0; i < line->nr_labels; i++)
		fprintf(to, "  %s", strings_text(strings, ids[i]));
	putc('\n', to);
	for (uint32_t i = 0; i < nr_frames && i < NR_FRAMES; i++)
		write_frame(to, strings_text(strings, ids[line->nr - 1 - i]), indent,
			    stack->elided);
	if (nr_frames <= NR_FRAMES)
		return;
	fprintf(to, "%*s... %u more callers", indent, "", nr_frames - NR_FRAMES);
	if (stack->elided)
		fprintf(to, "; frames left out of this stack: %u at most", stack->elided);
	putc('\n', to);
}

static void write_stacks(FILE *to, const struct merged *merged, const struct whole *whole)
{
	uint32_t hottest[NR_STACKS];
	size_t nr = merged_hottest(merged, hottest, NR_STACKS);
	uint64_t rest = whole->sum;

	while (nr && !is_large(whole, merged->stacks.list[hottest[nr - 1]].shown))
		nr--;
	fputs("\nHottest stacks (leaf first)\n", to);
	for (size_t i = 0; i < nr; i++) {
		write_stack(to, merged, hottest[i], whole);
		rest -= merged->stacks.list[hottest[i]].shown;
	}
	if (merged->stacks.nr > nr) {
		write_part(to, whole, rest);
		fprintf(to, "  in %zu other stacks\n", merged->stacks.nr - nr);
	}
}

/* Write what was sampled, as far as it is known. */
static void write_heading(FILE *to, const struct recording *recording, const struct whole *whole)
{
	const char *event = recording_string(recording, recording->event);
	uint64_t shown = recording_shown(recording);
	char safe[64], said[256], counted[128];

	fputs(measure_reported(&whole->measure, whole->sum, said, sizeof(said)), to);
	if (whole->measure.weight)
		fprintf(to, " in %" PRIu64 " %s", shown,
			sample_type_counted(recording, shown, counted, sizeof(counted)));
	/* of a heap there is no such thing */
	if (*event && sample_type_is_samples(recording)) {
		text_escape(safe, sizeof(safe), event, "");
		fprintf(to, ": %s", safe);
		if (recording->hz)
			fprintf(to, " at %" PRIu64 " Hz", recording->hz);
		else if (recording->weight_unit && recording->period > 1)
			fprintf(to, ", one in %" PRIu64, recording->period);
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
	const struct frame_text_options text_options = format_texts(options, false);
	CLEANUP(frame_texts_fini) struct frame_texts texts = { 0 };
	CLEANUP(merged_fini) struct merged merged = { 0 };
	struct whole whole = { .options = options, .sum = measure_sum(recording) };

	(void)err;
	frame_texts_init(recording, &text_options, &texts);
	measure_init(recording, &whole.measure);
	if (!thread_table_is_all(recording))
		write_heading(to, recording, &whole);
	merge_stacks(&texts, MERGE_CFI, options->delimited, &merged);
	thread_table_write(to, recording, NR_THREADS);
	if (whole.sum) {
		if (lock_table_fits(recording))
			lock_table_write(to, &texts);
		else
			write_functions(to, recording, &whole);
		write_stacks(to, &merged, &whole);
	}
	*ret_shown = merged_sum(&merged);
	return 0;
}
