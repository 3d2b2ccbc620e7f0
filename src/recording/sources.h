/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of samples of a recording. One with one source has no list of them: it is described
 * by the recording's own fields. These functions show both as a list of one or more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/recording.h"

/* At least 1. */
static inline size_t sources_nr(const struct recording *recording)
{
	return recording->nr_sources ? recording->nr_sources : 1;
}

/* Source @i of sources_nr(). */
struct recording_source sources_at(const struct recording *recording, size_t i);

/* Text: the event that a stack is of; 0: not known. */
static inline uint32_t sources_event(const struct recording *recording,
				     const struct recording_stack *stack)
{
	return recording->nr_sources ? recording->sources[stack->source].event : recording->event;
}

/*
 * Is a stack of the event @event, in @state, of the source @word? The words cpu (time on a CPU),
 * off-cpu (waits), and heap (allocations and resident memory) stand for several events; any other
 * is an event's name. @state RECORDING_STATE_COUNT: in any state.
 */
bool sources_word_means(const char *word, const char *event, uint8_t state);

#define SOURCES_NONE SIZE_MAX

/* The one whose event is called @event; SOURCES_NONE: no event is. Cost: O(sources). */
size_t sources_find(const struct recording *recording, const char *event);

/* The one that is called @name, or the first that weighs what is called so; SOURCES_NONE. */
size_t sources_find_type(const struct recording *recording, const char *name);

/*
 * Let the sources of @recording be @list [@nr], at least 1, whose texts are of it, and its fields
 * what is common to them. Errors: -ENOMEM; -E2BIG more than RECORDING_SOURCES_MAX.
 */
FPL_MUST_CHECK int sources_set(struct recording *recording, const struct recording_source *list,
			       size_t nr);

/* Let the fields of @recording be those of its source @i alone; its stacks stay as they are. */
void sources_choose(struct recording *recording, size_t i);
