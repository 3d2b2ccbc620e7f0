/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording can be written as: by name, or by the extension of a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "view/format.h"

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
