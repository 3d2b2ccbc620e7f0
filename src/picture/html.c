/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html.h"

#include <errno.h>

#include "picture/html_data.h"

#if FPL_HAVE_HTML
#include "html_page.h"

int html_page_begin(FILE *to, struct fpl_err *err)
{
	(void)err;
	fwrite(html_page_before, 1, sizeof(html_page_before), to);
	return 0;
}

void html_page_end(FILE *to)
{
	fwrite(html_page_after, 1, sizeof(html_page_after), to);
}
#else
int html_page_begin(FILE *to, struct fpl_err *err)
{
	(void)to;
	return fpl_fail(err, -ENOTSUP, "%s", HTML_MISSING);
}

void html_page_end(FILE *to)
{
	(void)to;
}
#endif

int html_write(FILE *to, const struct recording *recording, const struct format_options *options,
	       uint64_t *ret_shown, struct fpl_err *err)
{
	int error = html_page_begin(to, err);

	if (!error)
		error = html_data_write(to, recording, options, ret_shown, err);
	if (!error)
		html_page_end(to);
	return error;
}
