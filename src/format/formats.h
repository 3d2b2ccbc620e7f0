/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that a recording can be written as: by name, or by the extension of a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "view/format.h"

#define FORMAT_EXTENSIONS_MAX 3u

struct format {
	const char *name;			       /* of --format */
	const char *extensions[FORMAT_EXTENSIONS_MAX]; /* ".folded"; NULL: no more */
	format_write_fn *write;
	const char *missing; /* what this program was built without; NULL: the format is there */
	bool binary;	     /* not for a terminal */
	bool picture;	     /* drawn as format_options.picture asks for */
	/* A write that fails leaves a whole file of the *ret_shown samples before. */
	bool parts;
	const struct format *zstd; /* what stands for it in files that zstd packs; NULL: itself */
	int zstd_level;		   /* of such files; 0: the usual one of packed_stream.h */
};

extern const struct format formats[]; /* [formats_nr] */
extern const size_t formats_nr;

/* Formats to choose from: those of recordings, or what a verb has in their place. */
struct format_list {
	const struct format *list; /* borrowed [nr] */
	size_t nr;
};

extern const struct format_list recording_formats; /* the above */

/* NULL: no such format. */
const struct format *format_find(const struct format_list *list, const char *name);

/* The format of the longest extension that @path ends in; NULL: none. */
const struct format *format_by_path(const struct format_list *list, const char *path);

/* "folded, text or jsonl" to @buf [size], always NUL-terminated; names or extensions of all. */
void formats_list_names(const struct format_list *list, char *buf, size_t size);
void formats_list_extensions(const struct format_list *list, char *buf, size_t size);
