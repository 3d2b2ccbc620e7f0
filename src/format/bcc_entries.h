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
	uint32_t pid; /* or a thread's: tells apart what reads the same; 0: all are one */
};

struct bcc_entries {
	struct bcc_entry *list; /* owned [nr] */
	size_t nr;
};

void bcc_entries_fini(struct bcc_entries *entries);

/*
 * Make entries that read the same one, and sort them ascending by number, ties by text. The numbers
 * are added up first, then made multiples of @unit; less than one @unit is not shown.
 */
void bcc_entries_merge(struct bcc_entries *entries, uint64_t unit);

/* Write @text without what a terminal would obey, or what would break a folded line. */
void bcc_put_safe(FILE *to, const char *text);

/* The function of @frame, or "[unknown]". */
void bcc_put_function(FILE *to, const struct recording *recording,
		      const struct recording_frame *frame);
