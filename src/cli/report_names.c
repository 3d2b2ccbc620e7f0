/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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
		error = client_open(names->parser, &names->client, err);
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
	client_close(names->client);
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
	int error = object_files_register(recording, root, names->client, names->fetcher,
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
