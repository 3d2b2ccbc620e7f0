/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `fpless report`: parsed, checked, not yet acted upon. */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "cli/output_options.h"
#include "cli/reading_options.h"

struct report_options {
	char **files; /* borrowed from argv [nr_files]; "-" is stdin */
	size_t nr_files;
	struct reading_options reading;
	bool missing;
	struct output_options output;
};

void report_options_fini(struct report_options *options);

/* Parse; an invalid option ends the process with CLI_EXIT_USAGE and one line. Errors: -ENOMEM. */
FPL_MUST_CHECK int report_options_parse(int argc, char **argv, struct report_options *ret);
