/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a recording as readers are shown them: what has one name in one object is one,
 * code without a name by the start of its function where that is known.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "view/frame_texts.h"
#include "view/functions.h"

struct json;

struct function_index {
	const struct frame_texts *texts; /* borrowed */
	/* Texts are ids in the strings of the texts, places are objects of the recording. */
	struct functions functions;
	uint32_t *of_slots; /* owned: the function of each slot of the texts */
	size_t room, nr_frames;
};

/* @texts outlive @ret. Cost: O(frames). */
void function_index_init(const struct frame_texts *texts, struct function_index *ret);
void function_index_fini(struct function_index *index);

/*
 * Take in the frames that have got texts since the last call; {.texts} is an index of none.
 * Errors: -ENOMEM; the next call goes on from there. Cost: O(frames that are new).
 */
FPL_MUST_CHECK int function_index_extend(struct function_index *index);

/* The function of the recording that has the source of each function: indexes [functions.nr], owned
 * by the caller; 0: not known. Cost: O(frames). */
uint32_t *function_index_sources(const struct function_index *index);

/* The name of a function, borrowed: escaped as its texts are. */
const char *function_index_text(const struct function_index *index, uint32_t function);

/* The place of a function: the last part of its object's path, not escaped; "-": not known. */
const char *function_index_place(const struct function_index *index, uint32_t function, char *buf,
				 size_t size);

/* Write both as the members "function" and "object" of the object that is open. */
void function_index_json(const struct function_index *index, uint32_t function, struct json *json);
