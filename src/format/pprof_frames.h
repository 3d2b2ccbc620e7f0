/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a recording from locations of a pprof. */
#pragma once

#include <stdint.h>

#include "format/pprof_tables.h"

/*
 * The location with that id, with all it refers to; what is missing is left out, and counted as
 * dangling. NULL: it is missing itself. Cost: O(1) but for the first time.
 */
struct pprof_location *pprof_frames_location(struct pprof_tables *tables, uint64_t id);

/*
 * The frame of a location from above that is what @run says; @location NULL: of which nothing is
 * known. Cost: O(1) where the last one made of it was the same, else O(lines).
 */
uint32_t pprof_frames_frame(struct pprof_tables *tables, struct pprof_location *location,
			    const struct pprof_run *run);
