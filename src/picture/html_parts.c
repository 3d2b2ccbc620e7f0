/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/walk_pair.h"
#include "recording/keys.h"
#include "recording/verdict_class.h"

/* A longer name is shown by its ends: a megabyte cannot be read, and every view would hold it. */
enum { NAME_MAX_BYTES = 2000, NAME_HEAD_BYTES = 1200, NAME_TAIL_BYTES = 400 };

void html_parts_init(FILE *to, const struct flame_paths *paths,
		     const struct call_functions *functions, struct html_parts *ret)
{
	*ret = (struct html_parts){
		.json = { .to = to, .in_markup = true },
		.paths = paths,
		.functions = functions,
		.names = must_calloc(paths->strings.nr, sizeof(*ret->names)),
		.written = must_calloc(paths->strings.nr, sizeof(*ret->written)),
	};
}

void html_parts_fini(struct html_parts *parts)
{
	free(parts->names);
	free(parts->written);
}

uint64_t html_min_total(uint64_t samples, double percent)
{
	double least = (double)samples * percent / 100;

	return least < 1 ? 1 : least > 1e18 ? (uint64_t)1e18 : (uint64_t)least;
}

size_t html_parts_name(struct html_parts *parts, uint32_t text)
{
	if (!parts->names[text]) {
		parts->written[parts->nr_names++] = text;
		parts->names[text] = (uint32_t)parts->nr_names;
	}
	return parts->names[text] - 1;
}

/* Labels, user code and the kernel, as the page numbers them. */
static unsigned kind_number(uint8_t kind)
{
	return kind == FUNCTION_KERNEL ? 2 : kind == FUNCTION_LABEL ? 0 : 1;
}

void html_parts_write_functions(struct html_parts *parts)
{
	struct json *json = &parts->json;
	const struct call_function *list = parts->functions->list;
	size_t nr = parts->functions->nr;

	json_open(json, "functions", '{');
	JSON_COLUMN(json, "name", nr, html_parts_name(parts, list[i].text));
	JSON_COLUMN(json, "object", nr, html_parts_name(parts, list[i].object));
	JSON_COLUMN(json, "kind", nr, kind_number(list[i].kind));
	JSON_COLUMN(json, "self", nr, list[i].self);
	JSON_COLUMN(json, "total", nr, list[i].total);
	json_close(json, '}');
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

/* [node, frames]... of the nodes that stand for frames left out of their stacks, if there are any.
 */
static void write_elided(struct html_parts *parts, const struct call_tree *tree)
{
	struct json *json = &parts->json;
	bool any = false;

	for (size_t i = 0; i < tree->nodes.nr; i++) {
		const struct call_node *node = &tree->nodes.list[i];
		uint32_t text = parts->functions->list[node->function].text;

		if (!node->elided || strcmp(flame_text(parts->paths, text), RECORDING_GAP) != 0)
			continue;
		if (!any)
			json_open(json, "elided", '[');
		any = true;
		json_next(json);
		fprintf(json->to, "[%zu,%u]", i, node->elided);
	}
	if (any)
		json_close(json, ']');
}

/* Write @counts: of each how many nodes behind the one before it is, group and kind, count. */
static void write_counts(struct json *json, const char *key, const struct call_counts *counts,
			 uint64_t kinds)
{
	uint32_t node = 0;

	json_open(json, key, '[');
	for (size_t i = 0; i < counts->nr; i++) {
		const struct call_count *count = &counts->list[i];

		write_triple(json, &node, count->node, kinds * count->group + count->kind,
			     count->count);
	}
	json_close(json, ']');
}

void html_parts_write_tree(struct html_parts *parts, const struct call_tree *tree, const char *walk,
			   bool marks)
{
	struct json *json = &parts->json;

	json_open(json, NULL, '{');
	json_string(json, "walk", walk);
	JSON_COLUMN(json, "function", tree->nodes.nr, tree->nodes.list[i].function);
	JSON_COLUMN(json, "depth", tree->nodes.nr, tree->nodes.list[i].depth);
	JSON_COLUMN(json, "found", tree->nodes.nr, tree->nodes.list[i].found);
	write_counts(json, "ends", &tree->ends, 2);
	if (marks)
		write_counts(json, "marks", &tree->marks, WALK_MARK_COUNT);
	write_elided(parts, tree);
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

void html_parts_write_names(struct html_parts *parts)
{
	struct json *json = &parts->json;

	json_open(json, "names", '[');
	for (size_t i = 0; i < parts->nr_names; i++) {
		const char *text = flame_text(parts->paths, parts->written[i]);
		size_t length = strlen(text);
		AUTO_FREE char *shorter = NULL;

		if (length > NAME_MAX_BYTES) {
			size_t head = character_end(text, NAME_HEAD_BYTES);
			size_t tail = character_end(text, length - NAME_TAIL_BYTES);

			shorter = must_asprintf("%.*s\u2026(%zu bytes)\u2026%s", (int)head, text,
						tail - head, text + tail);
		}
		json_string(json, NULL, shorter ? shorter : text);
	}
	json_close(json, ']');
}

static void write_key(struct json *json, const char *key, const char *text)
{
	json_open(json, NULL, '[');
	json_string(json, NULL, key);
	json_string(json, NULL, text);
	json_close(json, ']');
}

void html_parts_write_keys(struct html_parts *parts)
{
	struct json *json = &parts->json;

	json_open(json, "keys", '{');
	json_open(json, "stops", '[');
	for (unsigned i = 0; i < FPL_STOP_COUNT; i++)
		write_key(json, stop_key((enum fpl_stop)i), stop_text((enum fpl_stop)i));
	json_close(json, ']');
	json_open(json, "origins", '[');
	for (unsigned i = 0; i < FPL_ORIGIN_COUNT; i++)
		write_key(json, origin_key((enum fpl_origin)i), origin_text((enum fpl_origin)i));
	json_close(json, ']');
	json_open(json, "classes", '[');
	for (unsigned i = 0; i < VERDICT_CLASS_COUNT; i++)
		write_key(json, verdict_class_key((enum verdict_class)i),
			  verdict_class_text((enum verdict_class)i));
	json_close(json, ']');
	json_open(json, "states", '[');
	for (uint8_t i = RECORDING_STATE_ON_CPU; i < RECORDING_STATE_COUNT; i++)
		json_string(json, NULL, state_key(i));
	json_close(json, ']');
	json_close(json, '}');
}
