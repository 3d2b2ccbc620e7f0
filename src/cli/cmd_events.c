/* SPDX-License-Identifier: Apache-2.0 */
/* fpless events: what can be sampled, which of it this machine has, and the fields of tracepoints;
 * of a file its probes (file_probes.h). */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vector.h"
#include "cli/cli.h"
#include "cli/field_kind.h"
#include "cli/file_probes.h"
#include "cli/stdout_status.h"
#include "cli/verbs.h"
#include "proc/tracefs.h"
#include "profile/source.h"
#include "source/event_format.h"
#include "view/json.h"

enum {
	KEY_FIELDS = 0x100,
	KEY_JSON,
};

static const struct argp_option options_list[] = {
	FIRST_HEADING("What to show:"),
	{ "fields", KEY_FIELDS, NULL, 0,
	  "The fields of tracepoints and probes, too, for --filter and --weight", 0 },
	{ "json", KEY_JSON, NULL, 0, "Write one JSON array", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct events_verb {
	const char *pattern; /* NULL: none */
	bool fields, json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct events_verb *verb = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_FIELDS:
		verb->fields = true;
		return 0;
	case KEY_JSON:
		verb->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (verb->pattern)
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "'%s': one PATTERN: quote it, or the shell makes many of it",
				     arg);
		verb->pattern = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp events_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[PATTERN|FILE]",
	.doc = "List the events that -e takes, and whether they can be sampled here, with the rights of this process. "
	       "PATTERN takes * and ?, as file names do; without either it is a part of the name. Without PATTERN, tracepoints are counted by category. Of a FILE, whose path has a slash, the USDT probes are listed.\v"
	       "Exit status: 0 ok, 1 usage or nothing matches, 2 FILE cannot be read, 6 output could not be written.",
};

/* A tracepoint. */
struct point {
	char *category, *name; /* owned */
};

struct points {
	VECTOR(struct point) all;
	const char *pattern;
	int tracefs; /* -1: it cannot be read, as err says */
	struct fpl_err err;
};

static bool matches(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return strpbrk(pattern, "*?") ? fnmatch(pattern, name, 0) == 0
				      : strstr(name, pattern) != NULL;
}

static bool matches_word(const char *pattern, const struct source_word *word)
{
	return matches(pattern, word->name) || (word->alias && matches(pattern, word->alias));
}

static void put_name(const struct point *point, char *text, size_t size)
{
	snprintf(text, size, "%s:%s", point->category, point->name);
}

/* tracefs_for_each */
static int take_point(const char *category, const char *name, void *ctx)
{
	struct points *points = ctx;
	struct point point = { .category = (char *)category, .name = (char *)name };
	char text[2 * SOURCE_NAME_MAX];

	put_name(&point, text, sizeof(text));
	if (!matches(points->pattern, text))
		return 0;
	must_push(&points->all,
		  (struct point){ .category = must_strdup(category), .name = must_strdup(name) });
	return 0;
}

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int order = strcmp(x->category, y->category);

	return order ? order : strcmp(x->name, y->name);
}

static void points_read(const char *pattern, struct points *ret)
{
	struct points points = { .pattern = pattern, .tracefs = -1 };
	int code = tracefs_open(&points.tracefs, &points.err);

	if (!code)
		code = tracefs_for_each(points.tracefs, take_point, &points);
	if (code && !points.err.code)
		fpl_fail(&points.err, code, "tracefs: %s", strerror(-code));
	if (points.all.nr)
		qsort(points.all.list, points.all.nr, sizeof(*points.all.list), compare_points);
	*ret = points;
}

static void points_fini(struct points *points)
{
	for (size_t i = 0; i < points->all.nr; i++) {
		free(points->all.list[i].category);
		free(points->all.list[i].name);
	}
	vector_fini(&points->all);
	cleanup_fd(&points->tracefs);
}

/* The fields of the tracepoint; none of one that cannot be read, as a line of the log says. */
static struct event_format fields_of(const struct points *points, const struct point *point)
{
	struct event_format format = { 0 };
	AUTO_FREE char *text = NULL;
	struct fpl_err err = { 0 };
	int code = tracefs_format(points->tracefs, point->category, point->name, &text, &err);

	if (!code)
		code = event_format_parse(text, point->category, &format, &err);
	if (code)
		fpl_log(FPL_LOG_WARN, "%s:%s: %s", point->category, point->name, err.msg);
	return format;
}

static const char *answer_of(int code)
{
	switch (code) {
	case 0:
		return "yes";
	case -EACCES:
	case -EPERM:
		return "not with these rights";
	default:
		return "not on this machine";
	}
}

/* Can the tracepoint be sampled? Those that are listed are there, and may be. */
static const char *answer_of_point(const char *name)
{
	struct source_spec spec;

	return source_spec_parse(name, &spec, NULL) ? "no" : "yes";
}

#define ROW   "%-*s %-22s "
#define WIDTH 23 /* of a column of names, at least */

static void print_words(const char *pattern, int width)
{
	printf(ROW "%s\n", width, "EVENT", "SAMPLED HERE", "WHAT");
	for (size_t i = 0; i < source_words_nr; i++) {
		const struct source_word *word = &source_words[i];
		const struct source_spec spec = source_spec_of(word);

		if (!matches_word(pattern, word))
			continue;
		printf(ROW "%s%s%s\n", width, word->name, answer_of(source_try(&spec)), word->what,
		       word->alias ? "; or " : "", word->alias ? word->alias : "");
	}
}

/* How many tracepoints there are, by category. */
static void print_categories(const struct points *points)
{
	size_t first = 0;

	for (size_t i = 1; i <= points->all.nr; i++) {
		const struct point *list = points->all.list;
		char text[SOURCE_NAME_MAX];

		if (i < points->all.nr && !strcmp(list[i].category, list[first].category))
			continue;
		snprintf(text, sizeof(text), "%s:...", list[first].category);
		printf(ROW "%zu tracepoint%s: fpless events '%s:*'\n", WIDTH, text, "", i - first,
		       i - first == 1 ? "" : "s", list[first].category);
		first = i;
	}
}

static void print_points(const struct points *points, bool fields, int width)
{
	for (size_t i = 0; i < points->all.nr; i++) {
		const struct point *point = &points->all.list[i];
		char text[2 * SOURCE_NAME_MAX];

		put_name(point, text, sizeof(text));
		printf(ROW "tracepoint\n", width, text, answer_of_point(text));
		if (!fields)
			continue;

		CLEANUP(event_format_fini) struct event_format format = fields_of(points, point);

		for (size_t k = 0; k < format.nr; k++)
			printf("    %-20s %-7s %s\n", format.fields[k].name,
			       field_kind_text(&format.fields[k]), format.fields[k].type);
	}
}

static void write_event(struct json *json, const char *name, const char *kind, const char *answer,
			const char *what)
{
	json_open(json, NULL, '{');
	json_string(json, "name", name);
	json_string(json, "kind", kind);
	json_string(json, "sampled_here", answer);
	if (what)
		json_string(json, "what", what);
}

static const char *const kinds[] = {
	[SOURCE_CLOCK] = "clock",	[SOURCE_SOFTWARE] = "software",
	[SOURCE_HARDWARE] = "hardware", [SOURCE_TRACEPOINT] = "tracepoint",
	[SOURCE_PROBE] = "probe",
};

static void write_fields(struct json *json, const struct points *points, const struct point *point)
{
	CLEANUP(event_format_fini) struct event_format format = fields_of(points, point);

	json_open(json, "fields", '[');
	for (size_t i = 0; i < format.nr; i++)
		field_write(json, &format.fields[i]);
	json_close(json, ']');
}

static void write_json(const struct points *points, bool fields)
{
	struct json json = { .to = stdout };

	json_open(&json, NULL, '[');
	for (size_t i = 0; i < source_words_nr; i++) {
		const struct source_word *word = &source_words[i];
		const struct source_spec spec = source_spec_of(word);

		if (!matches_word(points->pattern, word))
			continue;
		write_event(&json, word->name, kinds[word->class], answer_of(source_try(&spec)),
			    word->what);
		json_close(&json, '}');
	}
	for (size_t i = 0; i < points->all.nr; i++) {
		char text[2 * SOURCE_NAME_MAX];

		put_name(&points->all.list[i], text, sizeof(text));
		write_event(&json, text, kinds[SOURCE_TRACEPOINT], answer_of_point(text), NULL);
		if (fields)
			write_fields(&json, points, &points->all.list[i]);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	printf("\n");
}

static bool has_words(const char *pattern)
{
	for (size_t i = 0; i < source_words_nr; i++)
		if (matches_word(pattern, &source_words[i]))
			return true;
	return false;
}

/* The longest name of a tracepoint, in characters. */
static int longest(const struct points *points)
{
	size_t max = WIDTH;

	for (size_t i = 0; i < points->all.nr; i++) {
		size_t len =
			strlen(points->all.list[i].category) + 1 + strlen(points->all.list[i].name);

		if (len > max)
			max = len;
	}
	return (int)max;
}

static int list_events(const struct events_verb *verb, const struct points *points)
{
	if (points->err.code)
		fpl_log(FPL_LOG_WARN, "no tracepoints are listed: %s", points->err.msg);
	if (!points->all.nr && !has_words(verb->pattern)) {
		fpl_log(FPL_LOG_ERROR, "no event matches '%s'", verb->pattern);
		return CLI_EXIT_USAGE;
	}
	if (verb->json) {
		write_json(points, verb->fields);
	} else {
		bool all = verb->pattern || verb->fields;
		int width = all ? longest(points) : WIDTH;

		print_words(verb->pattern, width);
		if (all)
			print_points(points, verb->fields, width);
		else
			print_categories(points);
	}

	return stdout_status();
}

int cmd_events(int argc, char **argv)
{
	struct events_verb verb = { 0 };
	struct points points;

	if (argp_parse(&events_argp, argc, argv, 0, NULL, &verb))
		return CLI_EXIT_USAGE;
	/* no event's name has a slash */
	if (verb.pattern && strchr(verb.pattern, '/'))
		return file_probes_list(verb.pattern, verb.fields, verb.json);
	points_read(verb.pattern, &points);

	int status = list_events(&verb, &points);

	points_fini(&points);
	return status;
}
