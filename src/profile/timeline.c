/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void timeline_init(struct timeline *timeline, const struct stack_store *store, uint64_t max_bytes,
		   timeline_fn listener, void *ctx)
{
	*timeline = (struct timeline){
		.store = store,
		.listener = listener,
		.ctx = ctx,
		.max = max_bytes / sizeof(struct profile_event),
	};
}

void timeline_fini(struct timeline *timeline)
{
	free(timeline->events);
	free(timeline->waiting);
	*timeline = (struct timeline){ 0 };
}

/* Make room for one more element of @size bytes, of at most @max. False: no room. No VECTOR: its
 * room would end at twice the limit that --timeline-memory sets. */
static bool grow(void **array, size_t nr, size_t *capacity, size_t max, size_t size)
{
	size_t wanted = *capacity ? *capacity + *capacity / 2 : 1024;
	void *bigger;

	if (nr < *capacity)
		return true;
	if (wanted > max)
		wanted = max;
	if (nr >= wanted)
		return false;
	bigger = reallocarray(*array, wanted, size);
	if (!bigger)
		return false;
	*array = bigger;
	*capacity = wanted;
	return true;
}

static void add(struct timeline *timeline, const struct profile_event *event)
{
	if (timeline->listener)
		timeline->listener(timeline->ctx, event);
	if (!timeline->max)
		return;
	if (grow((void **)&timeline->events, timeline->nr, &timeline->capacity, timeline->max,
		 sizeof(*timeline->events)))
		timeline->events[timeline->nr++] = *event;
	else
		timeline->nr_beyond++;
}

static uint64_t since_start(const struct timeline *timeline, uint64_t time_ns)
{
	return time_ns > timeline->start_ns ? time_ns - timeline->start_ns : 0;
}

/* Returns false where the stack is not there yet. */
static bool join(struct timeline *timeline, const struct fpl_event *record)
{
	struct profile_event event = {
		.time_ns = since_start(timeline, record->header.time_ns),
		.stack = stack_store_find(timeline->store, record->id),
		.weight = record->weight,
		.tid = record->tid,
		.cpu = record->cpu,
	};

	if (event.stack == STACK_STORE_NONE)
		return false;
	add(timeline, &event);
	return true;
}

void timeline_record(struct timeline *timeline, const struct fpl_event *record)
{
	if (join(timeline, record))
		return;
	if (grow((void **)&timeline->waiting, timeline->nr_waiting, &timeline->waiting_capacity,
		 TIMELINE_WAITING_MAX, sizeof(*timeline->waiting)))
		timeline->waiting[timeline->nr_waiting++] = *record;
	else
		timeline->nr_beyond++;
}

void timeline_sample(struct timeline *timeline, const struct fpl_sample *sample, uint32_t stack)
{
	const struct profile_event event = {
		.time_ns = since_start(timeline, sample->header.time_ns),
		.stack = stack,
		.weight = sample->weight,
		.tid = sample->tid,
		.cpu = sample->cpu,
	};

	add(timeline, &event);
}

void timeline_retry(struct timeline *timeline)
{
	size_t kept = 0;

	for (size_t i = 0; i < timeline->nr_waiting; i++) {
		const struct fpl_event record = timeline->waiting[i];

		if (!join(timeline, &record))
			timeline->waiting[kept++] = record;
	}
	timeline->nr_waiting = kept;
}

static int by_time(const void *a, const void *b)
{
	const struct profile_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

void timeline_take(struct timeline *timeline, struct profile_event **ret, size_t *ret_nr)
{
	if (timeline->nr)
		qsort(timeline->events, timeline->nr, sizeof(*timeline->events), by_time);
	*ret = TAKE_PTR(timeline->events);
	*ret_nr = timeline->nr;
	timeline->nr = timeline->capacity = timeline->nr_waiting = 0;
}
