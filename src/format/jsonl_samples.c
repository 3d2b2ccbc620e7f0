/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_samples.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/keys.h"

enum column { TIME, STACK, TID, CPU, WEIGHT, NR_COLUMNS };

/* A line: its columns have equally many rows. */
struct line {
	json_object *columns[NR_COLUMNS];
	size_t nr;
};

static const struct {
	const char *key;
	uint64_t max;
} columns[NR_COLUMNS] = {
	[TIME] = { "time_ns", UINT64_MAX }, [STACK] = { "stack", UINT32_MAX },
	[TID] = { "tid", UINT32_MAX },	    [CPU] = { "cpu", UINT32_MAX },
	[WEIGHT] = { NULL, UINT64_MAX }, /* by its unit */
};

void jsonl_samples_fini(struct jsonl_samples *samples)
{
	free(samples->left);
}

static void begin(struct jsonl_samples *samples, const struct recording *recording)
{
	samples->left = must_calloc(recording->nr_stacks + 1, sizeof(*samples->left));
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		samples->left[i].count = recording->stacks[i].count;
		samples->left[i].weight = recording->stacks[i].weight;
	}
}

static const char *key_of(const struct reading *reading, enum column column)
{
	return column == WEIGHT ? weight_key(reading->recording) : columns[column].key;
}

static void read_columns(struct reading *reading, json_object *object, struct line *ret)
{
	for (size_t i = 0; !reading->error && i < NR_COLUMNS; i++) {
		const char *key = key_of(reading, (enum column)i);
		json_object *column = json_object_object_get(object, key);

		if (!json_object_is_type(column, json_type_array)) {
			reading_fail(reading, "\"%s\" is no list", key);
			return;
		}
		ret->columns[i] = column;
		if (!i)
			ret->nr = json_object_array_length(column);
		else if (json_object_array_length(column) != ret->nr)
			reading_fail(reading, "\"%s\" is a list of %zu, \"%s\" one of %zu", key,
				     json_object_array_length(column), columns[0].key, ret->nr);
	}
}

static uint64_t value_at(struct reading *reading, const struct line *line, enum column column,
			 size_t row)
{
	return jsonl_whole(reading, key_of(reading, column),
			   json_object_array_get_idx(line->columns[column], row),
			   columns[column].max);
}

/* Take @event from what its stack holds. */
static void take(struct jsonl_samples *samples, struct reading *reading,
		 const struct recording_event *event)
{
	if (event->stack >= reading->recording->nr_stacks)
		reading_fail(reading, "a sample of stack %" PRIu32 " where there are %zu",
			     event->stack, reading->recording->nr_stacks);
	else if (!samples->left[event->stack].count)
		reading_fail(reading, "more samples of stack %" PRIu32 " than its count",
			     event->stack);
	else if (event->weight > samples->left[event->stack].weight)
		reading_fail(reading, "samples of stack %" PRIu32 " weigh more than it does",
			     event->stack);
	if (reading->error)
		return;
	samples->left[event->stack].count--;
	samples->left[event->stack].weight -= event->weight;
	if (event->stack >= samples->next)
		samples->next = event->stack + 1;
}

/* The stack of a sample. In format 3, 0 is the one behind the highest before, others are above. */
static uint32_t read_stack(struct jsonl_samples *samples, struct reading *reading,
			   const struct line *line, size_t row)
{
	uint32_t stack = (uint32_t)value_at(reading, line, STACK, row);

	if (samples->by_news)
		stack = stack ? stack - 1 : samples->next;
	return stack;
}

static void read_row(struct jsonl_samples *samples, struct reading *reading,
		     const struct line *line, size_t row)
{
	uint64_t time_ns = value_at(reading, line, TIME, row);
	struct recording_event event = {
		.stack = read_stack(samples, reading, line, row),
		.tid = (uint32_t)value_at(reading, line, TID, row),
		.cpu = (uint32_t)value_at(reading, line, CPU, row),
		.weight = value_at(reading, line, WEIGHT, row),
	};

	/* the first of a line is a time, the others follow it */
	if (__builtin_add_overflow(row ? samples->last_ns : 0, time_ns, &event.time_ns) ||
	    event.time_ns < samples->last_ns)
		reading_fail(reading, "the times of samples do not ascend");
	samples->last_ns = event.time_ns;
	take(samples, reading, &event);
	if (!reading->error && reading->options->events)
		must_add_event(reading->recording, &event);
}

void jsonl_samples_read(struct jsonl_samples *samples, struct reading *reading, json_object *object)
{
	struct line line = { .nr = 0 };

	if (!samples->left)
		begin(samples, reading->recording);
	read_columns(reading, object, &line);
	for (size_t row = 0; !reading->error && row < line.nr; row++)
		read_row(samples, reading, &line, row);
}
