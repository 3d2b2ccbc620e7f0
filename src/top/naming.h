/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of a run get their names while it goes on: a few at a time, into one recording that grows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/names.h"
#include "profile/kernel_text.h"
#include "profile/profile.h"
#include "recording/recording.h"
#include "symbolize/symbolizer.h"
#include "naming/feed.h"

struct naming_options {
	const struct symbol_source *source; /* borrowed, of this thread alone: reads the files */
	bool user;			    /* there are user stacks */
	bool no_demangle, inlined;
};

struct naming {
	struct kernel_text kernel_text;
	struct symbolizer_options options;
	struct symbolizer *symbolizer; /* owned */
	struct profile live;	       /* the objects, and the stacks at hand */
	struct names names;
	uint32_t *retired; /* owned [nr_retired]: of objects that have gone; their names stay */
	size_t nr_retired, retired_room;
	struct recording recording;
	uint32_t *places; /* owned [nr]: of each stack by number, its index in the recording */
	size_t nr, room;
	uint64_t *counts; /* owned [room_counts]: by index in the recording */
	size_t room_counts;
};

/* Errors: -ENOMEM; naming_fini is safe then. @ret must not move. */
FPL_MUST_CHECK int naming_init(struct naming *ret, const struct naming_options *options,
			       struct fpl_err *err);
void naming_fini(struct naming *naming);

/* Take in objects and stacks of @batch, which keeps what it holds. Errors: -ENOMEM. */
FPL_MUST_CHECK int naming_add(struct naming *naming, const struct feed_batch *batch,
			      struct fpl_err *err);
