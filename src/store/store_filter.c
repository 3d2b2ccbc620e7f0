/* SPDX-License-Identifier: Apache-2.0 */
/* The series of windows that a range wants. */
#include <errno.h>

#include "recording/sources.h"
#include "store/store_state.h"

enum { UNKNOWN, WANTED, REFUSED };

int store_regex(const char *option, const char *text, regex_t *ret, bool *ret_has,
		struct fpl_err *err)
{
	char why[128];
	int code = text ? regcomp(ret, text, REG_EXTENDED | REG_NOSUB) : 0;

	if (code) {
		regerror(code, ret, why, sizeof(why));
		return fpl_fail(err, -EINVAL, "%s %s: %s", option, text, why);
	}
	*ret_has = text != NULL;
	return 0;
}

int store_filter_init(struct store_filter *filter, const struct store_range *range,
		      struct fpl_err *err)
{
	int code = store_regex("--comm", range->comm, &filter->comm, &filter->has_comm, err);

	filter->source = range->source;
	return code ? code
		    : store_regex("--cgroup", range->cgroup, &filter->cgroup, &filter->has_cgroup,
				  err);
}

void store_filter_fini(struct store_filter *filter)
{
	vector_fini(&filter->wanted);
	if (filter->has_comm)
		regfree(&filter->comm);
	if (filter->has_cgroup)
		regfree(&filter->cgroup);
}

static bool matches(const struct store_filter *filter, const struct dictionary *dictionary,
		    uint32_t series)
{
	const uint64_t *cells = rows_cells(dictionary, ROWS_SERIES, series);
	uint64_t source = cells[SERIES_SOURCE];

	if (filter->source &&
	    (source >= filter->nr_events ||
	     !sources_word_means(filter->source, rows_text(dictionary, filter->events[source]),
				 (uint8_t)cells[SERIES_STATE])))
		return false;
	return (!filter->has_comm ||
		!regexec(&filter->comm, rows_text(dictionary, cells[SERIES_COMM]), 0, NULL, 0)) &&
	       (!filter->has_cgroup ||
		!regexec(&filter->cgroup, rows_text(dictionary, cells[SERIES_CGROUP]), 0, NULL, 0));
}

bool store_filter_is_empty(const struct store_filter *filter)
{
	return !filter->has_comm && !filter->has_cgroup && !filter->source;
}

/* Sources are numbered by run, and what is known of series is known of one. */
static void take_run(struct store_filter *filter, const struct dictionary *dictionary, uint32_t run)
{
	uint64_t row = rows_cells(dictionary, ROWS_RUN, run)[RUN_SOURCE];

	filter->run = run;
	filter->wanted.nr = 0;
	for (filter->nr_events = 0; row && filter->nr_events < RECORDING_SOURCES_MAX;) {
		const uint64_t *cells = rows_cells(dictionary, ROWS_SOURCE, (uint32_t)row);

		filter->events[filter->nr_events++] = (uint32_t)cells[SOURCE_EVENT];
		row = cells[SOURCE_NEXT];
	}
}

bool store_filter_wants(struct store_filter *filter, const struct store *store, uint64_t run,
			uint32_t series)
{
	uint8_t *known;

	if (store_filter_is_empty(filter))
		return true;
	if (filter->source && filter->run != run)
		take_run(filter, &store->dictionary, (uint32_t)run);
	while (series >= filter->wanted.nr)
		must_push(&filter->wanted, UNKNOWN);
	known = &filter->wanted.list[series];
	if (*known == UNKNOWN)
		*known = matches(filter, &store->dictionary, series) ? WANTED : REFUSED;
	return *known == WANTED;
}
