/* SPDX-License-Identifier: Apache-2.0 */
/* The profile as the page reads it: one JSON object within a script element.
 * docs/man/fpless-formats.5.scd says its members. */
#pragma once

#include "view/format.h"

/* As html_write. */
int html_data_write(FILE *to, const struct recording *recording,
		    const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err);
