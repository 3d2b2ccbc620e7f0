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
enum { BOXES_MAX = 50000, LANES_MAX = 50, ROWS_MAX = 3000 };

/* One picture, from the recording to the file. */
struct chart {
	const struct recording *recording;
	const struct picture_options *options;
	struct flame_paths paths;
	struct threads threads;
	struct svg_about about;
	struct svg_page page;
	struct chart_lane lanes[LANES_MAX]; /* [nr_lanes]: of the threads of the same index */
	uint32_t nr_lanes, rows[LANES_MAX]; /* of each: its label and its frames */
	uint64_t from_ns, to_ns, usual_ns;

	/* Boxes shorter than this are not drawn. */
	uint64_t min_ns;
	uint64_t nr_short, busy_ns;

	uint64_t untimed; /* samples without a time */
	struct svg_seen seen;

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
	size_t kept = 0;

	if (recording_shown(recording) <= recording->nr_events)
		return;
	for (size_t i = 0; i < thread->nr; i++) {
		if (samples[i].time_ns == recording->duration_ns)
			chart->untimed += samples[i].count;
		else
			samples[kept++] = samples[i];
	}
	thread->nr = kept;
}

/* The deepest stack of a lane. */
static uint32_t depth_of(const struct chart *chart, const struct chart_lane *lane)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < lane->nr; i++) {
		uint32_t nr = chart->paths.list[lane->samples[i].stack].nr;

		depth = nr > depth ? nr : depth;
	}
	return depth;
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
	chart->usual_ns = chart->recording->period_ns ? chart->recording->period_ns
			  : nr			      ? gaps[nr / 2]
						      : 1000000;
}

/* Lanes of the threads that ran most, as many as there is room for. */
static void make_lanes(struct chart *chart)
{
	const struct recording *recording = chart->recording;
	uint32_t rows = 0;

	chart->from_ns = UINT64_MAX;
	for (size_t i = 0; i < chart->threads.nr && i < LANES_MAX; i++) {
		const struct thread *thread = &chart->threads.list[i];
		struct chart_lane *lane = &chart->lanes[i];

		*lane = (struct chart_lane){
			.recording = recording,
			.paths = &chart->paths,
			.samples = &chart->threads.samples[thread->first],
			.nr = thread->nr,
			.usual_ns = chart->usual_ns,
		};
		chart->rows[i] = 1 + depth_of(chart, lane);
		if (i && rows + chart->rows[i] > ROWS_MAX)
			break;
		rows += chart->rows[i];
		chart->nr_lanes++;
		if (!lane->nr)
			continue;

		uint64_t from_ns = chart_lane_begin(lane, &lane->samples[0]);
		uint64_t to_ns = lane->samples[lane->nr - 1].time_ns;

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
	uint64_t took_ns = box->to_ns - box->from_ns;
	const struct shown_function *cell = &chart->paths.cells.list[box->cell];

	chart->busy_ns += box->depth ? 0 : took_ns;
	if (took_ns < chart->min_ns) {
		chart->nr_short++;
		return;
	}
	chart->seen.kernel |= cell->kind == FUNCTION_KERNEL;
	chart->seen.inlined |= cell->kind == FUNCTION_INLINED;
	chart->seen.user |= cell->kind == FUNCTION_USER;
	if (cell->origin < FPL_ORIGIN_COUNT)
		chart->seen.origins[cell->origin] = true;
	else if (cell->kind == FUNCTION_USER)
		chart->seen.unknown = true;
	chart->seen.by_fp |= cell->origin == FPL_ORIGIN_FP;
	chart->seen.by_synth |= cell->origin == FPL_ORIGIN_SYNTH;
}

/* How many boxes take how long: list[n] of them take 2^n ns to 2^(n+1) - 1. */
struct durations {
	uint64_t list[64];
	uint64_t min_ns;
};

static void note_duration(void *ctx, const struct chart_box *box)
{
	struct durations *durations = ctx;
	uint64_t took_ns = box->to_ns - box->from_ns;

	if (took_ns && took_ns >= durations->min_ns)
		durations->list[63 - __builtin_clzll(took_ns)]++;
}

/* Find the shortest boxes that there is room for. */
static void measure(struct chart *chart)
{
	struct durations durations = {
		.min_ns = svg_page_min_count(chart->options, chart->to_ns - chart->from_ns),
	};
	uint64_t nr = 0;
	unsigned power = 64;

	if (!durations.min_ns)
		durations.min_ns = 1; /* what took no time has no place */

	for (uint32_t i = 0; i < chart->nr_lanes; i++)
		chart_lane_walk(&chart->lanes[i], note_duration, &durations);
	while (power && nr + durations.list[power - 1] <= BOXES_MAX)
		nr += durations.list[--power];
	chart->min_ns = durations.min_ns;
	if (power && chart->min_ns < 1ull << (power < 64 ? power : 63))
		chart->min_ns = 1ull << (power < 64 ? power : 63);
	for (uint32_t i = 0; i < chart->nr_lanes; i++)
		chart_lane_walk(&chart->lanes[i], count_box, chart);
}

static void draw_box(void *ctx, const struct chart_box *one)
{
	struct chart *chart = ctx;
	const struct shown_function *cell = &chart->paths.cells.list[one->cell];
	const char *object = flame_text(&chart->paths, cell->place);
	uint64_t took_ns = one->to_ns - one->from_ns;
	char class[SVG_PALETTE_CLASS_SIZE], count[192];
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
		.name = paint.name,
		.class = svg_palette_class(chart->options, &paint, class),
	};
	FILE *to = chart->page.to;

	if (took_ns < chart->min_ns)
		return;
	svg_page_box_begin(&chart->page, &box);
	fprintf(to, "\n%.3f ms from %.6f s on, ", (double)took_ns / 1e6,
		(double)one->from_ns / 1e9);
	xml_put(to, svg_about_count(one->samples, chart->about.unit, count, sizeof(count)),
		sizeof(count));
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
		 svg_about_count(thread->count, chart->about.unit, count, sizeof(count)));
	svg_page_label(&chart->page, chart->row, label);
}

static void draw(struct chart *chart)
{
	svg_page_begin(&chart->page);
	for (uint32_t i = 0; i < chart->nr_lanes; i++) {
		draw_label(chart, &chart->threads.list[i]);
		chart->lane = i + 1;
		chart_lane_walk(&chart->lanes[i], draw_box, chart);
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
		all += chart->threads.list[i].count;
		left += i < chart->nr_lanes ? 0 : chart->threads.list[i].count;
	}
	if (chart->threads.nr > chart->nr_lanes)
		svg_page_note(&chart->page, "Not drawn: %s threads that ran least, %s",
			      number_grouped(chart->threads.nr - chart->nr_lanes, nr),
			      svg_about_count(left, chart->about.unit, count, sizeof(count)));
	if (chart->nr_short)
		svg_page_note(&chart->page, "Not drawn: %s boxes of less than %.3f ms",
			      number_grouped(chart->nr_short, nr), (double)chart->min_ns / 1e6);
	if (chart->untimed)
		svg_page_note(
			&chart->page, "Not drawn: %s without a time",
			svg_about_count(chart->untimed, chart->about.unit, count, sizeof(count)));
	svg_about_note_books(&chart->page, chart->recording, recording_shown(chart->recording));
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
		.all = chart->busy_ns,
		.in_time = true,
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
		       recording_shown(chart->recording), &chart->about);
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
	uint64_t shown = recording_shown(recording);
	int error;

	if (!recording->nr_events && shown)
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
	svg_legend_of(&chart.page, &chart.seen);

	uint64_t all = write_notes(&chart);

	draw(&chart);
	/* threads hold all events, also those of samples that are not shown */
	*ret_shown = all < shown ? all : shown;
	return 0;
}
