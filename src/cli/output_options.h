/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs and their formats: options of every verb that ends with a recording. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/style.h"
#include "format/formats.h"
#include "format/packed_stream.h"
#include "picture/picture_options.h"
#include "view/terminal_text.h"

struct output_option {
	const char *path;	     /* borrowed from argv; "-" is stdout */
	const struct format *format; /* NULL only until output_options_check() */
	enum packing packing;	     /* by the end of its extension: .gz, .zst */
};

#define OUTPUT_FORMATS_MAX 16u

struct output_options {
	const struct format_list *formats; /* borrowed; NULL: those of recordings */
	struct output_option *list;	   /* a vector itself */
	size_t nr, room;
	const struct format *given[OUTPUT_FORMATS_MAX]; /* [nr_given]: of --format, in order */
	size_t nr_given;
	const char *stats_path; /* borrowed; NULL: none */
	/* Borrowed: written, or of stdout, where nothing was asked for; NULL: readable text */
	const char *usual_path, *usual_format;
	bool has_shares;	/* the verb itself heeds --min-share */
	const char *own_stdout; /* an option by which the verb itself writes to stdout; NULL */
	bool folded_stdout;	/* -f */
	bool open;		/* a page is shown in the browser */
	bool delimited, annotate, origin, addresses, fold_recursion;
	/* --inline, --lines and their opposites; neither: as the formats are best read */
	bool inlined, no_inlined, lines, no_lines;
	bool no_demangle;
	bool quiet, no_progress;
	enum style_mode colour; /* --color */
	struct picture_options picture;
	unsigned by;	/* PROFILE_BY_*; 0: the task's name */
	char *by_field; /* owned: a word of --by that is no label but may be a field of an event */
	const char *by_word; /* all of --by */
	int verbosity;	     /* 0, 1: -v, 2: -vv */
};

/* Refuse words of --by that are no labels. */
void output_options_refuse_fields(const struct output_options *options, struct argp_state *state);

/* Let @recording be shown by what --by says. Errors: -EINVAL it has no such label. */
FPL_MUST_CHECK int output_options_set_by(const struct output_options *options,
					 struct recording *recording, struct fpl_err *err);

void output_options_fini(struct output_options *options);

/*
 * Argp of these options; its input is a struct output_options, zero at first. An invalid option
 * ends the process with CLI_EXIT_USAGE and one line.
 */
extern const struct argp output_argp;

/* The same for a verb that has formats of its own: without where to write, and in what format. */
extern const struct argp shown_argp;

/* -o, --format: for such a verb. An invalid one ends the process. */
void output_options_add(struct output_options *options, const char *path, struct argp_state *state);
void output_options_add_format(struct output_options *options, const char *name,
			       struct argp_state *state);

/* The formats to choose from. */
const struct format_list *output_options_formats(const struct output_options *options);

/* Checks that need the whole command line. */
void output_options_check(struct output_options *options, struct argp_state *state);

/* True where the readable format goes to stdout because nothing else was asked for. */
bool output_options_use_text(const struct output_options *options);

/* Data goes to stdout. */
bool output_options_use_stdout(const struct output_options *options);

/* The paths of the outputs that are files [*ret_nr]: borrowed; the caller frees the list. */
const char **output_options_files(const struct output_options *options, size_t *ret_nr);

/* The debugging information that all outputs together need. */
bool output_options_want_inlined(const struct output_options *options);
bool output_options_want_lines(const struct output_options *options);

/* How the formats are to be written. Refers to @options. */
struct format_options output_options_format(const struct output_options *options);

/* How stdout shows reports: as they are where it is no terminal. */
struct terminal_text output_options_terminal(const struct output_options *options);

/* Nothing was asked for that a line of progress is in the way of. */
bool output_options_want_progress(const struct output_options *options);

/* The level of the log that -v asks for. */
void output_options_set_log(const struct output_options *options);
