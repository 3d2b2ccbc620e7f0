/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts over all stacks of a profile, summed up: by program, by object, and by the first
 * frame where the walks part. Text and JSON are written from here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/id_table.h"
#include "base/vector.h"
#include "compare/fp_rules.h"
#include "compare/verdict.h"
#include "naming/names.h"
#include "recording/recording.h"

/* One line of a table; its key are all members before the counts. */
struct comparison_row {
	uint32_t text;	 /* id in names.strings: the comm, or the frame's function; objects: 0 */
	uint32_t object; /* id; 0: none, or a program */
	enum verdict_class class; /* of a parting; else 0 */
	enum fp_rule rule;	  /* of a parting: of the frame before it; else 0 */
	const char *comm;	  /* of a program: borrowed from the profile, as the task has it */
	uint64_t counts[VERDICT_CLASS_COUNT]; /* samples */
};

struct comparison_table {
	VECTOR(struct comparison_row) rows; /* most samples first */
	struct id_table ids;		    /* of rows, by key; empty once they are sorted */
};

struct comparison {
	const struct names *names;	      /* borrowed */
	const struct recording *recording;    /* borrowed: for the books */
	uint64_t shown, judged;		      /* samples */
	uint64_t counts[VERDICT_CLASS_COUNT]; /* sum: shown */
	/* Sums over judged samples: frames of C that F can reach, and frames both walks begin with.
	 */
	uint64_t frames, frames_common;
	uint64_t reasons[VERDICT_REASON_COUNT]; /* of the unjudged; sum: counts[UNJUDGED] */
	/* Rules of the frame behind which the walks part; the sum of a class is its count. */
	uint64_t rules[VERDICT_CLASS_COUNT][FP_RULE_COUNT];
	struct comparison_table programs;
	struct comparison_table objects; /* of the first frame F lacks or gets wrong */
	struct comparison_table
		before; /* objects of the frames before those: whose rbp F followed */
	struct comparison_table partings; /* by that frame's function, class and rule */
};

/* Text and JSON have this many partings; the others are one number. */
enum { COMPARISON_NR_PARTINGS = 20 };

/*
 * Judge and sum up the profile of @names, which are made with by_function; @recording is made of
 * them. Both outlive the result. The profile has both walks (fp_max).
 */
void comparison_make(struct names *names, const struct recording *recording,
		     struct comparison *ret);
void comparison_fini(struct comparison *comparison);

/* Samples of a row in which the walks part. */
uint64_t comparison_parted(const struct comparison_row *row);

/* Samples of a row that were judged. */
uint64_t comparison_judged(const struct comparison_row *row);
