/* SPDX-License-Identifier: Apache-2.0 */
/* The profile as the page reads it: one JSON object within a script element. docs/formats.md says
 * its members. */
#pragma once

#include "view/format.h"

/* Frames of one walk that a page has at most. A node takes about 40 bytes of the browser's heap, 10
 * of the file. */
#define HTML_NODES_MAX 1000000u

/* As html_write. */
int html_data_write(FILE *to, const struct recording *recording,
		    const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err);
