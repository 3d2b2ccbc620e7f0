/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of .jsonl that were read before: most frames of a recording stand in many stacks, byte for
 * byte. Each text is parsed once.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "base/strings.h"
#include "base/vector.h"
#include "format/reading.h"

/* Lists of a stack's line, and whose frames they hold. */
enum jsonl_list { JSONL_USER, JSONL_KERNEL, JSONL_NR_LISTS };

struct jsonl_known {
	/* Texts of user frames, and of kernel frames that are leaves and others. */
	struct strings texts[3];
	VECTOR(uint32_t) frames[3];		/* [texts.nr]: frames of the recording */
	VECTOR(uint32_t) taken[JSONL_NR_LISTS]; /* of the line at hand */
};

void jsonl_known_init(struct jsonl_known *known);
void jsonl_known_fini(struct jsonl_known *known);

/*
 * Take the frames out of the line @line of a stack [*length], whose lists are empty then. A list
 * that is not as our writer makes it stays; so do all beyond 16 MiB of distinct texts. @tokener is
 * strict.
 */
void jsonl_known_take(struct jsonl_known *known, struct reading *reading,
		      struct json_tokener *tokener, char *line, size_t *length);
