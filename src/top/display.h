/* SPDX-License-Identifier: Apache-2.0 */
/* A live view on a screen: looks and keys come in, pages go out. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/feed.h"
#include "top/live.h"
#include "top/table.h"

struct display_options {
	struct feed *feed; /* borrowed, as all below */
	struct live *live;
	const struct table_query *query; /* to begin with */
	const char *filter;		 /* of it; NULL: none */
	const char *what;		 /* what is sampled; escaped */
	const char *time_of;		 /* as of top_options */
	bool since_start, colour;
	uint64_t window_ms;
	_Atomic uint32_t *look_ms; /* follows what the reader asks for */
	/* The reader has seen enough, or is gone: the feed will be closed soon. */
	void (*quit)(void *ctx);
	void *ctx;
};

/*
 * Show until the feed is closed. Errors: -ENOTTY the terminal cannot be drawn on, nothing was taken
 * from the feed then; -ENOMEM: the feed goes on to be taken from, nothing is shown.
 */
FPL_MUST_CHECK int display_run(const struct display_options *options, struct fpl_err *err);
