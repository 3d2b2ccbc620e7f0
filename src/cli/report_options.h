/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `fpless report' and `fpless script': parsed, checked, not yet acted upon. */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "cli/output_options.h"
#include "cli/reading_options.h"
#include "cli/store_input.h"

/* fpless record writes it, and it is read where no FILE is given. */
#define REPORT_USUAL_PATH "fpless.jsonl.gz"

/* The recording that fpless record has left here, also unpacked; NULL: it is not here. */
char *report_usual_file(void);

struct input_source;
struct privileged_helper;

struct report_options {
	char **files; /* borrowed from argv [nr_files]; "-" is stdin */
	size_t nr_files;
	char *usual_file; /* borrowed: files[0] where none was given */
	struct reading_options reading;
	struct store_input store;
	/* Borrowed: the recordings come from it, and files are their names; NULL: they are files */
	const struct input_source *source;
	bool missing;
	bool code; /* a page gets the code of the hottest functions */
	struct output_options output;
};

void report_options_fini(struct report_options *options);

/*
 * Parse by report_argp or script_argp. Where nothing else is asked for, stdout gets
 * @usual_format; NULL: readable text. An invalid option ends the process with CLI_EXIT_USAGE and
 * one line. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int report_options_parse(int argc, char **argv, const struct argp *argp,
					const char *usual_format, struct report_options *ret);

/* Read, filter, write as @options say. @helper: HELPER_NONE at first, and the caller's to end.
 * Returns an enum cli_exit. */
int report_run(const struct report_options *options, struct privileged_helper *helper);

/* The verb: parse, and the same. Parameters as above; returns an enum cli_exit. */
int report_main(int argc, char **argv, const struct argp *argp, const char *usual_format);
