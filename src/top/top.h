/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hottest functions while a run goes on: on a terminal as a screen (top/screen.h), elsewhere as
 * blocks of text (top/plain.h). The run tells counts now and then and goes on; a thread of its own
 * names and shows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/engine.h"
#include "recording/filter.h"
#include "top/table.h"

struct disk_cache;
struct parser;
struct top;

struct top_options {
	int fd;			  /* stays the caller's: where blocks go */
	bool colour;		  /* of the screen */
	bool screen;		  /* a screen on the terminal of stdin and stdout */
	uint32_t interval_ms;	  /* between two looks */
	uint32_t count;		  /* the run ends after this many looks; 0: it does not */
	uint64_t window_ms;	  /* how long a sample counts; 0: until the next look */
	bool since_start;	  /* show all samples, not those of the window */
	size_t max_rows;	  /* of a block */
	struct table_query query; /* to begin with */
	const struct filter_options *stacks; /* borrowed: what is counted at all */
	double min_share;    /* per cent of all samples: rows of fewer are left out */
	bool fold_recursion; /* a function that calls itself stands once in a stack */
	const char *filter;  /* borrowed: its regular expression, which holds up; NULL */
	const struct source_spec
		*sources; /* borrowed [nr_sources]: with time_of, what is sampled */
	size_t nr_sources;
	const char *time_of; /* borrowed: rows are ns of this, "off-cpu"; NULL: samples */
	const char *what;    /* borrowed: what is sampled, for the head of the screen */
	const char *event;   /* borrowed: for blocks of text; NULL: a clock, which is not said */
	bool user;	     /* there are user stacks */
	bool no_demangle, inlined; /* as of a namer */
	struct parser *parser;	   /* borrowed */
	struct disk_cache *cache;  /* borrowed */
};

/* Errors: -EINVAL the filter is no pattern; -ENOMEM; eventfd(2). */
FPL_MUST_CHECK int top_create(const struct top_options *options, struct top **ret,
			      struct fpl_err *err);
/* NULL is allowed. */
void top_destroy(struct top *top);

/* To be lent to the run. The thread begins with the first call, when the run has given up rights.
 */
const struct engine_listener *top_listener(struct top *top);

/*
 * The run is over: show what waits, give the terminal back, and end the thread. Errors: those of
 * the first failed write; it is no error that the reader has closed its end.
 */
FPL_MUST_CHECK int top_finish(struct top *top);
