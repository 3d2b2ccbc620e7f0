/* SPDX-License-Identifier: Apache-2.0 */
#include "view/books.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "recording/keys.h"

/* Deeper keys keep their dots from there on. */
enum { DEPTH_MAX = 8, PART_MAX = 128 };

/* The open objects and lists, each by the end of its name in the last key. */
struct nesting {
	const char *key; /* the last one; "" before the first */
	size_t ends[DEPTH_MAX];
	bool lists[DEPTH_MAX];
	size_t depth;
};

static void leave(struct json *json, struct nesting *nesting, size_t depth)
{
	for (; nesting->depth > depth; nesting->depth--)
		json_close(json, nesting->lists[nesting->depth - 1] ? ']' : '}');
}

/* Elements have no names. */
static const char *name_in(const struct nesting *nesting, const char *name)
{
	return nesting->depth && nesting->lists[nesting->depth - 1] ? NULL : name;
}

static void open_part(struct json *json, struct nesting *nesting, const char *part, size_t length)
{
	bool list = length > 2 && part[length - 2] == '[' && part[length - 1] == ']';
	char name[PART_MAX];

	snprintf(name, sizeof(name), "%.*s", (int)(list ? length - 2 : length), part);
	json_open(json, name_in(nesting, name), list ? '[' : '{');
	nesting->ends[nesting->depth] = (size_t)(part - nesting->key) + length;
	nesting->lists[nesting->depth++] = list;
}

/* Close what @key is not in and open what it is in. Returns its own part; NULL: it is a list. */
static const char *enter(struct json *json, struct nesting *nesting, const char *key)
{
	size_t kept = 0;
	const char *part = key, *dot;

	while (kept < nesting->depth && !strncmp(key, nesting->key, nesting->ends[kept]) &&
	       key[nesting->ends[kept]] == '.')
		kept++;
	leave(json, nesting, kept);
	nesting->key = key;
	if (kept)
		part += nesting->ends[kept - 1] + 1;
	for (; nesting->depth < DEPTH_MAX && (dot = strchr(part, '.')); part = dot + 1)
		open_part(json, nesting, part, (size_t)(dot - part));

	size_t length = strlen(part);

	if (length > 2 && !strcmp(part + length - 2, "[]") && nesting->depth < DEPTH_MAX) {
		open_part(json, nesting, part, length);
		return NULL;
	}
	return part;
}

static void write_number(struct json *json, const struct recording *recording,
			 struct nesting *nesting, const struct recording_number *number)
{
	const char *part = enter(json, nesting, recording_string(recording, number->key));

	if (!part)
		return;
	part = name_in(nesting, part);
	if (number->note == RECORDING_NO_NOTE)
		json_null(json, part);
	else if (number->note)
		json_string(json, part, recording_string(recording, number->note));
	else
		json_number(json, part, number->value);
}

void books_write_source(struct json *json, const struct recording *recording, size_t i)
{
	const struct recording_source *source = &recording->sources[i];

	json_string(json, "event", recording_string(recording, source->event));
	if (source->weight_type)
		json_string(json, "weight_type", recording_string(recording, source->weight_type));
	if (source->weight_unit)
		json_string(json, "weight_unit", recording_string(recording, source->weight_unit));
	json_number(json, source->weight_unit ? "period" : "period_ns", source->period);
	json_number(json, "hz", source->hz);
}

/* Write each of several sources with what is shown of it: the sums of its stacks. */
static void write_sources(struct json *json, const struct recording *recording)
{
	uint64_t shown[RECORDING_SOURCES_MAX] = { 0 }, weight[RECORDING_SOURCES_MAX] = { 0 };

	if (!recording->nr_sources)
		return;
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		shown[recording->stacks[i].source] += recording->stacks[i].count;
		weight[recording->stacks[i].source] += recording->stacks[i].weight;
	}
	json_open(json, "sources", '[');
	for (size_t i = 0; i < recording->nr_sources; i++) {
		json_open(json, NULL, '{');
		books_write_source(json, recording, i);
		json_number(json, "shown", shown[i]);
		json_number(json, recording->sources[i].weight_unit ? "weight" : "weight_ns",
			    weight[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void books_write_json(struct json *json, const struct recording *recording, uint64_t shown)
{
	struct nesting nesting = { .key = "" };
	bool has_shown = false;

	json_number(json, "format", 1);
	json_string(json, "event", recording_string(recording, recording->event));
	json_number(json, "hz", recording->hz);
	if (recording->weight_type)
		json_string(json, "weight_type",
			    recording_string(recording, recording->weight_type));
	if (recording->weight_unit)
		json_string(json, "weight_unit",
			    recording_string(recording, recording->weight_unit));
	json_number(json, period_key(recording), recording->period);
	json_number(json, "duration_ms", recording->duration_ns / 1000000);
	json_number(json, "cpus", recording->nr_cpus);
	write_sources(json, recording);
	for (size_t i = 0; i < recording->nr_numbers; i++) {
		struct recording_number number = recording->numbers[i];

		if (!strcmp(recording_string(recording, number.key), "shown")) {
			number.value = shown;
			has_shown = true;
		}
		write_number(json, recording, &nesting, &number);
	}
	leave(json, &nesting, 0);
	if (!has_shown)
		json_number(json, "shown", shown);
}
