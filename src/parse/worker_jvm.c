/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jit/beam.h"
#include "jit/hotspot.h"
#include "jit/jit_file.h"
#include "jit/php.h"
#include "jit/trampoline.h"
#include "parse/job.h"

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t size)
{
	const struct job *job = ctx;

	if (addr > INT64_MAX - size)
		return -1;
	return pread(job->fd, dst, size, (off_t)addr) == (ssize_t)size ? 0 : -1;
}

static void destroy(struct jit_memory **memory)
{
	jit_memory_destroy(*memory);
}

/* The memory of a process that is asked about the object at the first address. */
static int open_memory(struct job *job, struct jit_memory **ret, struct fpl_err *err)
{
	if (!job->request.nr_vaddrs)
		return fpl_fail(err, -EINVAL, "%s: %s", job->name, strerror(EINVAL));
	if (jit_memory_create(read_memory, job, ret))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", job->name);
	return 0;
}

static int describe(struct job *job, struct jit_memory *memory, struct hotspot *ret,
		    struct fpl_err *err)
{
	struct fpl_err why = { 0 };
	int code = hotspot_describe(memory, job->vaddrs[0], ret, &why);

	return code ? fpl_fail(err, code, "%s: %s", job->name, why.msg) : 0;
}

int job_jvm(struct job *job)
{
	CLEANUP(destroy) struct jit_memory *memory = NULL;
	struct hotspot hotspot = { .nr_heaps = 0 };
	struct fpl_err err = { 0 };
	int code = open_memory(job, &memory, &err);
	int rc;

	if (!code)
		code = describe(job, memory, &hotspot, &err);
	if (!code)
		stubs_find(memory, &hotspot);
	rc = job_answer(job, code, &err);
	return rc || code ? rc : job_send(job, &hotspot, sizeof(hotspot));
}

static int find_trampoline(struct jit_memory *memory, const uint64_t *bounds, size_t nr,
			   struct made_code *ret, struct fpl_err *err)
{
	struct made_piece *piece = &ret->pieces[0];
	int code = trampoline_find(memory, bounds, nr, &piece->region);

	if (code)
		return fpl_fail(err, code, "no trampoline to code made at run time");
	ret->nr = 1;
	piece->start = piece->region.start;
	piece->end = piece->region.end;
	return 0;
}

/* Answer the question of PARSE_MADE. */
static int find_made(const struct job *job, struct jit_memory *memory, struct made_code *ret,
		     struct fpl_err *err)
{
	const uint64_t *vaddrs = job->vaddrs + 1;
	uint64_t base = job->vaddrs[0];
	size_t nr = job->request.nr_vaddrs - 1;

	if (job->request.flags & PARSE_REGISTERED)
		return base > nr ? fpl_fail(err, -EINVAL, "%s", strerror(EINVAL))
				 : registered_find(memory, vaddrs, base, vaddrs + base,
						   (nr - base) / 2, ret, err);
	if (base && beam_is(memory, base))
		return beam_find(memory, base, ret, err);
	return base ? php_find(memory, base, vaddrs, nr / 2, ret, err)
		    : find_trampoline(memory, vaddrs, nr / 2, ret, err);
}

int job_made(struct job *job)
{
	CLEANUP(destroy) struct jit_memory *memory = NULL;
	struct made_code made = { .nr = 0 };
	struct fpl_err err = { 0 }, why = { 0 };
	int code = job->request.nr_vaddrs ? 0 : -EINVAL;
	int rc;

	if (!code)
		code = jit_memory_create(read_memory, job, &memory);
	if (code)
		fpl_fail(&why, code, "%s", strerror(-code));
	else
		code = find_made(job, memory, &made, &why);
	if (code)
		fpl_fail(&err, code, "%s: %s", job->name, why.msg);
	rc = job_answer(job, code, &err);
	return rc || code ? rc : job_send(job, &made, sizeof(made));
}

static int compare_asked(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Does the object loaded at @base keep a list for debuggers? */
static bool has_list(struct jit_memory *memory, uint64_t base)
{
	struct jit_list list;

	return !jit_list_open(memory, base, &list);
}

int job_jvm_code(const struct job *job, struct code_table *table, struct code_file_result *result,
		 struct fpl_err *err)
{
	CLEANUP(destroy) struct jit_memory *memory = NULL;
	struct job own = *job;
	struct hotspot hotspot;
	const uint64_t *asked;
	size_t nr_asked;
	int code = open_memory(&own, &memory, err);
	bool is_beam = !code && beam_is(memory, job->vaddrs[0]);
	bool is_registered = !code && !is_beam && has_list(memory, job->vaddrs[0]);

	*result = (struct code_file_result){ 0 };
	if (!code && !is_beam && !is_registered)
		code = describe(&own, memory, &hotspot, err);
	if (code)
		return code;
	nr_asked = job->request.nr_vaddrs - 1;
	qsort(job->vaddrs + 1, nr_asked, sizeof(*job->vaddrs), compare_asked);
	asked = job->vaddrs + 1;
	if (is_beam)
		code = beam_names(memory, job->vaddrs[0], asked, nr_asked, table);
	else if (is_registered)
		code = jit_files_names(memory, job->vaddrs[0], table);
	else
		code = hotspot_names(memory, &hotspot, asked, nr_asked, table);
	result->nr_entries = table->nr;
	/* what has no room any more stays addresses, as for any table of code */
	if (code == -ENOSPC) {
		result->end = CODE_FILE_NO_ROOM;
		code = 0;
	}
	return code ? fpl_fail(err, code, "%s: %s", job->name, strerror(-code)) : 0;
}
