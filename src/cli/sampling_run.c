/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sampling_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/disk_cache.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/missing_names.h"
#include "cli/page_code.h"
#include "cli/progress.h"
#include "cli/rss_options.h"
#include "cli/sinks.h"
#include "cli/status_line.h"
#include "cli/stream.h"
#include "cli/wanted.h"
#include "cli/windows.h"
#include "format/formats.h"
#include "parse/parser.h"
#include "profile/engine.h"
#include "recording/must_add.h"
#include "report/finished.h"
#include "report/hints.h"
#include "report/run_report.h"
#include "report/tally.h"

/* Open every output before the first sample: a path that cannot be written costs no run. */
static int open_sinks(const struct sampling_options *options, const struct sampling_verb *verb,
		      struct sinks *sinks, struct fpl_err *err)
{
	int error = sinks_open(sinks, &options->output, !verb->own_text, err);

	if (!error && verb->open)
		error = verb->open(verb->ctx, err);
	return error;
}

/*
 * Outputs opened at the start may need rights at the end that are gone by then: the helper keeps
 * them.
 */
static int delegate_sinks(struct sinks *sinks, const struct sampling_verb *verb,
			  struct privileged_helper *helper, struct fpl_err *err)
{
	int error = sinks_delegate(sinks, helper, err);

	if (!error && verb->delegate)
		error = verb->delegate(verb->ctx, helper, err);
	return error;
}

static void say_nothing_shown(const struct profile *profile, const struct sampling_options *options)
{
	const struct profile_source *source = &profile->source;

	if (options->stacks.focus || options->stacks.ignore)
		fpl_log(FPL_LOG_ERROR, "no samples: --focus and --ignore exclude them all, or "
				       "there were none");
	else if (profile->is_locks)
		fpl_log(FPL_LOG_ERROR,
			"no samples: no thread of the target waited at a lock, or too briefly");
	else if (profile->is_wall)
		fpl_log(FPL_LOG_ERROR, "no samples: the target ended too soon");
	else if (source_spec_is_waits(&options->sources[0]))
		fpl_log(FPL_LOG_ERROR,
			"no samples: no thread of the target waited, or too briefly");
	else if (profile_source_is_clock(source))
		fpl_log(FPL_LOG_ERROR, "no samples: the target was not on a CPU, or too briefly");
	else if (profile->nr_sources)
		fpl_log(FPL_LOG_ERROR,
			"no samples: the target had none of %s, or all were left out",
			source->name);
	else if (options->sources[0].filter)
		fpl_log(FPL_LOG_ERROR,
			"no samples: none of the %" PRIu64 " %s here passed --filter",
			profile->books.fired, source->name);
	else if (source->period > 1)
		fpl_log(FPL_LOG_ERROR,
			"no samples: the target had too few %s: one in %" PRIu64 " is sampled (-c)",
			source->name, source->period);
	else
		fpl_log(FPL_LOG_ERROR, "no samples: the target had no %s", source->name);
}

/* Were more of the samples that passed the filters lost than --strict allows? Says so. */
static bool lost_too_many(const struct sampling_options *options, uint64_t lost, uint64_t passed)
{
	if (!options->strict || (double)lost * 100 <= options->strict_percent * (double)passed)
		return false;
	fpl_log(FPL_LOG_ERROR, "--strict: %" PRIu64 " of %" PRIu64 " samples were lost", lost,
		passed);
	return true;
}

/* Is a run without samples what was asked for? */
static bool wants_no_samples(const struct sampling_options *options)
{
	return options->blocks.way == BLOCKED_WAY_TIMES;
}

/* Exit code of the run, once everything is written. */
static int judge(const struct profile *profile, const struct sampling_options *options,
		 uint64_t shown)
{
	const struct profile_books *books = &profile->books;
	struct tally tally;

	tally_count(profile, &tally);
	if (lost_too_many(options, tally.lost, books->fired - books->idle - books->filtered))
		return CLI_EXIT_STRICT;
	if (!shown && !wants_no_samples(options)) {
		say_nothing_shown(profile, options);
		return CLI_EXIT_NO_SAMPLES;
	}
	return CLI_EXIT_OK;
}

static int exit_status_of(int engine_error)
{
	switch (engine_error) {
	case -ESRCH:
	case -ENOENT:
		return CLI_EXIT_NO_SAMPLES;
	case -EINVAL:
		return CLI_EXIT_USAGE;
	case -EIO:
		return CLI_EXIT_OUTPUT;
	default:
		return CLI_EXIT_CANNOT_RUN;
	}
}

static void cleanup_parser(struct parser **parser)
{
	parser_destroy(*parser);
}

static void cleanup_namer(struct namer **namer)
{
	namer_destroy(*namer);
}

static void cleanup_cache(struct disk_cache **cache)
{
	disk_cache_destroy(*cache);
}

/* That of the command, as a shell has it, where fpless has nothing to say. */
static int status_of_command(int status)
{
	if (status < 0)
		return CLI_EXIT_OK;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The closing report. @status: of the outputs. */
static void report(const struct profile *profile, const struct sampling_options *options,
		   const struct hints *hints, const struct recording *recording, uint64_t shown,
		   int status)
{
	struct summary summary = { .profile = profile, .shown = shown };
	AUTO_FREE const char **paths = output_options_files(&options->output, &summary.nr_outputs);
	char hint[MISSING_NAMES_HINT];

	summary.outputs = paths;
	if (status)
		summary.nr_outputs = 0;
	missing_names_of_leaves(recording, &summary.unnamed, hint);
	run_report_write(stderr, &summary, hints, fpl_log_enabled(FPL_LOG_DEBUG));
}

/* The exit code of the run. @status: of the outputs. */
static int conclude(const struct profile *profile, const struct sampling_options *options,
		    const struct sampling_verb *verb, uint64_t shown, int status)
{
	if (!status && profile->stream.error)
		status = CLI_EXIT_OUTPUT;
	if (!status)
		status = judge(profile, options, shown);
	if (!status && verb->judge)
		status = verb->judge(verb->ctx, profile);
	return status ? status : status_of_command(profile->command_status);
}

/* Keep the names that are new, and say so in the numbers. */
static void keep_names(const struct names *names, struct disk_cache *cache,
		       struct recording *recording)
{
	const struct profile *profile = names->profile;
	struct disk_cache_stats stats;
	struct namer_stats known;

	namer_keep(names->namer, &known);
	disk_cache_stats(cache, DISK_CACHE_NAMES, &stats);
	must_add_number(recording, "names.cache_hits", known.nr_known);
	must_add_number(recording, "names.cache_misses", known.nr_asked);
	/* the engine counted before there were names: the bytes that they add, or made give way */
	must_add_number(recording, "tables.cache_bytes", stats.bytes - profile->tables.cache_bytes);
}

/* Write everything and say what it is worth. Returns an enum cli_exit. */
static int present(struct sinks *sinks, struct profile *profile, struct namer *namer,
		   struct disk_cache *cache, const struct sampling_options *options,
		   const struct sampling_verb *verb, struct page_code *code)
{
	CLEANUP(names_fini) struct names names = { .namer = namer };
	CLEANUP(recording_fini) struct recording recording = { 0 }, kept = { 0 };
	const struct recording *wanted = &recording;
	struct hints hints;
	struct fpl_err err = { 0 };
	uint64_t shown;

	if (namer_add_profile(namer, profile, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.code ? err.msg : "out of memory for names");
		return CLI_EXIT_OUTPUT;
	}
	names_init(&names, profile, namer, &(struct names_options){ .by_function = true });
	must_recording_init(&recording);
	finished_make(&names, &recording);
	keep_names(&names, cache, &recording);
	hints_find(&names, &hints);
	hints_add_numbers(&recording, &hints);
	if (wanted_keep(&options->stacks, &recording, &kept, profile, &wanted, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.code ? err.msg : "out of memory for names");
		return CLI_EXIT_OUTPUT;
	}

	struct format_options format_options = output_options_format(&options->output);

	format_options.code = page_code_make(code, wanted);

	int status = sinks_write(sinks, wanted, &format_options, &shown);
	int verb_status = verb->write ? verb->write(verb->ctx, &names, wanted) : CLI_EXIT_OK;
	int stats_status = sinks_write_stats(sinks, wanted, shown);

	if (!status)
		status = verb_status ? verb_status : stats_status;
	if (!options->output.quiet) {
		report(profile, options, &hints, wanted, shown, status);
		if (verb->report)
			verb->report(verb->ctx, stderr);
	}
	status = conclude(profile, options, verb, shown, status);
	sinks_show_page(sinks);
	return status;
}

static void cleanup_stream(struct stream **stream)
{
	stream_destroy(*stream);
}

static void cleanup_progress(struct progress **progress)
{
	progress_destroy(*progress);
}

/* May a line of progress be shown? Only at a terminal, and not beside a stream. */
static bool wants_progress(const struct sampling_options *options)
{
	const struct output_options *output = &options->output;

	return !options->events.stream && output_options_want_progress(output) &&
	       status_line_is_possible();
}

/* Sample, with a listener if requested. Errors: as engine_run. */
static int run_engine(const struct sampling_options *options, struct engine_options *engine,
		      struct profile *ret, struct fpl_err *err)
{
	CLEANUP(cleanup_stream) struct stream *stream = NULL;
	CLEANUP(cleanup_progress) struct progress *progress = NULL;
	const struct event_options *events = &options->events;
	char events_text[256];

	event_options_to_engine(events, engine);
	if (events->stream) {
		const struct stream_options stream_options = {
			.fd = STDOUT_FILENO,
			.format = events->stream_format,
			.sources = options->sources,
			.nr_sources = options->nr_sources,
			.key = options->output.by_field,
			.user = options->user,
			.no_demangle = options->output.no_demangle,
			.inlined = !options->output.no_inlined,
			.lines = !options->output.no_lines,
			.parser = engine->parser,
			.cache = engine->cache,
		};

		if (stream_create(&stream_options, &stream, err))
			return -ENOMEM;
		engine->listener = stream_listener(stream);
	}

	if (wants_progress(options))
		progress = progress_create(
			options->duration_ms,
			sampling_options_events(options, events_text, sizeof(events_text)),
			options->user, options->command != NULL);
	if (progress)
		engine->listener = progress_listener(progress);

	int code = engine_run(engine, ret, err);

	if (code || !stream)
		return code;
	code = stream_finish(stream, &ret->stream);
	if (code)
		fpl_log(FPL_LOG_ERROR, "stdout: %s", strerror(-code));
	ret->stream.error = code;
	return 0;
}

/* The same, with the verb listening. */
static int run_heard(const struct sampling_verb *verb, struct engine_options *engine,
		     struct profile *ret, struct fpl_err *err)
{
	int code = verb->listen(verb->ctx, engine->parser, engine->cache, &engine->listener, err);

	if (!code)
		code = engine_run(engine, ret, err);

	int heard = verb->heard(verb->ctx);

	if (!code && heard) {
		fpl_log(FPL_LOG_ERROR, "stdout: %s", strerror(-heard));
		ret->stream.error = heard;
	}
	return code;
}

/* As page_code_open(). */
static int open_code(const struct sampling_options *options, struct page_code *code,
		     struct fpl_err *err)
{
	const struct annotator_options annotator = { .root = "/",
						     .no_demangle = options->output.no_demangle };

	return options->code ? page_code_open(&annotator, code, err) : 0;
}

/* Exit code of a run that was cut. */
static int judge_windows(const struct windows_sums *sums, const struct sampling_options *options,
			 const struct profile *profile)
{
	if (sums->nr_failed)
		return CLI_EXIT_OUTPUT;
	if (lost_too_many(options, sums->lost, sums->passed))
		return CLI_EXIT_STRICT;
	if (!sums->shown && !options->window.keeper && !wants_no_samples(options)) {
		say_nothing_shown(profile, options);
		return CLI_EXIT_NO_SAMPLES;
	}
	return status_of_command(profile->command_status);
}

static void cleanup_windows(struct windows **windows)
{
	windows_destroy(*windows);
}

/* A run that is cut: its windows are written while it goes on. */
static int run_windows(const struct sampling_options *options, struct engine_options *engine)
{
	const struct window_keeper *keeper = options->window.keeper;
	CLEANUP(cleanup_windows) struct windows *windows = NULL;
	CLEANUP(profile_fini) struct profile profile = { 0 };
	struct windows_sums sums;
	struct fpl_err err = { 0 };
	int code = windows_create(options, &windows, &err);

	if (!code)
		code = windows_delegate(windows, engine->helper, &err);
	if (code) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_OUTPUT;
	}
	event_options_to_engine(&options->events, engine);
	if (keeper) {
		engine->began = keeper->began;
		engine->began_ctx = keeper->ctx;
	}
	code = windows_listen(windows, engine->parser, engine->cache, &engine->listener, &err);
	if (!code)
		code = engine_run(engine, &profile, &err);
	if (keeper)
		keeper->ending(keeper->ctx);
	windows_finish(windows, &sums);
	if (code) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return exit_status_of(code);
	}
	if (!options->output.quiet)
		windows_report(stderr, &sums);
	return judge_windows(&sums, options, &profile);
}

static int run(const struct sampling_options *options, const struct sampling_verb *verb,
	       struct privileged_helper *helper, uint64_t started_ns, char **argv)
{
	CLEANUP(sinks_fini) struct sinks sinks = { 0 };
	CLEANUP(cleanup_parser) struct parser *parser = NULL;
	CLEANUP(cleanup_cache) struct disk_cache *cache = NULL;
	CLEANUP(profile_fini) struct profile profile = { 0 };
	CLEANUP(cleanup_namer) struct namer *namer = NULL;
	CLEANUP(page_code_fini) struct page_code code = { .annotator = NULL };
	struct engine_options engine;
	struct fpl_err err = { 0 };

	/* windows have outputs of their own */
	if (!options->window.length_ms && (open_sinks(options, verb, &sinks, &err) ||
					   delegate_sinks(&sinks, verb, helper, &err))) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_OUTPUT;
	}
	if (open_code(options, &code, &err) || parser_create(PARSER_EXEC, &parser, &err) ||
	    cache_options_create(&options->cache, false, &cache, &err) ||
	    namer_create(
		    &(struct namer_options){ .parser = parser,
					     .cache = cache,
					     .no_demangle = options->output.no_demangle,
					     .inlined =
						     output_options_want_inlined(&options->output),
					     .lines = output_options_want_lines(&options->output),
					     .asks_kernel = true },
		    &namer, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	sampling_options_to_engine(options, &engine);
	engine.namer = namer_hooks(namer);
	engine.helper = helper;
	engine.parser = parser;
	engine.cache = cache;
	engine.started_ns = started_ns;
	engine.argv = argv;

	if (options->window.length_ms)
		return run_windows(options, &engine);

	int error = verb->listen ? run_heard(verb, &engine, &profile, &err)
				 : run_engine(options, &engine, &profile, &err);

	if (error) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return exit_status_of(error);
	}
	return present(&sinks, &profile, namer, cache, options, verb, &code);
}

int sampling_run(char **argv, uint64_t started_ns, struct sampling_options *options,
		 const struct sampling_verb *verb)
{
	struct privileged_helper helper = HELPER_NONE;
	int status;

	output_options_set_log(&options->output);
	sampling_options_say_max(options);
	rss_options_settle(options);
	status = run(options, verb, &helper, started_ns, argv);

	/* unwritten outputs of the verb are dropped while the helper still runs */
	if (verb->abandon)
		verb->abandon(verb->ctx);
	helper_fini(&helper);
	return status;
}

int sampling_main(int argc, char **argv, const struct argp *argp, void *input,
		  struct sampling_options *options, const struct sampling_verb *verb)
{
	uint64_t started_ns = clock_monotonic_ns();

	if (argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input))
		return CLI_EXIT_USAGE;
	return sampling_run(argv, started_ns, options, verb);
}
