/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample printed as it comes. The run hands samples over and goes on; a thread of its own
 * names and prints them, a batch at a time. Samples that come faster are counted, not printed; no
 * other output lacks them.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "format/stream_format.h"
#include "profile/engine.h"
#include "profile/profile.h"

struct disk_cache;
struct parser;
struct stream;

#define STREAM_QUEUE_MAX (16u << 20) /* bytes of samples that wait: some 40,000 */

struct stream_options {
	int fd; /* stays the caller's */
	enum stream_format format;
	const struct source_spec *sources; /* borrowed [nr_sources] for the call */
	size_t nr_sources;
	const char *key; /* borrowed for the call: the field whose value a sample has; NULL: none */
	bool user;	 /* there are user stacks */
	bool no_demangle, inlined, lines; /* as of a namer */
	struct parser *parser;		  /* borrowed */
	struct disk_cache *cache;	  /* borrowed */
};

/* Errors: -ENOMEM; eventfd(2). */
FPL_MUST_CHECK int stream_create(const struct stream_options *options, struct stream **ret,
				 struct fpl_err *err);
/* NULL is allowed. */
void stream_destroy(struct stream *stream);

/* To be lent to the run. The thread begins with the first call, when the run has given up rights.
 */
const struct engine_listener *stream_listener(struct stream *stream);

/*
 * The run is over: print the samples that wait, and end the thread. The wait for a reader that
 * takes nothing ends after two seconds. Errors: the error of the first failed write; a reader that
 * has closed its end is no error.
 */
FPL_MUST_CHECK int stream_finish(struct stream *stream, struct profile_stream *ret);
