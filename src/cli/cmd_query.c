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
#include "cli/query_lists.h"
#include "cli/query_options.h"
#include "cli/report_options.h"
#include "cli/stdout_status.h"
#include "cli/store_writer.h"
#include "proc/rights.h"

struct query {
	const struct query_options *options;
	struct store *store; /* owned */
};

static void query_fini(struct query *query)
{
	store_close(query->store);
}

static int fail(const struct fpl_err *err)
{
	fpl_log(FPL_LOG_ERROR, "%s%s", err->msg, memory_limit_advice(err->code));
	return err->code == -EINVAL ? CLI_EXIT_USAGE : CLI_EXIT_CANNOT_RUN;
}

/* The lists of what is asked: their writer, and what is said where they are empty. */
static int answer(struct query *query,
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
	code = write(stdout, query->store, query->options, &err);
	if (code == -ENODATA) {
		fpl_log(FPL_LOG_ERROR, "%s: no samples in this time", store_path(query->store));
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

/* input_source.read of two times: those before come first. */
static int read_range(void *ctx, size_t idx, struct recording *ret, struct fpl_err *err)
{
	const struct query *query = ctx;
	const struct query_options *options = query->options;
	bool before = options->what == QUERY_DIFF && !idx;
	size_t nr;

	return store_read(query->store, before ? &options->before : &options->range, ret, &nr, err);
}

static int export(struct query *query, struct privileged_helper *helper)
{
	const struct input_source source = { query, read_range };
	char *name = query->options->store;
	struct report_options report = {
		.source = &source, .files = &name, .nr_files = 1, .output = query->options->output
	};
	int status;

	reading_options_init(&report.reading);
	status = report_run(&report, helper);
	reading_options_fini(&report.reading);
	return status;
}

/* Are both times as long? Counts of others do not compare, shares do. */
static bool is_as_long(const struct query_options *options)
{
	double before = (double)(options->before.to_ns - options->before.from_ns);
	double after = (double)(options->range.to_ns - options->range.from_ns);

	return fabs(before - after) <= 0.01 * after;
}

static int diff(struct query *query, struct privileged_helper *helper)
{
	static char before[] = "before", after[] = "after";
	const struct input_source source = { query, read_range };
	char *names[] = { before, after };
	struct diff_options options = { .source = &source,
					.files = names,
					.nr_files = 2,
					.nr_before = 1,
					.output = query->options->output,
					.normalize = !is_as_long(query->options),
					.limit = { .of_whole = INFINITY, .of_itself = INFINITY } };
	int status;

	if (query->options->limit) {
		options.has_top = true;
		options.top = query->options->limit;
	}
	reading_options_init(&options.reading);
	status = diff_run(&options, helper);
	reading_options_fini(&options.reading);
	return status;
}

static int import(const struct query_options *options)
{
	const struct store_limits unlimited = { 0 };
	const struct store_writer_options writing = {
		.folder = options->store,
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

static int run(struct query *query, struct privileged_helper *helper)
{
	const struct query_options *options = query->options;
	struct fpl_err err = { 0 };

	if (options->what == QUERY_IMPORT)
		return import(options);
	if (store_open_to_read(options->store, &query->store, &err))
		return fail(&err);
	switch (options->what) {
	case QUERY_LIST:
		return answer(query, query_list);
	case QUERY_TOP:
		return answer(query, query_top);
	case QUERY_FIND:
		return answer(query, query_find);
	case QUERY_CHECK:
		return answer(query, check);
	case QUERY_DIFF:
		return diff(query, helper);
	default:
		return export(query, helper);
	}
}

int cmd_query(int argc, char **argv)
{
	CLEANUP(query_options_fini) struct query_options options = { 0 };
	CLEANUP(query_fini) struct query query = { .options = &options };
	struct privileged_helper helper = HELPER_NONE;
	int status;

	if (query_options_parse(argc, argv, &options))
		return CLI_EXIT_USAGE;
	output_options_set_log(&options.output);
	status = run(&query, &helper);
	helper_fini(&helper);
	return status;
}
