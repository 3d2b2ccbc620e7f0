/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html_threads.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

void html_threads_fini(struct html_threads *threads)
{
	threads_fini(&threads->threads);
	free(threads->kept);
	free(threads->names);
}

static bool has_threads(const struct recording *recording)
{
	if (recording->nr_events)
		return true;
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].has & RECORDING_HAS_TID)
			return true;
	return false;
}

void html_threads_make(const struct recording *recording, const uint32_t *groups,
		       const struct call_tree *tree, const struct html_time *time, size_t nr_max,
		       struct flame_paths *paths, struct html_threads *ret)
{
	size_t nr_samples = 0;

	*ret = (struct html_threads){
		.recording = recording,
		.groups = groups,
		.tree = tree,
		.time = time,
	};
	if (!has_threads(recording))
		return;
	measure_init(recording, &ret->measure);
	threads_init(recording, &ret->threads);
	ret->kept = must_calloc(ret->threads.nr, sizeof(*ret->kept));
	ret->names = must_calloc(ret->threads.nr, sizeof(*ret->names));
	for (size_t i = 0; i < ret->threads.nr; i++) {
		const struct thread *thread = &ret->threads.list[i];

		if (thread->nr > nr_max - nr_samples) {
			ret->left_shown += thread->shown;
			continue;
		}
		nr_samples += thread->nr;
		ret->names[ret->nr] = must_strings_intern(
			&paths->strings, recording_string(recording, thread->comm));
		ret->kept[ret->nr++] = (uint32_t)i;
	}
}

static const struct thread *thread_at(const struct html_threads *threads, size_t i)
{
	return &threads->threads.list[threads->kept[i]];
}

/* Samples without a time are at the end, where counts of stacks are beyond the events. */
static bool has_time(const struct recording *recording, const struct thread_sample *sample,
		     bool all_timed)
{
	return recording->nr_events && (all_timed || sample->time_ns != recording->duration_ns);
}

static int compare_ends(const void *key, const void *element)
{
	const struct call_count *a = key, *b = element;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind - b->kind;
	return (a->group > b->group) - (a->group < b->group);
}

/* Which of the ends of the tree the samples of each stack are in: owned by the caller. */
static uint32_t *find_ends(const struct html_threads *threads)
{
	const struct call_counts *ends = &threads->tree->ends;
	size_t nr = threads->recording->nr_stacks;
	uint32_t *ret = must_calloc(nr, sizeof(*ret));

	for (size_t i = 0; i < nr; i++) {
		const struct call_place *place = &threads->tree->places[i];
		const struct call_count key = {
			.node = place->node,
			.kind = place->left,
			.group = threads->groups[i],
		};
		const struct call_count *found =
			bsearch(&key, ends->list, ends->nr, sizeof(*ends->list), compare_ends);

		/* a stack without samples has no end */
		ret[i] = found ? (uint32_t)(found - ends->list) : 0;
	}
	return ret;
}

/* Since the first sample, in parts of a slice. */
static uint64_t parts_of(const struct html_time *time, uint64_t time_ns)
{
	uint64_t since_ns = time_ns - time->from_ns, rest_ns = since_ns % time->slice_ns;

	return since_ns / time->slice_ns * HTML_THREADS_PARTS +
	       (uint64_t)((unsigned __int128)rest_ns * HTML_THREADS_PARTS / time->slice_ns);
}

/*
 * How long most samples took; html_time has its slices from the same. Of weights that are no time
 * it is what there would be between two at equal distances.
 */
static uint64_t usual_ns(const struct recording *recording, const struct measure *measure)
{
	const struct recording_event *events = recording->events;
	size_t nr = recording->nr_events;

	if (recording_period_ns(recording) || !nr)
		return recording_period_ns(recording);
	if (!measure->weighs_ns)
		return (events[nr - 1].time_ns - events[0].time_ns) / nr + 1;
	return events[0].weight;
}

/* The third number of a sample with a time: its weight; where counts are shown, 0 stands for the
 * usual time. */
static uint64_t weight_of(const struct measure *measure, uint64_t weight, uint64_t usual)
{
	if (measure->weight)
		return weight;
	return measure_took_ns(measure, weight) == usual ? 0 : measure_took_ns(measure, weight);
}

/* The list that a walk over all samples writes. */
enum samples_list {
	TIMED_COUNTS, /* of each thread, how many have a time */
	TIMED,	      /* parts since the one before it, end, weight */
	UNTIMED,      /* thread, end, count */
};

static void write_list(struct json *json, const struct html_threads *threads, const char *key,
		       enum samples_list list, const uint32_t *ends)
{
	const struct recording *recording = threads->recording;
	bool all_timed = recording_shown(recording) <= recording->nr_events;
	const struct measure *measure = &threads->measure;
	uint64_t usual = usual_ns(recording, measure);

	json_open(json, key, '[');
	for (size_t i = 0; i < threads->nr; i++) {
		const struct thread *thread = thread_at(threads, i);
		const struct thread_sample *samples = &threads->threads.samples[thread->first];
		uint64_t before = 0, nr_timed = 0;

		for (size_t j = 0; j < thread->nr; j++) {
			const struct thread_sample *sample = &samples[j];
			bool timed = has_time(recording, sample, all_timed);

			nr_timed += timed;
			if (timed && list == TIMED) {
				uint64_t at = parts_of(threads->time, sample->time_ns);

				json_number(json, NULL, at - before);
				json_number(json, NULL, ends[sample->stack]);
				json_number(json, NULL, weight_of(measure, sample->weight, usual));
				before = at;
			} else if (!timed && list == UNTIMED) {
				json_number(json, NULL, i);
				json_number(json, NULL, ends[sample->stack]);
				json_number(json, NULL,
					    measure_of(measure, sample->count, sample->weight));
			}
		}
		if (list == TIMED_COUNTS)
			json_number(json, NULL, nr_timed);
	}
	json_close(json, ']');
}

void html_threads_write(struct html_parts *parts, const struct html_threads *threads)
{
	struct json *json = &parts->json;
	size_t nr = threads->nr;

	if (!threads->threads.nr)
		return;

	AUTO_FREE uint32_t *ends = find_ends(threads);

	json_open(json, "threads", '{');
	JSON_COLUMN(json, "comm", nr, html_parts_name(parts, threads->names[i]));
	JSON_COLUMN(json, "pid", nr, thread_at(threads, i)->pid);
	JSON_COLUMN(json, "tid", nr, thread_at(threads, i)->tid);
	JSON_COLUMN(json, "samples", nr, thread_at(threads, i)->shown);
	json_number(json, "parts", HTML_THREADS_PARTS);
	json_number(json, "usual_ns", usual_ns(threads->recording, &threads->measure));
	if (threads->measure.weight)
		json_string(json, "weights", threads->measure.weighs_ns ? "time" : "other");
	write_list(json, threads, "nr_timed", TIMED_COUNTS, ends);
	write_list(json, threads, "timed", TIMED, ends);
	write_list(json, threads, "untimed", UNTIMED, ends);
	json_open(json, "left_out", '{');
	json_number(json, "threads", threads->threads.nr - nr);
	json_number(json, "samples", threads->left_shown);
	json_close(json, '}');
	json_close(json, '}');
}
