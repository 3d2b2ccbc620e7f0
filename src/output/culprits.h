/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and objects that cost the most incomplete samples: where walks end, why, and what
 * the user can do. A walk ends in its last user frame: how to leave it is what was not known.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "naming/names.h"
#include "output/runtime.h"
#include "recording/recording.h"

#define CULPRITS_SHOWN 5u /* places that are told apart; the others are summed */

struct culprit {
	uint64_t samples;
	enum fpl_stop stop;
	uint32_t object; /* id; 0: code in no object, or no frame at all */
	uint32_t text;	 /* id of the function in names->strings; 0 where there was no frame */
	bool generated;	 /* code made at run time */
	bool no_frame;
	enum runtime runtime;
};

struct culprits {
	const struct names *names; /* borrowed */
	uint64_t judged;	   /* user samples that could be complete */
	uint64_t samples;	   /* of them, those that are not */
	size_t nr_places;
	size_t nr;			     /* at most CULPRITS_SHOWN */
	struct culprit list[CULPRITS_SHOWN]; /* most samples first */
};

/* @names: by_function. It is borrowed until the last use of *ret. Errors: -ENOMEM. */
FPL_MUST_CHECK int culprits_find(struct names *names, struct culprits *ret);

/* For the closing report: nothing where all stacks are complete. */
void culprits_write(FILE *to, const struct culprits *culprits);

/* Add the member "incomplete" of --stats to the numbers of @recording. Errors: -ENOMEM. */
FPL_MUST_CHECK int culprits_add_numbers(struct recording *recording,
					const struct culprits *culprits);
