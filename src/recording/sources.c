/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* States that an event's samples are wanted in. */
enum wanted_state { ANY_STATE, ON_CPU, OFF_CPU };

static const struct {
	const char *word, *event;
	enum wanted_state state;
} words[] = {
	{ "cpu", "cpu-clock", ANY_STATE },    { "cpu", "task-clock", ANY_STATE },
	{ "cpu", "cpu-cycles", ANY_STATE },   { "cpu", "wall", ON_CPU },
	{ "off-cpu", "blocked", ANY_STATE },  { "off-cpu", "wall", OFF_CPU },
	{ "heap", "allocations", ANY_STATE }, { "heap", "rss", ANY_STATE },
};

static bool is_state(enum wanted_state wanted, uint8_t state)
{
	return wanted == ANY_STATE || state == RECORDING_STATE_COUNT ||
	       (wanted == ON_CPU ? state == RECORDING_STATE_ON_CPU
				 : recording_state_is_off_cpu(state));
}

bool sources_word_means(const char *word, const char *event, uint8_t state)
{
	if (!strcmp(word, event))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].word, word) && !strcmp(words[i].event, event))
			return is_state(words[i].state, state);
	return false;
}

struct recording_source sources_at(const struct recording *recording, size_t i)
{
	if (recording->nr_sources)
		return recording->sources[i];
	return (struct recording_source){
		.event = recording->event,
		.weight_type = recording->weight_type,
		.weight_unit = recording->weight_unit,
		.hz = recording->hz,
		.period = recording->period,
	};
}

static size_t find(const struct recording *recording, const char *name, bool by_type)
{
	for (size_t i = 0; i < sources_nr(recording); i++) {
		struct recording_source source = sources_at(recording, i);
		const char *type = recording_string(recording, source.weight_type);

		if (!strcmp(name, by_type ? *type ? type : "cpu"
					  : recording_string(recording, source.event)))
			return i;
	}
	return SOURCES_NONE;
}

size_t sources_find(const struct recording *recording, const char *event)
{
	return find(recording, event, false);
}

size_t sources_find_type(const struct recording *recording, const char *name)
{
	size_t i = find(recording, name, false);

	return i == SOURCES_NONE ? find(recording, name, true) : i;
}

/* Set the text of all events, with commas between them. */
static int set_events(struct recording *recording, const struct recording_source *list, size_t nr)
{
	AUTO_FREE char *text = NULL;
	size_t size = 1;
	FILE *to = open_memstream(&text, &size);
	int err;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		fprintf(to, "%s%s", i ? "," : "", recording_string(recording, list[i].event));
	err = ferror(to);
	if (fclose(to) || err)
		return -ENOMEM;
	return recording_add_text(recording, text, &recording->event);
}

/* Weights of one unit have a sum, of events of that unit; weights of several have none. */
static int set_weight(struct recording *recording, const struct recording_source *list, size_t nr)
{
	bool is_one_type = true, is_one_unit = true;
	int err = 0;

	for (size_t i = 1; i < nr; i++) {
		is_one_type = is_one_type && list[i].weight_type == list[0].weight_type;
		is_one_unit = is_one_unit && list[i].weight_unit == list[0].weight_unit;
	}
	recording->weight_type = is_one_type ? list[0].weight_type : 0;
	recording->weight_unit = list[0].weight_unit;
	if (!is_one_unit)
		err = recording_add_text(recording, RECORDING_MIXED, &recording->weight_unit);
	else if (!is_one_type)
		err = recording_add_text(recording, "events", &recording->weight_type);
	recording->by_count = !is_one_unit;
	return err;
}

int sources_set(struct recording *recording, const struct recording_source *list, size_t nr)
{
	int err;

	if (nr > RECORDING_SOURCES_MAX)
		return -E2BIG;
	memmove(recording->sources, list, nr * sizeof(*list));
	recording->nr_sources = nr;
	if (nr == 1) {
		sources_choose(recording, 0);
		return 0;
	}
	err = set_events(recording, recording->sources, nr);
	if (!err)
		err = set_weight(recording, recording->sources, nr);
	recording->hz = recording->period = 0;
	return err;
}

void sources_choose(struct recording *recording, size_t i)
{
	struct recording_source source = sources_at(recording, i);

	recording->event = source.event;
	recording->weight_type = source.weight_type;
	recording->weight_unit = source.weight_unit;
	recording->hz = source.hz;
	recording->period = source.period;
	if (recording->nr_sources)
		recording->by_count = false;
	recording->nr_sources = 0;
}
