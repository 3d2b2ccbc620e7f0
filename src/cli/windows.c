/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/windows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/output_series.h"
#include "cli/sinks.h"
#include "cli/wanted.h"
#include "naming/feed.h"
#include "naming/live_names.h"
#include "profile/code_names.h"
#include "profile/jvm_codes.h"
#include "profile/script_codes.h"
#include "recording/must_add.h"
#include "report/finished.h"
#include "report/hints.h"
#include "report/summary.h"
#include "report/tally.h"

#define KEEP_PAUSE_NS (10 * NS_PER_S)

struct windows {
	const struct sampling_options *options; /* borrowed */
	struct output_series *series; /* owned [options->output.nr + 1]: the last is of --stats */
	struct parser *parser;	      /* borrowed */
	bool has_ms;
	uint64_t next_keep_ns; /* CLOCK_MONOTONIC: names are kept on disk */
	struct feed feed;
	struct live_names names;
	struct windows_sums sums; /* of the thread, until it has ended */
};

static size_t nr_series(const struct windows *windows)
{
	return windows->options->output.nr + 1;
}

/* The outputs of the window that began at @unix_ns. Returns how many cannot be opened, each said.
 */
static size_t open_sinks(struct windows *windows, uint64_t unix_ns, struct sinks *ret)
{
	const struct output_options *output = &windows->options->output;
	struct fpl_err err = { 0 };
	size_t nr_failed = 0;

	*ret = (struct sinks){ .list = must_calloc(output->nr + 1, sizeof(*ret->list)) };
	for (size_t i = 0; i < output->nr; i++) {
		struct sink *sink = &ret->list[ret->nr];

		if (output_series_next(&windows->series[i], unix_ns, &sink->file, &err)) {
			fpl_log(FPL_LOG_ERROR, "%s", err.msg);
			nr_failed++;
			continue;
		}
		sink->format = output->list[i].format;
		sink->packing = output->list[i].packing;
		ret->nr++;
	}
	if (output->stats_path &&
	    output_series_next(&windows->series[output->nr], unix_ns, &ret->stats, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		nr_failed++;
	}
	return nr_failed;
}

/* "fpless: 20261129T041405Z: 1,234 samples, 99.5 % complete, none lost, gap 0.4 ms", in one piece:
 * the thread of the run writes lines, too. */
static void tell(const struct windows *windows, const struct profile *profile,
		 const struct tally *tally, uint64_t shown)
{
	char stamp[OUTPUT_SERIES_STAMP];
	AUTO_FREE char *line = NULL;
	size_t size;
	FILE *to = must_memstream(&line, &size);

	output_series_stamp(profile->start_unix_ns, windows->has_ms, stamp);
	fprintf(to, "fpless: %s: ", stamp);
	summary_write_number(to, shown);
	fputs(" samples", to);
	if (tally_judged(tally))
		summary_write_complete(to, tally->complete, tally_judged(tally), true);
	summary_write_lost(to, tally->lost);
	fprintf(to, ", gap %.1f ms\n", (double)profile->window.gap_ns / NS_PER_MS);
	must_memstream_close(to);
	fputs(line, stderr);
}

static void add_up(struct windows_sums *sums, const struct profile *profile,
		   const struct tally *tally, uint64_t shown)
{
	const struct profile_books *books = &profile->books;

	sums->nr++;
	sums->nr_open += !tally_books_close(profile, tally, shown);
	sums->shown += shown;
	sums->fired += books->fired;
	sums->passed += books->fired - books->idle - books->filtered;
	sums->lost += tally->lost;
	sums->missed += books->missed;
	sums->expected += books->expected;
	sums->gap_ns += profile->window.gap_ns;
	if (profile->window.gap_ns > sums->gap_max_ns)
		sums->gap_max_ns = profile->window.gap_ns;
	sums->sampled_ns += profile->duration_ns;
}

/* Keep the names that are new, now and then: it writes to the disk. At the end the namer does. */
static void keep_names(struct windows *windows)
{
	struct namer_stats known;
	uint64_t now = clock_monotonic_ns();

	if (now < windows->next_keep_ns)
		return;
	namer_keep(windows->names.namer, &known);
	windows->next_keep_ns = now + KEEP_PAUSE_NS;
}

/* Write @profile, which has its objects, by @names. */
static void write_named(struct windows *windows, struct names *names, struct profile *profile)
{
	const struct sampling_options *options = windows->options;
	const struct window_keeper *keeper = options->window.keeper;
	CLEANUP(recording_fini) struct recording recording = { 0 }, kept = { 0 };
	CLEANUP(sinks_fini) struct sinks sinks = { 0 };
	const struct recording *wanted = &recording;
	struct format_options format = output_options_format(&options->output);
	struct fpl_err err = { 0 };
	struct tally tally;
	struct hints hints;
	uint64_t shown = 0;
	size_t nr_failed;

	must_recording_init(&recording);
	finished_make(names, &recording);
	keep_names(windows);
	hints_find(names, &hints);
	hints_add_numbers(&recording, &hints);
	if (wanted_keep(&options->stacks, &recording, &kept, profile, &wanted, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.code ? err.msg : "out of memory for names");
		windows->sums.nr_failed++;
		return;
	}
	nr_failed = open_sinks(windows, profile->start_unix_ns, &sinks);
	nr_failed += sinks_write(&sinks, wanted, &format, &shown) != 0;
	nr_failed += sinks_write_stats(&sinks, wanted, shown) != 0;
	if (keeper) {
		shown = recording_shown(wanted);
		nr_failed += keeper->take(keeper->ctx, profile, wanted) != 0;
	}
	tally_count(profile, &tally);
	windows->sums.nr_failed += nr_failed > 0;
	add_up(&windows->sums, profile, &tally, shown);
	if (!options->output.quiet)
		tell(windows, profile, &tally, shown);
}

static void write_window(struct windows *windows, struct profile *profile)
{
	struct names names;

	/* without memory it stays addresses */
	if (profile->code_orders &&
	    code_names_read(profile->code_orders, windows->options->jit_memory, windows->parser,
			    &profile->code_names))
		fpl_log(FPL_LOG_WARN, "code made at run time: out of memory for its names");
	script_codes_name(profile->script_codes, windows->parser);
	live_names_window(&windows->names, profile, &names);
	jvm_codes_hold(profile->jvm_codes, windows->parser);
	write_named(windows, &names, profile);
	jvm_codes_release(profile->jvm_codes);
	live_names_window_end(profile, &names);
	profile_fini(profile);
}

/* feed_options.main */
static void write_loop(void *ctx)
{
	struct windows *windows = ctx;
	bool closing = false;

	while (!closing) {
		CLEANUP(feed_batch_fini) struct feed_batch batch = { 0 };
		struct profile profile;
		size_t order;

		feed_await(&windows->feed, &batch);
		while (feed_pop_window(&batch, &profile, &order)) {
			live_names_follow(&windows->names, &batch, order);
			write_window(windows, &profile);
		}
		live_names_follow(&windows->names, &batch, SIZE_MAX);
		closing = batch.closing;
	}
}

int windows_create(const struct sampling_options *options, struct windows **ret,
		   struct fpl_err *err)
{
	struct windows *windows = must_calloc(1, sizeof(*windows));
	const struct output_options *output = &options->output;
	const struct feed_options feed = { .windows = true, .main = write_loop, .ctx = windows };
	int code;

	windows->options = options;
	windows->has_ms = options->window.length_ms < 1000;
	windows->series = must_calloc(nr_series(windows), sizeof(*windows->series));
	code = feed_init(&windows->feed, &feed, err);
	for (size_t i = 0; !code && i < output->nr; i++)
		code = output_series_open(output->list[i].path, windows->has_ms,
					  &windows->series[i], err);
	if (!code && output->stats_path)
		code = output_series_open(output->stats_path, windows->has_ms,
					  &windows->series[output->nr], err);
	if (code)
		windows_destroy(windows);
	else
		*ret = windows;
	return code;
}

void windows_destroy(struct windows *windows)
{
	if (!windows)
		return;
	feed_finish(&windows->feed);
	live_names_fini(&windows->names);
	feed_fini(&windows->feed);
	for (size_t i = 0; i < nr_series(windows); i++)
		output_series_close(&windows->series[i]);
	free(windows->series);
	free(windows);
}

int windows_delegate(struct windows *windows, struct privileged_helper *helper, struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < nr_series(windows); i++)
		if (windows->series[i].folder)
			code = output_series_delegate(&windows->series[i], helper, err);
	return code;
}

int windows_listen(struct windows *windows, struct parser *parser, struct disk_cache *cache,
		   const struct engine_listener **ret, struct fpl_err *err)
{
	const struct sampling_options *options = windows->options;
	const struct live_names_options names = {
		.namer = { .parser = parser,
			   .cache = cache,
			   .no_demangle = options->output.no_demangle,
			   .inlined = output_options_want_inlined(&options->output),
			   .lines = output_options_want_lines(&options->output),
			   .asks_kernel = true },
		.names = { .by_function = true },
		.user = options->user,
	};

	windows->parser = parser;
	*ret = &windows->feed.listener;
	return live_names_init(&windows->names, &names, err);
}

void windows_finish(struct windows *windows, struct windows_sums *ret)
{
	feed_finish(&windows->feed);
	windows->sums.nr_dropped = windows->feed.nr_windows_dropped;
	*ret = windows->sums;
}

void windows_report(FILE *to, const struct windows_sums *sums)
{
	uint64_t nr_gaps = sums->nr > 1 ? sums->nr - 1 : 1;

	fputs("fpless: ", to);
	summary_write_number(to, sums->nr);
	fprintf(to, " windows of %.1f s in all, ", (double)sums->sampled_ns / NS_PER_S);
	summary_write_number(to, sums->shown);
	fputs(" samples", to);
	summary_write_lost(to, sums->lost);
	if (sums->gap_ns)
		fprintf(to, "\n  gaps         %.3f %% of the time, %.2f ms each, %.1f ms at most",
			100.0 * (double)sums->gap_ns / (double)(sums->gap_ns + sums->sampled_ns),
			(double)sums->gap_ns / NS_PER_MS / (double)nr_gaps,
			(double)sums->gap_max_ns / NS_PER_MS);
	fputc('\n', to);
	if (sums->nr_dropped)
		fprintf(to,
			"  dropped      %" PRIu64
			" more windows, whole: writing could not keep up: longer ones, fewer outputs\n",
			sums->nr_dropped);
	if (sums->nr_open)
		fprintf(to,
			"  books        those of %" PRIu64
			" windows do not close: a bug of fpless\n",
			sums->nr_open);
}
