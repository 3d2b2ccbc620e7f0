/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/width.h"
#include "base/vector.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/picture_args.h"
#include "profile/profile.h"

/* Keys of options without a letter, none of those of sampling_options.c. */
enum {
	KEY_FORMAT = 0x300,
	KEY_DELIMITED,
	KEY_ANNOTATE,
	KEY_ORIGIN,
	KEY_ADDRESSES,
	KEY_BY,
	KEY_STATS,
	KEY_INLINE,
	KEY_NO_INLINE,
	KEY_LINES,
	KEY_NO_LINES,
	KEY_NO_DEMANGLE,
	KEY_COLOR,
	KEY_NO_PROGRESS,
	KEY_OPEN,
	KEY_FOLD_RECURSION,
};

static const struct argp_option options_list[] = {
	{ .doc = "What to write:", .group = 2 },
	{ "folded", 'f', NULL, 0, "Folded stacks on stdout, also beside -o", 2 },
	{ "output", 'o', "FILE", 0,
	  "Write FILE (may be repeated), the format by its extension: .folded, .txt, .jsonl, .perf "
	  "(text as of perf script), .pb.gz (pprof), .speedscope.json, .json (Firefox Profiler), .svg (flame graph) or .html; of text with .gz or .zst behind it, packed; - is stdout",
	  2 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "Format of stdout, or of each -o with an unknown extension (may be repeated): folded, text, jsonl, perf, pprof, speedscope, firefox, svg, html-data or html",
	  2 },
	{ "stats", KEY_STATS, "FILE", 0, "Write the closing numbers as JSON", 2 },
	{ "open", KEY_OPEN, NULL, 0,
	  "Show the page that -o FILE.html would write in the browser, or say its address", 2 },
	{ 0 },
};

static const struct argp_option shown_list[] = {
	{ "by", KEY_BY, "LABEL[,LABEL...]", 0,
	  "Separate stacks by comm (default), pid, tid, cpu, cgroup, state, event, or the value of a field of the event",
	  2 },
	{ "delimited", KEY_DELIMITED, NULL, 0, "Put a frame '-' between user and kernel frames",
	  2 },
	{ "annotate", KEY_ANNOTATE, NULL, 0, "Append _[k] to kernel frames, _[i] to inlined ones",
	  2 },
	{ "origin", KEY_ORIGIN, NULL, 0,
	  "Append the origin of a user frame, unless CFI in the kernel: _[cfi_user], _[fp] or _[synth]",
	  2 },
	{ "addresses", KEY_ADDRESSES, NULL, 0,
	  "Code without a name as [object+0xaddress], not by the start of its function", 2 },
	{ "fold-recursion", KEY_FOLD_RECURSION, NULL, 0,
	  "Show a function that calls itself once, in formats that show functions; recordings keep each call",
	  2 },
	{ "inline", KEY_INLINE, NULL, 0,
	  "Show inlined functions as frames of their own, with debugging information (default except in folded stacks)",
	  2 },
	{ "no-inline", KEY_NO_INLINE, NULL, 0, "Show no inlined functions", 2 },
	{ "lines", KEY_LINES, NULL, 0,
	  "Append file and line to functions, with debugging information (always in formats that have a place for them)",
	  2 },
	{ "no-lines", KEY_NO_LINES, NULL, 0, "No files and lines in any format", 2 },
	{ "no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Do not demangle names", 2 },
	{ "color", KEY_COLOR, "auto|always|never", 0,
	  "Colours on stdout (default auto: on a terminal, unless $NO_COLOR is set)", 2 },
	{ "quiet", 'q', NULL, 0, "No closing report, and no progress", 2 },
	{ "no-progress", KEY_NO_PROGRESS, NULL, 0, "No progress line on a terminal", 2 },
	{ "verbose", 'v', NULL, 0, "Log more (-vv: even more)", 2 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

const struct format_list *output_options_formats(const struct output_options *options)
{
	return options->formats ? options->formats : &recording_formats;
}

void output_options_add_format(struct output_options *options, const char *arg,
			       struct argp_state *state)
{
	const struct format_list *list = output_options_formats(options);
	const struct format *format = format_find(list, arg);
	char known[256];

	if (!format) {
		formats_list_names(list, known, sizeof(known));
		refuse(state, "--format %s: %s", arg, known);
	} else if (options->nr_given == OUTPUT_FORMATS_MAX) {
		refuse(state, "--format: given more than %u times", OUTPUT_FORMATS_MAX);
	} else {
		options->given[options->nr_given++] = format;
	}
}

void output_options_refuse_fields(const struct output_options *options, struct argp_state *state)
{
	if (options->by & PROFILE_BY_KEY)
		refuse(state,
		       "--by %s: expected comm, pid, tid, cpu, cgroup, state, event, separated by commas",
		       options->by_word);
}

/* A word that is no label: of an event it may be a field. */
static void take_field(const char *word, size_t len, struct output_options *options,
		       struct argp_state *state)
{
	static const char of_names[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_()";
	bool is_second = options->by & PROFILE_BY_KEY;

	options->by |= PROFILE_BY_KEY;
	if (!len || strspn(word, of_names) < len || is_second)
		output_options_refuse_fields(options, state);
	free(options->by_field);
	options->by_field = must_asprintf("%.*s", (int)len, word);
}

int output_options_set_by(const struct output_options *options, struct recording *recording,
			  struct fpl_err *err)
{
	const char *key = recording_string(recording, recording->key);

	if (options->by_field && strcmp(key, options->by_field) != 0)
		return fpl_fail(err, -EINVAL, "--by %s: no such label: it was recorded by %s",
				options->by_field, *key ? key : "no field");
	if (options->by)
		recording->by = inputs_labels(options->by);
	return 0;
}

static void parse_by(const char *arg, struct output_options *options, struct argp_state *state)
{
	static const char *const words[PROFILE_LABEL_COUNT] = {
#define X(name, word) [PROFILE_LABEL_##name] = (word),
		PROFILE_LABEL_LIST(X)
#undef X
	};

	options->by_word = arg;
	for (const char *at = arg;; at++) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < ARRAY_SIZE(words) &&
		       (strlen(words[i]) != len || strncmp(words[i], at, len) != 0))
			i++;
		if (i == ARRAY_SIZE(words))
			take_field(at, len, options, state);
		else
			options->by |= 1u << i;
		at += len;
		if (!*at)
			return;
	}
}

static void parse_color(const char *arg, struct output_options *options, struct argp_state *state)
{
	options->colour = style_mode_of(arg);
	if (options->colour == STYLE_MODE_COUNT)
		refuse(state, "--color %s: expected auto, always or never", arg);
}

void output_options_add(struct output_options *options, const char *path, struct argp_state *state)
{
	if (vector_push(options, { .path = path }))
		argp_failure(state, CLI_EXIT_CANNOT_RUN, 0, "out of memory");
}

/* Refuse an output without a format: its extension is unknown. */
static void refuse_output(const struct format_list *list, const char *path,
			  struct argp_state *state)
{
	char known[256];

	if (!strcmp(path, "-")) {
		formats_list_names(list, known, sizeof(known));
		refuse(state, "-o -: needs --format %s", known);
	} else {
		formats_list_extensions(list, known, sizeof(known));
		refuse(state,
		       "-o %s: no format has this extension: %s; or one of text and .gz or .zst",
		       path, known);
	}
}

/* The format of a path, also of FORMAT.gz and FORMAT.zst where that is text: it is packed then. */
static void find_format(const struct format_list *list, struct output_option *output)
{
	static const struct {
		const char *suffix;
		enum packing packing;
	} kinds[] = { { ".gz", PACKING_GZIP }, { ".zst", PACKING_ZSTD } };
	size_t length = strlen(output->path);

	output->format = format_by_path(list, output->path);
	for (size_t i = 0; !output->format && i < ARRAY_SIZE(kinds); i++) {
		size_t size = strlen(kinds[i].suffix);
		AUTO_FREE char *name = must_strdup(output->path);

		if (length <= size || strcmp(name + length - size, kinds[i].suffix) != 0)
			continue;
		name[length - size] = '\0';
		output->format = format_by_path(list, name);
		if (output->format && output->format->binary)
			output->format = NULL;
		output->packing = output->format ? kinds[i].packing : PACKING_NONE;
		if (output->packing == PACKING_ZSTD && output->format->zstd)
			output->format = output->format->zstd;
	}
}

/*
 * Outputs with an unknown extension take the --format words in their order, the last one
 * repeatedly. A format without an output goes to stdout.
 */
static void resolve_formats(struct output_options *options, struct argp_state *state)
{
	const struct format_list *list = output_options_formats(options);
	size_t taken = 0;

	for (size_t i = 0; i < options->nr; i++) {
		struct output_option *output = &options->list[i];

		find_format(list, output);
		if (!output->format && taken < options->nr_given)
			output->format = options->given[taken++];
		else if (!output->format && taken)
			output->format = options->given[taken - 1];
		if (!output->format)
			refuse_output(list, output->path, state);
	}
	if (options->nr_given - taken > 1)
		refuse(state, "--format %s and --format %s: only one can go to stdout",
		       options->given[taken]->name, options->given[taken + 1]->name);
	if (options->nr_given > taken) {
		output_options_add(options, "-", state);
		options->list[options->nr - 1].format = options->given[taken];
	}
}

/* Refuse formats that this program was built without, before the run. */
static void check_missing(const struct output_options *options, struct argp_state *state)
{
	const struct format *page = format_find(output_options_formats(options), "html");

	if (options->open && page && page->missing)
		argp_failure(state, CLI_EXIT_CANNOT_RUN, 0, "--open: %s", page->missing);
	for (size_t i = 0; i < options->nr; i++) {
		const struct format *format = options->list[i].format;

		if (format && format->missing)
			argp_failure(state, CLI_EXIT_CANNOT_RUN, 0, "-o %s: %s",
				     options->list[i].path, format->missing);
	}
}

/* Is the readable text written, of which --min-share leaves out lines? */
static bool shows_text(const struct output_options *options)
{
	const struct format *text = format_find(output_options_formats(options), "text");

	if (output_options_use_text(options))
		return true;
	for (size_t i = 0; i < options->nr; i++)
		if (text && options->list[i].format == text)
			return true;
	return false;
}

/* An option of pictures and no picture is a mistake that would be seen only when the run is over.
 */
static void check_picture(const struct output_options *options, struct argp_state *state)
{
	bool has_picture = options->open;

	for (size_t i = 0; i < options->nr; i++)
		has_picture |= options->list[i].format && options->list[i].format->picture;
	if (options->picture.given && !has_picture)
		refuse(state, "--%s: needs a picture: -o FILE.svg", options->picture.given);
	if (options->picture.cpu_time && !options->picture.chart)
		refuse(state, "--axis: needs --chart");
	if (options->picture.min_share > 0 && !has_picture && !options->has_shares &&
	    !shows_text(options))
		refuse(state, "--min-share: needs readable text, or a picture: -o FILE.svg");
}

void output_options_check(struct output_options *options, struct argp_state *state)
{
	const char *own = options->own_stdout;
	unsigned on_stdout = options->folded_stdout;
	bool is_usual = output_options_use_text(options) && !options->nr_given;

	if (is_usual && options->usual_path)
		output_options_add(options, options->usual_path, state);
	if (is_usual && options->usual_format)
		output_options_add_format(options, options->usual_format, state);

	resolve_formats(options, state);
	check_missing(options, state);
	check_picture(options, state);
	on_stdout += own != NULL;
	for (size_t i = 0; i < options->nr; i++)
		on_stdout += !strcmp(options->list[i].path, "-");
	if (options->stats_path)
		on_stdout += !strcmp(options->stats_path, "-");
	if (on_stdout > 1)
		refuse(state,
		       "only one of %s%s-f, --format, -o - and --stats - can write to stdout",
		       own ? own : "", own ? ", " : "");
}

/* Parse an option that is set or not set. Returns false if @key is another one. */
static bool parse_flag(int key, struct output_options *options)
{
	switch (key) {
	case 'q':
		return options->quiet = true;
	case 'v':
		options->verbosity++;
		return true;
	case KEY_DELIMITED:
		return options->delimited = true;
	case KEY_ANNOTATE:
		return options->annotate = true;
	case KEY_ORIGIN:
		return options->origin = true;
	case KEY_ADDRESSES:
		return options->addresses = true;
	case KEY_FOLD_RECURSION:
		return options->fold_recursion = true;
	case KEY_INLINE:
		options->no_inlined = false;
		return options->inlined = true;
	case KEY_NO_INLINE:
		options->inlined = false;
		return options->no_inlined = true;
	case KEY_LINES:
		options->no_lines = false;
		return options->lines = true;
	case KEY_NO_LINES:
		options->lines = false;
		return options->no_lines = true;
	case KEY_NO_DEMANGLE:
		return options->no_demangle = true;
	case KEY_NO_PROGRESS:
		return options->no_progress = true;
	default:
		return false;
	}
}

static error_t parse_shown(int key, char *arg, struct argp_state *state)
{
	struct output_options *options = state->input;

	switch (key) {
	case KEY_BY:
		parse_by(arg, options, state);
		return 0;
	case KEY_COLOR:
		parse_color(arg, options, state);
		return 0;
	default:
		return parse_flag(key, options) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

const struct argp shown_argp = { .options = shown_list, .parser = parse_shown };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct output_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = options;
		state->child_inputs[1] = &options->picture;
		return 0;
	case 'f':
		options->folded_stdout = true;
		return 0;
	case 'o':
		output_options_add(options, arg, state);
		return 0;
	case KEY_FORMAT:
		output_options_add_format(options, arg, state);
		return 0;
	case KEY_STATS:
		options->stats_path = arg;
		return 0;
	case KEY_OPEN:
		options->open = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &shown_argp },
					      { .argp = &picture_argp },
					      { 0 } };

const struct argp output_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
};

void output_options_fini(struct output_options *options)
{
	free(options->list);
	free(options->by_field);
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

bool output_options_use_text(const struct output_options *options)
{
	return !options->folded_stdout && !options->own_stdout && !options->nr && !options->open &&
	       !is_stdout(options->stats_path);
}

bool output_options_use_stdout(const struct output_options *options)
{
	if (options->folded_stdout || options->own_stdout || output_options_use_text(options) ||
	    is_stdout(options->stats_path))
		return true;
	for (size_t i = 0; i < options->nr; i++)
		if (is_stdout(options->list[i].path))
			return true;
	return false;
}

/* Something is written that shows more of a frame than its symbol. */
static bool has_rich_output(const struct output_options *options)
{
	const struct format *folded = format_find(output_options_formats(options), "folded");

	if (output_options_use_text(options) || options->own_stdout || options->open)
		return true;
	for (size_t i = 0; i < options->nr; i++) {
		if (options->list[i].format != folded)
			return true;
	}
	return false;
}

bool output_options_want_inlined(const struct output_options *options)
{
	return options->inlined || (!options->no_inlined && has_rich_output(options));
}

bool output_options_want_lines(const struct output_options *options)
{
	return options->lines || (!options->no_lines && has_rich_output(options));
}

struct format_options output_options_format(const struct output_options *options)
{
	return (struct format_options){
		.delimited = options->delimited,
		.annotate = options->annotate,
		.origin = options->origin,
		.addresses = options->addresses,
		.inlined = options->inlined	 ? FORMAT_INLINED_ALWAYS
			   : options->no_inlined ? FORMAT_INLINED_NEVER
						 : FORMAT_INLINED_USUAL,
		.lines = options->lines,
		.fold_recursion = options->fold_recursion,
		.picture = &options->picture,
	};
}

const char **output_options_files(const struct output_options *options, size_t *ret_nr)
{
	const char **list = must_calloc(options->nr + 1, sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; i < options->nr; i++) {
		if (strcmp(options->list[i].path, "-") != 0)
			list[nr++] = options->list[i].path;
	}
	if (options->stats_path && strcmp(options->stats_path, "-") != 0)
		list[nr++] = options->stats_path;
	*ret_nr = nr;
	return list;
}

struct terminal_text output_options_terminal(const struct output_options *options)
{
	return (struct terminal_text){
		.columns = width_of_terminal(STDOUT_FILENO),
		.colour = style_is_wanted(options->colour, STDOUT_FILENO),
	};
}

void output_options_set_log(const struct output_options *options)
{
	fpl_log_set_level(options->verbosity > 1    ? FPL_LOG_TRACE
			  : options->verbosity == 1 ? FPL_LOG_DEBUG
						    : FPL_LOG_INFO);
}

bool output_options_want_progress(const struct output_options *options)
{
	return !options->quiet && !options->verbosity && !options->no_progress;
}
