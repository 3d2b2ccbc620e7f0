/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "picture/call_groups.h"
#include "picture/call_tree.h"
#include "picture/picture_options.h"
#include "picture/walk_pair.h"
#include "view/books.h"
#include "view/json.h"
#include "view/keys.h"
#include "view/verdict_class.h"

/* Processes, and ways their stacks end, that a page tells apart; beyond, names of processes alone.
 */
enum { GROUPS_MAX = 20000 };

/* What is longer is shown by its ends: nobody reads a megabyte, and every view would hold it. */
enum { NAME_MAX_BYTES = 2000, NAME_HEAD_BYTES = 1200, NAME_TAIL_BYTES = 400 };

/* All that is written. */
struct page {
	struct json json;
	const struct recording *recording;
	const struct picture_options *look; /* borrowed */
	bool pair;			    /* both walks */
	struct flame_paths paths;
	struct call_functions functions;
	struct call_groups groups;
	struct call_tree trees[FLAME_SIDES]; /* CFI, or whatever there is; frame pointers */
	uint32_t
		*names; /* owned: of texts of the paths, where in names they are, + 1; 0: not yet */
	uint32_t *written; /* owned [nr_names]: texts */
	size_t nr_names;
};

static void page_fini(struct page *page)
{
	flame_paths_fini(&page->paths);
	call_functions_fini(&page->functions);
	call_groups_fini(&page->groups);
	for (unsigned side = 0; side < FLAME_SIDES; side++)
		call_tree_fini(&page->trees[side]);
	free(page->names);
	free(page->written);
}

static bool has_pair(const struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].has & RECORDING_HAS_FP)
			return true;
	return false;
}

/* Fewer samples than this are left out: @percent of all. */
static uint64_t min_total(const struct page *page, double percent)
{
	double samples = (double)page->paths.samples[0] * percent / 100;

	return samples < 1 ? 1 : samples > 1e18 ? (uint64_t)1e18 : (uint64_t)samples;
}

static int make_paths(struct page *page, const struct format_options *options, struct fpl_err *err)
{
	const struct flame_paths_options paths_options = {
		.text = { .by_function = true,
			  .symbols_only = page->pair || options->inlined == FORMAT_INLINED_NEVER,
			  .lines = options->lines,
			  .verbatim = true },
		.delimited = options->delimited && !page->pair,
	};
	struct flame_paths_options other = paths_options;
	int error = flame_paths_init(&page->paths);

	other.walk = MERGE_FP;
	if (!error)
		error = flame_paths_add(&page->paths, page->recording, &paths_options, 0, err);
	if (!error && page->pair)
		error = flame_paths_add(&page->paths, page->recording, &other, 1, err);
	return error;
}

static int make_trees(struct page *page)
{
	int error = call_functions_make(&page->paths, &page->functions);

	if (!error)
		error = call_groups_make(page->recording, GROUPS_MAX, &page->groups);
	for (unsigned side = 0; !error && side <= page->pair; side++) {
		const struct call_tree_options tree_options = {
			.side = side,
			.min_total = min_total(page, page->look->min_share),
			.nodes_max = HTML_NODES_MAX,
			.groups = page->groups.of_stacks,
			.marked = page->pair ? page->recording : NULL,
		};

		error = call_tree_make(&page->paths, &page->functions, &tree_options,
				       &page->trees[side]);
	}
	return error;
}

static size_t name_of(struct page *page, uint32_t text)
{
	if (!page->names[text]) {
		page->written[page->nr_names++] = text;
		page->names[text] = (uint32_t)page->nr_names;
	}
	return page->names[text] - 1;
}

static void write_numbers(struct page *page, const char *key, const struct call_function *list,
			  uint64_t (*of)(struct page *page, const struct call_function *function))
{
	json_open(&page->json, key, '[');
	for (size_t i = 0; i < page->functions.nr; i++)
		json_number(&page->json, NULL, of(page, &list[i]));
	json_close(&page->json, ']');
}

static uint64_t function_name(struct page *page, const struct call_function *function)
{
	return name_of(page, function->text);
}

static uint64_t function_object(struct page *page, const struct call_function *function)
{
	return name_of(page, function->object);
}

/* Labels, user code and the kernel, as the page numbers them. */
static uint64_t function_kind(struct page *page, const struct call_function *function)
{
	(void)page;
	return function->kind == FLAME_KERNEL ? 2 : function->kind == FLAME_LABEL ? 0 : 1;
}

static uint64_t function_self(struct page *page, const struct call_function *function)
{
	(void)page;
	return function->self;
}

static uint64_t function_total(struct page *page, const struct call_function *function)
{
	(void)page;
	return function->total;
}

static void write_functions(struct page *page)
{
	const struct call_function *list = page->functions.list;

	json_open(&page->json, "functions", '{');
	write_numbers(page, "name", list, function_name);
	write_numbers(page, "object", list, function_object);
	write_numbers(page, "kind", list, function_kind);
	write_numbers(page, "self", list, function_self);
	write_numbers(page, "total", list, function_total);
	json_close(&page->json, '}');
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

static int write_groups(struct page *page, const uint32_t *comms)
{
	struct json *json = &page->json;
	const struct call_groups *groups = &page->groups;

	json_open(json, "groups", '{');
	json_open(json, "comm", '[');
	for (size_t i = 0; i < groups->nr; i++)
		json_number(json, NULL, name_of(page, comms[i]));
	json_close(json, ']');
	json_open(json, "pid", '[');
	for (size_t i = 0; i < groups->nr; i++)
		write_known(json, groups->list[i].has_pid, groups->list[i].pid);
	json_close(json, ']');
	json_open(json, "stop", '[');
	for (size_t i = 0; i < groups->nr; i++)
		write_known(json, groups->list[i].stop < FPL_STOP_COUNT, groups->list[i].stop);
	json_close(json, ']');
	json_open(json, "origins", '[');
	for (size_t i = 0; i < groups->nr; i++)
		json_number(json, NULL, groups->list[i].origins);
	json_close(json, ']');
	json_open(json, "class", '[');
	for (size_t i = 0; i < groups->nr; i++)
		write_known(json, groups->list[i].has_class, groups->list[i].class);
	json_close(json, ']');
	json_close(json, '}');
	return 0;
}

/* A list of numbers in threes: how many nodes further on, group and kind in one, samples. */
static void write_triple(struct json *json, uint32_t *node, uint32_t next, uint64_t what,
			 uint64_t count)
{
	json_number(json, NULL, next - *node);
	json_number(json, NULL, what);
	json_number(json, NULL, count);
	*node = next;
}

static void write_tree(struct page *page, const struct call_tree *tree, const char *walk)
{
	struct json *json = &page->json;
	uint32_t node = 0;

	json_open(json, NULL, '{');
	json_string(json, "walk", walk);
	json_open(json, "function", '[');
	for (size_t i = 0; i < tree->nr; i++)
		json_number(json, NULL, tree->nodes[i].function);
	json_close(json, ']');
	json_open(json, "depth", '[');
	for (size_t i = 0; i < tree->nr; i++)
		json_number(json, NULL, tree->nodes[i].depth);
	json_close(json, ']');
	json_open(json, "found", '[');
	for (size_t i = 0; i < tree->nr; i++)
		json_number(json, NULL, tree->nodes[i].found);
	json_close(json, ']');
	json_open(json, "ends", '[');
	for (size_t i = 0; i < tree->nr_ends; i++) {
		const struct call_end *end = &tree->ends[i];

		write_triple(json, &node, end->node, 2ull * end->group + end->left, end->count);
	}
	json_close(json, ']');
	if (page->pair) {
		node = 0;
		json_open(json, "marks", '[');
		for (size_t i = 0; i < tree->nr_marks; i++) {
			const struct call_mark *mark = &tree->marks[i];

			write_triple(json, &node, mark->node,
				     (uint64_t)WALK_MARK_COUNT * mark->group + mark->mark,
				     mark->count);
		}
		json_close(json, ']');
	}
	json_open(json, "left_out", '{');
	json_number(json, "nodes", tree->left_nodes);
	json_number(json, "min_samples", tree->min_total);
	json_close(json, '}');
	json_close(json, '}');
}

/* The end of a character at or before @at. */
static size_t character_end(const char *text, size_t at)
{
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static int write_names(struct page *page)
{
	struct json *json = &page->json;

	json_open(json, "names", '[');
	for (size_t i = 0; i < page->nr_names; i++) {
		const char *text = flame_text(&page->paths, page->written[i]);
		size_t length = strlen(text);
		AUTO_FREE char *shorter = NULL;

		if (length > NAME_MAX_BYTES) {
			size_t head = character_end(text, NAME_HEAD_BYTES);
			size_t tail = character_end(text, length - NAME_TAIL_BYTES);

			if (asprintf(&shorter, "%.*s\u2026(%zu bytes)\u2026%s", (int)head, text,
				     tail - head, text + tail) < 0) {
				shorter = NULL; /* asprintf leaves it undefined */
				return -ENOMEM;
			}
		}
		json_string(json, NULL, shorter ? shorter : text);
	}
	json_close(json, ']');
	return 0;
}

static void write_run(struct page *page)
{
	struct json *json = &page->json;
	const struct recording *recording = page->recording;

	json_open(json, "run", '{');
	json_string(json, "event", recording_string(recording, recording->event));
	json_string(json, "title", page->look->title ? page->look->title : "");
	json_string(json, "count_name", page->look->count_name ? page->look->count_name : "");
	json_bool(json, "inverted", page->look->inverted);
	json_bool(json, "by_origin", page->look->colors == PICTURE_COLORS_ORIGIN);
	json_string(json, "sample_type", recording_string(recording, recording->sample_type));
	json_string(json, "sample_unit", recording_string(recording, recording->sample_unit));
	json_number(json, "hz", recording->hz);
	json_number(json, "period_ns", recording->period_ns);
	json_number(json, "start_ms", recording->start_unix_ns / 1000000);
	json_number(json, "duration_ms", recording->duration_ns / 1000000);
	json_number(json, "cpus", recording->nr_cpus);
	json_string(json, "kernel", recording_string(recording, recording->kernel));
	json_open(json, "args", '[');
	for (size_t i = 0; i < recording->nr_args; i++)
		json_string(json, NULL, recording_string(recording, recording->args[i]));
	json_close(json, ']');
	json_close(json, '}');
	json_open(json, "books", '{');
	books_write_json(json, recording, page->paths.samples[0]);
	json_close(json, '}');
}

static void write_key(struct json *json, const char *key, const char *text)
{
	json_open(json, NULL, '[');
	json_string(json, NULL, key);
	json_string(json, NULL, text);
	json_close(json, ']');
}

/* What the numbers of stops, origins and classes mean. */
static void write_keys(struct json *json)
{
	static const char *const origins[FPL_ORIGIN_COUNT] = {
		[FPL_ORIGIN_CFI] = "by CFI, in the kernel",
		[FPL_ORIGIN_CFI_USER] = "by CFI, of a snapshot of the stack",
		[FPL_ORIGIN_FP] = "by a frame-pointer step, for want of CFI",
		[FPL_ORIGIN_SYNTH] = "by a row made for code without CFI",
	};

	json_open(json, "keys", '{');
	json_open(json, "stops", '[');
#define X(name, key, text) write_key(json, #key, text);
	FPL_STOP_LIST(X)
#undef X
	json_close(json, ']');
	json_open(json, "origins", '[');
#define X(name, key, suffix) write_key(json, #key, origins[FPL_ORIGIN_##name]);
	FPL_ORIGIN_LIST(X)
#undef X
	json_close(json, ']');
	json_open(json, "classes", '[');
#define X(name, key, text) write_key(json, #key, text);
	VERDICT_CLASS_LIST(X)
#undef X
	write_key(json, verdict_class_key(VERDICT_UNJUDGED),
		  "there is no CFI walk, complete and by CFI alone, to judge it by");
	json_close(json, ']');
	json_close(json, '}');
}

static int write_all(struct page *page)
{
	struct json *json = &page->json;
	AUTO_FREE uint32_t *comms = calloc(page->groups.nr + 1, sizeof(*comms));

	if (!comms)
		return -ENOMEM;
	for (size_t i = 0; i < page->groups.nr; i++)
		if (strings_intern(&page->paths.strings,
				   recording_string(page->recording, page->groups.list[i].comm),
				   &comms[i]))
			return -ENOMEM;
	page->names = calloc(page->paths.strings.nr + 1, sizeof(*page->names));
	page->written = calloc(page->paths.strings.nr + 1, sizeof(*page->written));
	if (!page->names || !page->written)
		return -ENOMEM;
	json_open(json, NULL, '{');
	json_number(json, "format", 1);
	json_string(json, "fpless", FPL_VERSION);
	json_number(json, "samples", page->paths.samples[0]);
	json_number(json, "cut", page->paths.cut[0]);
	write_run(page);
	write_keys(json);
	write_functions(page);
	write_groups(page, comms);
	json_open(json, "trees", '[');
	write_tree(page, &page->trees[0], "cfi");
	if (page->pair)
		write_tree(page, &page->trees[1], "fp");
	json_close(json, ']');
	if (write_names(page))
		return -ENOMEM;
	json_close(json, '}');
	putc('\n', json->to);
	return 0;
}

int html_data_write(FILE *to, const struct recording *recording,
		    const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(page_fini)
	struct page page = { .json = { .to = to, .in_markup = true }, .recording = recording };
	int error;

	page.look = options->picture ? options->picture : &picture_options_usual;
	page.pair = has_pair(recording);
	error = make_paths(&page, options, err);
	if (!error)
		error = make_trees(&page);
	if (!error)
		error = write_all(&page);
	if (error)
		return fpl_fail(err, error, "out of memory for %zu stacks", recording->nr_stacks);
	*ret_shown = page.paths.samples[0];
	return 0;
}
