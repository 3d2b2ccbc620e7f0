/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks that tools of bcc print: those that read the same are one, ascending by number. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/recording.h"

/* A stack as it is printed, less its number. */
struct bcc_entry {
	uint64_t shown;
	char *text;   /* owned */
	uint32_t pid; /* tells apart what reads the same; 0: all processes are one */
};

struct bcc_entries {
	struct bcc_entry *list; /* owned [nr] */
	size_t nr;
};

void bcc_entries_fini(struct bcc_entries *entries);

/* Make entries that read the same one, and sort them ascending by number, ties by text. */
void bcc_entries_merge(struct bcc_entries *entries);

/* Write @text without what a terminal would obey, or what would break a folded line. */
void bcc_put_safe(FILE *to, const char *text);

/* The function of @frame, or "[unknown]". */
void bcc_put_function(FILE *to, const struct recording *recording,
		      const struct recording_frame *frame);
