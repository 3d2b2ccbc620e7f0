/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/report_names.h"
#include "cli/report_options.h"
#include "cli/sinks.h"
#include "output/recording_report.h"
#include "proc/rights.h"
#include "profile/profile.h"
#include "recording/filter.h"
#include "recording/merge.h"
#include "recording/read.h"
#include "recording/recount.h"
#include "recording/sample_type.h"

/* A file to read, open before rights are given up. */
struct inputs {
	int *fds; /* owned [nr], each owned but stdin */
	size_t nr;
};

static void inputs_fini(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->nr; i++)
		if (inputs->fds[i] > STDIN_FILENO)
			close(inputs->fds[i]);
	free(inputs->fds);
}

static bool is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

static int inputs_open(const struct report_options *options, struct inputs *ret,
		       struct fpl_err *err)
{
	ret->fds = calloc(options->nr_files + 1, sizeof(*ret->fds));
	if (!ret->fds)
		return fpl_fail(err, -ENOMEM, "out of memory");
	for (; ret->nr < options->nr_files; ret->nr++) {
		const char *path = options->files[ret->nr];
		int fd = is_stdin(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
		ret->fds[ret->nr] = fd;
	}
	return 0;
}

/* PROFILE_BY_* as RECORDING_HAS_*. */
static unsigned recorded_by(unsigned by)
{
	static const unsigned labels[PROFILE_LABEL_COUNT] = {
#define X(name, word) [PROFILE_LABEL_##name] = RECORDING_HAS_##name,
		PROFILE_LABEL_LIST(X)
#undef X
	};
	unsigned ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		ret |= by & 1u << i ? labels[i] : 0;
	return ret;
}

/*
 * The bytes that come are strangers': nothing is left that they could be used for but what the user
 * may do. What the outputs take, in folders of others, the deputy keeps.
 */
static int give_up_rights(struct sinks *sinks, struct deputy *deputy, struct fpl_err *err)
{
	struct fpl_err refused = { 0 };
	int error = sinks_delegate(sinks, deputy, err);

	if (!error && rights_need_deputy())
		error = deputy_start(deputy, rights_drop_to_deputy, err);
	if (!error && rights_drop_all(&refused))
		fpl_log(FPL_LOG_WARN, "%s: all rights are kept", refused.msg);
	return error;
}

/* Counts of different things: say which, and what helps. */
static int refuse_type(const char *name, const struct recording *from, const struct recording *to,
		       struct fpl_err *err)
{
	char theirs[96], ours[96];

	return fpl_fail(err, -EDOM, "%s: counts %s, those before it %s: choose by --sample-type",
			name, sample_type_text(from, theirs, sizeof(theirs)),
			sample_type_text(to, ours, sizeof(ours)));
}

/* Read file @idx and add what the filter wants of it to @to. */
static int add_file(const struct report_options *options, size_t idx, int fd, struct filter *filter,
		    struct recording *to, struct merge_result *result, struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording from = { 0 };
	const char *name = is_stdin(options->files[idx]) ? "stdin" : options->files[idx];
	const struct read_options read_options = {
		.memory = options->memory,
		.by = recorded_by(options->output.by),
		.events = true,
		.sample_type = options->sample_type,
	};
	int error;

	if (recording_init(&from))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	error = recording_read(name, fd, &read_options, &from, err);
	if (!error)
		error = filter_begin(filter, &from, name, err);
	if (error)
		return error;
	error = recording_merge(to, &from, filter_of(filter), result);
	if (error == -EDOM)
		return refuse_type(name, &from, to, err);
	if (error)
		return fpl_fail(err, error, "%s: %s", name,
				error == -EOVERFLOW ? "counts add up to more than 2^64"
						    : "out of memory");
	return 0;
}

static int read_all(const struct report_options *options, const struct inputs *inputs,
		    struct filter *filter, struct recording *ret, struct merge_result *result,
		    struct fpl_err *err)
{
	int error = recording_init(ret) ? fpl_fail(err, -ENOMEM, "out of memory") : 0;

	for (size_t i = 0; !error && i < inputs->nr; i++)
		error = add_file(options, i, inputs->fds[i], filter, ret, result, err);
	if (!error && (result->refused || result->nr > 1))
		recording_recount(ret);
	if (!error && options->output.by)
		ret->by = recorded_by(options->output.by);
	return error;
}

/* List on stdout what lacks names. Returns an enum cli_exit; has said why. */
static int list_missing(const struct recording *recording)
{
	struct fpl_err err = { 0 };

	if (report_names_missing(stdout, recording, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_OUTPUT;
	}
	if (!fflush(stdout) && !ferror(stdout))
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, "stdout: %s", strerror(errno));
	return CLI_EXIT_OUTPUT;
}

/* Write everything and say what it is worth. Returns an enum cli_exit. */
static int present(struct sinks *sinks, const struct report_options *options,
		   const struct recording *recording, const struct merge_result *result,
		   const struct report_names *names)
{
	const struct format_options format_options = output_options_format(&options->output);
	uint64_t shown;
	int status = sinks_write(sinks, recording, &format_options, &shown);
	int stats_status = sinks_write_stats(sinks, recording, shown);

	if (!stats_status && options->missing)
		stats_status = list_missing(recording);
	if (!options->output.quiet) {
		recording_report_write(stderr, recording, result, shown);
		if (options->symfs)
			report_names_write(stderr, names);
	}
	if (status || stats_status)
		return status ? status : stats_status;
	if (shown)
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, result->refused ? "no samples: the filters refuse all of them"
					       : "no samples in what was read");
	return CLI_EXIT_NO_SAMPLES;
}

static void cleanup_filter(struct filter **filter)
{
	filter_destroy(*filter);
}

static int run(const struct report_options *options, struct deputy *deputy)
{
	CLEANUP(sinks_fini) struct sinks sinks = { 0 };
	CLEANUP(inputs_fini) struct inputs inputs = { 0 };
	CLEANUP(cleanup_filter) struct filter *filter = NULL;
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(report_names_fini) struct report_names names = { 0 };
	struct merge_result result = { 0 };
	struct fpl_err err = { 0 };

	if (filter_create(&options->filter, &filter, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_USAGE;
	}
	if (options->symfs &&
	    report_names_init(&names, &options->output, options->debuginfod, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	if (inputs_open(options, &inputs, &err) ||
	    sinks_open(&sinks, &options->output, true, &err) ||
	    give_up_rights(&sinks, deputy, &err) ||
	    read_all(options, &inputs, filter, &recording, &result, &err) ||
	    (options->symfs && report_names_apply(&names, options->symfs, &recording, &err))) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_OUTPUT;
	}
	return present(&sinks, options, &recording, &result, &names);
}

int cmd_report(int argc, char **argv)
{
	CLEANUP(report_options_fini) struct report_options options;
	struct deputy deputy = DEPUTY_NONE;

	if (report_options_parse(argc, argv, &options))
		return CLI_EXIT_USAGE;
	output_options_set_log(&options.output);

	int status = run(&options, &deputy);

	deputy_fini(&deputy);
	return status;
}
