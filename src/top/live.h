/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a live view: names, counts over time, and the rows that follow from both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "naming/live_names.h"
#include "top/model.h"
#include "top/table.h"
#include "top/window.h"
#include "view/measure.h"

struct live {
	struct live_names names;
	struct recording recording; /* of all stacks so far */
	VECTOR(uint32_t) places;    /* the index in the recording of each stack by number */
	VECTOR(uint64_t) counts;    /* room for each stack of the recording */
	struct model model;
	struct measure measure;	       /* of the numbers in tables; borrowed from the recording */
	struct window window, weights; /* of samples, and of what they weigh where that is shown */
	struct engine_look look, before; /* the last two; their counts are not kept */
	uint32_t nr_looks;
	struct filter *filter; /* owned: of the stacks that count; NULL: all do */
	double min_share;      /* per cent of all samples: rows of fewer are left out */
};

/* @span_ns: of the window. *ret must not move. Errors: -ENOMEM; live_fini is safe then. */
FPL_MUST_CHECK int live_init(struct live *ret, const struct live_names_options *options,
			     uint64_t span_ns, struct fpl_err *err);
void live_fini(struct live *live);

/* Take in objects, which are taken over, and stacks: before the looks of the same batch. Errors:
 * -ENOMEM. */
FPL_MUST_CHECK int live_add(struct live *live, struct feed_batch *batch, struct fpl_err *err);

/* Take in a look. Errors: -ENOMEM. */
FPL_MUST_CHECK int live_look(struct live *live, const struct engine_look *look,
			     struct fpl_err *err);

/* The rows of @query, over the window or @since_start. Errors: -ENOMEM; table_fini is safe. */
FPL_MUST_CHECK int live_table(struct live *live, const struct table_query *query, bool since_start,
			      struct table *ret);
