/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options in a file, --config FILE: on each line the long name of one, without dashes, and "=
 * VALUE" where it takes one; a line that begins with "#" is a comment. They become words in its
 * place, so options behind it have the last word.
 */
#pragma once

#include <argp.h>
#include <stddef.h>

#include "base/err.h"

struct config_file {
	char *path;  /* owned; NULL: none is given */
	char **argv; /* owned [argc], NULL-terminated: all words */
	int argc;
	char **made; /* owned [nr_made], each owned: those of argv that are the file's */
	size_t nr_made;
};

/*
 * Find --config in @argv, read its file, and make the words, which borrow from @argv. @argp has the
 * options that there are, and config_argp among its children. Errors, with file and line:
 * -EINVAL the file does not say what it should; those of open(2) and read(2).
 */
FPL_MUST_CHECK int config_file_read(int argc, char **argv, const struct argp *argp,
				    struct config_file *ret, struct fpl_err *err);
/* After the run, whose options borrow from the words. Safe on a zeroed struct. */
void config_file_fini(struct config_file *config);

/*
 * A child of the verb's argp, whose input is the struct config_file: it has --config, and sees to
 * it that messages about an option of the file begin with file and line.
 */
extern const struct argp config_argp;
