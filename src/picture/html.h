/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page that holds a whole profile: frames as a flame graph and an icicle, callers and callees,
 * functions, processes, the books and where it was taken; of both walks (compare), these side by
 * side. It needs nothing but a browser, and loads nothing.
 */
#pragma once

#include "have_html.h"

#include "base/err.h"
#include "view/format.h"

/* The package to install if the page was not built in; NULL: it was. */
#if FPL_HAVE_HTML
#define HTML_MISSING NULL
#else
#define HTML_MISSING                                                                              \
	"this fpless was built without npm, which fetches d3-flame-graph: install npm and build " \
	"again"
#endif

/*
 * format_write_fn. Below picture->min_share, and of more frames than a browser is happy with, those
 * of fewest samples are left out, and the page says how many. Errors: -ENOTSUP with
 * HTML_MISSING; those of flame_paths_add().
 */
int html_write(FILE *to, const struct recording *recording, const struct format_options *options,
	       uint64_t *ret_shown, struct fpl_err *err);

/* Write the page before its data, and behind its data. Errors: -ENOTSUP with HTML_MISSING. */
FPL_MUST_CHECK int html_page_begin(FILE *to, struct fpl_err *err);
void html_page_end(FILE *to);
