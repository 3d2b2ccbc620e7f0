/* SPDX-License-Identifier: Apache-2.0 */
/* How recordings are read, and which of their samples are wanted: options of every verb that does.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/cache_options.h"
#include "recording/filter.h"

struct reading_options {
	struct filter_options filter;
	pid_t *pids;		 /* owned: filter.pids */
	uint64_t memory;	 /* bytes a recording may take */
	const char *symfs;	 /* borrowed: where files are to name frames anew; NULL: nowhere */
	const char *sample_type; /* borrowed: what is to count; NULL: what files prefer */
	bool debuginfod;	 /* servers are asked for debug files; symfs is not NULL */
	struct cache_options cache; /* of names for symfs */
};

void reading_options_init(struct reading_options *options);
void reading_options_fini(struct reading_options *options);

/*
 * Argp of these options; its input is a struct reading_options. An invalid option ends the process
 * with CLI_EXIT_USAGE and one line.
 */
extern const struct argp reading_argp;

/* Check the FILE arguments: at least one, and stdin at most once. Ends the process otherwise. */
void reading_options_check_files(char **files, size_t nr, struct argp_state *state);
