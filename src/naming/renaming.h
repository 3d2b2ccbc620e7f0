/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording whose frames are named anew by files that have the build-ids of its objects: by the
 * rules that name the frames of a profile.
 */
#pragma once

#include "naming/namer.h"
#include "obj/code_segments.h"
#include "recording/recording.h"

/* Facts known of an object of the recording. */
struct renaming_object {
	int fd; /* owned: its file, which has its build-id; -1: none was found */
	/* Code places of an object whose frames are file offsets; nr 0: not known. */
	struct code_segments segments; /* owned */
	uint32_t placed; /* the object of frames that have been given vaddrs; 0: none yet */
};

struct renaming {
	uint64_t frames; /* named by the files */
	uint64_t placed; /* offsets in files that are vaddrs now */
	uint64_t kept;	 /* of files that are there, but do not know the frame: as it was */
};

/*
 * Give the objects whose segments are known their places: an object of @recording more for each
 * that has offsets. @objects [nr_objects before]. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int renaming_place(struct recording *recording, struct renaming_object *objects);

/*
 * Fill @to, which the caller has from recording_init(), with @from. The files of objects are
 * registered with @namer by the index of the object; frames of others stay as they are, but
 * that offsets become vaddrs where @objects (renaming_place()) say how. *ret is added to.
 * Errors: -ENOMEM; -EOVERFLOW. Cost: O(frames), and what naming costs.
 */
FPL_MUST_CHECK int renaming_make(const struct recording *from, struct namer *namer,
				 const struct renaming_object *objects, struct recording *to,
				 struct renaming *ret);
