/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/missing_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "doctor/object_report.h"
#include "format/missing.h"
#include "proc/host.h"

static void cleanup_missing(struct missing *missing)
{
	missing_fini(missing);
}

static void reports_fini(struct missing_reports *reports)
{
	for (size_t i = 0; i < reports->nr; i++)
		object_report_fini(&reports->list[i]);
	free(reports->list);
}

static void describe(const char *path, const char *build_id, struct object_report *ret)
{
	ret->path = must_strdup(path);
	/* as the kernel had it: without symbolic links, and nothing is asked of its file system */
	ret->real_path = must_strdup(path);
	snprintf(ret->found.build_id, sizeof(ret->found.build_id), "%s", build_id);
}

/* The first @nr of @missing. */
static void describe_objects(const struct recording *recording,
			     const struct missing_object *missing, size_t nr,
			     struct missing_reports *ret)
{
	ret->list = must_calloc(nr, sizeof(*ret->list));
	for (; ret->nr < nr; ret->nr++) {
		const struct recording_object *object =
			&recording->objects[missing[ret->nr].object];

		describe(recording_string(recording, object->path),
			 recording_string(recording, object->build_id), &ret->list[ret->nr]);
	}
}

static void find_packages(struct missing_reports *reports)
{
	struct host host;

	host_read("", &host);
	object_reports_packages("", &host, reports->list, reports->nr);
}

/* Do not suggest installed packages: the recording is older, or was made without lines. */
static void tell_installed(struct object_report *report)
{
	const struct package *debug = &report->debug_package;

	if (debug->installed && !strcmp(debug->version, report->package.version))
		snprintf(report->hint, sizeof(report->hint), "%s is installed: --symfs / uses it",
			 debug->name);
}

void missing_names_find(const struct recording *recording, struct missing_names *ret)
{
	*ret = (struct missing_names){ 0 };
	missing_find(recording, &ret->missing);
	describe_objects(recording, ret->missing.list, ret->missing.nr, &ret->reports);
	find_packages(&ret->reports);
	for (size_t i = 0; i < ret->missing.nr; i++) {
		tell_installed(&ret->reports.list[i]);
		ret->missing.list[i].hint = ret->reports.list[i].hint;
	}
}

void missing_names_fini(struct missing_names *missing)
{
	missing_fini(&missing->missing);
	reports_fini(&missing->reports);
}

void missing_names_write(FILE *to, const struct recording *recording)
{
	CLEANUP(missing_names_fini) struct missing_names missing;

	missing_names_find(recording, &missing);
	missing_write(to, recording, &missing.missing);
}

static const struct missing_object *most_leaves(const struct missing *missing)
{
	const struct missing_object *most = NULL;

	for (size_t i = 0; i < missing->nr; i++) {
		if (missing->list[i].unnamed_leaf > (most ? most->unnamed_leaf : 0))
			most = &missing->list[i];
	}
	return most;
}

void missing_names_of_leaves(const struct recording *recording, struct summary_unnamed *ret,
			     char *hint)
{
	CLEANUP(cleanup_missing) struct missing missing = { 0 };
	CLEANUP(reports_fini) struct missing_reports reports = { 0 };
	const struct missing_object *most;

	missing_find(recording, &missing);
	most = most_leaves(&missing);
	*ret = (struct summary_unnamed){ .of = missing.samples };
	if (!most)
		return;
	for (size_t i = 0; i < missing.nr; i++)
		ret->samples += missing.list[i].unnamed_leaf;
	ret->path = recording_string(recording, recording->objects[most->object].path);
	if (!hint || !summary_tells(ret))
		return;
	describe_objects(recording, most, 1, &reports);
	find_packages(&reports);
	snprintf(hint, MISSING_NAMES_HINT, "%s", reports.list[0].hint);
	ret->hint = hint;
}

void missing_names_package(const char *path, const char *build_id, bool is_debug, char *hint)
{
	CLEANUP(reports_fini)
	struct missing_reports reports = { .list = must_calloc(1, sizeof(*reports.list)), .nr = 1 };
	const struct object_report *report = &reports.list[0];

	describe(path, build_id, &reports.list[0]);
	find_packages(&reports);
	if (is_debug)
		snprintf(hint, MISSING_NAMES_HINT, "%s", report->hint);
	else if (*report->package.name)
		snprintf(hint, MISSING_NAMES_HINT,
			 "the installed file is of %s %s: it was another version",
			 report->package.name, report->package.version);
	else
		*hint = '\0';
}
