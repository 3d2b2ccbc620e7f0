/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `fpless query': parsed, checked, not yet acted upon. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/output_options.h"
#include "cli/store_input.h"

enum query_what {
	QUERY_LIST,
	QUERY_TOP,
	QUERY_FIND,
	QUERY_ANALYZE,
	QUERY_FUNCTION,
	QUERY_ADVICE,
	QUERY_METRICS,
	QUERY_PROFILES,
	QUERY_DIFF,
	QUERY_EXPORT,
	QUERY_FLAME,
	QUERY_IMPORT,
	QUERY_CHECK,
	QUERY_RESYMBOLIZE,
};

struct query_options {
	enum query_what what;
	char **words; /* borrowed from argv [nr_words]: behind what is asked */
	size_t nr_words;
	struct store_input input;
	uint64_t limit; /* 0: not given */
	bool json;
	char *labels; /* owned: "k=v,k=v" */
	struct output_options output;
};

/* Append @arg, "k=v", to *labels, owned. Returns false where it is no label. */
bool query_label_add(const char *arg, char **labels);

/*
 * Parse; an invalid option ends the process with CLI_EXIT_USAGE and one line. *ret is the caller's
 * to end. Errors: -EINVAL.
 */
FPL_MUST_CHECK int query_options_parse(int argc, char **argv, struct query_options *ret);
void query_options_fini(struct query_options *options);
