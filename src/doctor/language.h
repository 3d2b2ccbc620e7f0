/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages whose functions are no code of a file: an interpreter or a compiler at run time
 * executes them. What makes each run time say which function it runs depends on its version.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "doctor/checkup.h"

#define LANGUAGES_MAX 4u /* more in one process are left out */

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

/*
 * Judge whether the functions of @language have names: @is_named where process @pid writes a perf
 * map or jitdump that may be read; else the fix is what its version can be told.
 */
void language_judge(const struct language *language, pid_t pid, bool is_named, struct check *check);
