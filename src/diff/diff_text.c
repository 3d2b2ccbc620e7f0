/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "diff/diff_write.h"

#define NR_FRAMES 48u /* of a stack: all is in JSON */

static const char *const side_texts[DIFF_SIDES] = {
	[DIFF_BEFORE] = "before",
	[DIFF_AFTER] = "after ",
};

/* "% of the samples before": what percentages are of. */
static void write_unit(FILE *to, const struct difference *difference, const char *counted)
{
	const char *when = difference->whole.before > 0 ? "before" : "after";

	fprintf(to, "in %% of the %s %s", difference_unit(difference, counted),
		difference->pairing->options.shares ? "of their side" : when);
}

static void write_side(FILE *to, const struct difference *difference, enum diff_side side,
		       const char *counted)
{
	const struct pairing *pairing = difference->pairing;
	const struct paired_side *of = &pairing->sides[side];
	char said[192];

	fprintf(to, "%s  %" PRIu64 " %s of %zu run%s", side_texts[side], pairing->whole.count[side],
		counted, of->nr_runs, of->nr_runs == 1 ? "" : "s");
	if (pairing->measure.weight)
		fprintf(to, ", %s",
			measure_said(&pairing->measure, pairing->whole.weight[side], said,
				     sizeof(said)));
	else if (pairing->measure.clock && pairing->whole.weight[side])
		fprintf(to, ", %.3f s of CPU time", (double)pairing->whole.weight[side] / 1e9);
	if (of->duration_ns)
		fprintf(to, ", in %.1f s", (double)of->duration_ns / 1e9);
	putc('\n', to);
}

/* "  12.34 +-   0.56"; the interval where it is known. */
static void write_numbers(FILE *to, const struct difference *difference,
			  const struct diff_change *change)
{
	double percent = 100 * difference->unit;

	fprintf(to, " %7.2f%% %7.2f%% %+8.2f", percent * change->before, percent * change->after,
		percent * change->change);
	if (isfinite(change->interval))
		fprintf(to, " %7.2f", percent * change->interval);
	else
		fputs("       ?", to);
	fprintf(to, "  %-7s", diff_verdict_key(change->verdict));
}

static void write_whole(FILE *to, const struct difference *difference)
{
	const struct diff_change *whole = &difference->whole;
	double percent = 100 * difference->unit;

	if (!difference->whole_judged)
		return;
	fprintf(to, "total   %+.2f %% per run", percent * whole->change);
	if (isfinite(whole->interval))
		fprintf(to, " +- %.2f: %s", percent * whole->interval,
			diff_verdict_key(whole->verdict));
	putc('\n', to);
}

static void write_noise(FILE *to, const struct difference *difference)
{
	const struct significance *significance = &difference->significance;
	size_t self, total;

	difference_count_real(difference, &self, &total);
	fprintf(to, "noise   functions beyond it: %zu by self, %zu by total; ", self, total);
	if (significance->assumed)
		fprintf(to, "runs are taken to vary by %.0f %%: several a side would tell\n",
			100 * significance->variation);
	else
		fprintf(to, "runs vary by %.2f %%\n", 100 * significance->variation);
}

/* Tell the change that these runs would show, and that more of them would. */
static void write_power(FILE *to, const struct difference *difference)
{
	static const size_t more[] = { 3, 5, 10 };
	const size_t *runs = difference->significance.options.runs;
	size_t most = runs[DIFF_BEFORE] > runs[DIFF_AFTER] ? runs[DIFF_BEFORE] : runs[DIFF_AFTER];
	const char *lead = "; ";

	if (!isfinite(difference_shows(difference, 0)))
		return;
	fprintf(to, "shows   a change by %.0f %% of a function of 10 %%, 9 times in 10",
		difference_shows(difference, 0));
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		if (more[i] <= most)
			continue;
		fprintf(to, "%s%zu%s %.0f %%", lead, more[i],
			lead[0] == ';' ? " runs a side would show" : ":",
			difference_shows(difference, more[i]));
		lead = ", ";
	}
	putc('\n', to);
}

static void write_functions(FILE *to, const struct difference *difference,
			    enum difference_order order, const struct diff_text_options *options)
{
	CLEANUP(difference_list_fini) struct difference_list list;
	const struct pairing *pairing = difference->pairing;

	difference_list_make(difference, order, options->nr_functions, true, &list);
	fprintf(to, "\nFunctions by what changed (%s), ",
		order != DIFFERENCE_BY_SELF ? "total: it or what it called"
		: pairing->measure.clock    ? "self: it was running"
					    : "self: it was the leaf");
	write_unit(to, difference, options->counted);
	fputs("\n\n   before    after   change      +-  verdict  function\n", to);
	for (size_t i = 0; i < list.nr; i++) {
		const struct shown_function *item = &pairing->items.list[list.list[i]];
		const struct diff_function function = difference_function(difference, list.list[i]);

		write_numbers(to, difference,
			      order == DIFFERENCE_BY_SELF ? &function.self : &function.total);
		fprintf(to, "  %s  (%s)\n", pairing_text(pairing, item->text),
			pairing_text(pairing, item->place));
	}
	if (list.nr_left)
		fprintf(to, "%45s... and %zu more\n", "", list.nr_left);
}

static void write_stack(FILE *to, const struct difference *difference, uint32_t stack)
{
	const struct pairing *pairing = difference->pairing;
	const struct sequence *paired = &pairing->stacks.list[stack];
	const struct diff_change change = difference_stack(difference, stack);
	const uint32_t *steps = &pairing->stacks.ids.list[paired->first];
	uint32_t nr_frames = paired->nr - paired->nr_labels;

	putc('\n', to);
	write_numbers(to, difference, &change);
	for (uint32_t i = 0; i < paired->nr_labels; i++)
		fprintf(to, "  %s", pairing_text(pairing, pairing->items.list[steps[i]].text));
	putc('\n', to);
	for (uint32_t i = 0; i < nr_frames && i < NR_FRAMES; i++)
		fprintf(to, "          %s\n",
			pairing_text(pairing, pairing->items.list[steps[paired->nr - 1 - i]].text));
	if (nr_frames > NR_FRAMES)
		fprintf(to, "          ... %u more callers\n", nr_frames - NR_FRAMES);
}

static void write_stacks(FILE *to, const struct difference *difference,
			 const struct diff_text_options *options)
{
	CLEANUP(difference_list_fini) struct difference_list list;

	difference_list_make(difference, DIFFERENCE_BY_SAMPLES, options->nr_stacks, false, &list);
	fputs("\nStacks by what changed (leaf first), ", to);
	write_unit(to, difference, options->counted);
	putc('\n', to);
	for (size_t i = 0; i < list.nr; i++)
		write_stack(to, difference, list.list[i]);
	if (list.nr_left)
		fprintf(to, "\n%10s... and %zu more\n", "", list.nr_left);
}

void diff_text_write(FILE *to, const struct difference *difference,
		     const struct diff_text_options *options)
{
	fprintf(to, "%s\n\n", options->headline);
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		write_side(to, difference, side, options->counted);
	write_whole(to, difference);
	write_noise(to, difference);
	write_power(to, difference);
	write_functions(to, difference, DIFFERENCE_BY_SELF, options);
	write_functions(to, difference, DIFFERENCE_BY_TOTAL, options);
	write_stacks(to, difference, options);
}
