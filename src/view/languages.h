/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages whose functions are no code of a file: an interpreter or a compiler at run time
 * executes them. What makes each run time say which function it runs depends on its version.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LANGUAGES_MAX	  4u  /* more in one process are left out */
#define LANGUAGE_NAME_MAX 64u /* bytes that a name and a version take */

struct language {
	const struct language_row *row; /* static: what is known of the run time */
	unsigned major, minor;		/* of its version, by the name of its file */
	bool has_version;
};

/*
 * Add the run time that the file @path belongs to, by its name, to @list [*nr], which has room for
 * LANGUAGES_MAX. Each language is there once. A path without a version does not replace one.
 */
void languages_add(struct language *list, size_t *nr, const char *path);

/* Its name, with its version where that is known. Returns @to, which has @size bytes. */
const char *language_name(const struct language *language, char *to, size_t size);

/* The first version that can name what it runs. Returns @to; NULL: each one can, or none can. */
const char *language_first(const struct language *language, char *to, size_t size);

/*
 * How a running process of this version has its functions named: an imperative clause, in which
 * "PID " stands for its number. NULL: there is no way.
 */
const char *language_way(const struct language *language);

/* The same for the next process that is started, after this one has gone: no number in it. */
const char *language_next_way(const struct language *language);
