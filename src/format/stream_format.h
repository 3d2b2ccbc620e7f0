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

/* Columns of a table that not all runs have. */
struct stream_columns {
	bool event;  /* there are several sources */
	bool key;    /* samples have the value of a field */
	bool weight; /* of the one source, which is no clock */
};

/* Write the text before the first sample; nothing in most formats. */
void stream_format_head(FILE *to, enum stream_format format, const struct stream_columns *columns);

/* The frames of @stack, a line each, leaf first: those of the kernel, those of the user, and why
 * the walk ended where it is not complete. @fold: equal frames that follow each other are one line,
 * with their number behind it. */
void stream_format_frames(FILE *to, const struct recording *recording,
			  const struct recording_stack *stack, bool fold);

/* A sample: its stack, which has tid and cpu and may be other samples', too; when it was taken; and
 * what it weighs, in the unit of the recording. */
struct stream_sample {
	const struct recording_stack *stack; /* borrowed */
	uint64_t unix_ns;
	uint64_t weight;
};

void stream_format_sample(FILE *to, enum stream_format format, const struct recording *recording,
			  const struct stream_sample *sample);
