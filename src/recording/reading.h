/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of text share: where they are, what they fill, and its bounds. */
#pragma once

#include <stdint.h>

#include "base/vector.h"
#include "recording/line_input.h"
#include "recording/must_add.h"
#include "recording/read.h"

#define READING_FRAMES_MAX UINT16_MAX /* of a stack */

struct reading {
	struct line_input *input;	    /* borrowed */
	const struct read_options *options; /* borrowed */
	struct recording *recording;	    /* borrowed */
	uint64_t shown, weight_ns;	    /* samples read, and what they weigh */
	VECTOR(uint32_t) frames;	    /* of the stack at hand, leaf first */
};

void reading_fini(struct reading *reading);

/* An object; @build_id may be "". */
uint32_t reading_object(struct reading *reading, const char *path, const char *build_id);

/* A function of which the name is known, and its place where @file is not "". */
uint32_t reading_function(struct reading *reading, const char *name, const char *file,
			  uint32_t start_line);

/* All below: errors -EBADMSG with the line, -E2BIG; they have said what. */

/* Take the next line, as line_input_next(), and hold the recording against its limit. */
FPL_MUST_CHECK int reading_next(struct reading *reading, char **ret, size_t *ret_length,
				struct fpl_err *err);

/* Put a frame behind those of the stack at hand. */
FPL_MUST_CHECK int reading_push(struct reading *reading, const struct recording_frame *frame,
				const struct recording_line *lines, struct fpl_err *err);

/*
 * Add the stack @key, whose frames are those at hand, and have none at hand. The sum of all counts
 * fits 64 bits. *ret: its index.
 */
FPL_MUST_CHECK int reading_stack(struct reading *reading, const struct recording_stack *key,
				 uint32_t *ret, struct fpl_err *err);

/* The readers. Each fills the recording from its input. */
FPL_MUST_CHECK int folded_read(struct reading *reading, struct fpl_err *err);
FPL_MUST_CHECK int jsonl_read(struct reading *reading, struct fpl_err *err);
FPL_MUST_CHECK int perf_script_read(struct reading *reading, struct fpl_err *err);
