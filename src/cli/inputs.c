/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/cli.h"
#include "format/read.h"
#include "parse/sandbox.h"
#include "proc/rights.h"
#include "profile/profile.h"
#include "recording/must_add.h"
#include "recording/sample_type.h"

void inputs_end(struct inputs *inputs)
{
	reading_progress_destroy(inputs->progress);
	inputs->progress = NULL;
	alloc_set_name(NULL);
}

void inputs_fini(struct inputs *inputs)
{
	inputs_end(inputs);
	for (size_t i = 0; i < inputs->nr; i++) {
		perf_data_fini(&inputs->perf[i]);
		if (inputs->fds[i] > STDIN_FILENO)
			close(inputs->fds[i]);
	}
	free(inputs->perf);
	free(inputs->fds);
}

int inputs_fail(const struct fpl_err *err)
{
	fpl_log(FPL_LOG_ERROR, "%s%s", err->msg, memory_limit_advice(err->code));
	return err->code == -EDOM || err->code == -EINVAL ? CLI_EXIT_USAGE : CLI_EXIT_CANNOT_RUN;
}

static bool is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

const char *inputs_name(const struct inputs *inputs, size_t idx)
{
	return is_stdin(inputs->paths[idx]) ? "stdin" : inputs->paths[idx];
}

int inputs_open(char **paths, size_t nr, const struct output_options *output, struct inputs *ret,
		struct fpl_err *err)
{
	*ret = (struct inputs){ .paths = paths,
				.fds = must_calloc(nr, sizeof(*ret->fds)),
				.perf = must_calloc(nr, sizeof(*ret->perf)) };
	while (ret->nr < nr) {
		const char *path = paths[ret->nr];
		int fd = is_stdin(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
		struct perf_data *perf = &ret->perf[ret->nr];
		int error;

		if (fd < 0)
			return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
		*perf = PERF_DATA_NONE;
		ret->fds[ret->nr++] = fd;
		error = perf_data_is(fd) ? perf_data_open(inputs_name(ret, ret->nr - 1), fd,
							  PERF_DATA_S, perf, err)
					 : 0;
		if (error)
			return error;
	}
	ret->progress = reading_progress_create(output);
	return 0;
}

void inputs_open_source(const struct input_source *source, char **names, size_t nr,
			struct inputs *ret)
{
	*ret = (struct inputs){ .source = source,
				.paths = names,
				.nr = nr,
				.fds = must_calloc(nr, sizeof(*ret->fds)),
				.perf = must_calloc(nr, sizeof(*ret->perf)) };
	for (size_t i = 0; i < nr; i++) {
		ret->fds[i] = -1;
		ret->perf[i] = PERF_DATA_NONE;
	}
}

unsigned inputs_labels(unsigned by)
{
	static const unsigned labels[PROFILE_LABEL_COUNT] = {
#define X(name, word) [PROFILE_LABEL_##name] = RECORDING_HAS_##name,
		PROFILE_LABEL_LIST(X)
#undef X
	};
	unsigned ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		ret |= by & 1u << i ? labels[i] : 0;
	return ret | (by & PROFILE_BY_KEY ? RECORDING_HAS_KEY : 0u);
}

enum input_needs inputs_needs(const struct reading_options *options)
{
	if (options->debuginfod)
		return INPUT_NEEDS_NETWORK;
	return options->symfs ? INPUT_NEEDS_FILES : INPUT_NEEDS_NOTHING;
}

int inputs_give_up_rights(struct sinks *sinks, struct privileged_helper *helper,
			  enum input_needs needs, uint64_t memory, struct fpl_err *err)
{
	struct fpl_err refused = { 0 };
	int error = sinks_delegate(sinks, helper, err);

	if (!error && (needs != INPUT_NEEDS_NETWORK || rights_need_helper()))
		error = helper_start(helper, rights_drop_to_helper, err);
	if (error)
		return error;
	memory_limit_set(memory);
	if (rights_drop_all(&refused))
		fpl_log(FPL_LOG_WARN, "%s: all rights are kept", refused.msg);
	if (needs != INPUT_NEEDS_NETWORK &&
	    sandbox_enter_reader(needs == INPUT_NEEDS_FILES, &refused))
		fpl_log(FPL_LOG_WARN, "%s: files are read with the rights of their reader",
			refused.msg);
	return 0;
}

/* "samples", "samples of off-cpu" to @buf. Returns @buf. */
static const char *what_counts(const struct recording *recording, char *buf, size_t size)
{
	char counted[128], weight[96];

	sample_type_text(recording, counted, sizeof(counted));
	text_escape(weight, sizeof(weight), sample_type_weight(recording), "");
	if (sample_type_weighs_else(recording) && !recording->by_count)
		snprintf(buf, size, "%s of %s", counted, weight);
	else
		snprintf(buf, size, "%s", counted);
	return buf;
}

/* Refuse counts of different events: name both, and the remedy. */
static int refuse_type(const char *name, const struct recording *from, const struct recording *to,
		       struct fpl_err *err)
{
	char theirs[256], ours[256];

	return fpl_fail(
		err, -EDOM, "%s: counts %s, earlier files count %s: choose by --sample-type", name,
		what_counts(from, theirs, sizeof(theirs)), what_counts(to, ours, sizeof(ours)));
}

/* Add the part of @from that @filter selects to @to; @from may be consumed. */
static int add_recording(const char *name, struct filter *filter, struct recording *from,
			 struct recording *to, struct merge_result *result, struct fpl_err *err)
{
	int error = filter_begin(filter, from, name, err);

	if (error)
		return error;
	error = filter_is_empty(filter) ? recording_merge_whole(to, from, result)
					: recording_merge(to, from, filter_of(filter), result);
	if (error == -EDOM)
		return refuse_type(name, from, to, err);
	if (error)
		return fpl_fail(err, error, "%s: counts add up to more than 2^64", name);
	return 0;
}

static int read_input(const struct inputs *inputs, size_t idx, const struct input_options *options,
		      struct read_options *read_options, struct recording *ret, struct fpl_err *err)
{
	const char *name = inputs_name(inputs, idx);
	struct perf_data *perf = &inputs->perf[idx];
	bool is_perf = perf->text_fd >= 0;
	int fd = is_perf ? perf->text_fd : inputs->fds[idx];
	int error;

	alloc_set_name(name);
	must_recording_init(ret);
	if (inputs->source)
		return inputs->source->read(inputs->source->ctx, idx, ret, err);
	read_options->memory = options->reading->memory;
	read_options->by = inputs_labels(options->by);
	read_options->events = options->events;
	read_options->sample_type = options->reading->sample_type;
	reading_progress_begin(inputs->progress, name, fd, idx, inputs->nr);
	if (is_perf)
		perf_data_begin(perf);
	error = recording_read(name, fd, read_options, ret, err);
	return is_perf ? perf_data_end(perf, name, ret->nr_stacks, error, err) : error;
}

int inputs_add(const struct inputs *inputs, size_t idx, const struct input_options *options,
	       struct filter *filter, struct recording *to, struct merge_result *result,
	       struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording from = { 0 };
	struct read_options read_options = { 0 };
	int error = read_input(inputs, idx, options, &read_options, &from, err);

	return error ? error
		     : add_recording(inputs_name(inputs, idx), filter, &from, to, result, err);
}

/* A file that is read in parts. */
struct parting {
	const char *name;
	struct filter *filter;
	const struct input_parts *parts;
};

static int take_part(void *ctx, struct recording *from, struct fpl_err *err)
{
	const struct parting *parting = ctx;
	CLEANUP(recording_fini) struct recording part = { 0 };
	struct merge_result result = { 0 };
	int error;

	must_recording_init(&part);
	error = add_recording(parting->name, parting->filter, from, &part, &result, err);
	return error ? error : parting->parts->take(parting->parts->ctx, &part, &result, err);
}

int inputs_take_parts(const struct inputs *inputs, size_t idx, const struct input_options *options,
		      struct filter *filter, const struct input_parts *parts, struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording from = { 0 };
	struct parting parting = { inputs_name(inputs, idx), filter, parts };
	/* what is named anew is said once for a file */
	struct read_options read_options = { .part = options->reading->symfs ? NULL : take_part,
					     .part_ctx = &parting };
	int error = read_input(inputs, idx, options, &read_options, &from, err);

	return error ? error : take_part(&parting, &from, err);
}
