/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "diff/frame_judge.h"
#include "picture/html.h"
#include "picture/html_parts.h"

/* All that is written. */
struct page {
	const struct diff_page *given;
	struct frame_judge judge;
	struct call_functions functions;
	struct call_tree tree; /* of both sides, each a group */
	struct html_parts parts;
	struct difference_list changed; /* all functions of the difference */
	uint32_t *rows;			/* owned [changed.nr]: where each is in functions */
};

static void page_fini(struct page *page)
{
	call_functions_fini(&page->functions);
	call_tree_fini(&page->tree);
	html_parts_fini(&page->parts);
	difference_list_fini(&page->changed);
	free(page->rows);
}

/* The functions of the tree that those of the difference are. */
static void find_rows(struct page *page)
{
	const struct diff_page *given = page->given;
	const struct difference *difference = given->difference;
	const struct pairing *pairing = difference->pairing;

	difference_list_make(difference, DIFFERENCE_BY_SELF, SIZE_MAX, false, &page->changed);
	page->rows = must_calloc(page->changed.nr, sizeof(*page->rows));
	for (size_t i = 0; i < page->changed.nr; i++) {
		const struct shown_function *item = &pairing->items.list[page->changed.list[i]];
		bool placed = pairing->options.by == FUNCTIONS_BY_PLACE;

		page->rows[i] = (uint32_t)call_functions_find(
			&page->functions, given->picture.paths, pairing_text(pairing, item->text),
			placed ? pairing_text(pairing, item->place) : "",
			item->kind == FUNCTION_KERNEL ? FUNCTION_KERNEL : FUNCTION_USER);
	}
}

static void make(struct page *page, FILE *to)
{
	const struct diff_picture *picture = &page->given->picture;
	const uint64_t *samples = picture->paths->samples;
	const struct call_tree_options options = {
		.sides = 1u << DIFF_BEFORE | 1u << DIFF_AFTER,
		.min_total = html_min_total(samples[DIFF_BEFORE] + samples[DIFF_AFTER],
					    picture->options->min_share),
		.nodes_max = HTML_NODES_MAX,
	};
	size_t nr_tests = 0;

	call_functions_make(picture->paths, options.sides, &page->functions);
	call_tree_make(picture->paths, &page->functions, &options, &page->tree);
	html_parts_init(to, picture->paths, &page->functions, &page->parts);
	find_rows(page);
	for (size_t i = 0; i < page->tree.nodes.nr; i++)
		nr_tests += page->tree.nodes.list[i].total >= SIGNIFICANCE_SAMPLES_MIN;
	page->judge.quantile = significance_quantile(picture->significance, nr_tests);
}

/* Nothing of samples. */
static void write_unit(struct json *json, const struct measure *measure)
{
	if (measure->kind == MEASURE_BYTES)
		json_string(json, "sample_unit", "bytes");
	else if (measure->kind == MEASURE_TIME && measure->unit_ns == 1)
		json_string(json, "sample_unit", "nanoseconds");
}

static void write_run(struct page *page)
{
	struct json *json = &page->parts.json;
	const struct diff_picture *picture = &page->given->picture;

	json_open(json, "run", '{');
	json_string(json, "title", picture->options->title ? picture->options->title : "");
	json_string(json, "count_name", picture->measure.noun);
	write_unit(json, &picture->measure);
	json_bool(json, "inverted", picture->options->inverted);
	json_string(json, "event", page->given->event ? page->given->event : "");
	json_number(json, "hz", page->given->hz);
	json_open(json, "args", '[');
	json_close(json, ']');
	json_close(json, '}');
}

/* The sides as groups, of which nothing else is known. */
static void write_groups(struct json *json)
{
	static const char *const keys[] = { "comm", "pid", "stop", "origins", "class", "state" };

	json_open(json, "groups", '{');
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_open(json, keys[i], '[');
		for (enum diff_side side = 0; side < DIFF_SIDES; side++)
			json_real(json, NULL, i == 0 || i == 3 ? 0 : -1);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void write_side(struct page *page, enum diff_side side)
{
	struct json *json = &page->parts.json;
	const struct pairing *pairing = page->given->difference->pairing;

	json_open(json, NULL, '{');
	json_number(json, "runs", page->given->picture.runs[side]);
	json_number(json, "samples", pairing_shown(pairing, &pairing->whole, side));
	json_number(json, "weight_ns", pairing->measure.clock ? pairing->whole.weight[side] : 0);
	json_number(json, "duration_ns", pairing->sides[side].duration_ns);
	json_open(json, "files", '[');
	for (size_t i = 0; i < page->given->picture.runs[side]; i++)
		json_string(json, NULL, page->given->files[side][i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void write_change(struct json *json, const char *key, const struct diff_change *change,
			 double unit)
{
	json_open(json, key, '[');
	json_real(json, NULL, 100 * unit * change->before);
	json_real(json, NULL, 100 * unit * change->after);
	json_real(json, NULL, 100 * unit * change->interval);
	json_number(json, NULL, change->verdict);
	json_close(json, ']');
}

static void write_changes(struct page *page)
{
	struct json *json = &page->parts.json;
	const struct difference *difference = page->given->difference;
	const struct pairing *pairing = difference->pairing;

	json_open(json, "functions", '[');
	for (size_t i = 0; i < page->changed.nr; i++) {
		const struct diff_function function =
			difference_function(difference, page->changed.list[i]);

		if (page->rows[i] == page->functions.nr)
			continue; /* it is in no path */
		json_open(json, NULL, '[');
		json_number(json, NULL, page->rows[i]);
		json_string(json, NULL,
			    pairing_text(pairing, pairing->items.list[function.item].place));
		write_change(json, NULL, &function.self, difference->unit);
		write_change(json, NULL, &function.total, difference->unit);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void write_verdicts(struct json *json)
{
	json_open(json, "verdicts", '[');
#define X(name, key, text)             \
	json_open(json, NULL, '[');    \
	json_string(json, NULL, #key); \
	json_string(json, NULL, text); \
	json_close(json, ']');
	DIFF_VERDICT_LIST(X)
#undef X
	json_close(json, ']');
}

static void write_diff(struct page *page)
{
	struct json *json = &page->parts.json;
	const struct frame_judge *judge = &page->judge;
	const struct difference *difference = page->given->difference;
	const struct significance *significance = &difference->significance;
	const struct diff_picture *picture = &page->given->picture;

	json_open(json, "diff", '{');
	json_string(json, "headline", page->given->picture.headline);
	json_bool(json, "normalized", page->given->picture.normalize);
	json_bool(json, "negate", page->given->picture.negate);
	json_string(json, "measure",
		    significance->options.measure == DIFF_WEIGHT && !picture->measure.weight
			    ? "weight_ns"
			    : "samples");
	json_number(json, "wide_by", judge->wide_by);
	json_real(json, "scale", judge->scale);
	json_real(json, "unit", judge->percent);
	json_real(json, "dispersion", judge->dispersion);
	json_real(json, "variation", judge->variation);
	json_bool(json, "variation_assumed", significance->assumed);
	json_real(json, "quantile", judge->quantile);
	json_number(json, "samples_min", SIGNIFICANCE_SAMPLES_MIN);
	json_open(json, "sides", '[');
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		write_side(page, side);
	json_close(json, ']');
	write_verdicts(json);
	if (difference->whole_judged)
		write_change(json, "whole", &difference->whole, difference->unit);
	else
		json_null(json, "whole");
	write_changes(page);
	json_close(json, '}');
}

static void write_all(struct page *page)
{
	struct json *json = &page->parts.json;
	const struct flame_paths *paths = page->given->picture.paths;

	json_open(json, NULL, '{');
	json_number(json, "format", 1);
	json_string(json, "fpless", FPL_VERSION);
	json_number(json, "samples", paths->samples[DIFF_BEFORE] + paths->samples[DIFF_AFTER]);
	json_number(json, "cut", paths->cut[DIFF_BEFORE] + paths->cut[DIFF_AFTER]);
	write_run(page);
	json_open(json, "books", '{');
	json_close(json, '}');
	html_parts_write_keys(&page->parts);
	html_parts_write_functions(&page->parts);
	write_groups(json);
	json_open(json, "trees", '[');
	html_parts_write_tree(&page->parts, &page->tree, "diff", false);
	json_close(json, ']');
	write_diff(page);
	html_parts_write_names(&page->parts);
	json_close(json, '}');
	putc('\n', json->to);
}

int diff_html_write(FILE *to, const struct diff_page *given, struct fpl_err *err)
{
	CLEANUP(page_fini)
	struct page page = { .given = given, .judge = frame_judge_make(&given->picture) };
	int error = html_page_begin(to, err);

	if (error)
		return error;
	make(&page, to);
	write_all(&page);
	html_page_end(to);
	return 0;
}
