/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html.h"

#include <errno.h>

#include "picture/html_data.h"

#if FPL_HAVE_HTML
#include "html_page.h"

int html_write(FILE *to, const struct recording *recording, const struct format_options *options,
	       uint64_t *ret_shown, struct fpl_err *err)
{
	int error;

	fwrite(html_page_before, 1, sizeof(html_page_before), to);
	error = html_data_write(to, recording, options, ret_shown, err);
	fwrite(html_page_after, 1, sizeof(html_page_after), to);
	return error;
}
#else
int html_write(FILE *to, const struct recording *recording, const struct format_options *options,
	       uint64_t *ret_shown, struct fpl_err *err)
{
	(void)to;
	(void)recording;
	(void)options;
	(void)ret_shown;
	return fpl_fail(err, -ENOTSUP, "%s", HTML_MISSING);
}
#endif
