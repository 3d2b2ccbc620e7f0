/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "parse/job.h"
#include "symbolize/jitdump.h"
#include "symbolize/perf_map.h"

static int read_code(const struct job *job, struct code_table *table,
		     struct code_file_result *result, struct fpl_err *err)
{
	int code;

	if (job->request.op == PARSE_JVM_CODE)
		return job_jvm_code(job, table, result, err);
	if (job->request.op == PARSE_JITDUMP)
		return jitdump_read(job->fd, JITDUMP_READ_MAX, job->request.own_pid, table, result,
				    err);
	code = perf_map_read(job->fd, PERF_MAP_READ_MAX, table, result);
	return code ? fpl_fail(err, code, "%s", strerror(-code)) : 0;
}

static int send_code(const struct job *job, const struct code_table *table,
		     const struct code_file_result *result)
{
	const struct parse_code head = {
		.result = *result,
		.nr_entries = table->nr,
		.nr_segments = table->nr_segments,
		.nr_lines = table->nr_lines,
		.names_size = table->names_size,
	};
	int rc = job_send(job, &head, sizeof(head));

	if (!rc)
		rc = job_send(job, table->entries, table->nr * sizeof(*table->entries));
	if (!rc)
		rc = job_send(job, table->segments, table->nr_segments * sizeof(*table->segments));
	if (!rc)
		rc = job_send(job, table->lines, table->nr_lines * sizeof(*table->lines));
	return rc ? rc : job_send(job, table->names, table->names_size);
}

int job_code(struct job *job)
{
	CLEANUP(code_table_fini) struct code_table table;
	struct code_file_result result;
	struct fpl_err err = { 0 };
	uint64_t max_bytes = job->request.code_bytes;
	int code;

	code_table_init(&table, max_bytes < PARSE_CODE_MAX ? max_bytes : PARSE_CODE_MAX);
	code = read_code(job, &table, &result, &err);
	if (!code && code_table_arrange(&table))
		code = fpl_fail(&err, -ENOMEM, "out of memory");

	int rc = job_answer(job, code, &err);

	return rc || code ? rc : send_code(job, &table, &result);
}
