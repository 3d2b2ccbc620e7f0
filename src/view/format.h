/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of all writers of recordings, and their options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "recording/recording.h"
#include "view/frame_texts.h"

/* Whether frames of inlined functions are written. */
enum format_inlined {
	FORMAT_INLINED_USUAL, /* where the format shows them: all but folded */
	FORMAT_INLINED_ALWAYS,
	FORMAT_INLINED_NEVER,
};

struct picture_options; /* picture/picture_options.h */
struct annotations;	/* view/annotation.h */

/* A format takes of these what it has a place for. */
struct format_options {
	bool delimited; /* a frame "-" between user and kernel frames */
	bool annotate;	/* _[k] behind kernel frames, _[i] behind what is inlined */
	bool origin;	/* _[cfi_user], _[fp], _[synth] behind user frames found that way */
	bool addresses; /* code without a name by its address, where names are texts of ours */
	enum format_inlined inlined;
	bool lines; /* file and line behind names, also where the format has no place for them */
	bool fold_recursion; /* where functions are shown: those that call themselves stand once */
	size_t columns;	     /* that a report has; 0: as many as it takes */
	const struct picture_options *picture; /* borrowed: what is drawn; NULL: as is usual */
	const struct annotations *code; /* borrowed: what a page shows of code; NULL: nothing */
};

/* The texts of frames that @options ask for, of formats that show functions. */
static inline struct frame_text_options format_texts(const struct format_options *options,
						     bool verbatim)
{
	return (struct frame_text_options){
		.annotate = options->annotate,
		.origin = options->origin,
		.addresses = options->addresses,
		.symbols_only = options->inlined == FORMAT_INLINED_NEVER,
		.lines = options->lines,
		.fold_recursion = options->fold_recursion,
		.verbatim = verbatim,
	};
}

/*
 * A writer: the whole recording to @to; *ret_shown is the sum of what is shown
 * (view/measure.h) as it was written, set on success. Write errors stay in @to (ferror). Errors:
 * -ENOMEM, and what the format cannot hold.
 */
typedef int format_write_fn(FILE *to, const struct recording *recording,
			    const struct format_options *options, uint64_t *ret_shown,
			    struct fpl_err *err);
