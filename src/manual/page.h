/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a manual page, made whole. In it stand, each on a line of its own,
 *
 *   @options VERB     all options of the verb under their headings, with what --help says of them
 *   @more --option    more to say of that option: the lines behind it, up to an empty one
 *   @verbs            the verbs and what they do
 *
 * and all else is copied: scdoc's language.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* Errors: -EINVAL with the line of the source, -EIO, -ENOMEM. */
FPL_MUST_CHECK int page_write(FILE *from, const char *path, FILE *to, struct fpl_err *err);
