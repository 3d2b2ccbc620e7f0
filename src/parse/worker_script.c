/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "parse/job.h"

static int send_names(const struct job *job, const struct script_names *names)
{
	const struct parse_script head = {
		.nr_codes = (uint32_t)names->nr_codes,
		.nr_lines = (uint32_t)names->nr_lines,
		.text_size = (uint32_t)names->text_size,
	};
	int rc = job_send(job, &head, sizeof(head));

	if (!rc)
		rc = job_send(job, names->codes, names->nr_codes * sizeof(*names->codes));
	if (!rc)
		rc = job_send(job, names->lines, names->nr_lines * sizeof(*names->lines));
	return rc ? rc : job_send(job, names->text, names->text_size);
}

int job_script(struct job *job)
{
	CLEANUP(script_names_fini) struct script_names names;
	struct fpl_err err = { 0 };
	int code = script_names_read(job->fd, job->request.file_size, &names);
	int rc;

	if (code)
		code = fpl_fail(&err, code, "%s: %s", job->name, strerror(-code));
	rc = job_answer(job, code, &err);
	return rc || code ? rc : send_names(job, &names);
}
