/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints on incomplete stacks: the functions that most walks end in, the reason, and advice for the
 * user. A walk ends in its last user frame: the way from it to its caller was not found.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "naming/names.h"
#include "recording/recording.h"
#include "report/runtime.h"

#define HINTS_SHOWN 5u /* places that are told apart; the others are summed */

struct hint {
	uint64_t samples;
	enum fpl_stop stop;
	uint32_t object; /* id; 0: code in no object, or no frame at all */
	uint32_t text;	 /* id of the function in names->strings; 0: there was no frame */
	bool generated;	 /* code made at run time */
	bool no_frame;
	enum runtime runtime;
};

struct hints {
	const struct names *names; /* borrowed */
	uint64_t judged;	   /* user samples that could be complete */
	uint64_t samples;	   /* of them, those that are not */
	size_t nr_places;
	size_t nr;		       /* at most HINTS_SHOWN */
	struct hint list[HINTS_SHOWN]; /* most samples first */
};

/* @names: by_function. It is borrowed until the last use of *ret. */
void hints_find(struct names *names, struct hints *ret);

/* Write the lines of the closing report; none if all stacks are complete. */
void hints_write(FILE *to, const struct hints *hints);

/* One line: how many stacks are cut short, the place where most of them end, and the advice. */
void hints_write_most(FILE *to, const struct hints *hints);

/* Add the member "incomplete" of --stats to the numbers of @recording. */
void hints_add_numbers(struct recording *recording, const struct hints *hints);

/* The option that turned rows or steps off: if that is the cause, this alone is advised. */
enum hint_without {
	WITHOUT_NOTHING,
	WITHOUT_SYNTH,	     /* --no-synth */
	WITHOUT_ALL_BUT_CFI, /* --unwind cfi */
	WITHOUT_CFI,	     /* --unwind fp */
	WITHOUT_FILES,	     /* nothing; but some files had no room: their code has no name */
};

/*
 * The advice for walks that end with @stop in code of a process of @runtime; @generated: the code
 * was made at run time. A sentence without a full stop, or NULL: there is no advice.
 * docs/languages.md has the long text.
 */
const char *hint_advice(enum fpl_stop stop, enum runtime runtime, bool generated,
			enum hint_without without);
