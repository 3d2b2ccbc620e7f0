/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/chart_lane.h"

/* Frames on the stack now, by depth. */
struct walk {
	const struct chart_lane *lane;
	const struct chart_lane_to *to;
	struct chart_box open[FLAME_STEPS_MAX]; /* [nr_open] */
	uint32_t nr_open;
	bool begun;
	uint64_t end_ns; /* of the last sample */
};

static uint64_t took_of(const struct chart_lane *lane, const struct thread_sample *sample)
{
	uint64_t took_ns = measure_took_ns(&lane->measure, sample->weight);

	return took_ns ? took_ns : lane->usual_ns;
}

/* The end of what begins at @from_ns; times of recordings may be anything. */
static uint64_t end_of(uint64_t from_ns, uint64_t took_ns)
{
	return from_ns > UINT64_MAX - took_ns ? UINT64_MAX : from_ns + took_ns;
}

/* When a sample that has a time begins: what it weighs before it was taken. */
static uint64_t begin_of(const struct chart_lane *lane, const struct thread_sample *sample)
{
	uint64_t took_ns = took_of(lane, sample);

	return sample->time_ns > took_ns ? sample->time_ns - took_ns : 0;
}

/* Frames of two objects differ: a program that is executed has a "main" of its own. */
static bool reads_the_same(const struct flame_paths *paths, uint32_t a, uint32_t b)
{
	const struct shown_function *s = &paths->cells.list[a], *t = &paths->cells.list[b];

	return a == b || (s->text == t->text && s->place == t->place &&
			  (s->kind == FUNCTION_KERNEL) == (t->kind == FUNCTION_KERNEL));
}

static void close_down_to(struct walk *walk, uint32_t depth)
{
	while (walk->nr_open > depth) {
		struct chart_box *box = &walk->open[--walk->nr_open];

		box->to_ns = walk->end_ns;
		walk->to->box(walk->to->ctx, box);
	}
}

/* How many of the open boxes are those of the first frames of @cells [@nr]. */
static uint32_t shared_with(const struct walk *walk, const uint32_t *cells, uint32_t nr)
{
	uint32_t shared = 0;

	while (shared < walk->nr_open && shared < nr &&
	       reads_the_same(walk->lane->paths, walk->open[shared].cell, cells[shared]))
		shared++;
	return shared;
}

/* When @sample begins and ends; the samples before it end at walk->end_ns. */
static uint64_t place_of(const struct walk *walk, const struct thread_sample *sample,
			 uint64_t *ret_to_ns)
{
	uint64_t from_ns = begin_of(walk->lane, sample), end_ns = walk->end_ns;

	if (walk->lane->cpu_time) {
		*ret_to_ns = end_of(end_ns, took_of(walk->lane, sample));
		return end_ns;
	}
	if (walk->begun &&
	    (from_ns < end_ns || from_ns - end_ns <= (sample->time_ns - from_ns) / 2))
		from_ns = end_ns;
	*ret_to_ns = sample->time_ns > from_ns ? sample->time_ns : from_ns;
	return from_ns;
}

static void add_sample(struct walk *walk, const struct thread_sample *sample)
{
	const struct chart_lane *lane = walk->lane;
	const struct flame_path *path = &lane->paths->list[sample->stack];
	const uint32_t *cells = lane->paths->steps.list + path->first;
	uint32_t shared = shared_with(walk, cells, path->nr);
	uint64_t to_ns, from_ns = place_of(walk, sample, &to_ns);
	uint64_t shown = measure_of(&lane->measure, sample->count, sample->weight);

	close_down_to(walk, shared);
	if (shared && from_ns > walk->end_ns && walk->to->wait)
		walk->to->wait(walk->to->ctx, &(struct chart_wait){ .from_ns = walk->end_ns,
								    .to_ns = from_ns,
								    .nr_boxes = shared });
	for (uint32_t i = 0; i < shared; i++) {
		walk->open[i].shown += shown;
		walk->open[i].ran_ns += to_ns - from_ns;
	}
	for (; walk->nr_open < path->nr; walk->nr_open++)
		walk->open[walk->nr_open] = (struct chart_box){
			.from_ns = from_ns,
			.ran_ns = to_ns - from_ns,
			.shown = shown,
			.depth = walk->nr_open,
			.cell = cells[walk->nr_open],
		};
	walk->begun = true;
	walk->end_ns = to_ns;
}

void chart_lane_span(const struct chart_lane *lane, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	*ret_from_ns = *ret_to_ns = 0;
	for (size_t i = 0; lane->cpu_time && i < lane->nr; i++)
		*ret_to_ns = end_of(*ret_to_ns, took_of(lane, &lane->samples[i]));
	if (lane->cpu_time || !lane->nr)
		return;
	*ret_from_ns = begin_of(lane, &lane->samples[0]);
	*ret_to_ns = lane->samples[lane->nr - 1].time_ns;
}

void chart_lane_walk(const struct chart_lane *lane, const struct chart_lane_to *to)
{
	struct walk walk = { .lane = lane, .to = to };

	for (size_t i = 0; i < lane->nr; i++)
		add_sample(&walk, &lane->samples[i]);
	close_down_to(&walk, 0);
}
