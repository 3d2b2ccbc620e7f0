/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html_time.h"

#include <stdlib.h>

#include "base/alloc.h"

void html_time_fini(struct html_time *time)
{
	free(time->list);
}

static int compare_moments(const void *left, const void *right)
{
	const struct html_moment *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->what != b->what)
		return a->what < b->what ? -1 : 1;
	return (a->slice > b->slice) - (a->slice < b->slice);
}

/* One of those that are alike. */
static void merge(struct html_time *time)
{
	size_t nr = 0;

	for (size_t i = 0; i < time->nr; i++) {
		if (nr && !compare_moments(&time->list[nr - 1], &time->list[i]))
			time->list[nr - 1].shown += time->list[i].shown;
		else
			time->list[nr++] = time->list[i];
	}
	time->nr = nr;
}

/* How long a slice is, and how many there are. */
static void choose_slices(const struct recording *recording, const struct measure *measure,
			  struct html_time *time)
{
	uint64_t from = recording->events[0].time_ns;
	/* what a sample stands for is a period, too */
	uint64_t period = recording_period_ns(recording)
				  ? recording_period_ns(recording)
				  : measure_took_ns(measure, recording->events[0].weight);
	uint64_t span = recording->events[recording->nr_events - 1].time_ns - from;

	time->from_ns = from;
	time->slice_ns = span / HTML_TIME_SLICES + 1;
	/* as many samples may come in each: else there are teeth that nothing ran in */
	if (period)
		time->slice_ns += period - 1 - (time->slice_ns - 1) % period;
	time->nr_slices = (uint32_t)(span / time->slice_ns) + 1;
}

void html_time_make(const struct recording *recording, const uint32_t *groups,
		    const struct call_tree *tree, size_t nr_max, struct html_time *ret)
{
	struct measure measure;

	*ret = (struct html_time){ 0 };
	if (!recording->nr_events)
		return;
	ret->list = must_calloc(recording->nr_events, sizeof(*ret->list));
	measure_init(recording, &measure);
	choose_slices(recording, &measure, ret);
	for (size_t i = 0; i < recording->nr_events; i++) {
		const struct recording_event *event = &recording->events[i];
		const struct call_place *place = &tree->places[event->stack];

		ret->list[i] = (struct html_moment){
			.node = place->node,
			.what = 2 * groups[event->stack] + place->left,
			.slice = (uint32_t)((event->time_ns - ret->from_ns) / ret->slice_ns),
			.shown = measure_of(&measure, 1, event->weight),
		};
		ret->shown += ret->list[i].shown;
	}
	ret->nr = recording->nr_events;
	qsort(ret->list, ret->nr, sizeof(*ret->list), compare_moments);
	merge(ret);
	/* order stays as it is where two neighbouring slices become one */
	while (ret->nr > nr_max && ret->nr_slices > 1) {
		ret->slice_ns *= 2;
		ret->nr_slices = (ret->nr_slices + 1) / 2;
		for (size_t i = 0; i < ret->nr; i++)
			ret->list[i].slice /= 2;
		merge(ret);
	}
}

void html_time_write(struct json *json, const struct html_time *time)
{
	uint32_t node = 0;

	if (!time->nr_slices)
		return;
	json_open(json, "time", '{');
	json_number(json, "from_ns", time->from_ns);
	json_number(json, "slice_ns", time->slice_ns);
	json_number(json, "slices", time->nr_slices);
	json_number(json, "samples", time->shown);
	json_open(json, "moments", '[');
	for (size_t i = 0; i < time->nr; i++) {
		const struct html_moment *moment = &time->list[i];

		json_number(json, NULL, moment->node - node);
		json_number(json, NULL, moment->what);
		json_number(json, NULL, moment->slice);
		json_number(json, NULL, moment->shown);
		node = moment->node;
	}
	json_close(json, ']');
	json_close(json, '}');
}
