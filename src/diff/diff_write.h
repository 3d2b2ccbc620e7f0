/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as readers and programs are shown it: docs/man/fpless-formats.5.scd. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "diff/difference.h"
#include "diff/headline.h"
#include "picture/flame_paths.h"
#include "picture/picture_options.h"

/* How many lines where nothing else was asked for. */
enum { DIFF_TEXT_FUNCTIONS = 20, DIFF_TEXT_STACKS = 5 };

struct diff_text_options {
	size_t nr_functions, nr_stacks; /* at most so many; SIZE_MAX: all */
	const char *counted;		/* what numbers are followed by: "samples" */
	const char *headline;		/* headline_make() */
};

/* Write errors stay in @to. */
void diff_text_write(FILE *to, const struct difference *difference,
		     const struct diff_text_options *options);

struct diff_json_options {
	const char *counted;	   /* what counts count */
	const char *headline;	   /* headline_make() */
	struct growth_limit limit; /* told, with what grew beyond it, where there is one */
};

/* All functions, and all stacks. Otherwise as diff_text_write(). */
void diff_json_write(FILE *to, const struct difference *difference,
		     const struct diff_json_options *options);

/*
 * "stack BEFORE AFTER", the lines of difffolded.pl: counts over all runs of a side. @pairing is
 * FUNCTIONS_BY_TEXT. @normalize: those before scaled to the sum of those after, cut to whole
 * numbers.
 */
void diff_folded_write(FILE *to, const struct pairing *pairing, bool normalize);

/* The input of a differential flame graph. */
struct diff_picture {
	const struct flame_paths *paths;       /* borrowed: DIFF_BEFORE and DIFF_AFTER are sides */
	const struct picture_options *options; /* borrowed */
	const struct significance *significance; /* borrowed: how runs vary */
	struct measure measure;			 /* of what is counted, or weighs */
	double sample;				 /* what one sample is of that, for its noise */
	const char *headline;			 /* borrowed: headline_make() */
	size_t runs[DIFF_SIDES];
	bool normalize; /* widths and percentages of shares */
	bool negate;	/* red is less, blue is more */
};

/*
 * Write it as SVG: boxes as wide as after, red where there is more than before, blue where less,
 * without colour where that may be noise. A box has the colour of what changed in itself and in
 * what it called that is not drawn: that of the boxes above is seen there. Write errors stay in
 * @to.
 */
void diff_svg_write(FILE *to, const struct diff_picture *picture);

/* The input of the page of a difference. */
struct diff_page {
	struct diff_picture picture; /* its paths with places, escaped texts, and not reversed */
	const struct difference *difference; /* borrowed */
	const char *event;		     /* borrowed; NULL: not known */
	uint64_t hz;			     /* 0: not known, or not one */
	char *const *files[DIFF_SIDES];	     /* borrowed: names of the runs */
};

/*
 * Write it as one HTML page: flame graph and icicle as diff_svg_write() draws them, by the frames
 * of either side; callers and callees; all functions with what to think of them. Errors:
 * -ENOTSUP as html_write().
 */
FPL_MUST_CHECK int diff_html_write(FILE *to, const struct diff_page *page, struct fpl_err *err);
