/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings that a verb reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/privileged_helper.h"
#include "base/err.h"
#include "cli/perf_data.h"
#include "cli/reading_options.h"
#include "cli/reading_progress.h"
#include "cli/sinks.h"
#include "recording/merge.h"
#include "recording/recording.h"

/* Recordings that come from elsewhere than files. */
struct input_source {
	void *ctx;
	/* Make recording @idx in @ret, which has seen recording_init(). Errors: described in @err.
	 */
	int (*read)(void *ctx, size_t idx, struct recording *ret, struct fpl_err *err);
};

/* Files to read, open before rights are given up. */
struct inputs {
	char **paths;		/* borrowed [nr]; "-" is stdin */
	int *fds;		/* owned [nr], each owned but stdin */
	struct perf_data *perf; /* owned [nr]: of a perf.data, else PERF_DATA_NONE */
	size_t nr;
	struct reading_progress *progress; /* owned; NULL: none is shown */
	const struct input_source *source; /* borrowed; NULL: they are files */
};

/*
 * If @output allows it, a status line shows the progress of reading, until inputs_end(). Errors:
 * those of open(2), with the path, and of perf_data_open(). inputs_fini is safe then.
 */
FPL_MUST_CHECK int inputs_open(char **paths, size_t nr, const struct output_options *output,
			       struct inputs *ret, struct fpl_err *err);
void inputs_fini(struct inputs *inputs);

/* The same of @nr recordings of @source, which are called @names in messages, both borrowed. */
void inputs_open_source(const struct input_source *source, char **names, size_t nr,
			struct inputs *ret);

/*
 * Say on stderr why the inputs could not be opened, read or added up. Returns the enum cli_exit for
 * it: CLI_EXIT_USAGE where they count different things (-EDOM) or cannot be asked for that
 * (-EINVAL), otherwise CLI_EXIT_CANNOT_RUN.
 */
FPL_MUST_CHECK int inputs_fail(const struct fpl_err *err);

/* All is read. */
void inputs_end(struct inputs *inputs);

/* How file @idx is called in messages. */
const char *inputs_name(const struct inputs *inputs, size_t idx);

/* Needs of a verb, while and after it reads, beyond reading and writing open files. */
enum input_needs {
	INPUT_NEEDS_NOTHING,
	INPUT_NEEDS_FILES,   /* opens files for reading, asks workers */
	INPUT_NEEDS_NETWORK, /* all else: no filter of system calls */
};

/* Needs of reading recordings with @options. */
enum input_needs inputs_needs(const struct reading_options *options);

/*
 * The input is untrusted: before the first byte is read, the process gives up all capabilities, and
 * all system calls but those that @needs takes (parse/sandbox.h). The helper keeps the rights that
 * outputs need, in folders of other users. From then on the process may allocate @memory bytes
 * (base/memory_limit.h). Errors: helper_start()'s.
 */
FPL_MUST_CHECK int inputs_give_up_rights(struct sinks *sinks, struct privileged_helper *helper,
					 enum input_needs needs, uint64_t memory,
					 struct fpl_err *err);

/* PROFILE_BY_* as RECORDING_HAS_*. */
unsigned inputs_labels(unsigned by);

struct input_options {
	const struct reading_options *reading; /* borrowed */
	unsigned by;			       /* PROFILE_BY_* of folded lines */
	bool events;			       /* samples with their times are wanted */
};

/*
 * Read file @idx and add what @filter wants of it to @to, as recording_merge(). Errors: those of
 * format/read.h, recording/filter.h and merge.h, with the name of the file.
 */
FPL_MUST_CHECK int inputs_add(const struct inputs *inputs, size_t idx,
			      const struct input_options *options, struct filter *filter,
			      struct recording *to, struct merge_result *result,
			      struct fpl_err *err);

/* Parts of a file: the samples that the filter selects, and their number. */
struct input_parts {
	void *ctx;
	int (*take)(void *ctx, struct recording *part, const struct merge_result *result,
		    struct fpl_err *err);
};

/*
 * Read file @idx and hand on what @filter wants of it, in parts where it is large and folded: the
 * last, or only one, may be empty. Errors: as inputs_add(), and those of @parts->take.
 */
FPL_MUST_CHECK int inputs_take_parts(const struct inputs *inputs, size_t idx,
				     const struct input_options *options, struct filter *filter,
				     const struct input_parts *parts, struct fpl_err *err);
