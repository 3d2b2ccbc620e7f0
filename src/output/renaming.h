/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording whose frames are named anew by files that have the build-ids of its objects: by the
 * rules that name the frames of a profile.
 */
#pragma once

#include "recording/recording.h"
#include "symbolize/symbolizer.h"

struct renaming {
	uint64_t frames; /* named by the files */
	uint64_t kept;	 /* of files that are there, but do not know the frame: as it was */
};

/*
 * Fill @to, which the caller has from recording_init(), with @from. The files of objects are
 * registered with @symbolizer by the index of the object; frames of others stay as they are.
 * Errors: -ENOMEM; -EOVERFLOW. Cost: O(frames), and what naming costs.
 */
FPL_MUST_CHECK int renaming_make(const struct recording *from, struct symbolizer *symbolizer,
				 struct recording *to, struct renaming *ret);
