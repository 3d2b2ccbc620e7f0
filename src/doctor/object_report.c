/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/object_report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

void object_report_fini(struct object_report *report)
{
	free(report->path);
	free(report->debug_path);
	free(report->real_path);
	*report = (struct object_report){ .path = NULL };
}

static void close_debug(struct client_file *file)
{
	cleanup_fd(&file->debug_fd);
}

static int examine_file(struct parse_client *client, int fd, struct object_report *ret,
			struct fpl_err *err)
{
	CLEANUP(close_debug) struct client_file file = { .debug_fd = -1 };
	char debug_path[PATH_MAX];
	struct debug_link link;
	struct elf_file *elf;
	int code = client_file_init(&file, fd, ret->path);

	if (code)
		return fpl_fail(err, code, "%s: %s", ret->path, strerror(-code));
	code = client_facts(client, &file, &elf, NULL, &link, err);
	if (code)
		return code;
	client_find_debug(client, &file, elf, &link, debug_path);
	elf_file_close(elf);
	code = client_examine(client, &file, &ret->found, err);
	if (code)
		return code;
	ret->debug_path = debug_path[0] ? must_strdup(debug_path) : NULL;
	return 0;
}

/* Resolve the symbolic links of @path. NULL: no such file, or it does not answer. */
static char *real_path_of(struct parse_client *client, const char *path)
{
	const struct opener_path where = { .folder_fd = -1, .path = path };
	AUTO_FD int fd = -1;
	char link[32], real[PATH_MAX];
	ssize_t size;

	if (path[0] == '[' || opener_walk(client_opener(client), &where, NULL, &fd))
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, real, sizeof(real));
	return size > 0 && size < (ssize_t)sizeof(real) ? strndup(real, (size_t)size) : NULL;
}

int object_report_make(struct parse_client *client, int fd, const char *path,
		       struct object_report *ret, struct fpl_err *err)
{
	int code;

	*ret = (struct object_report){ .path = must_strdup(path) };
	code = examine_file(client, fd, ret, err);
	if (!code)
		ret->real_path = real_path_of(client, path);
	if (code)
		object_report_fini(ret);
	return code;
}

bool object_report_lacks_debug(const struct object_report *report)
{
	return !report->found.has_debug_info && !report->found.debug_has_info;
}

double object_report_percent(const struct object_report *report)
{
	uint64_t code = report->found.coverage.covered_bytes + report->found.coverage.bare_bytes;

	/* rounded down: 100.00 is for all of it. Code is below 2^40 bytes where CFI was read */
	return code ? (double)(report->found.coverage.covered_bytes * 10000 / code) / 100.0 : 100.0;
}

struct package_work {
	struct package_query *queries; /* owned [nr]: two per report, file and debug file */
	struct package **debugs;       /* owned [nr_reports] */
	size_t nr_reports;
};

static void cleanup_work(struct package_work *work)
{
	free(work->debugs);
	free(work->queries);
}

/* Find the owner of the present debug file, or else the package that would bring it. */
static void name_debug_packages(struct package_work *work, struct object_report *reports)
{
	for (size_t i = 0; i < work->nr_reports; i++) {
		const struct package *holder = &work->queries[2 * i + 1].owner;

		reports[i].package = work->queries[2 * i].owner;
		if (holder->name[0])
			reports[i].debug_package = *holder;
		else if (!reports[i].debug_path && !reports[i].found.has_debug_info)
			package_debug_name(&reports[i].package, &reports[i].debug_package);
		work->debugs[i] = &reports[i].debug_package;
	}
}

void object_reports_packages(const char *root, const struct host *host,
			     struct object_report *reports, size_t nr)
{
	CLEANUP(cleanup_work)
	struct package_work work = {
		.queries = must_calloc(2 * nr, sizeof(*work.queries)),
		.debugs = must_calloc(nr, sizeof(*work.debugs)),
		.nr_reports = nr,
	};

	for (size_t i = 0; i < nr; i++) {
		bool has_path = reports[i].real_path && !reports[i].deleted;

		work.queries[2 * i].path = has_path ? reports[i].real_path : "";
		work.queries[2 * i + 1].path = reports[i].debug_path ? reports[i].debug_path : "";
	}
	(void)!packages_find(root, work.queries, 2 * nr, NULL);
	name_debug_packages(&work, reports);
	(void)!packages_status(root, work.debugs, nr, NULL);
	for (size_t i = 0; i < nr; i++) {
		struct object_report *report = &reports[i];

		/* installed, but another version: it holds other build-ids */
		if (object_report_lacks_debug(report) && report->path[0] != '[' && !report->deleted)
			package_debug_hint(host, &report->debug_package, report->path,
					   report->found.build_id, report->hint,
					   sizeof(report->hint));
	}
}
