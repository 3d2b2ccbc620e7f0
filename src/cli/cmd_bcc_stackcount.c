/* SPDX-License-Identifier: Apache-2.0 */
/* The options and the output of bcc's stackcount tool, for scripts that were written for it. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/bcc_run.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "format/bcc_stackcount.h"

enum { KEY_DEBUG = BCC_KEY_OWN };

static const struct argp_option options_list[] = {
	{ "pid", 'p', "PID", 0, "Count events of this process only", 1 },
	{ "cpu", 'c', "CPU", 0, "Count events of this CPU only", 1 },
	{ "duration", 'D', "SECONDS", 0, "Count for so long, instead of until Ctrl-C", 1 },
	{ "timestamp", 'T', NULL, 0, "Print the time before the stacks", 1 },
	{ "perpid", 'P', NULL, 0, "Tell kernel stacks apart by process, too", 1 },
	{ "kernel-stacks-only", 'K', NULL, 0, "Show stacks from kernel space only", 1 },
	{ "user-stacks-only", 'U', NULL, 0, "Show stacks from user space only", 1 },
	{ "delimited", 'd', NULL, 0, "Insert a delimiter between kernel and user stacks", 1 },
	{ "folded", 'f', NULL, 0, "One line per stack, for flame graphs", 1 },
	{ "interval", 'i', "SECONDS", 0, "Not supported", 1 },
	{ "regexp", 'r', NULL, 0, "Not supported", 1 },
	{ "offset", 's', NULL, 0, "Not supported", 1 },
	{ "verbose", 'v', NULL, 0, "Not supported", 1 },
	{ "debug", KEY_DEBUG, NULL, OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct stackcount {
	struct bcc_run run; /* first, as bcc_run_main has it */
	bool timestamp;
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* Refuse an option that has no equivalent, and name the alternative; others are not known. */
static error_t refuse_option(int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case 'i':
		refuse(state, "-i %s: not supported: fpless top -e shows what grows", arg);
		return 0;
	case 'r':
		refuse(state, "-r: not supported: one event a run: fpless events finds its name");
		return 0;
	case 's':
		refuse(state,
		       "-s: offsets are not supported: fpless profile -o FILE.jsonl has addresses");
		return 0;
	case 'v':
		refuse(state,
		       "-v: addresses are not supported: fpless profile -o FILE.jsonl has them");
		return 0;
	case KEY_DEBUG:
		refuse(state, "--debug: not supported: fpless has no program text");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Names of libraries as bcc's users type them. Others are a soname, a path or a program. */
static const struct {
	const char *name, *soname;
} libraries[] = {
	{ "c", "libc.so.6" },
	{ "m", "libm.so.6" },
	{ "pthread", "libpthread.so.0" },
	{ "stdc++", "libstdc++.so.6" },
};

static const char *library_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (!strcmp(libraries[i].name, name))
			return libraries[i].soname;
	return name;
}

#define PARTS_MAX 4

/* Write the parts of @pattern, whose colons become ends of strings. Returns their number; more
 * than PARTS_MAX: there are too many. */
static size_t split(char *pattern, char *parts[PARTS_MAX])
{
	size_t nr = 0;

	for (char *part = pattern; part; nr++) {
		char *colon = strchr(part, ':');

		if (nr < PARTS_MAX)
			parts[nr] = part;
		if (colon)
			*colon++ = 0;
		part = colon;
	}
	return nr;
}

static __attribute__((__format__(printf, 1, 2))) char *word_of(const char *format, ...)
{
	char *word = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&word, format, args) < 0)
		word = NULL;
	va_end(args);
	return word;
}

/* The word of -e that bcc's @pattern means; the caller owns it. NULL: out of memory. */
static char *event_of(const char *pattern, struct argp_state *state)
{
	AUTO_FREE char *copy = strdup(pattern);
	char *parts[PARTS_MAX];
	size_t nr;

	if (!copy)
		return NULL;
	nr = split(copy, parts);
	if (nr == 1)
		return word_of("kprobe:%s", parts[0]);
	if (nr == 2)
		return word_of("uprobe:%s:%s", library_of(parts[0]), parts[1]);
	if (nr == 3 && !strcmp(parts[0], "p"))
		return *parts[1] ? word_of("uprobe:%s:%s", library_of(parts[1]), parts[2])
				 : word_of("kprobe:%s", parts[2]);
	if (nr == 3 && !strcmp(parts[0], "t"))
		return word_of("%s:%s", parts[1], parts[2]);
	if (nr == 4 && !strcmp(parts[0], "u"))
		return word_of("usdt:%s:%s:%s", library_of(parts[1]), parts[2], parts[3]);
	if (nr == 3 && !strcmp(parts[0], "u"))
		refuse(state,
		       "%s: the provider is needed: u:%s:PROVIDER:%s: fpless events %s names it",
		       pattern, parts[1], parts[2], library_of(parts[1]));
	refuse(state,
	       "%s: expected FUNC, LIB:FUNC, p:LIB:FUNC, t:CATEGORY:EVENT or u:LIB:PROVIDER:PROBE",
	       pattern);
	return NULL;
}

static void parse_pattern(const char *arg, struct stackcount *tool, struct argp_state *state)
{
	struct sampling_options *sampling = &tool->run.sampling;
	struct fpl_err err = { 0 };
	char *word;

	if (tool->run.output.pattern)
		refuse(state, "'%s': unexpected: one pattern a run", arg);
	if (strchr(arg, '*'))
		refuse(state,
		       "%s: '*' is not supported: one event a run: fpless events finds its name",
		       arg);
	tool->run.output.pattern = arg;
	word = event_of(arg, state);
	if (!word || vector_push(&sampling->words, word)) {
		free(word);
		argp_failure(state, CLI_EXIT_CANNOT_RUN, ENOMEM, "%s", arg);
		return;
	}
	if (source_spec_parse(word, &sampling->sources[0], &err))
		refuse(state, "%s", err.msg);
	if (sampling->sources[0].class != SOURCE_TRACEPOINT &&
	    sampling->sources[0].class != SOURCE_PROBE)
		refuse(state, "%s: no tracepoint", arg);
}

static void parse_pid(const char *arg, struct target_options *target, struct argp_state *state)
{
	free(target->pids);
	target->pids = NULL;
	if (!parse_pids(arg, &target->pids, &target->nr_pids) || target->nr_pids != 1)
		refuse(state, "-p %s: expected a process", arg);
}

static void check_all(struct bcc_run *run, struct argp_state *state)
{
	if (!run->output.pattern)
		refuse(state, "expected an event: fpless bcc-stackcount c:malloc");
	run->output.one_process = run->sampling.target.nr_pids;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stackcount *tool = state->input;

	switch (key) {
	case 'p':
		parse_pid(arg, &tool->run.sampling.target, state);
		return 0;
	case 'c':
		bcc_parse_cpus("-c", arg, &tool->run, state);
		return 0;
	case 'D':
		tool->run.output.seconds = bcc_number("-D", arg, 1, INT_MAX, state);
		return 0;
	case 'T':
		tool->timestamp = true;
		return 0;
	case 'P':
		tool->run.output.per_process = true;
		return 0;
	case ARGP_KEY_ARG:
		parse_pattern(arg, tool, state);
		return 0;
	case ARGP_KEY_END:
		check_all(&tool->run, state);
		return bcc_parse(key, arg, &tool->run, state);
	default:
		if (refuse_option(key, arg, state) != ARGP_ERR_UNKNOWN)
			return 0;
		return bcc_parse(key, arg, &tool->run, state);
	}
}

const struct argp bcc_stackcount_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "PATTERN",
	.doc = "Count an event and the stacks that lead to it, with the options and the output of bcc's stackcount.",
};

/* sampling_verb.write */
static int write_stacks(void *ctx, struct names *names, const struct recording *recording)
{
	const struct stackcount *tool = ctx;
	char text[sizeof("12:34:56")] = "";
	time_t now = time(NULL);
	uint64_t nr_lost;
	struct tm wall;
	int status;

	if (localtime_r(&now, &wall))
		strftime(text, sizeof(text), "%H:%M:%S", &wall);
	bcc_stackcount_write(stdout, &tool->run.output, tool->timestamp ? text : NULL, recording);
	status = bcc_end(names, &nr_lost);
	if (nr_lost)
		fprintf(stderr, "WARNING: %" PRIu64 " stacks were lost.\n", nr_lost);
	return status;
}

int cmd_bcc_stackcount(int argc, char **argv)
{
	struct stackcount tool = { .run = { .output = { .tool = BCC_STACKCOUNT },
					    .head = bcc_stackcount_head,
					    .write = write_stacks } };

	sampling_options_init(&tool.run.sampling);
	tool.run.sampling.script.mode = SCRIPT_OFF; /* as bcc's */
	return bcc_run_main(argc, argv, &bcc_stackcount_argp, &tool.run);
}
