/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare_json.h"

#include "view/books.h"
#include "view/json.h"

static void write_counts(struct json *json, const uint64_t *counts, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		json_number(json, verdict_class_key((enum verdict_class)i), counts[i]);
}

static void write_reasons(struct json *json, const struct comparison *comparison)
{
	json_open(json, "unjudged", '{');
	for (unsigned i = 0; i < VERDICT_REASON_COUNT; i++)
		json_number(json, verdict_reason_key(i), comparison->reasons[i]);
	json_close(json, '}');
}

static void write_rules(struct json *json, const struct comparison *comparison)
{
	json_open(json, "at", '{');
	for (unsigned class = VERDICT_WRONG; class < VERDICT_UNJUDGED; class ++) {
		json_open(json, verdict_class_key((enum verdict_class) class), '{');
		for (unsigned i = 0; i < FP_RULE_COUNT; i++)
			json_number(json, fp_rule_key((enum fp_rule)i),
				    comparison->rules[class][i]);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void write_programs(struct json *json, const struct comparison *comparison)
{
	const struct comparison_table *table = &comparison->programs;

	json_open(json, "programs", '[');
	for (size_t i = 0; i < table->rows.nr; i++) {
		json_open(json, NULL, '{');
		json_string(json, "comm", table->rows.list[i].comm);
		json_number(json, "judged", comparison_judged(&table->rows.list[i]));
		write_counts(json, table->rows.list[i].counts, 0, VERDICT_CLASS_COUNT);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_object(struct json *json, const struct comparison *comparison, uint32_t id)
{
	if (id) {
		const struct profile_object *object = &comparison->names->profile->objects[id - 1];

		json_string(json, "object", object->path);
		json_string(json, "build_id", object->build_id);
	} else {
		json_null(json, "object");
		json_null(json, "build_id");
	}
}

static void write_objects(struct json *json, const struct comparison *comparison, const char *key,
			  const struct comparison_table *table)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < table->rows.nr; i++) {
		json_open(json, NULL, '{');
		write_object(json, comparison, table->rows.list[i].object);
		json_number(json, "samples", comparison_parted(&table->rows.list[i]));
		write_counts(json, table->rows.list[i].counts, VERDICT_WRONG, VERDICT_UNJUDGED);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_partings(struct json *json, const struct comparison *comparison)
{
	const struct comparison_table *table = &comparison->partings;
	uint64_t samples = 0;
	size_t i = 0;

	json_open(json, "partings", '[');
	for (; i < table->rows.nr && i < COMPARISON_NR_PARTINGS; i++) {
		const struct comparison_row *row = &table->rows.list[i];

		json_open(json, NULL, '{');
		json_number(json, "samples", comparison_parted(row));
		json_string(json, "class", verdict_class_key(row->class));
		json_string(json, "at", fp_rule_key(row->rule));
		json_string(json, "function", strings_text(&comparison->names->strings, row->text));
		write_object(json, comparison, row->object);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "partings_left", '{');
	json_number(json, "places", table->rows.nr - i);
	for (; i < table->rows.nr; i++)
		samples += comparison_parted(&table->rows.list[i]);
	json_number(json, "samples", samples);
	json_close(json, '}');
}

void compare_json_write(FILE *to, const struct comparison *comparison)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "compare");
	json_number(&json, "format", 1);
	json_number(&json, "fp_max", comparison->names->profile->fp_max);
	json_number(&json, "shown", comparison->shown);
	json_number(&json, "judged", comparison->judged);
	json_number(&json, "frames", comparison->frames);
	json_number(&json, "frames_common", comparison->frames_common);
	json_open(&json, "classes", '{');
	write_counts(&json, comparison->counts, 0, VERDICT_CLASS_COUNT);
	json_close(&json, '}');
	write_reasons(&json, comparison);
	write_rules(&json, comparison);
	write_programs(&json, comparison);
	write_objects(&json, comparison, "objects", &comparison->objects);
	write_objects(&json, comparison, "objects_before", &comparison->before);
	write_partings(&json, comparison);
	json_open(&json, "books", '{');
	books_write_json(&json, comparison->recording, comparison->shown);
	json_close(&json, '}');
	json_close(&json, '}');
	putc('\n', to);
}
