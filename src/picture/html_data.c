/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/call_groups.h"
#include "picture/html_code.h"
#include "picture/html_parts.h"
#include "picture/html_threads.h"
#include "picture/html_time.h"
#include "picture/picture_options.h"
#include "view/books.h"
#include "view/measure.h"

/* Processes, and ways their stacks end, that a page tells apart; beyond, names of processes alone.
 */
enum { GROUPS_MAX = 20000 };

/* All that is written. */
struct page {
	struct html_parts parts;
	const struct recording *recording;
	const struct picture_options *look; /* borrowed */
	bool pair;			    /* both walks */
	struct flame_paths paths;
	struct call_functions functions;
	struct call_groups groups;
	struct call_tree trees[FLAME_SIDES]; /* CFI, or whatever there is; frame pointers */
	struct html_time time;		     /* of one walk alone, as the threads */
	struct html_threads threads;
	const struct annotations *code; /* borrowed; NULL: none */
};

static void page_fini(struct page *page)
{
	flame_paths_fini(&page->paths);
	call_functions_fini(&page->functions);
	call_groups_fini(&page->groups);
	for (unsigned side = 0; side < FLAME_SIDES; side++)
		call_tree_fini(&page->trees[side]);
	html_time_fini(&page->time);
	html_threads_fini(&page->threads);
	html_parts_fini(&page->parts);
}

static bool has_pair(const struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].has & RECORDING_HAS_FP)
			return true;
	return false;
}

static int make_paths(struct page *page, const struct format_options *options, struct fpl_err *err)
{
	const struct flame_paths_options paths_options = {
		.text = { .addresses = options->addresses,
			  .symbols_only = page->pair || options->inlined == FORMAT_INLINED_NEVER,
			  .lines = options->lines,
			  .by_function = true,
			  .verbatim = true,
			  /* marks of two walks are those of their frames */
			  .fold_recursion = options->fold_recursion && !page->pair },
		.delimited = options->delimited && !page->pair,
	};
	struct flame_paths_options other = paths_options;
	int error;

	flame_paths_init(&page->paths);
	other.walk = MERGE_FP;
	error = flame_paths_add(&page->paths, page->recording, &paths_options, 0, err);
	if (!error && page->pair)
		error = flame_paths_add(&page->paths, page->recording, &other, 1, err);
	return error;
}

static void make_trees(struct page *page)
{
	call_functions_make(&page->paths, 1, &page->functions);
	call_groups_make(page->recording, GROUPS_MAX, &page->groups);
	if (page->code)
		call_groups_split(&page->groups, page->recording, page->code->rows);
	for (unsigned side = 0; side <= page->pair; side++) {
		const struct call_tree_options tree_options = {
			.sides = 1u << side,
			.min_total = html_min_total(page->paths.samples[0], page->look->min_share),
			.nodes_max = HTML_NODES_MAX,
			.nr_stacks = page->pair ? 0 : page->recording->nr_stacks,
			.groups = page->groups.of_stacks,
			.marked = page->pair ? page->recording : NULL,
		};

		call_tree_make(&page->paths, &page->functions, &tree_options, &page->trees[side]);
	}
	if (page->pair)
		return;
	html_time_make(page->recording, page->groups.of_stacks, &page->trees[0], HTML_NODES_MAX,
		       &page->time);
	html_threads_make(page->recording, page->groups.of_stacks, &page->trees[0], &page->time,
			  HTML_NODES_MAX, &page->paths, &page->threads);
}

/* @value, or -1 where it is not known. */
static void write_known(struct json *json, bool known, uint64_t value)
{
	json_next(json);
	if (known)
		fprintf(json->to, "%llu", (unsigned long long)value);
	else
		fputs("-1", json->to);
}

static void write_row(struct json *json, const struct call_row *row)
{
	json_number(json, NULL, row->group);
	json_number(json, NULL, row->row);
}

static void write_groups(struct page *page, const uint32_t *comms)
{
	struct json *json = &page->parts.json;
	const struct call_group *list = page->groups.all.list;
	size_t nr = page->groups.all.nr;

	json_open(json, "groups", '{');
	JSON_COLUMN(json, "comm", nr, html_parts_name(&page->parts, comms[i]));
	JSON_ARRAY(json, "pid", nr, write_known(json, list[i].has_pid, list[i].pid));
	JSON_ARRAY(json, "stop", nr,
		   write_known(json, list[i].stop < FPL_STOP_COUNT, list[i].stop));
	JSON_COLUMN(json, "origins", nr, list[i].origins);
	JSON_ARRAY(json, "class", nr, write_known(json, list[i].has_class, list[i].class));
	JSON_ARRAY(json, "state", nr, write_known(json, list[i].state, list[i].state - 1u));
	if (page->code)
		JSON_ARRAY(json, "rows", page->groups.rows.nr,
			   write_row(json, &page->groups.rows.list[i]));
	json_close(json, '}');
}

static void write_run(struct page *page)
{
	struct json *json = &page->parts.json;
	const struct recording *recording = page->recording;
	struct measure measure;

	measure_init(recording, &measure);
	json_open(json, "run", '{');
	json_string(json, "event", recording_string(recording, recording->event));
	json_string(json, "title", page->look->title ? page->look->title : "");
	json_string(json, "count_name", page->look->count_name ? page->look->count_name : "");
	json_bool(json, "inverted", page->look->inverted);
	json_bool(json, "by_origin", page->look->colors == PICTURE_COLORS_ORIGIN);
	json_string(json, "sample_type", measure.type);
	json_string(json, "sample_unit", measure.unit);
	json_number(json, "hz", recording->hz);
	json_number(json, "period_ns", recording_period_ns(recording));
	json_number(json, "start_ms", recording->start_unix_ns / 1000000);
	json_number(json, "duration_ms", recording->duration_ns / 1000000);
	json_number(json, "cpus", recording->nr_cpus);
	json_string(json, "kernel", recording_string(recording, recording->kernel));
	JSON_ARRAY(json, "args", recording->nr_args,
		   json_string(json, NULL, recording_string(recording, recording->args[i])));
	json_close(json, '}');
	json_open(json, "books", '{');
	books_write_json(json, recording, recording_shown(recording));
	json_close(json, '}');
}

static void write_all(struct page *page, FILE *to)
{
	struct json *json = &page->parts.json;
	AUTO_FREE uint32_t *comms = must_calloc(page->groups.all.nr, sizeof(*comms));

	for (size_t i = 0; i < page->groups.all.nr; i++)
		comms[i] = must_strings_intern(
			&page->paths.strings,
			recording_string(page->recording, page->groups.all.list[i].comm));
	html_parts_init(to, &page->paths, &page->functions, &page->parts);
	json_open(json, NULL, '{');
	json_number(json, "format", page->code ? 2 : 1);
	json_string(json, "fpless", FPL_VERSION);
	json_number(json, "samples", page->paths.samples[0]);
	json_number(json, "cut", page->paths.cut[0]);
	write_run(page);
	html_parts_write_keys(&page->parts);
	html_parts_write_functions(&page->parts);
	write_groups(page, comms);
	json_open(json, "trees", '[');
	html_parts_write_tree(&page->parts, &page->trees[0], "cfi", page->pair);
	if (page->pair)
		html_parts_write_tree(&page->parts, &page->trees[1], "fp", true);
	json_close(json, ']');
	html_time_write(json, &page->time);
	html_threads_write(&page->parts, &page->threads);
	html_code_write(json, page->code);
	html_parts_write_names(&page->parts);
	json_close(json, '}');
	putc('\n', json->to);
}

int html_data_write(FILE *to, const struct recording *recording,
		    const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(page_fini)
	struct page page = { .recording = recording, .code = options->code };
	int error;

	page.look = options->picture ? options->picture : &picture_options_usual;
	page.pair = has_pair(recording);
	error = make_paths(&page, options, err);
	if (error)
		return error;
	make_trees(&page);
	write_all(&page, to);
	*ret_shown = page.paths.samples[0];
	return 0;
}
