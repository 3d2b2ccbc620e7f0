/* SPDX-License-Identifier: Apache-2.0 */
#include "output/books.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Deeper keys keep their dots from there on. */
enum { DEPTH_MAX = 8, PART_MAX = 128 };

/* The objects that are open, by where their names end in the last key. */
struct nesting {
	const char *key; /* the last one; "" before the first */
	size_t ends[DEPTH_MAX];
	size_t depth;
};

/* Close what @key is not in, open what it is in; returns its own part. */
static const char *enter(struct json *json, struct nesting *nesting, const char *key)
{
	size_t kept = 0, at;
	const char *dot;

	while (kept < nesting->depth && !strncmp(key, nesting->key, nesting->ends[kept]) &&
	       key[nesting->ends[kept]] == '.')
		kept++;
	for (; nesting->depth > kept; nesting->depth--)
		json_close(json, '}');
	at = kept ? nesting->ends[kept - 1] + 1 : 0;
	while (nesting->depth < DEPTH_MAX && (dot = strchr(key + at, '.'))) {
		char part[PART_MAX];

		snprintf(part, sizeof(part), "%.*s", (int)(dot - (key + at)), key + at);
		json_open(json, part, '{');
		at = (size_t)(dot - key) + 1;
		nesting->ends[nesting->depth++] = at - 1;
	}
	nesting->key = key;
	return key + at;
}

void books_write_json(struct json *json, const struct recording *recording, uint64_t shown)
{
	struct nesting nesting = { .key = "" };
	bool has_shown = false;

	json_number(json, "format", 1);
	json_string(json, "event", recording_string(recording, recording->event));
	json_number(json, "hz", recording->hz);
	json_number(json, "period_ns", recording->period_ns);
	json_number(json, "duration_ms", recording->duration_ns / 1000000);
	json_number(json, "cpus", recording->nr_cpus);
	for (size_t i = 0; i < recording->nr_numbers; i++) {
		const struct recording_number *number = &recording->numbers[i];
		const char *key = recording_string(recording, number->key);
		bool is_shown = !strcmp(key, "shown");
		const char *part = enter(json, &nesting, key);

		json_number(json, part, is_shown ? shown : number->value);
		has_shown = has_shown || is_shown;
	}
	for (; nesting.depth; nesting.depth--)
		json_close(json, '}');
	if (!has_shown)
		json_number(json, "shown", shown);
}
