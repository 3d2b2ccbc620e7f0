/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "cli/cli.h"
#include "format/thread_table.h"
#include "cli/file_guard.h"
#include "cli/inputs.h"
#include "cli/missing_names.h"
#include "cli/page_code.h"
#include "cli/report_names.h"
#include "cli/report_options.h"
#include "cli/sinks.h"
#include "cli/stdout_status.h"
#include "cli/verbs.h"
#include "recording/filter.h"
#include "recording/merge.h"
#include "recording/must_add.h"
#include "recording/recount.h"
#include "report/recording_report.h"

static int read_all(const struct report_options *options, struct inputs *inputs,
		    struct filter *filter, struct recording *ret, struct merge_result *result,
		    struct fpl_err *err)
{
	const struct input_options input_options = { .reading = &options->reading,
						     .by = options->output.by,
						     .events = true };
	int error = 0;

	must_recording_init(ret);
	for (size_t i = 0; !error && i < inputs->nr; i++)
		error = inputs_add(inputs, i, &input_options, filter, ret, result, err);
	inputs_end(inputs);
	if (!error && (result->refused || result->nr > 1))
		recording_recount(ret, result->refused);
	return error ? error : output_options_set_by(&options->output, ret, err);
}

/* List on stdout the objects that lack names. Returns an enum cli_exit; errors are reported. */
static int list_missing(const struct recording *recording)
{
	missing_names_write(stdout, recording);
	return stdout_status();
}

/* The closing report. @status: of the outputs. */
static void report(const struct report_options *options, const struct recording *recording,
		   const struct merge_result *result, uint64_t shown, int status)
{
	struct recording_report report = { .recording = recording,
					   .result = result,
					   .shown = shown };
	AUTO_FREE const char **paths = output_options_files(&options->output, &report.nr_outputs);

	report.outputs = paths;
	if (status)
		report.nr_outputs = 0;
	/* packages are known to who may read their lists: --missing */
	if (!options->missing) {
		missing_names_of_leaves(recording, &report.unnamed, NULL);
		report.unnamed.hint = "fpless report --missing says which packages have them";
	}
	recording_report_write(stderr, &report, fpl_log_enabled(FPL_LOG_DEBUG));
}

/* As page_code_open(). */
static int open_code(const struct report_options *options, struct page_code *code,
		     struct fpl_err *err)
{
	const struct annotator_options annotator = {
		.root = options->reading.symfs ? options->reading.symfs : "/",
		.debuginfod = options->reading.debuginfod,
		.no_demangle = options->output.no_demangle,
	};

	return options->code ? page_code_open(&annotator, code, err) : 0;
}

/* Write everything and say what it is worth. Returns an enum cli_exit. */
static int present(struct sinks *sinks, const struct report_options *options,
		   const struct recording *recording, const struct merge_result *result,
		   const struct report_names *names, const struct annotations *code)
{
	struct format_options format_options = output_options_format(&options->output);
	uint64_t shown;

	format_options.code = code;

	int status = sinks_write(sinks, recording, &format_options, &shown);
	int stats_status = sinks_write_stats(sinks, recording, shown);

	if (!stats_status && options->missing)
		stats_status = list_missing(recording);
	if (!options->output.quiet) {
		report(options, recording, result, shown, status ? status : stats_status);
		if (options->reading.symfs)
			report_names_write(stderr, names);
	}
	if (status || stats_status)
		return status ? status : stats_status;
	if (shown || thread_table_is_all(recording))
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, result->refused	 ? "no samples: the filters exclude them all"
			       : options->source ? "no samples in this time"
						 : "no samples in the files read");
	return CLI_EXIT_NO_SAMPLES;
}

static void cleanup_filter(struct filter **filter)
{
	filter_destroy(*filter);
}

static enum input_needs needs_of(const struct report_options *options)
{
	enum input_needs needs =
		options->source ? INPUT_NEEDS_NETWORK : inputs_needs(&options->reading);

	/* packages are looked up in the lists of the system, code in its programs */
	return (options->missing || options->code) && needs == INPUT_NEEDS_NOTHING
		       ? INPUT_NEEDS_FILES
		       : needs;
}

int report_run(const struct report_options *options, struct privileged_helper *helper)
{
	CLEANUP(sinks_fini) struct sinks sinks = { 0 };
	CLEANUP(inputs_fini) struct inputs inputs = { 0 };
	CLEANUP(cleanup_filter) struct filter *filter = NULL;
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(report_names_fini) struct report_names names = { 0 };
	CLEANUP(page_code_fini) struct page_code code = { .annotator = NULL };
	struct merge_result result = { 0 };
	struct fpl_err err = { 0 };

	if (filter_create(&options->reading.filter, &filter, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_USAGE;
	}
	if ((options->reading.symfs &&
	     report_names_init(&names, &options->output, &options->reading.cache,
			       options->reading.debuginfod, &err)) ||
	    open_code(options, &code, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	if (options->source)
		inputs_open_source(options->source, options->files, options->nr_files, &inputs);
	else if (inputs_open(options->files, options->nr_files, &options->output, &inputs, &err))
		return inputs_fail(&err);
	if (sinks_open(&sinks, &options->output, true, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s%s", err.msg, memory_limit_advice(err.code));
		return CLI_EXIT_OUTPUT;
	}
	if (inputs_give_up_rights(&sinks, helper, needs_of(options), options->reading.memory,
				  &err) ||
	    read_all(options, &inputs, filter, &recording, &result, &err) ||
	    (options->reading.symfs &&
	     report_names_apply(&names, options->reading.symfs, &recording, &err)))
		return inputs_fail(&err);

	const struct annotations *annotations = page_code_make(&code, &recording);

	recording_settle(&recording);

	int status = present(&sinks, options, &recording, &result, &names, annotations);

	sinks_show_page(&sinks);
	return status;
}

/* The recording is a time of a store. */
static int take_store(struct report_options *options)
{
	struct fpl_err err = { 0 };

	if (store_input_open(&options->store, &err))
		return inputs_fail(&err);
	options->source = store_input_one(&options->store, &options->files);
	options->nr_files = 1;
	return CLI_EXIT_OK;
}

int report_main(int argc, char **argv, const struct argp *argp, const char *usual_format)
{
	CLEANUP(report_options_fini) struct report_options options;
	struct privileged_helper helper = HELPER_NONE;
	int status;

	if (report_options_parse(argc, argv, argp, usual_format, &options))
		return CLI_EXIT_USAGE;
	output_options_set_log(&options.output);
	if (options.store.folder) {
		status = take_store(&options);
		if (status)
			return status;
	} else {
		file_guard((const char *const *)options.files, options.nr_files);
	}
	if (options.usual_file && !options.output.quiet)
		fpl_log(FPL_LOG_INFO, "%s: read, since no FILE was given", options.usual_file);
	status = report_run(&options, &helper);
	helper_fini(&helper);
	return status;
}

int cmd_report(int argc, char **argv)
{
	return report_main(argc, argv, &report_argp, NULL);
}
