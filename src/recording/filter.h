/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples of a recording are wanted: by task, by time, by the names in their stacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recording/merge.h"

struct filter_options {
	/* POSIX extended regular expressions, found anywhere; NULL: all. Of the task's name, and of
	 * the names of functions: a stack needs a frame that matches focus and none of ignore. Code
	 * without a name has that of its object. */
	const char *comm, *focus, *ignore;
	const char *event; /* of the source with this event only; NULL: of all */
	/* the one of several sources that weighs what is called so, or whose event is; NULL: all */
	const char *sample_type;
	const pid_t *pids; /* borrowed [nr_pids]; nr_pids 0: all */
	size_t nr_pids;
	bool has_time;
	uint64_t from_ns, to_ns; /* since the recording began: [from_ns, to_ns) */
};

struct filter;

/* Errors: -EINVAL a bad regular expression. */
FPL_MUST_CHECK int filter_create(const struct filter_options *options, struct filter **ret,
				 struct fpl_err *err);
void filter_destroy(struct filter *filter);

/*
 * Judge samples of @recording from now on; @name is for messages. Errors: -ENODATA it is to be
 * filtered by what it does not hold: times, process ids, the event; -ENOMEM.
 */
FPL_MUST_CHECK int filter_begin(struct filter *filter, const struct recording *recording,
				const char *name, struct fpl_err *err);

/*
 * The same recording has grown: judge its new texts, too. With the first call the recording begins.
 * Errors: -ENOMEM. Cost: O(1) a text.
 */
FPL_MUST_CHECK int filter_extend(struct filter *filter, const struct recording *recording);

/* Is everything wanted? */
bool filter_is_empty(const struct filter *filter);

/* To be handed to recording_merge(); owned by @filter. */
const struct merge_filter *filter_of(const struct filter *filter);
