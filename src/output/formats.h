/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording can be written as: by name, or by the extension of a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "recording/recording.h"

/* Whether frames of inlined functions are written. */
enum format_inlined {
	FORMAT_INLINED_USUAL, /* where the format shows them: all but folded */
	FORMAT_INLINED_ALWAYS,
	FORMAT_INLINED_NEVER,
};

/* A format takes of these what it has a place for. */
struct format_options {
	bool delimited; /* a frame "-" between user and kernel frames */
	bool annotate;	/* _[k] behind kernel frames, _[i] behind what is inlined */
	bool origin;	/* _[cfi_user], _[fp], _[synth] behind user frames found that way */
	enum format_inlined inlined;
	bool lines; /* file and line behind names, also where the format has no place for them */
};

/*
 * A writer: the whole recording to @to; *ret_shown is the sum of the counts written, set on
 * success. Write errors stay in @to (ferror). Errors: -ENOMEM, and what the format cannot hold.
 */
typedef int format_write_fn(FILE *to, const struct recording *recording,
			    const struct format_options *options, uint64_t *ret_shown,
			    struct fpl_err *err);

#define FORMAT_EXTENSIONS_MAX 3u

struct format {
	const char *name;			       /* of --format */
	const char *extensions[FORMAT_EXTENSIONS_MAX]; /* ".folded"; NULL: no more */
	format_write_fn *write;
	bool binary; /* not for a terminal */
	/* Of writes that failed, a whole file of the *ret_shown samples before remains. */
	bool parts;
};

extern const struct format formats[]; /* [formats_nr] */
extern const size_t formats_nr;

/* NULL: there is none. */
const struct format *format_by_name(const char *name);

/* The format of the longest extension that @path ends in; NULL: none. */
const struct format *format_by_path(const char *path);

/* "folded, text or jsonl" to @buf [size], always NUL-terminated; names or extensions of all. */
void formats_list_names(char *buf, size_t size);
void formats_list_extensions(char *buf, size_t size);
