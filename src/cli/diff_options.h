/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `fpless diff`: parsed, checked, not yet acted upon. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/output_options.h"
#include "diff/headline.h"
#include "cli/reading_options.h"
#include "cli/store_input.h"

struct input_source;
struct privileged_helper;

struct diff_options {
	char **files;		    /* borrowed [nr_files], from words or a source; "-" is stdin */
	size_t nr_files, nr_before; /* those before come first */
	struct store_input store;
	/* Borrowed: the recordings come from it, and files are their names; NULL: they are files */
	const struct input_source *source;
	struct reading_options reading;
	struct output_options output;
	bool normalize, negate, strip_hex, any_object;
	struct growth_limit limit; /* what is a failure; INFINITY: nothing is */
	bool has_top;
	size_t top;

	/* private */
	char **words; /* owned: files that are given, each borrowed from argv */
	int parting;  /* index in argv behind which files are of the other side; 0: none */
};

void diff_options_fini(struct diff_options *options);

/* The formats of a diff. */
extern const struct format_list diff_formats;

/* As report_run(). */
int diff_run(const struct diff_options *options, struct privileged_helper *helper);

/* Parse; an invalid option ends the process with CLI_EXIT_USAGE and one line. Errors: -ENOMEM. */
FPL_MUST_CHECK int diff_options_parse(int argc, char **argv, struct diff_options *ret);
