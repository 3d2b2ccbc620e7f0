/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `fpless report`: parsed, checked, not yet acted upon. */
#pragma once

#include <argp.h>
#include <stdint.h>

#include "cli/output_options.h"
#include "recording/filter.h"

struct report_options {
	char **files; /* borrowed from argv [nr_files]; "-" is stdin */
	size_t nr_files;
	struct filter_options filter;
	pid_t *pids;		 /* owned: filter.pids */
	uint64_t memory;	 /* bytes a recording may take */
	const char *symfs;	 /* borrowed: where files are to name frames anew; NULL: nowhere */
	const char *sample_type; /* borrowed: what is to count; NULL: what files prefer */
	bool debuginfod;	 /* servers are asked for debug files; symfs is not NULL */
	bool missing;
	struct output_options output;
};

void report_options_fini(struct report_options *options);

/* Parse; nonsense ends the process with CLI_EXIT_USAGE and one line. Errors: -ENOMEM. */
FPL_MUST_CHECK int report_options_parse(int argc, char **argv, struct report_options *ret);
