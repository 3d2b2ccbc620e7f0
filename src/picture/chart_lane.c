/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/chart_lane.h"

/* Frames on the stack now, by depth. */
struct walk {
	const struct chart_lane *lane;
	void (*put)(void *ctx, const struct chart_box *box);
	void *ctx;
	struct chart_box open[FLAME_STEPS_MAX]; /* [nr_open] */
	uint32_t nr_open;
	bool begun;
	uint64_t end_ns; /* of the last sample */
};

uint64_t chart_lane_begin(const struct chart_lane *lane, const struct thread_sample *sample)
{
	uint64_t weight_ns = sample->weight_ns ? sample->weight_ns : lane->usual_ns;

	return sample->time_ns > weight_ns ? sample->time_ns - weight_ns : 0;
}

static bool reads_the_same(const struct flame_paths *paths, uint32_t a, uint32_t b)
{
	const struct shown_function *s = &paths->cells.list[a], *t = &paths->cells.list[b];

	return a == b ||
	       (s->text == t->text && (s->kind == FUNCTION_KERNEL) == (t->kind == FUNCTION_KERNEL));
}

static void close_down_to(struct walk *walk, uint32_t depth)
{
	while (walk->nr_open > depth) {
		struct chart_box *box = &walk->open[--walk->nr_open];

		box->to_ns = walk->end_ns;
		walk->put(walk->ctx, box);
	}
}

static void add_sample(struct walk *walk, const struct thread_sample *sample)
{
	const struct chart_lane *lane = walk->lane;
	const struct flame_path *path = &lane->paths->list[sample->stack];
	const uint32_t *cells = lane->paths->steps.list + path->first;
	uint64_t from_ns = chart_lane_begin(lane, sample);
	uint32_t shared = 0;

	if (walk->begun &&
	    (from_ns < walk->end_ns || from_ns - walk->end_ns <= (sample->time_ns - from_ns) / 2))
		from_ns = walk->end_ns;
	else
		close_down_to(walk, 0);
	walk->begun = true;
	while (shared < walk->nr_open && shared < path->nr &&
	       reads_the_same(lane->paths, walk->open[shared].cell, cells[shared]))
		walk->open[shared++].samples += sample->count;
	close_down_to(walk, shared);
	for (; walk->nr_open < path->nr; walk->nr_open++)
		walk->open[walk->nr_open] = (struct chart_box){
			.from_ns = from_ns,
			.samples = sample->count,
			.depth = walk->nr_open,
			.cell = cells[walk->nr_open],
		};
	walk->end_ns = sample->time_ns > from_ns ? sample->time_ns : from_ns;
}

void chart_lane_walk(const struct chart_lane *lane,
		     void (*put)(void *ctx, const struct chart_box *box), void *ctx)
{
	struct walk walk = { .lane = lane, .put = put, .ctx = ctx };

	for (size_t i = 0; i < lane->nr; i++)
		add_sample(&walk, &lane->samples[i]);
	close_down_to(&walk, 0);
}
