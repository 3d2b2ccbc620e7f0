/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a recording that lack names or lines, and the samples that costs. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/recording.h"

struct missing_object {
	uint32_t object; /* index in the recording */
	/* Samples with a frame of it that has no name, and those whose leaf is such a frame. */
	uint64_t unnamed, unnamed_leaf;
	/* The same of frames without file and line. */
	uint64_t unlined, unlined_leaf;
	const char *hint; /* borrowed: what to type to get what is missing; NULL: not known */
};

struct missing {
	struct missing_object *list; /* owned [nr]: most unnamed samples first, then most unlined */
	size_t nr;
	uint64_t samples; /* of the recording */
};

/*
 * Count the user frames of @recording, inlined ones with what they are inlined in. The leaf is that
 * of the user part. Cost: O(frames).
 */
void missing_find(const struct recording *recording, struct missing *ret);
void missing_fini(struct missing *missing);

void missing_write(FILE *to, const struct recording *recording, const struct missing *missing);
