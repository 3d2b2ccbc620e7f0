/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "obj/mini_debug.h"
#include "parse/job.h"

static int find_function(struct job *job, struct probe_sites *sites, struct fpl_err *err)
{
	struct reading *reading = job->reading;
	const struct elf_file *debug[2];
	size_t nr_debug = 0;

	if (reading->debug)
		debug[nr_debug++] = reading->debug;
	if (reading->mini || !mini_debug_open(reading->elf, &reading->mini, NULL))
		debug[nr_debug++] = reading->mini;
	return probe_sites_find(reading->elf, debug, nr_debug, job->text, sites, err);
}

int job_probes(struct job *job)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	struct fpl_err err = { 0 };
	int code = job->request.op == PARSE_FUNCTION
			   ? find_function(job, &sites, &err)
			   : probe_sites_read_notes(job->elf, &sites, &err);
	const struct parse_probes head = { .nr = (uint32_t)sites.nr,
					   .text_size = (uint32_t)sites.text_size };
	int rc = job_answer(job, code, &err);

	if (rc || code)
		return rc;
	rc = job_send(job, &head, sizeof(head));
	if (!rc)
		rc = job_send(job, sites.list, sites.nr * sizeof(*sites.list));
	return rc ? rc : job_send(job, sites.text, sites.text_size);
}
