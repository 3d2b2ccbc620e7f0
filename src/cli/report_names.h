/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a recording's frames from files that are here now, and what to install for them. */
#pragma once

#include "cli/cache_options.h"
#include "naming/object_files.h"
#include "cli/output_options.h"
#include "naming/renaming.h"
#include "parse/parser.h"
#include "parse/client.h"

/* The source of reads of files. */
struct report_names {
	struct parser *parser;	     /* owned */
	struct disk_cache *cache;    /* owned; NULL: none is read */
	struct parse_client *client; /* owned: for build-ids */
	struct namer *namer;	     /* owned */
	struct debuginfod *fetcher;  /* owned; NULL: the network is not asked */
	struct object_files files;   /* of the last recording, their counts of all */
	struct renaming renaming;
};

/*
 * Start the workers, before rights are given up: theirs are to be fewer. Ended by
 * report_names_fini(), also after an error. @debuginfod: servers are asked for debug files. Errors:
 * parse/parser.h; obj/debuginfod.h; -ENOMEM.
 */
FPL_MUST_CHECK int report_names_init(struct report_names *names,
				     const struct output_options *options,
				     const struct cache_options *cache, bool debuginfod,
				     struct fpl_err *err);
/* Safe on a zeroed struct. */
void report_names_fini(struct report_names *names);

/*
 * Replace *recording by one whose frames are named by files below @root. Errors: -ENOMEM;
 * -EOVERFLOW.
 */
FPL_MUST_CHECK int report_names_apply(struct report_names *names, const char *root,
				      struct recording *recording, struct fpl_err *err);

/* Write the result, for the closing report. */
void report_names_write(FILE *to, const struct report_names *names);
