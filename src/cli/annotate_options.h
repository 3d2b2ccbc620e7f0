/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `fpless annotate': parsed, checked, not yet acted upon. */
#pragma once

#include "cli/output_options.h"
#include "cli/reading_options.h"

struct annotate_options {
	const char *function; /* borrowed */
	char *file;	      /* borrowed: the recording; "-" is stdin */
	bool is_usual_file;   /* none was given */
	struct reading_options reading;
	const char *object;	   /* borrowed: path, or the last part of it; NULL: any */
	const char *source_folder; /* borrowed; NULL: none */
	bool no_source, intel, json;
	struct output_options output; /* only what all verbs share: -q, -v, --color */
};

void annotate_options_fini(struct annotate_options *options);

/* An invalid option ends the process with CLI_EXIT_USAGE and one line. Errors: -ENOMEM. */
FPL_MUST_CHECK int annotate_options_parse(int argc, char **argv, struct annotate_options *ret);
