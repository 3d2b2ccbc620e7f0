/* SPDX-License-Identifier: Apache-2.0 */
/* One sample as text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/recording.h"

/* X(name, word of --stream=) */
#define STREAM_FORMAT_LIST(X) \
	X(BLOCKS, "blocks")   \
	X(TABLE, "table")     \
	X(JSON, "json")

#define X(name, word) STREAM_FORMAT_##name,
enum stream_format { STREAM_FORMAT_LIST(X) STREAM_FORMAT_COUNT };
#undef X

/* Write the text before the first sample; nothing in most formats. */
void stream_format_head(FILE *to, enum stream_format format, bool has_several);

/* The frames of @stack, a line each, leaf first: those of the kernel, those of the user, and why
 * the walk ended where it is not complete. @fold: equal frames that follow each other are one line,
 * with their number behind it. */
void stream_format_frames(FILE *to, const struct recording *recording,
			  const struct recording_stack *stack, bool fold);

/* A sample of @stack, which has tid and cpu, taken at @unix_ns. */
void stream_format_sample(FILE *to, enum stream_format format, const struct recording *recording,
			  const struct recording_stack *stack, uint64_t unix_ns);
