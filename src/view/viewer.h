/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as programs that show profiles take it: names as they are, a function where others
 * have an address, a track for each thread.
 */
#pragma once

#include "view/format.h"
#include "view/function_index.h"
#include "view/threads.h"

struct viewer {
	const struct recording *recording; /* borrowed */
	struct frame_texts texts;
	struct function_index index;
	struct threads threads;
};

/* *ret must not move. */
void viewer_init(const struct recording *recording, const struct format_options *options,
		 struct viewer *ret);
void viewer_fini(struct viewer *viewer);
