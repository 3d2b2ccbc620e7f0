/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a recording from locations of a pprof. What a location refers to may come behind it in
 * the file, or never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/pprof_tables.h"

/*
 * The location with that id, with all it refers to. *ret NULL: not all of that is there yet. With
 * @last nothing more will come: what is missing is left out, and counted as dangling; *ret is NULL
 * where the location itself is missing. Errors: -ENOMEM. Cost: O(1) but for the first time.
 */
FPL_MUST_CHECK int pprof_frames_location(struct pprof_tables *tables, uint64_t id, bool last,
					 struct pprof_location **ret);

/*
 * The frame of a location from above that is what @run says; @location NULL: of which nothing is
 * known. Errors: -ENOMEM. Cost: O(1) where the last one made of it was the same, else O(lines).
 */
FPL_MUST_CHECK int pprof_frames_frame(struct pprof_tables *tables, struct pprof_location *location,
				      const struct pprof_run *run, uint32_t *ret);
