/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every frame of a recording as a format writes it, made once: stacks have a hundred times as many
 * frames as there are different ones.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "view/format.h"

struct frame_list {
	char *text; /* owned */
	size_t size;
	size_t *ends; /* owned [nr_frames + 1]: frame i is text[ends[i] .. ends[i + 1]) */
};

typedef void frame_write_fn(FILE *to, const struct recording *recording,
			    const struct recording_frame *frame,
			    const struct format_options *options);

/* Make them by @write, which gets @options. Cost: O(frames). */
void frame_list_make(const struct recording *recording, frame_write_fn *write,
		     const struct format_options *options, struct frame_list *ret);
void frame_list_fini(struct frame_list *list);

/* Write frame @idx of the recording. */
void frame_list_put(const struct frame_list *list, uint32_t idx, FILE *to);
