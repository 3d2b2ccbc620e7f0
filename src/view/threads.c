/* SPDX-License-Identifier: Apache-2.0 */
#include "view/threads.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/measure.h"
#include "view/samples.h"

static void add_events(const struct recording *recording, struct sample_rest *rests,
		       struct threads *threads)
{
	for (size_t i = 0; i < recording->nr_events; i++) {
		const struct recording_event *event = &recording->events[i];

		threads->samples[threads->nr_samples++] = (struct thread_sample){
			.time_ns = event->time_ns,
			.count = 1,
			.weight = sample_rest_take(&rests[event->stack], event->weight),
			.stack = event->stack,
			.tid = event->tid,
		};
	}
}

/* Add the samples without an event. */
static void add_rests(const struct recording *recording, const struct sample_rest *rests,
		      struct threads *threads)
{
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];

		if (!rests[i].count)
			continue;
		threads->samples[threads->nr_samples++] = (struct thread_sample){
			.time_ns = recording->duration_ns,
			.count = rests[i].count,
			.weight = rests[i].weight,
			.stack = (uint32_t)i,
			.tid = stack->has & RECORDING_HAS_TID ? stack->tid : stack->pid,
		};
	}
}

/* 0 where both are of one thread. */
static int compare_threads(const struct recording *recording, const struct thread_sample *a,
			   const struct thread_sample *b)
{
	const struct recording_stack *s = &recording->stacks[a->stack];
	const struct recording_stack *t = &recording->stacks[b->stack];

	if (s->pid != t->pid)
		return s->pid < t->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (s->task != t->task)
		return s->task < t->task ? -1 : 1;
	if (!(s->has & t->has & RECORDING_HAS_PID) && s->comm != t->comm)
		return s->comm < t->comm ? -1 : 1;
	return 0;
}

static int compare_samples(const void *left, const void *right, void *recording)
{
	const struct thread_sample *a = left, *b = right;
	int order = compare_threads(recording, a, b);

	if (order)
		return order;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int compare_shown(const void *left, const void *right)
{
	const struct thread *a = left, *b = right;

	if (a->shown != b->shown)
		return a->shown > b->shown ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* Say when the samples of @thread were, whose recording does not know. */
static void spread(const struct recording *recording, const struct thread *thread,
		   struct thread_sample *samples)
{
	uint64_t before = 0;

	for (size_t i = 0; i < thread->nr; i++) {
		samples[i].time_ns = (uint64_t)((double)recording->duration_ns * (double)before /
						(double)thread->count);
		before += samples[i].count;
	}
}

static void make_list(const struct recording *recording, struct threads *threads)
{
	struct measure measure;

	measure_init(recording, &measure);
	threads->list = must_calloc(threads->nr_samples + 1, sizeof(*threads->list));
	for (size_t i = 0; i < threads->nr_samples; i++) {
		const struct thread_sample *sample = &threads->samples[i];
		const struct recording_stack *stack = &recording->stacks[sample->stack];
		struct thread *thread = &threads->list[threads->nr];

		if (i && !compare_threads(recording, sample - 1, sample))
			thread--;
		else
			threads->list[threads->nr++] = (struct thread){ .first = i };
		thread->pid = stack->pid;
		thread->tid = sample->tid;
		thread->comm = stack->comm;
		thread->nr++;
		thread->count += sample->count;
		thread->weight += sample->weight;
		thread->shown += measure_of(&measure, sample->count, sample->weight);
	}
}

void threads_init(const struct recording *recording, struct threads *ret)
{
	AUTO_FREE struct sample_rest *rests = sample_rests_make(recording);

	*ret = (struct threads){ 0 };
	ret->samples =
		must_calloc(recording->nr_events + recording->nr_stacks + 1, sizeof(*ret->samples));
	add_events(recording, rests, ret);
	add_rests(recording, rests, ret);
	qsort_r(ret->samples, ret->nr_samples, sizeof(*ret->samples), compare_samples,
		(void *)recording);
	make_list(recording, ret);
	for (size_t i = 0; !recording->nr_events && i < ret->nr; i++)
		spread(recording, &ret->list[i], &ret->samples[ret->list[i].first]);
	qsort(ret->list, ret->nr, sizeof(*ret->list), compare_shown);
}

void threads_fini(struct threads *threads)
{
	free(threads->list);
	free(threads->samples);
}
