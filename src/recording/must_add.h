/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of recording.h that fill a recording, for code that a lack of memory may end
 * (base/alloc.h). Each returns what recording.h hands back by a pointer.
 */
#pragma once

#include "base/alloc.h"
#include "recording/recording.h"

static inline void must_recording_init(struct recording *ret)
{
	alloc_check(recording_init(ret));
}

static inline uint32_t must_add_text(struct recording *recording, const char *text)
{
	uint32_t id;

	alloc_check(recording_add_text(recording, text, &id));
	return id;
}

static inline uint32_t must_add_object(struct recording *recording,
				       const struct recording_object *key)
{
	uint32_t id;

	alloc_check(recording_add_object(recording, key, &id));
	return id;
}

static inline uint32_t must_add_function(struct recording *recording,
					 const struct recording_function *key)
{
	uint32_t id;

	alloc_check(recording_add_function(recording, key, &id));
	return id;
}

static inline uint32_t must_add_frame(struct recording *recording,
				      const struct recording_frame *key,
				      const struct recording_line *lines)
{
	uint32_t id;

	alloc_check(recording_add_frame(recording, key, lines, &id));
	return id;
}

static inline uint32_t must_add_stack(struct recording *recording,
				      const struct recording_stack *key, const uint32_t *frames)
{
	uint32_t id;

	alloc_check(recording_add_stack(recording, key, frames, &id));
	return id;
}

static inline void must_add_heap(struct recording *recording, uint32_t idx,
				 const struct recording_heap *heap)
{
	alloc_check(recording_add_heap(recording, idx, heap));
}

static inline void must_add_event(struct recording *recording, const struct recording_event *event)
{
	alloc_check(recording_add_event(recording, event));
}

static inline void must_add_number(struct recording *recording, const char *key, uint64_t value)
{
	alloc_check(recording_add_number(recording, key, value));
}

static inline void must_set_note(struct recording *recording, const char *key, const char *note)
{
	alloc_check(recording_set_note(recording, key, note));
}

static inline void must_add_arg(struct recording *recording, const char *arg)
{
	alloc_check(recording_add_arg(recording, arg));
}
