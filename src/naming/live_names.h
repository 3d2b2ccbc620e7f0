/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of a run get their names while it goes on, a few at a time: what a feed brings becomes a
 * part of a recording. For one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/feed.h"
#include "naming/names.h"
#include "profile/profile.h"
#include "recording/recording.h"

/* Addresses whose names are remembered: 100 MB at most. A run may go on for weeks. */
#define LIVE_NAMES_MAX (1u << 20)

struct live_names_options {
	struct namer_options namer; /* is_live: in any case */
	struct names_options names;
	bool user;	 /* there are user stacks */
	unsigned by;	 /* PROFILE_BY_*: what stacks of the recording are told apart by */
	const char *key; /* borrowed: with PROFILE_BY_KEY, the field; NULL: none */
	const struct source_spec *sources; /* borrowed [nr_sources]: what the stacks are of */
	size_t nr_sources;
};

struct live_names {
	struct namer *namer;   /* owned */
	struct parser *parser; /* borrowed */
	struct profile live;   /* the objects, and the stacks at hand */
	struct names names;
};

/* Errors: -ENOMEM; live_names_fini() is safe then. *ret must not move. */
FPL_MUST_CHECK int live_names_init(struct live_names *ret, const struct live_names_options *options,
				   struct fpl_err *err);
/* Safe on a zeroed struct. */
void live_names_fini(struct live_names *names);

/* Take over the objects of @batch: before its stacks are named. Errors: -ENOMEM. */
FPL_MUST_CHECK int live_names_adopt(struct live_names *names, struct feed_batch *batch,
				    struct fpl_err *err);

/*
 * Name @stacks [@nr], which were told of, and add them to @to: the caller frees *ret_places [@nr],
 * the index of each there. Errors: -ENOMEM. Cost: what naming costs; O(objects) besides.
 */
FPL_MUST_CHECK int live_names_record(struct live_names *names, struct profile_stack *stacks,
				     size_t nr, struct recording *to, uint32_t **ret_places,
				     struct fpl_err *err);

/*
 * Give @profile, a window, its objects, and @ret its names: by the options of @names. They are lent
 * until live_names_window_end(), for one profile at a time.
 */
void live_names_window(struct live_names *names, struct profile *profile, struct names *ret);
void live_names_window_end(struct profile *profile, struct names *lent);

/*
 * Take over objects of @batch, and let go of those that it says have gone, in the order in which
 * all of it came, up to @before: an id may be given to another object. Without memory an object's
 * frames stay addresses.
 */
void live_names_follow(struct live_names *names, struct feed_batch *batch, size_t before);

/* Let go of the objects that @batch says have gone: once its stacks are named. */
void live_names_retire(struct live_names *names, const struct feed_batch *batch);
