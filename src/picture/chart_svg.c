/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/chart_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/chart_lane.h"
#include "picture/svg_about.h"
#include "picture/svg_legend.h"
#include "picture/svg_page.h"
#include "picture/svg_palette.h"
#include "picture/xml.h"
#include "view/threads.h"

/* The most boxes that a browser still moves at once, and the most rows that a reader scrolls. */
enum { BOXES_MAX = 50000, WAITS_MAX = 50000, LANES_MAX = 50, ROWS_MAX = 3000 };

/* Sums over all lanes, of boxes that are drawn and those that are too short. */
struct counts {
	uint64_t nr_short, busy_ns, nr_waits, nr_short_waits;
	struct svg_seen seen;
};

/* One picture, from the recording to the file. */
struct chart {
	const struct recording *recording;
	const struct picture_options *options;
	struct flame_paths paths;
	struct threads threads;
	struct svg_about about;
	struct svg_page page;
	struct chart_lane lanes[LANES_MAX]; /* [nr_lanes]: of the threads of the same index */
	uint32_t nr_lanes, rows[LANES_MAX]; /* of each: its label and the frames that are drawn */
	uint64_t from_ns, to_ns, usual_ns;

	/* Boxes and waits shorter than these are not drawn. */
	uint64_t min_ns, min_wait_ns;
	struct counts counts;

	uint64_t untimed; /* samples without a time */

	/* the lane being drawn */
	uint32_t lane, row;
};

static void chart_fini(struct chart *chart)
{
	svg_about_fini(&chart->about);
	threads_fini(&chart->threads);
	flame_paths_fini(&chart->paths);
}

/* Drop what has no time: what the counts of the stacks hold beyond the events is at the end. */
static void drop_untimed(struct chart *chart, struct thread *thread)
{
	const struct recording *recording = chart->recording;
	struct thread_sample *samples = &chart->threads.samples[thread->first];
	struct measure measure;
	size_t kept = 0;

	measure_init(recording, &measure);
	if (recording_shown(recording) <= recording->nr_events)
		return;
	for (size_t i = 0; i < thread->nr; i++) {
		if (samples[i].time_ns == recording->duration_ns)
			chart->untimed += measure_of(&measure, samples[i].count, samples[i].weight);
		else
			samples[kept++] = samples[i];
	}
	thread->nr = kept;
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/*
 * The time that a sample without weight stands for: the period, else the usual time between two
 * samples of one thread.
 */
static void find_usual(struct chart *chart)
{
	const struct threads *threads = &chart->threads;
	AUTO_FREE uint64_t *gaps = must_calloc(threads->nr_samples, sizeof(*gaps));
	size_t nr = 0;

	for (size_t i = 0; i < threads->nr; i++) {
		const struct thread *thread = &threads->list[i];
		const struct thread_sample *samples = &threads->samples[thread->first];

		for (size_t j = 1; j < thread->nr; j++)
			if (samples[j].time_ns > samples[j - 1].time_ns)
				gaps[nr++] = samples[j].time_ns - samples[j - 1].time_ns;
	}
	qsort(gaps, nr, sizeof(*gaps), compare_times);
	chart->usual_ns = recording_period_ns(chart->recording)
				  ? recording_period_ns(chart->recording)
			  : nr ? gaps[nr / 2]
			       : 1000000;
}

/* Lanes of the threads that ran most. */
static void make_lanes(struct chart *chart)
{
	struct measure measure;

	measure_init(chart->recording, &measure);
	chart->from_ns = UINT64_MAX;
	for (size_t i = 0; i < chart->threads.nr && i < LANES_MAX; i++) {
		const struct thread *thread = &chart->threads.list[i];
		struct chart_lane *lane = &chart->lanes[chart->nr_lanes++];
		uint64_t from_ns, to_ns;

		*lane = (struct chart_lane){
			.recording = chart->recording,
			.paths = &chart->paths,
			.samples = &chart->threads.samples[thread->first],
			.nr = thread->nr,
			.measure = measure,
			.usual_ns = chart->usual_ns,
			.cpu_time = chart->options->cpu_time,
		};
		if (!lane->nr)
			continue;
		chart_lane_span(lane, &from_ns, &to_ns);
		chart->from_ns = from_ns < chart->from_ns ? from_ns : chart->from_ns;
		chart->to_ns = to_ns > chart->to_ns ? to_ns : chart->to_ns;
	}
	if (chart->from_ns > chart->to_ns)
		chart->from_ns = chart->to_ns;
}

/* Count a box by its kind, and those that are too short. */
static void count_box(void *ctx, const struct chart_box *box)
{
	struct chart *chart = ctx;
	struct svg_seen *seen = &chart->counts.seen;
	const struct shown_function *cell = &chart->paths.cells.list[box->cell];

	chart->counts.busy_ns += box->depth ? 0 : box->ran_ns;
	if (box->to_ns - box->from_ns < chart->min_ns) {
		chart->counts.nr_short++;
		return;
	}
	if (chart->rows[chart->lane] < 2 + box->depth)
		chart->rows[chart->lane] = 2 + box->depth;
	seen->kernel |= cell->kind == FUNCTION_KERNEL;
	seen->inlined |= cell->kind == FUNCTION_INLINED;
	seen->user |= cell->kind == FUNCTION_USER;
	if (cell->origin < FPL_ORIGIN_COUNT)
		seen->origins[cell->origin] = true;
	else if (cell->kind == FUNCTION_USER)
		seen->unknown = true;
	seen->by_fp |= cell->origin == FPL_ORIGIN_FP;
	seen->by_synth |= cell->origin == FPL_ORIGIN_SYNTH;
}

static void count_wait(void *ctx, const struct chart_wait *wait)
{
	struct chart *chart = ctx;
	bool is_short = wait->to_ns - wait->from_ns < chart->min_wait_ns;

	chart->counts.nr_waits += !is_short;
	chart->counts.nr_short_waits += is_short;
}

/* How many boxes and waits take how long: list[n] of them take 2^n ns to 2^(n+1) - 1. */
struct durations {
	uint64_t boxes[64], waits[64];
	uint64_t min_ns; /* shorter boxes do not count */
};

static unsigned power_of(uint64_t ns)
{
	return 63 - (unsigned)__builtin_clzll(ns | 1);
}

static void note_box(void *ctx, const struct chart_box *box)
{
	struct durations *durations = ctx;

	if (box->to_ns - box->from_ns >= durations->min_ns)
		durations->boxes[power_of(box->to_ns - box->from_ns)]++;
}

static void note_wait(void *ctx, const struct chart_wait *wait)
{
	struct durations *durations = ctx;

	durations->waits[power_of(wait->to_ns - wait->from_ns)]++;
}

/* The shortest duration, a power of two, of which and above which @list has at most @max; 0: of
 * any. */
static uint64_t shortest_of(const uint64_t list[64], uint64_t max)
{
	uint64_t nr = 0;
	unsigned power = 64;

	while (power && nr + list[power - 1] <= max)
		nr += list[--power];
	return !power ? 0 : 1ull << (power < 64 ? power : 63);
}

/* Find the shortest boxes that there is room for, and how many rows each lane has of them. */
static void measure(struct chart *chart)
{
	struct durations durations = {
		.min_ns = svg_page_min_count(chart->options, chart->to_ns - chart->from_ns),
	};
	const struct chart_lane_to note = { note_box, note_wait, &durations };
	const struct chart_lane_to count = { count_box, count_wait, chart };
	uint64_t shortest, total_rows = 0;

	if (!durations.min_ns)
		durations.min_ns = 1; /* what took no time has no place */
	for (uint32_t i = 0; i < chart->nr_lanes; i++)
		chart_lane_walk(&chart->lanes[i], &note);
	shortest = shortest_of(durations.boxes, BOXES_MAX);
	chart->min_ns = shortest > durations.min_ns ? shortest : durations.min_ns;
	chart->min_wait_ns = shortest_of(durations.waits, WAITS_MAX);

	for (uint32_t i = 0; i < chart->nr_lanes; i++) {
		const struct counts before = chart->counts;

		chart->lane = i;
		chart->rows[i] = 1;
		chart_lane_walk(&chart->lanes[i], &count);
		total_rows += chart->rows[i];
		if (i && total_rows > ROWS_MAX) {
			chart->counts = before;
			chart->nr_lanes = i;
		}
	}
}

static void draw_wait(void *ctx, const struct chart_wait *wait)
{
	struct chart *chart = ctx;

	if (wait->to_ns - wait->from_ns >= chart->min_wait_ns)
		svg_page_wait(&chart->page, chart->lane, chart->row + 1, wait->nr_boxes,
			      wait->from_ns - chart->from_ns, wait->to_ns - wait->from_ns);
}

/* "12.000 ms from 0.500000 s on, of which it ran 4.000 ms, 2 samples" */
static void put_times(struct chart *chart, const struct chart_box *box)
{
	uint64_t took_ns = box->to_ns - box->from_ns;
	FILE *to = chart->page.to;
	char count[192];

	fprintf(to, "\n%.3f ms from %.6f s%s on, ", (double)took_ns / 1e6,
		(double)box->from_ns / 1e9, chart->options->cpu_time ? " of CPU time" : "");
	if (box->ran_ns < took_ns)
		fprintf(to, "of which it ran %.3f ms, ", (double)box->ran_ns / 1e6);
	xml_put(to, measure_said(&chart->about.measure, box->shown, count, sizeof(count)),
		sizeof(count));
}

static void draw_box(void *ctx, const struct chart_box *one)
{
	struct chart *chart = ctx;
	const struct shown_function *cell = &chart->paths.cells.list[one->cell];
	const char *object = flame_text(&chart->paths, cell->place);
	uint64_t took_ns = one->to_ns - one->from_ns;
	char class[SVG_PALETTE_CLASS_SIZE];
	const struct svg_paint paint = {
		.name = flame_text(&chart->paths, cell->text),
		.object = object,
		.kind = cell->kind,
		.origin = cell->origin,
		.by_fp = cell->origin == FPL_ORIGIN_FP,
		.by_synth = cell->origin == FPL_ORIGIN_SYNTH,
	};
	const struct svg_box box = {
		.from = one->from_ns - chart->from_ns,
		.count = took_ns,
		.row = chart->row + 1 + one->depth,
		.lane = chart->lane,
		.ran = one->ran_ns,
		.name = paint.name,
		.class = svg_palette_class(chart->options, &paint, class),
	};
	FILE *to = chart->page.to;

	if (took_ns < chart->min_ns)
		return;
	svg_page_box_begin(&chart->page, &box);
	put_times(chart, one);
	if (*object) {
		fputs(cell->kind == FUNCTION_KERNEL ? "\nkernel: " : "\nin ", to);
		xml_put(to, object, XML_NAME_BYTES);
	}
	fputs(cell->kind == FUNCTION_INLINED ? "\ninlined" : "", to);
	fputs(paint.by_synth ? "\nfound by rows made from code" : "", to);
	fputs(paint.by_fp ? "\nfound by frame pointers" : "", to);
	svg_page_box_end(&chart->page, &box);
}

/* "comm (pid 1, tid 2): 123 samples", as far as it is known. */
static void draw_label(struct chart *chart, const struct thread *thread)
{
	const char *comm = recording_string(chart->recording, thread->comm);
	char count[192], label[384], ids[48] = "";

	if (thread->tid && thread->tid != thread->pid)
		snprintf(ids, sizeof(ids), " (pid %" PRIu32 ", tid %" PRIu32 ")", thread->pid,
			 thread->tid);
	else if (thread->pid)
		snprintf(ids, sizeof(ids), " (pid %" PRIu32 ")", thread->pid);
	snprintf(label, sizeof(label), "%.64s%s: %s", *comm ? comm : "[unknown]", ids,
		 measure_said(&chart->about.measure, thread->shown, count, sizeof(count)));
	svg_page_label(&chart->page, chart->row, label);
}

static void draw(struct chart *chart)
{
	const struct chart_lane_to to = { draw_box, draw_wait, chart };

	svg_page_begin(&chart->page);
	for (uint32_t i = 0; i < chart->nr_lanes; i++) {
		draw_label(chart, &chart->threads.list[i]);
		chart->lane = i + 1;
		chart_lane_walk(&chart->lanes[i], &to);
		chart->row += chart->rows[i];
	}
	svg_page_end(&chart->page);
}

/* Everything that is not drawn is said. Returns all samples, drawn or not. */
static uint64_t write_notes(struct chart *chart)
{
	uint64_t all = 0, left = 0;
	char nr[NUMBER_GROUPED_SIZE], count[192];

	for (size_t i = 0; i < chart->threads.nr; i++) {
		all += chart->threads.list[i].shown;
		left += i < chart->nr_lanes ? 0 : chart->threads.list[i].shown;
	}
	if (chart->threads.nr > chart->nr_lanes)
		svg_page_note(&chart->page, "Not drawn: %s threads that ran least, %s",
			      number_grouped(chart->threads.nr - chart->nr_lanes, nr),
			      measure_said(&chart->about.measure, left, count, sizeof(count)));
	if (chart->counts.nr_short)
		svg_page_note(&chart->page, "Not drawn: %s boxes of less than %.3f ms",
			      number_grouped(chart->counts.nr_short, nr),
			      (double)chart->min_ns / 1e6);
	if (chart->counts.nr_short_waits)
		svg_page_note(&chart->page,
			      "Drawn as if the thread ran: %s waits of less than %.3f ms",
			      number_grouped(chart->counts.nr_short_waits, nr),
			      (double)chart->min_wait_ns / 1e6);
	if (chart->untimed)
		svg_page_note(
			&chart->page, "Not drawn: %s without a time",
			measure_said(&chart->about.measure, chart->untimed, count, sizeof(count)));
	svg_about_note_books(&chart->page, chart->recording);
	return all;
}

static void set_page(struct chart *chart, FILE *to)
{
	chart->page = (struct svg_page){
		.to = to,
		.options = chart->options,
		.title = chart->about.title,
		.subtitle = chart->about.subtitle,
		.description = chart->about.description,
		.put_css = svg_palette_put_css,
		.total = chart->to_ns - chart->from_ns,
		.all = chart->counts.busy_ns,
		.in_time = true,
		.cpu_time = chart->options->cpu_time,
		.from_ns = chart->from_ns,
	};
	for (uint32_t i = 0; i < chart->nr_lanes; i++)
		chart->page.rows += chart->rows[i];
}

static int prepare(struct chart *chart, const struct format_options *options, struct fpl_err *err)
{
	const struct flame_paths_options paths_options = {
		.text = format_texts(options, true),
		.delimited = options->delimited,
		.no_labels = true,
		.reverse = chart->options->reverse,
	};

	flame_paths_init(&chart->paths);
	threads_init(chart->recording, &chart->threads);
	svg_about_init(chart->recording, chart->options, "Flame chart",
		       measure_sum(chart->recording), &chart->about);
	return flame_paths_add(&chart->paths, chart->recording, &paths_options, 0, err);
}

int chart_svg_write(FILE *to, const struct recording *recording,
		    const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(chart_fini)
	struct chart chart = {
		.recording = recording,
		.options = options->picture ? options->picture : &picture_options_usual,
	};
	uint64_t shown = measure_sum(recording);
	int error;

	if (!recording->nr_events && recording_shown(recording))
		return fpl_fail(err, -EINVAL,
				"a chart needs the time of each sample: record with --timeline");
	error = prepare(&chart, options, err);
	if (error)
		return error;
	for (size_t i = 0; i < chart.threads.nr; i++)
		drop_untimed(&chart, &chart.threads.list[i]);
	find_usual(&chart);
	make_lanes(&chart);
	measure(&chart);
	set_page(&chart, to);
	svg_legend_of(&chart.page, &chart.counts.seen);
	if (chart.counts.nr_waits)
		svg_page_legend(&chart.page, "l w", "lighter: it did not run");

	uint64_t all = write_notes(&chart);

	draw(&chart);
	/* threads hold all events, also those of samples that are not shown */
	*ret_shown = all < shown ? all : shown;
	return 0;
}
