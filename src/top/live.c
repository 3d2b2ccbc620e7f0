/* SPDX-License-Identifier: Apache-2.0 */
#include "top/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/filter.h"
#include "view/share.h"

int live_init(struct live *ret, const struct live_names_options *options, uint64_t span_ns,
	      struct fpl_err *err)
{
	*ret = (struct live){ .nr_looks = 0 };
	window_init(&ret->window, span_ns);
	window_init(&ret->weights, span_ns);
	model_init(&ret->model, &ret->recording);
	if (recording_init(&ret->recording))
		return fpl_fail(err, -ENOMEM, "out of memory");

	int code = live_names_init(&ret->names, options, err);

	/* without a stack: what the run is of */
	if (!code)
		code = live_names_record(&ret->names, NULL, 0, &ret->recording, NULL, err);
	if (!code)
		measure_init(&ret->recording, &ret->measure);
	return code;
}

void live_fini(struct live *live)
{
	model_fini(&live->model);
	window_fini(&live->window);
	window_fini(&live->weights);
	live_names_fini(&live->names);
	recording_fini(&live->recording);
	filter_destroy(live->filter);
	vector_fini(&live->places);
	vector_fini(&live->counts);
}

/* Name the stacks of @batch and add them to the recording. */
static int record(struct live *live, const struct feed_batch *batch)
{
	AUTO_FREE struct profile_stack *stacks = calloc(batch->nr_stacks + 1, sizeof(*stacks));
	AUTO_FREE uint32_t *places = NULL;
	size_t nr = 0;
	int code = stacks ? 0 : -ENOMEM;

	for (const struct feed_stack *s = batch->stacks; !code && s; s = s->next)
		stacks[nr++] = s->stack;
	if (!code)
		code = vector_reserve(&live->places, live->places.nr + nr);
	if (!code)
		code = live_names_record(&live->names, stacks, nr, &live->recording, &places, NULL);
	if (!code)
		code = vector_reserve(&live->counts, live->recording.nr_stacks);
	if (code)
		return code;
	measure_init(&live->recording, &live->measure); /* its texts may have moved */
	memcpy(live->places.list + live->places.nr, places, nr * sizeof(*places));
	live->places.nr += nr;
	return 0;
}

int live_add(struct live *live, struct feed_batch *batch, struct fpl_err *err)
{
	int code = batch->broken ? -ENOMEM : live_names_adopt(&live->names, batch, NULL);

	if (!code && batch->nr_stacks)
		code = record(live, batch);
	if (!code) {
		live_names_retire(&live->names, batch);
		code = model_extend(&live->model);
	}
	return code ? fpl_fail(err, -ENOMEM, "out of memory for stacks with names") : 0;
}

int live_look(struct live *live, const struct engine_look *look, struct fpl_err *err)
{
	if (window_add(&live->window, look->sampled_ns, look->counts, look->nr_stacks) ||
	    (look->weights &&
	     window_add(&live->weights, look->sampled_ns, look->weights, look->nr_stacks)))
		return fpl_fail(err, -ENOMEM, "out of memory for %u stacks", look->nr_stacks);
	live->before = live->look;
	live->look = *look;
	live->look.counts = live->look.weights = NULL;
	live->nr_looks++;
	return 0;
}

/* Stacks that the filter refuses have no samples. */
static int refuse_stacks(struct live *live)
{
	if (!live->filter || filter_is_empty(live->filter))
		return 0;
	if (filter_extend(live->filter, &live->recording))
		return -ENOMEM;

	const struct merge_filter *filter = filter_of(live->filter);

	for (size_t i = 0; i < live->recording.nr_stacks; i++)
		if (live->counts.list[i] && !filter->stack(filter->ctx, &live->recording, i))
			live->counts.list[i] = 0;
	return 0;
}

/* Drop rows of few samples. */
static void drop_small(const struct live *live, struct table *table)
{
	size_t left = 0;

	for (size_t i = 0; i < table->nr; i++) {
		const struct table_row *row = &table->list[i];

		if (row->kind == TABLE_ROW_HEADING ||
		    share_percent(row->total, table->sum) >= live->min_share)
			table->list[left++] = *row;
	}
	table->nr = left;
}

/* Give each stack its number of @window. *ret: their sum. */
static int count_stacks(struct live *live, const struct window *window, bool since_start,
			uint64_t *ret)
{
	uint64_t *counts = live->counts.list;

	*ret = 0;
	if (counts)
		memset(counts, 0, live->model.stacks.nr * sizeof(*counts));
	for (size_t i = 0; i < live->places.nr; i++)
		counts[live->places.list[i]] += window_count(window, i, since_start);
	if (refuse_stacks(live))
		return -ENOMEM;
	for (size_t i = 0; i < live->model.stacks.nr; i++)
		*ret += counts[i];
	return 0;
}

int live_table(struct live *live, const struct table_query *query, bool since_start,
	       struct table *ret)
{
	uint64_t samples, sum;
	int code = count_stacks(live, &live->window, since_start, &samples);

	if (!code && live->measure.weight)
		code = count_stacks(live, &live->weights, since_start, &sum);
	if (!code)
		code = table_make(&live->model, live->counts.list, query, ret);
	if (code)
		return code;
	ret->samples = samples;
	drop_small(live, ret);
	return 0;
}
