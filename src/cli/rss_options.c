/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rss_options.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "profile/source_rss.h"

/* The label that says which kind of memory it is. */
#define LABEL "memory"

enum { KEY_RSS = 0x1200 };

static const struct argp_option options_list[] = {
	{ "rss", KEY_RSS, NULL, 0,
	  "Who holds the resident memory of -p PID or COMMAND: a stack weighs its bytes at the end",
	  1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	(void)arg;
	if (key != KEY_RSS)
		return ARGP_ERR_UNKNOWN;
	if (options->words.nr)
		refuse(state, "--rss and -e exclude each other");
	options->rss = true;
	options->sources[0] = source_spec_rss();
	return 0;
}

const struct argp rss_argp = { .options = options_list, .parser = parse_option };

void rss_options_check(struct sampling_options *options, struct argp_state *state)
{
	const struct target_options *target = &options->target;

	if (!options->rss)
		return;
	if (options->words.nr)
		refuse(state, "--rss and -e exclude each other");
	if (options->sources[0].period != source_spec_rss().period)
		refuse(state, "-c: --rss counts each change of memory");
	if (target->all || target->nr_tids || (!options->command && !target->nr_pids))
		refuse(state, "--rss: wants -p PID or -- COMMAND: memory is of a process");
	if (options->delay_ms && !target->nr_pids)
		refuse(state, "-D: --rss follows COMMAND from its first instruction on");
	if (options->events.timeline || options->events.stream || options->window.length_ms ||
	    options->record_path)
		refuse(state,
		       "--rss: not with --timeline, --stream, --window and --record-walks: stacks weigh what is there at the end");
	options->output.by |= PROFILE_BY_KEY | (options->output.by ? 0 : PROFILE_BY_COMM);
	options->output.by_field = must_strdup(LABEL);
}

void rss_options_settle(struct sampling_options *options)
{
	struct fpl_err err = { 0 };
	uint64_t id;

	if (!options->rss || source_rss_find(&id, &err) != -EOPNOTSUPP)
		return;
	fpl_log(FPL_LOG_WARN,
		"--rss: %s: page faults are sampled in its place: faults, not bytes, and what is given back stays",
		err.msg);
	options->sources[0] = source_spec_page_faults();
	options->output.by &= ~(unsigned)PROFILE_BY_KEY;
	free(options->output.by_field);
	options->output.by_field = NULL;
}
