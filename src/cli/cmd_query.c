/* SPDX-License-Identifier: Apache-2.0 */
/* fpless query: questions to the store that fpless agent writes. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "cli/cli.h"
#include "cli/diff_options.h"
#include "cli/inputs.h"
#include "cli/query_advice.h"
#include "cli/query_lists.h"
#include "cli/query_metrics.h"
#include "cli/query_options.h"
#include "cli/query_profiles.h"
#include "cli/query_resymbolize.h"
#include "cli/report_options.h"
#include "cli/stdout_status.h"
#include "cli/store_writer.h"
#include "proc/rights.h"

static int fail(const struct fpl_err *err)
{
	fpl_log(FPL_LOG_ERROR, "%s%s", err->msg, memory_limit_advice(err->code));
	return err->code == -EINVAL ? CLI_EXIT_USAGE : CLI_EXIT_CANNOT_RUN;
}

/* The lists of what is asked: their writer, and what is said where they are empty. */
static int answer(const struct query_options *options,
		  int (*write)(FILE *to, struct store *store, const struct query_options *options,
			       struct fpl_err *err))
{
	struct fpl_err err = { 0 };
	struct reading_options reading;
	int code;

	reading_options_init(&reading);
	memory_limit_set(reading.memory);
	if (rights_drop_all(&err))
		fpl_log(FPL_LOG_WARN, "%s: all rights are kept", err.msg);
	code = write(stdout, options->input.store, options, &err);
	if (code == -ENODATA) {
		fpl_log(FPL_LOG_ERROR, "%s: no samples in this time",
			store_path(options->input.store));
		return CLI_EXIT_NO_SAMPLES;
	}
	return code ? fail(&err) : stdout_status();
}

static int check(FILE *to, struct store *store, const struct query_options *options,
		 struct fpl_err *err)
{
	int code = store_check(store, err);

	(void)options;
	if (!code)
		fprintf(to, "%s: as it was written\n", store_path(store));
	return code;
}

static int export(struct query_options *options, struct privileged_helper *helper)
{
	struct report_options report = { .nr_files = 1, .output = options->output };
	int status;

	report.source = store_input_one(&options->input, &report.files);
	reading_options_init(&report.reading);
	status = report_run(&report, helper);
	reading_options_fini(&report.reading);
	return status;
}

static int diff(struct query_options *options, struct privileged_helper *helper)
{
	struct diff_options diff = { .nr_files = 2,
				     .nr_before = 1,
				     .output = options->output,
				     .limit = { .of_whole = INFINITY, .of_itself = INFINITY } };
	int status;

	diff.source = store_input_two(&options->input, &diff.files);
	diff.normalize = !store_input_is_even(&options->input);
	if (options->limit) {
		diff.has_top = true;
		diff.top = options->limit;
	}
	reading_options_init(&diff.reading);
	status = diff_run(&diff, helper);
	reading_options_fini(&diff.reading);
	return status;
}

static int import(const struct query_options *options)
{
	const struct store_limits unlimited = { 0 };
	const struct store_writer_options writing = {
		.folder = options->input.folder,
		.limits = &unlimited,
		.labels = options->labels ? options->labels : "",
	};
	struct store_writer writer;
	struct fpl_err err = { 0 };
	int code = store_writer_start(&writing, &writer, &err);

	for (size_t i = 0; !code && i < options->nr_words; i++) {
		const char *path = options->words[i];
		AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

		code = fd < 0 ? fpl_fail(&err, -errno, "%s: %s", path, strerror(errno))
			      : store_writer_put_file(&writer, path, fd, &err);
	}
	store_writer_end(&writer);
	if (!code)
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, "%s", err.msg);
	return CLI_EXIT_CANNOT_RUN;
}

static int run(struct query_options *options, struct privileged_helper *helper)
{
	struct fpl_err err = { 0 };

	if (options->what == QUERY_IMPORT)
		return import(options);
	if (options->what == QUERY_RESYMBOLIZE) {
		int code = query_resymbolize(options, &err);

		return code ? fail(&err) : stdout_status();
	}
	if (store_input_open(&options->input, &err))
		return fail(&err);
	switch (options->what) {
	case QUERY_LIST:
		return answer(options, query_list);
	case QUERY_TOP:
		return answer(options, query_top);
	case QUERY_FIND:
		return answer(options, query_find);
	case QUERY_ANALYZE:
		return answer(options, query_analyze);
	case QUERY_FUNCTION:
		return answer(options, query_function);
	case QUERY_ADVICE:
		return answer(options, query_advice);
	case QUERY_METRICS:
		return answer(options, query_metrics);
	case QUERY_CHECK:
		return answer(options, check);
	case QUERY_PROFILES:
		return answer(options, query_profiles);
	case QUERY_DIFF:
		return diff(options, helper);
	default:
		return export(options, helper);
	}
}

int cmd_query(int argc, char **argv)
{
	CLEANUP(query_options_fini) struct query_options options = { 0 };
	struct privileged_helper helper = HELPER_NONE;
	int status;

	if (query_options_parse(argc, argv, &options))
		return CLI_EXIT_USAGE;
	output_options_set_log(&options.output);
	status = run(&options, &helper);
	helper_fini(&helper);
	return status;
}
