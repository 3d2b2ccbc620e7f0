/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings as one: stacks, events and numbers add up. What a filter refuses goes into the
 * number "filtered", so that the books close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "recording/recording.h"

/* A filter of stacks, events and names. Functions may be NULL; all get @ctx. */
struct merge_filter {
	void *ctx;
	/* Is stack @idx of @from wanted? */
	bool (*stack)(void *ctx, const struct recording *from, size_t idx);
	/* Is the event? Only of stacks that are. With it a stack is counted by its events. */
	bool (*event)(void *ctx, const struct recording *from, const struct recording_event *event);
	/* Only samples of the source with this event (recording/sources.h), which is then the only
	 * source of what is taken; NULL: of all. */
	const char *source;
	/*
	 * Name @frame of @from anew, its object still an index there: nr_lines, start and @lines
	 * [RECORDING_LINES_MAX], whose functions are of @to. Returns 1 where it did, 0 where the
	 * frame keeps its lines, or -ENOMEM. Where it is may be told anew in any case.
	 */
	int (*rename)(void *ctx, const struct recording *from, struct recording *to,
		      struct recording_frame *frame, struct recording_line *lines);
};

/* In what recordings differ that are one now. */
struct merge_result {
	size_t nr; /* recordings */
	bool events_differ, periods_differ, kernels_differ;
	uint64_t weight;		 /* the sum of all stacks' */
	bool has_weight, has_weightless; /* there are samples with a weight, and without one */
	uint64_t shown, refused;	 /* samples taken, and those that the filter refused */
};

/*
 * Add @from to @to, a recording of recording_init() at first. @filter: NULL takes all. @result: {0}
 * at first.
 *
 * The run's fields are those of the first that knows them, but: durations add up, nr_cpus is the
 * most, start_unix_ns the earliest. Peaks among the numbers (rss_peak_bytes, ...) are the largest.
 * Notes are the first's, but for the list of places (recording/place_list.h), which is that of
 * both; "incomplete.places" counts those once that both list. Sources are those of all. Errors:
 * -EOVERFLOW counts beyond 64 bits; -EDOM counts of both are not of the same
 * (recording/sample_type.h); -E2BIG there are more than RECORDING_SOURCES_MAX sources.
 */
FPL_MUST_CHECK int recording_merge(struct recording *to, const struct recording *from,
				   const struct merge_filter *filter, struct merge_result *result);

/*
 * As recording_merge() without a filter, of a recording that nothing else needs: where @to is empty
 * and @from is as a merge would make it, which what was read from folded lines is, @from becomes
 * @to without a copy. Leaves @from to recording_fini().
 */
FPL_MUST_CHECK int recording_merge_whole(struct recording *to, struct recording *from,
					 struct merge_result *result);
