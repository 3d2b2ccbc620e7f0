/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a recording as readers are shown them: what has one name in one object is one,
 * code without a name by the start of its function where that is known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "view/frame_texts.h"

struct shown_function {
	uint32_t text;	      /* id in the strings of the texts */
	uint32_t function;    /* index in the recording: where its source is; 0: not known */
	uint32_t object : 31; /* likewise: more do not fit --memory at its most */
	uint32_t kernel : 1;
};

struct function_index {
	const struct frame_texts *texts; /* borrowed */
	VECTOR(struct shown_function) functions;
	uint32_t *of_texts; /* owned: the function of each entry of texts->ids */
};

/* @texts outlive @ret. Cost: O(frames). */
void function_index_init(const struct frame_texts *texts, struct function_index *ret);
void function_index_fini(struct function_index *index);

/* The functions of frame @idx of the recording, the innermost first, as frame_texts_of(). */
const uint32_t *function_index_of(const struct function_index *index, uint32_t idx, size_t *ret_nr);

/* Where a function lives: the last part of its object's path, not escaped; "-": not known. */
const char *function_index_place(const struct function_index *index, uint32_t function, char *buf,
				 size_t size);
