/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of sources whose events have a record, tracepoints and probes, and of those that
 * weigh waits. */
#pragma once

#include "profile/source.h"
#include "source/event_format.h"

/*
 * Compile what @spec asks of a record that has @format into @event, and the field @key (NULL: none)
 * that is to tell stacks apart, which the record may lack. Errors: -EINVAL a filter or a
 * weight that the fields do not allow, with a line that begins with the option.
 */
FPL_MUST_CHECK int source_record_ask(const struct source_spec *spec, const char *key,
				     const struct event_format *format, struct fpl_source *event,
				     struct fpl_err *err);

/* Fill in what the samples of @spec weigh, and in what unit: no waits. */
void source_record_weigh(struct profile_source *what, const struct source_spec *spec);

/* Fill in what, period, nr_sampled of @source, whose event it is. */
void source_record_describe(struct source *source, const struct source_spec *spec,
			    const struct fpl_source *event);

/* The same of a source without a record, each sample of which weighs a wait. */
void source_record_describe_waits(struct source *source, const struct source_spec *spec);

/* Fill in all but the name of @what, a source of waits. */
void source_record_weigh_waits(struct profile_source *what);
/* The same of a source that is a clock and waits, the time of threads. */
void source_record_weigh_wall(struct profile_source *what);

/* source_ops.counted of the program @prog_fd: the kernel counts the runs that it skipped because
 * another program ran on the CPU. @every: one sample in so many. */
uint64_t source_record_counted(int prog_fd, uint32_t every, uint64_t fired);

/* Refuse -C: the kernel calls the program on every CPU. */
FPL_MUST_CHECK int source_record_check_cpus(const struct source_spec *spec,
					    const struct engine_options *options,
					    struct fpl_err *err);
