/* SPDX-License-Identifier: Apache-2.0 */
#include "view/samples.h"

#include <stdlib.h>

#include "base/alloc.h"

struct sample_rest *sample_rests_make(const struct recording *recording)
{
	struct sample_rest *rests = must_calloc(recording->nr_stacks + 1, sizeof(*rests));

	for (size_t i = 0; i < recording->nr_stacks; i++)
		rests[i] = (struct sample_rest){ recording->stacks[i].count,
						 recording->stacks[i].weight };
	return rests;
}

uint64_t sample_rest_take(struct sample_rest *rest, uint64_t weight)
{
	if (rest->count == 1 && weight < rest->weight)
		weight = rest->weight;
	rest->count -= rest->count > 0;
	rest->weight -= weight < rest->weight ? weight : rest->weight;
	return weight;
}

void samples_init(const struct recording *recording, struct samples *ret)
{
	*ret = (struct samples){
		.recording = recording,
		.left = sample_rests_make(recording),
		.nr_total = recording_shown(recording),
	};
}

void samples_fini(struct samples *samples)
{
	free(samples->left);
}

static struct sample sample_of(const struct recording *recording, uint32_t idx)
{
	const struct recording_stack *stack = &recording->stacks[idx];

	return (struct sample){
		.stack = idx,
		.pid = stack->pid,
		.tid = stack->tid,
		.cpu = stack->cpu,
		.has = stack->has & (RECORDING_HAS_PID | RECORDING_HAS_TID | RECORDING_HAS_CPU),
	};
}

static void next_event(struct samples *samples, struct sample *ret)
{
	const struct recording_event *event = &samples->recording->events[samples->event++];

	*ret = sample_of(samples->recording, event->stack);
	ret->has |= RECORDING_HAS_TID | RECORDING_HAS_CPU;
	ret->tid = event->tid;
	ret->cpu = event->cpu;
	ret->time_ns = samples->last_ns = event->time_ns;
	ret->weight = sample_rest_take(&samples->left[event->stack], event->weight);
}

/* When the next sample without a time of its own is said to have been. */
static uint64_t next_time(const struct samples *samples)
{
	const struct recording *recording = samples->recording;

	if (!recording->nr_events)
		return (uint64_t)((double)recording->duration_ns * (double)samples->nr_out /
				  (double)samples->nr_total);
	return recording->duration_ns > samples->last_ns ? recording->duration_ns
							 : samples->last_ns;
}

bool samples_next(struct samples *samples, struct sample *ret)
{
	const struct recording *recording = samples->recording;

	if (samples->event < recording->nr_events) {
		next_event(samples, ret);
		samples->nr_out++;
		return true;
	}
	while (samples->stack < recording->nr_stacks && !samples->left[samples->stack].count)
		samples->stack++;
	if (samples->stack == recording->nr_stacks)
		return false;
	*ret = sample_of(recording, (uint32_t)samples->stack);
	ret->time_ns = next_time(samples);
	ret->weight = samples->left[samples->stack].weight / samples->left[samples->stack].count;
	ret->weight = sample_rest_take(&samples->left[samples->stack], ret->weight);
	samples->nr_out++;
	return true;
}
