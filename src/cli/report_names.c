/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "doctor/object_report.h"
#include "format/missing.h"
#include "proc/host.h"

int report_names_init(struct report_names *names, const struct output_options *options,
		      const struct cache_options *cache, bool debuginfod, struct fpl_err *err)
{
	int error = debuginfod ? debuginfod_open(&names->fetcher, err) : 0;

	if (!error)
		error = parser_create(PARSER_EXEC_BARE, &names->parser, err);
	if (!error)
		error = cache_options_create(cache, true, &names->cache, err);
	if (!error)
		disk_cache_try_open(names->cache, "names");
	if (!error)
		error = desk_open(names->parser, &names->desk, err);
	if (error)
		return error;
	return namer_create(
		&(struct namer_options){ .parser = names->parser,
					 .cache = names->cache,
					 .no_demangle = options->no_demangle,
					 .inlined = output_options_want_inlined(options),
					 .lines = output_options_want_lines(options) },
		&names->namer, err);
}

void report_names_fini(struct report_names *names)
{
	debuginfod_close(names->fetcher);
	namer_destroy(names->namer);
	object_files_fini(&names->files);
	desk_close(names->desk);
	disk_cache_destroy(names->cache);
	if (names->parser)
		parser_destroy(names->parser);
	*names = (struct report_names){ 0 };
}

int report_names_apply(struct report_names *names, const char *root, struct recording *recording,
		       struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording renamed = { 0 };
	struct namer_stats unused;
	int error = object_files_register(recording, root, names->desk, names->fetcher,
					  names->namer, &names->files, err);

	if (error)
		return error;
	error = renaming_place(recording, names->files.objects);
	if (!error)
		error = recording_init(&renamed);
	if (!error)
		error = renaming_make(recording, names->namer, names->files.objects, &renamed,
				      &names->renaming);
	namer_keep(names->namer, &unused);
	if (error)
		return fpl_fail(err, error, "%s",
				error == -ENOMEM ? "out of memory for names"
						 : "the sum of counts exceeds 64 bits");

	struct recording before = *recording;

	*recording = renamed;
	renamed = before; /* to be ended */
	return 0;
}

void report_names_write(FILE *to, const struct report_names *names)
{
	fprintf(to,
		"  names        %" PRIu64
		" frames anew, by the files of %zu objects; no file of %zu\n",
		names->renaming.frames, names->files.found, names->files.absent);
	if (names->fetcher)
		fprintf(to, "               %zu debug files from debuginfod\n",
			names->files.fetched);
	if (names->files.refused)
		fprintf(to, "               %zu objects have files of other build-ids: not used\n",
			names->files.refused);
	if (names->files.unplaced)
		fprintf(to,
			"               %zu objects with offsets: no file tells where their code goes\n",
			names->files.unplaced);
	if (names->files.anonymous)
		fprintf(to, "               %zu objects have no build-id to find files by\n",
			names->files.anonymous);
}

static void cleanup_missing(struct missing *missing)
{
	missing_fini(missing);
}

/* Objects as reports of files that are not looked into, of which packages can tell. */
struct reports {
	struct object_report *list; /* owned [nr] */
	size_t nr;
};

static void reports_fini(struct reports *reports)
{
	for (size_t i = 0; i < reports->nr; i++)
		object_report_fini(&reports->list[i]);
	free(reports->list);
}

static void describe_objects(const struct recording *recording, const struct missing *missing,
			     struct reports *ret)
{
	ret->list = must_calloc(missing->nr, sizeof(*ret->list));
	for (; ret->nr < missing->nr; ret->nr++) {
		const struct recording_object *object =
			&recording->objects[missing->list[ret->nr].object];
		const char *build_id = recording_string(recording, object->build_id);
		struct object_report *report = &ret->list[ret->nr];

		report->path = must_strdup(recording_string(recording, object->path));
		snprintf(report->found.build_id, sizeof(report->found.build_id), "%s", build_id);
	}
}

/* Do not suggest installed packages: the recording is older, or was made without lines. */
static void tell_installed(struct object_report *report)
{
	const struct package *debug = &report->debug_package;

	if (debug->installed && !strcmp(debug->version, report->package.version))
		snprintf(report->hint, sizeof(report->hint), "%s is installed: --symfs / uses it",
			 debug->name);
}

void report_names_missing(FILE *to, const struct recording *recording)
{
	CLEANUP(cleanup_missing) struct missing missing = { 0 };
	CLEANUP(reports_fini) struct reports reports = { 0 };
	struct host host;

	missing_find(recording, &missing);
	describe_objects(recording, &missing, &reports);
	host_read("", &host);
	object_reports_packages("", &host, reports.list, reports.nr);
	for (size_t i = 0; i < missing.nr; i++) {
		tell_installed(&reports.list[i]);
		missing.list[i].hint = reports.list[i].hint;
	}
	missing_write(to, recording, &missing);
}
