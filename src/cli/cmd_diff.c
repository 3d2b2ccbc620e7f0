/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "cli/cli.h"
#include "cli/file_guard.h"
#include "cli/diff_options.h"
#include "cli/inputs.h"
#include "cli/report_names.h"
#include "cli/sinks.h"
#include "diff/diff_write.h"
#include "diff/growth_power.h"
#include "picture/html.h"
#include "recording/sample_type.h"
#include "view/measure.h"
#include "report/summary.h"

/* Formats of a diff; each has a writer below. */
static const struct format diff_format_list[] = {
	{ .name = "folded", .extensions = { ".folded" } },
	{ .name = "text", .extensions = { ".txt" } },
	{ .name = "json", .extensions = { ".json" } },
	{ .name = "svg", .extensions = { ".svg" }, .picture = true },
	{ .name = "html",
	  .extensions = { ".html", ".htm" },
	  .picture = true,
	  .missing = HTML_MISSING },
};
const struct format_list diff_formats = { diff_format_list, ARRAY_SIZE(diff_format_list) };

/* Properties that all recordings must have in common. */
struct common {
	char *event, *event_from; /* owned; NULL: unknown yet; and the file that has it */
	char *counted;		  /* owned: of the first file */
	struct measure measure;	  /* of the first file, alone */
	/* hz of a clock; of others the events one of which was sampled. 0: not known yet */
	uint64_t rate;
	bool is_hz;
	const char *rate_from;	     /* borrowed */
	uint64_t other_rate;	     /* of the first that differs; 0: none */
	const char *other_rate_from; /* borrowed */
};

static void common_fini(struct common *common)
{
	free(common->event);
	free(common->event_from);
	free(common->counted);
}

/* A diff, from its options to its outputs. */
struct diff {
	const struct diff_options *options;
	struct inputs inputs;
	struct filter *filter; /* owned */
	struct report_names names;
	struct common common;
	struct pairing shown;	       /* as readers see it: text, JSON */
	struct pairing lines;	       /* as folded lines */
	struct flame_paths paths;      /* as frames of a picture */
	struct flame_paths page_paths; /* those of a page, which has the functions of shown */
	bool wants_lines, wants_paths, wants_page;
	struct merge_result merged; /* of all files: what filters refused */
	struct difference difference;
	char *headline; /* owned */
};

static void diff_fini(struct diff *diff)
{
	free(diff->headline);
	difference_fini(&diff->difference);
	pairing_fini(&diff->shown);
	pairing_fini(&diff->lines);
	flame_paths_fini(&diff->paths);
	flame_paths_fini(&diff->page_paths);
	common_fini(&diff->common);
	report_names_fini(&diff->names);
	if (diff->filter)
		filter_destroy(diff->filter);
	inputs_fini(&diff->inputs);
}

static bool is_called(const struct format *format, const char *name)
{
	return !strcmp(format->name, name);
}

static void diff_init(struct diff *diff, const struct diff_options *options,
		      const struct sinks *sinks)
{
	const struct format_options shown = output_options_format(&options->output);
	const struct frame_text_options texts = {
		.annotate = shown.annotate,
		.origin = shown.origin,
		.addresses = shown.addresses,
		.lines = shown.lines,
		.fold_recursion = shown.fold_recursion,
	};
	struct pairing_options pairing = { .text = texts,
					   .delimited = shown.delimited,
					   .strip_hex = options->strip_hex };

	for (size_t i = 0; i < sinks->nr; i++) {
		diff->wants_lines |= is_called(sinks->list[i].format, "folded");
		diff->wants_paths |= is_called(sinks->list[i].format, "svg");
		diff->wants_page |= is_called(sinks->list[i].format, "html");
	}
	pairing.text.symbols_only = shown.inlined != FORMAT_INLINED_ALWAYS;
	pairing.by = FUNCTIONS_BY_TEXT;
	pairing_init(&diff->lines, &pairing);
	pairing.text.symbols_only = shown.inlined == FORMAT_INLINED_NEVER;
	pairing.text.by_function = true;
	pairing.by = options->any_object ? FUNCTIONS_BY_NAME : FUNCTIONS_BY_PLACE;
	pairing.shares = options->normalize;
	pairing_init(&diff->shown, &pairing);
	flame_paths_init(&diff->paths);
	flame_paths_init(&diff->page_paths);
}

static int add_paths(struct diff *diff, const struct recording *run, enum diff_side side,
		     struct fpl_err *err)
{
	const struct diff_options *options = diff->options;
	const struct flame_paths_options paths = {
		.text = diff->shown.options.text,
		.walk = MERGE_CFI,
		.delimited = options->output.delimited,
		.strip_hex = options->strip_hex,
		.reverse = options->output.picture.reverse,
	};
	struct flame_paths_options verbatim = paths;

	verbatim.text.verbatim = true; /* what writes XML escapes by itself */
	verbatim.wakers = true;
	return flame_paths_add(&diff->paths, run, &verbatim, side, err);
}

static int add_page_paths(struct diff *diff, const struct recording *run, enum diff_side side,
			  struct fpl_err *err)
{
	const struct flame_paths_options paths = {
		.text = diff->shown.options.text,
		.walk = MERGE_CFI,
		.delimited = diff->shown.options.delimited,
		.strip_hex = diff->shown.options.strip_hex,
		.places = diff->shown.options.by == FUNCTIONS_BY_PLACE,
		.no_objects = true,
	};

	return flame_paths_add(&diff->page_paths, run, &paths, side, err);
}

/*
 * Does @recording count the same event as those before it? The error names the difference and the
 * remedy.
 */
static int check_common(struct common *common, const struct recording *recording, const char *name,
			struct fpl_err *err)
{
	const char *event = recording_string(recording, recording->event);
	char counted[128];
	struct measure measure;
	uint64_t rate;

	measure_init(recording, &measure);
	/* weights of other things than time compare, however many events a sample stands for */
	rate = !recording->weight_unit ? recording->hz : measure.weight ? 0 : recording->period;
	sample_type_text(recording, counted, sizeof(counted));
	if (!common->counted) {
		common->counted = must_strdup(counted);
		common->measure = measure_alone(&measure);
	}
	if (*event && !common->event) {
		common->event = must_strdup(event);
		common->event_from = must_strdup(name);
	}
	if (strcmp(counted, common->counted) != 0)
		return fpl_fail(err, -EDOM,
				"%s: counts %s, earlier files count %s: choose by --sample-type",
				name, counted, common->counted);
	if (*event && strcmp(event, common->event) != 0)
		return fpl_fail(
			err, -EDOM,
			"%s: samples of %s, but %s has samples of %s: record both with the same -e",
			name, event, common->event_from, common->event);
	if (strcmp(measure.noun, common->measure.noun) != 0 ||
	    measure.kind != common->measure.kind || measure.weight != common->measure.weight)
		return fpl_fail(
			err, -EDOM,
			"%s: shows %s, earlier files show %s: choose by --sample-type samples",
			name, measure.noun, common->measure.noun);
	if (rate && !common->rate) {
		common->rate = rate;
		common->is_hz = !recording->weight_unit;
		common->rate_from = name;
	} else if (rate && rate != common->rate && !common->other_rate) {
		common->other_rate = rate;
		common->other_rate_from = name;
	}
	return 0;
}

/* Sums over both sides may exceed 64 bits. */
static void add_result(struct merge_result *to, const struct merge_result *from)
{
	if (__builtin_add_overflow(to->shown, from->shown, &to->shown))
		to->shown = UINT64_MAX;
	if (__builtin_add_overflow(to->refused, from->refused, &to->refused))
		to->refused = UINT64_MAX;
}

/* A file that is read. */
struct diff_input {
	struct diff *diff;
	const char *name;
	enum diff_side side;
};

/* Pair a part of a run. */
static int add_part(void *ctx, struct recording *part, const struct merge_result *result,
		    struct fpl_err *err)
{
	const struct diff_input *input = ctx;
	struct diff *diff = input->diff;
	const struct diff_options *options = diff->options;
	enum diff_side side = input->side;
	int error = check_common(&diff->common, part, input->name, err);

	if (!error && options->reading.symfs)
		error = report_names_apply(&diff->names, options->reading.symfs, part, err);
	if (!error)
		error = output_options_set_by(&options->output, part, err);
	if (error)
		return error;
	add_result(&diff->merged, result);
	recording_settle(part);
	error = pairing_add_part(&diff->shown, part, side, err);
	if (!error && diff->wants_lines)
		error = pairing_add_part(&diff->lines, part, side, err);
	if (!error && diff->wants_paths)
		error = add_paths(diff, part, side, err);
	return error || !diff->wants_page ? error : add_page_paths(diff, part, side, err);
}

/* Read file @idx and pair the part that the filter selects. */
static int add_run(struct diff *diff, size_t idx, struct fpl_err *err)
{
	const struct diff_options *options = diff->options;
	struct diff_input input = {
		.diff = diff,
		.name = inputs_name(&diff->inputs, idx),
		.side = idx < options->nr_before ? DIFF_BEFORE : DIFF_AFTER,
	};
	const struct input_options input_options = {
		.reading = &options->reading,
		.by = options->output.by,
		.events = options->reading.filter.has_time,
	};
	const struct input_parts parts = { &input, add_part };
	int error =
		inputs_take_parts(&diff->inputs, idx, &input_options, diff->filter, &parts, err);

	if (!error)
		error = pairing_end_run(&diff->shown, input.side, err);
	return error || !diff->wants_lines ? error : pairing_end_run(&diff->lines, input.side, err);
}

/* Numbers of samples prove nothing if one side was sampled ten times as often. */
static int check_rates(const struct diff *diff, struct fpl_err *err)
{
	const struct common *common = &diff->common;

	if (!common->other_rate || diff->options->normalize)
		return 0;
	if (!diff->wants_lines && !diff->wants_paths && !diff->wants_page &&
	    diff->difference.significance.options.measure == DIFF_WEIGHT)
		return 0;
	return fpl_fail(
		err, -EDOM,
		common->is_hz ? "%s: %" PRIu64 " samples per second, %s %" PRIu64
				": their counts do not compare: shares do, with --normalize"
			      : "%s: a sample in %" PRIu64 " events, %s in %" PRIu64
				": their counts do not compare: shares do, with --normalize",
		common->other_rate_from, common->other_rate, common->rate_from, common->rate);
}

static int read_all(struct diff *diff, struct fpl_err *err)
{
	int error = 0;

	for (size_t i = 0; !error && i < diff->inputs.nr; i++)
		error = add_run(diff, i, err);
	inputs_end(&diff->inputs);
	if (error)
		return error;
	pairing_settle(&diff->shown);
	pairing_settle(&diff->lines);
	difference_make(&diff->shown, &diff->difference);
	diff->headline = headline_make(&diff->difference, diff->common.counted);
	return check_rates(diff, err);
}

/*
 * The weight that noise comes in: of weights w that is the sum of their squares, by their sum.
 * Counts come in samples.
 */
static double average_sample(const struct pairing *pairing)
{
	double noise = 0, sum = 0;

	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		noise += pairing->whole.of[DIFF_WEIGHT][side].noise;
		sum += pairing->whole.of[DIFF_WEIGHT][side].sum;
	}
	return pairing->measure.weight && sum > 0 ? noise / sum : 1;
}

static struct diff_picture picture_of(const struct diff *diff, const struct flame_paths *paths)
{
	const struct diff_options *options = diff->options;
	const char *name = options->output.picture.count_name;
	struct diff_picture ret = {
		.paths = paths,
		.options = &options->output.picture,
		.significance = &diff->difference.significance,
		.measure = diff->common.measure,
		.sample = average_sample(&diff->shown),
		.headline = diff->headline,
		.runs = { diff->shown.sides[DIFF_BEFORE].nr_runs,
			  diff->shown.sides[DIFF_AFTER].nr_runs },
		.normalize = options->normalize,
		.negate = options->negate,
	};

	if (name)
		measure_init_counts(name, &ret.measure);
	return ret;
}

static int write_page(struct diff *diff, FILE *to, struct fpl_err *err)
{
	const struct diff_options *options = diff->options;
	const struct common *common = &diff->common;
	const struct diff_page page = {
		.picture = picture_of(diff, &diff->page_paths),
		.difference = &diff->difference,
		.event = common->event,
		.hz = common->other_rate || !common->is_hz ? 0 : common->rate,
		.files = { options->files, options->files + options->nr_before },
	};

	return diff_html_write(to, &page, err);
}

/* As format_write_fn. */
static int write_format(void *ctx, const struct format *format, FILE *to, uint64_t *ret_shown,
			struct fpl_err *err)
{
	struct diff *diff = ctx;
	const struct diff_options *options = diff->options;
	const struct diff_text_options text = {
		.nr_functions = !options->has_top ? DIFF_TEXT_FUNCTIONS
				: options->top	  ? options->top
						  : SIZE_MAX,
		.counted = diff->common.counted,
		.headline = diff->headline,
		.nr_stacks = !options->has_top ? DIFF_TEXT_STACKS
			     : options->top    ? options->top
					       : SIZE_MAX,
	};

	const struct diff_json_options json = {
		.counted = diff->common.counted,
		.headline = diff->headline,
		.limit = options->limit,
	};
	const struct diff_picture picture = picture_of(diff, &diff->paths);

	*ret_shown = diff->merged.shown;
	if (is_called(format, "html"))
		return write_page(diff, to, err);
	if (is_called(format, "folded"))
		diff_folded_write(to, &diff->lines, options->normalize);
	else if (is_called(format, "svg"))
		diff_svg_write(to, &picture);
	else if (is_called(format, "json"))
		diff_json_write(to, &diff->difference, &json);
	else
		diff_text_write(to, &diff->difference, &text);
	return 0;
}

/* Report the comparison and its caveats. @status: of the outputs. */
static void report(const struct diff *diff, int status)
{
	const struct diff_options *options = diff->options;
	const uint64_t *samples = diff->shown.whole.count;
	size_t nr_after = options->nr_files - options->nr_before, nr_paths;
	AUTO_FREE const char **paths = output_options_files(&options->output, &nr_paths);

	fprintf(stderr,
		"fpless: %" PRIu64 " samples of %zu file%s before, %" PRIu64
		" of %zu file%s after\n",
		samples[DIFF_BEFORE], options->nr_before, options->nr_before == 1 ? "" : "s",
		samples[DIFF_AFTER], nr_after, nr_after == 1 ? "" : "s");
	if (!status)
		summary_write_outputs(stderr, paths, nr_paths);
	if (diff->merged.refused)
		fprintf(stderr, "  refused      %" PRIu64 " samples, by the filters\n",
			diff->merged.refused);
	if (diff->wants_lines && !options->normalize && options->nr_before != nr_after)
		fputs("  sums         of folded stacks are over different numbers of files: --normalize makes them comparable\n",
		      stderr);
	if (options->reading.symfs)
		report_names_write(stderr, &diff->names);
}

/* Say where a growth by as much as a limit would not have been seen. */
static void warn_of_noise(const struct diff *diff, const char *option,
			  const struct growth_power *power)
{
	const size_t *runs = diff->difference.significance.options.runs;
	char more[64] = "make longer runs";

	if (!power->hidden)
		return;
	if (!isfinite(power->shows)) {
		fpl_log(FPL_LOG_WARN, "%s %g%%: not known: a side has no samples", option,
			power->limit);
		return;
	}
	if (power->runs)
		snprintf(more, sizeof(more), "%zu a side would show %g %%", power->runs,
			 power->limit);
	fpl_log(FPL_LOG_WARN,
		"%s %g%%: nothing grew by so much for certain, but noise can hide it: %zu run%s before and %zu after show a growth by %.3g %%, 9 times in 10; %s",
		option, power->limit, runs[DIFF_BEFORE], runs[DIFF_BEFORE] == 1 ? "" : "s",
		runs[DIFF_AFTER], power->shows, more);
}

/* CLI_EXIT_CHANGED, and why, where something grew beyond the limit. */
static int check_growth(const struct diff *diff)
{
	const struct growth_limit *limit = &diff->options->limit;
	AUTO_FREE char *grown = headline_beyond(&diff->difference, limit);

	if (!grown) {
		const struct growth_power whole =
			growth_power_of_whole(&diff->difference, limit->of_whole);
		const struct growth_power itself =
			growth_power_of_itself(&diff->difference, limit->of_itself);

		warn_of_noise(diff, "--fail-on", &whole);
		warn_of_noise(diff, "--fail-on-function", &itself);
		return CLI_EXIT_OK;
	}
	fpl_log(FPL_LOG_ERROR, "grew beyond the limit: %s", grown);
	return CLI_EXIT_CHANGED;
}

static int present(struct sinks *sinks, struct diff *diff)
{
	const struct sink_writer writer = { .ctx = diff, .write = write_format };
	uint64_t shown;
	int status = sinks_write_by(sinks, &writer, diff->merged.shown, &shown);

	if (!diff->options->output.quiet)
		report(diff, status);
	if (status || shown)
		return status ? status : check_growth(diff);
	fpl_log(FPL_LOG_ERROR, diff->merged.refused    ? "no samples: the filters exclude them all"
			       : diff->options->source ? "no samples in these times"
						       : "no samples in the files read");
	return CLI_EXIT_NO_SAMPLES;
}

/* Distinguish errors of the command line, of the machine and of files. */
static int fail(int status, const struct fpl_err *err)
{
	fpl_log(FPL_LOG_ERROR, "%s%s", err->msg, memory_limit_advice(err->code));
	return status;
}

int diff_run(const struct diff_options *options, struct privileged_helper *helper)
{
	CLEANUP(sinks_fini) struct sinks sinks = { 0 };
	CLEANUP(diff_fini) struct diff diff = { .options = options };
	const struct reading_options *reading = &options->reading;
	struct fpl_err err = { 0 };

	if (filter_create(&reading->filter, &diff.filter, &err))
		return fail(CLI_EXIT_USAGE, &err);
	if (reading->symfs && report_names_init(&diff.names, &options->output, &reading->cache,
						reading->debuginfod, &err))
		return fail(CLI_EXIT_CANNOT_RUN, &err);
	if (options->source)
		inputs_open_source(options->source, options->files, options->nr_files,
				   &diff.inputs);
	else if (inputs_open(options->files, options->nr_files, &options->output, &diff.inputs,
			     &err))
		return inputs_fail(&err);
	if (sinks_open(&sinks, &options->output, true, &err))
		return fail(CLI_EXIT_OUTPUT, &err);
	diff_init(&diff, options, &sinks);
	if (inputs_give_up_rights(&sinks, helper,
				  options->source ? INPUT_NEEDS_NETWORK : inputs_needs(reading),
				  reading->memory, &err) ||
	    read_all(&diff, &err))
		return inputs_fail(&err);

	int status = present(&sinks, &diff);

	sinks_show_page(&sinks);
	return status;
}

/* The recordings are two times of a store. */
static int take_store(struct diff_options *options)
{
	struct fpl_err err = { 0 };

	if (store_input_open(&options->store, &err))
		return inputs_fail(&err);
	options->source = store_input_two(&options->store, &options->files);
	options->nr_files = 2;
	options->nr_before = 1;
	options->normalize |= !store_input_is_even(&options->store);
	return CLI_EXIT_OK;
}

int cmd_diff(int argc, char **argv)
{
	CLEANUP(diff_options_fini)
	struct diff_options options = { .output.formats = &diff_formats };
	struct privileged_helper helper = HELPER_NONE;
	int status;

	if (diff_options_parse(argc, argv, &options))
		return CLI_EXIT_USAGE;
	output_options_set_log(&options.output);
	if (options.store.folder) {
		status = take_store(&options);
		if (status)
			return status;
	} else {
		file_guard((const char *const *)options.files, options.nr_files);
	}
	status = diff_run(&options, &helper);
	helper_fini(&helper);
	return status;
}
