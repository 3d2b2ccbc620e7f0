/* SPDX-License-Identifier: Apache-2.0 */
/* The common state of readers of text: their place, the recording they fill, and its bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "format/line_input.h"
#include "format/read.h"
#include "recording/must_add.h"

#define READING_FRAMES_MAX UINT16_MAX /* of a stack */

struct reading {
	struct line_input *input;	    /* borrowed */
	const struct read_options *options; /* borrowed */
	struct recording *recording;	    /* borrowed */
	uint64_t shown, weight;		    /* samples read, and what they weigh */
	VECTOR(uint32_t) frames;	    /* of the stack at hand, leaf first */
	/* The first error met, 0: none; what was read since then means nothing. */
	int error;
	struct fpl_err *err; /* borrowed: what it is */
};

void reading_fini(struct reading *reading);

/* The line taken last is wrong: -EBADMSG, unless something was wrong before. */
FPL_PRINTF(2, 3)
__attribute__((__cold__)) void reading_fail(struct reading *reading, const char *fmt, ...);

/*
 * Take the next line, as line_input_next(), and hold the recording against its limit. False: the
 * end, or there was an error.
 */
bool reading_next(struct reading *reading, char **ret, size_t *ret_length);

/* An object; @build_id may be "". */
uint32_t reading_object(struct reading *reading, const char *path, const char *build_id);

/* A function of which the name is known, and its place where @file is not "". */
uint32_t reading_function(struct reading *reading, const char *name, const char *file,
			  uint32_t start_line);

/*
 * Undo \xHH where a writer of ours made it: of backslashes, control bytes, bytes of no UTF-8 and
 * those of @also. Others write a backslash as it is.
 */
void reading_unescape(char *text, const char *also);

/* Put a frame behind those of the stack at hand. */
void reading_push(struct reading *reading, const struct recording_frame *frame,
		  const struct recording_line *lines);

/*
 * Add the stack @key, whose frames are those at hand, and have none at hand. The sum of all counts
 * fits 64 bits. Returns its index; nothing is added where there was an error.
 */
uint32_t reading_stack(struct reading *reading, const struct recording_stack *key);

/* The readers. Each fills the recording from its input. */
void folded_read(struct reading *reading);
void jsonl_read(struct reading *reading);
void perf_script_read(struct reading *reading);
