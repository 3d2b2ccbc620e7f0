/* SPDX-License-Identifier: Apache-2.0 */
/* The files named by a command line: files as they are, folders with every ELF file below them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct listed_file {
	char *path; /* owned */
	uint64_t size;
	uint64_t dev, ino;
	bool from_folder; /* found below a folder, not named */
};

struct file_list {
	struct listed_file *files; /* owned [nr] */
	size_t nr, capacity;
};

void file_list_fini(struct file_list *list);

/*
 * Append @path, or the regular ELF files below it: symbolic links in it are not followed, a file
 * with several names is listed once. Unreadable folders and files there are skipped; a path given
 * by the user is listed as it is, and its reader reports an error. Errors: -ENOMEM; -ENOENT and
 * others of stat(2) for @path itself.
 */
FPL_MUST_CHECK int file_list_add(struct file_list *list, const char *path, struct fpl_err *err);

/* Largest first: with workers side by side no large file is left for the end. */
void file_list_sort_by_size(struct file_list *list);
