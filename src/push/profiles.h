/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what `fpless query profiles' writes: windows, and behind each its profiles. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PROFILES_WORD_SIZE 512u /* of the longest, with its end */

/* A window, or a profile of the last one; times in ns since 1970. */
struct profile {
	uint64_t t0, t1;
	uint64_t samples, weight;				 /* a window has no weight */
	char type[PROFILES_WORD_SIZE], unit[PROFILES_WORD_SIZE]; /* what weighs: "cpu" */
	char state[PROFILES_WORD_SIZE];				 /* "-": none */
	char name[PROFILES_WORD_SIZE];				 /* of the unit or container */
	const char *bytes;					 /* borrowed [size] */
	size_t size;
};

enum profiles_item {
	PROFILES_WINDOW,
	PROFILES_PROFILE,
	PROFILES_END,
	PROFILES_CUT, /* it ends too early, or is something else: there is no next */
};

/* The bytes that are left to read. */
struct profiles {
	const char *at, *end; /* borrowed */
};

/* The next item, to *ret. */
enum profiles_item profiles_next(struct profiles *profiles, struct profile *ret);
